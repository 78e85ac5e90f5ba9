"""Synonyms from the files of WordNet 3.0, found on this machine and read without any other package.

The files' form is that of wndb(5WN) and morphy(7WN). Which words are synonyms is decided as in nltk 3.10,
whose METEOR is the one that people report: for each part of speech, a word's base forms are itself and what
the list of exceptions gives, else one step of the rules; its synonyms are all single words of all their
senses, in the letters of the files. nltk's own reader wants two more files, `lexnames` (which Debian lacks)
and `index.sense`, in a folder laid out for nltk, and takes some twenty times as long.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from harness.errors import MetricUnavailableError

VERSION: Final = "3.0"
"""Another version has other synonyms, and gives other scores."""
PLACE_VARIABLE: Final = "HARNESS_WORDNET"
HOW_TO_GET: Final = (
    "install WordNet 3.0 (Debian's package wordnet-base, or nltk's data wordnet) or let "
    f"{PLACE_VARIABLE} name the folder that holds index.noun and data.noun"
)
_NOUN, _VERB, _ADJECTIVE, _ADVERB = _PARTS = ("noun", "verb", "adj", "adv")
_FILES: Final = tuple(name for part in _PARTS for name in (f"index.{part}", f"data.{part}", f"{part}.exc"))
_ENDINGS: Final = {
    _NOUN: (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    _VERB: (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    _ADJECTIVE: (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    _ADVERB: (),
}  # fmt: skip
_INSIDE: Final = ("", "dict", "wordnet", "corpora/wordnet")
_ARCHIVES: Final = ("wordnet.zip", "corpora/wordnet.zip")
_MARKER: Final = re.compile(r"\([^()]*\)$")
_COPYRIGHT: Final = re.compile(rb"WordNet (\d+(?:\.\d+)?) Copyright")

Read = Callable[[str], bytes]


class WordNet:
    """All synonyms, in memory."""

    def __init__(self, read: Read) -> None:
        self._senses = {part: _index(read(f"index.{part}")) for part in _PARTS}
        self._exceptions = {part: _exceptions(read(f"{part}.exc")) for part in _PARTS}
        self._data = {part: read(f"data.{part}") for part in _PARTS}
        self.synonyms = lru_cache(maxsize=100_000)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """Return all single words of all senses of a word; none for one that WordNet does not have."""
        form = word.lower()
        return frozenset(
            member
            for part in _PARTS
            for base in self._base_forms(form, part)
            for offset in self._senses[part][base].split()
            for member in self._members(part, int(offset))
        )

    def _base_forms(self, form: str, part: str) -> set[str]:
        given = self._exceptions[part].get(form)
        if given is None:
            given = [form[: -len(old)] + new for old, new in _ENDINGS[part] if form.endswith(old)]
        return {base for base in (form, *given) if base in self._senses[part]}

    def _members(self, part: str, offset: int) -> Iterator[str]:
        """Yield the words of one sense: `offset lex_filenum ss_type w_cnt word lex_id word lex_id ...`."""
        data = self._data[part]
        fields = data[offset : data.index(b"|", offset)].decode().split()
        for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
            if "_" not in word:
                yield _MARKER.sub("", word)


def find_wordnet(place: Path | None = None) -> WordNet:
    """Return WordNet 3.0 from `place`, else from HARNESS_WORDNET, else from where it usually stands.

    A place is a folder with WordNet's files, one of nltk's data folders, or a zip file with them. Raises
    MetricUnavailableError, saying how to get it, where there is none or only one of another version; a place
    that was named is the only one that is looked at.
    """
    named = place or _named()
    others: set[str] = set()
    for version, read in _versions(named):
        if version == VERSION:
            return WordNet(read)
        others.add(version)
    where = "the folder that was named holds" if named else "this machine has"
    what = f"WordNet {', '.join(sorted(others))} only" if others else "no WordNet"
    raise MetricUnavailableError(f"METEOR of 2005 needs WordNet {VERSION}, and {where} {what}; {HOW_TO_GET}")


def has_wordnet() -> bool:
    """Tell whether `find_wordnet` would find it."""
    return any(version == VERSION for version, _ in _versions(_named()))


def _named() -> Path | None:
    return Path(value) if (value := os.environ.get(PLACE_VARIABLE)) else None


def _versions(named: Path | None) -> Iterator[tuple[str, Read]]:
    """Yield the version of each complete set of files, and how to read them, until the next is asked for."""
    for candidate in [named] if named else _usual_places():
        for read in _readers(candidate):
            version = _COPYRIGHT.search(read("data.adj")[:4096])
            yield version[1].decode() if version else "of an unknown version", read


def _usual_places() -> list[Path]:
    """Return nltk's folders, those that WordNet's own programs know, and Debian's."""
    listed = [Path(name) for name in os.environ.get("NLTK_DATA", "").split(os.pathsep) if name]
    own = [Path(name) for variable in ("WNSEARCHDIR", "WNHOME") if (name := os.environ.get(variable))]
    homes = [Path("~").expanduser(), *(Path(sys.prefix) / part for part in ("", "share", "lib"))]
    system = [Path(name) for name in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")]
    return [
        *listed,
        *(folder / "nltk_data" for folder in (*homes, *system)),
        *own,
        Path("/usr/share/wordnet"),
        Path("/usr/local/WordNet-3.0"),
    ]


def _readers(place: Path) -> Iterator[Read]:
    """Yield how to read the files, for each complete set at this place."""
    for inside in _INSIDE:
        folder = place / inside
        if all((folder / name).is_file() for name in _FILES):
            yield partial(_from_folder, folder)
    for path in (place, *(place / archive for archive in _ARCHIVES)):
        if path.is_file() and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inside_names = {name.rpartition("/")[2]: name for name in archive.namelist()}
                if inside_names.keys() >= set(_FILES):
                    yield partial(_from_archive, archive, inside_names)


def _from_folder(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


def _from_archive(archive: zipfile.ZipFile, names: dict[str, str], name: str) -> bytes:
    return archive.read(names[name])


def _index(content: bytes) -> dict[str, str]:
    """Return each word's senses, from `lemma pos synset_cnt p_cnt symbol... sense_cnt tagged offset...`."""
    found = {}
    for line in content.decode().splitlines():
        if not line.startswith(" "):
            lemma, _, count, rest = line.split(" ", 3)
            found[lemma] = " ".join(rest.split()[-int(count) :])
    return found


def _exceptions(content: bytes) -> dict[str, list[str]]:
    lines = (line.split() for line in content.decode().splitlines())
    return {words[0]: words[1:] for words in lines if words}

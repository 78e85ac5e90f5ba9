"""METEOR of 2005: against a formula written out, against nltk, and where there is no WordNet or no nltk."""

from __future__ import annotations

import importlib.util
import math
import random
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_pairs import report_pairs, table_3_tokens

from harness.errors import MetricUnavailableError
from harness.scoring.meteor2005 import (
    EXACT_STEM_NAME,
    NAME,
    Meteor2005,
    chunks,
    open_exact_stem,
    open_meteor2005,
)
from harness.scoring.wordnet import WordNet, find_wordnet

DEBIAN = Path("/usr/share/wordnet")
HAS_NLTK = importlib.util.find_spec("nltk") is not None
HAS_WORDNET = (DEBIAN / "data.noun").is_file()
needs_nltk = pytest.mark.skipif(not HAS_NLTK, reason="nltk is not installed")
needs_both = pytest.mark.skipif(not (HAS_NLTK and HAS_WORDNET), reason="nltk or Debian's WordNet is missing")

EXACT = Meteor2005(lambda word: word, None)
"""Only the first stage: stems are the words themselves."""


# The formula, by hand.


def _by_hand(candidate: list[str], reference: list[str]) -> float:
    """Match from behind by looking through the whole reference; apply the formula as PanDent prints it."""
    free = [True] * len(reference)
    matched: dict[int, int] = {}
    for place in range(len(candidate) - 1, -1, -1):
        for other in range(len(reference) - 1, -1, -1):
            if free[other] and candidate[place] == reference[other]:
                matched[place], free[other] = other, False
                break
    if not matched:
        return 0.0
    runs = sum(matched.get(place - 1, -5) != matched[place] - 1 for place in matched)
    precision, recall = len(matched) / len(candidate), len(matched) / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (runs / len(matched)) ** 3)


def _random_pairs(count: int, words: list[str], longest: int, seed: int) -> list[tuple[list[str], list[str]]]:
    chance = random.Random(seed)
    return [
        tuple(chance.choices(words, k=chance.randint(0, longest)) for _ in range(2))  # type: ignore[misc]
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("letters", "longest"), [("ab", 6), ("abcdefgh", 12), ("abcdefghijklmnopqrstuvwxyz", 60)]
)
def test_the_exact_stage_is_the_printed_formula(letters: str, longest: int) -> None:
    pairs = _random_pairs(2_000, list(letters), longest, seed=longest)
    assert EXACT.values(pairs) == pytest.approx([_by_hand(*pair) for pair in pairs], abs=1e-12)


@pytest.mark.parametrize("length", [1, 2, 3, 10, 200])
def test_a_text_against_itself_has_half_a_cube_less_than_1(length: int) -> None:
    text = random.Random(length).choices(["no", "caries", "on", "tooth", "#46"], k=length)
    assert EXACT.value(text, text) == pytest.approx(1 - 0.5 / length**3, abs=1e-15)


def test_two_words_in_the_other_order_make_two_chunks() -> None:
    assert EXACT.align(["a", "b"], ["b", "a"]) == [(0, 1), (1, 0)]
    assert EXACT.value(["a", "b"], ["b", "a"]) == 0.5


@pytest.mark.parametrize(
    ("matches", "runs"),
    [([], 0), ([(4, 2)], 1), ([(0, 0), (1, 1), (3, 2)], 2), ([(0, 1), (1, 0)], 2), ([(0, 0), (1, 2)], 2)],
)
def test_chunks_are_runs_in_both_texts(matches: list[tuple[int, int]], runs: int) -> None:
    assert chunks(matches) == runs


@pytest.mark.parametrize(("candidate", "reference"), [([], []), ([], ["a"]), (["a"], []), (["a"], ["b"])])
def test_nothing_matched_is_0(candidate: list[str], reference: list[str]) -> None:
    assert EXACT.value(candidate, reference) == 0.0


def test_no_pairs_are_no_values() -> None:
    assert EXACT.values([]).shape == (0,)


def test_a_text_in_place_of_tokens_is_refused() -> None:
    with pytest.raises(TypeError, match="lists of tokens"):
        EXACT.value("no caries", ["no", "caries"])


def test_each_stage_takes_what_the_one_before_left() -> None:
    meteor = Meteor2005(
        lambda word: word.removesuffix("s"), lambda word: frozenset({"auto", "van"} if word == "car" else ())
    )
    assert meteor.name == NAME
    assert meteor.align(["cars", "car", "cars"], ["autos", "car", "cars"]) == [(0, 0), (1, 1), (2, 2)]
    assert meteor.align(["car", "x"], ["cars", "auto"]) == [(0, 0)]  # by its stem, so never by a synonym
    assert meteor.align(["Cars"], ["CAR"]) == [(0, 0)]
    assert meteor.align(["car"], ["auto", "auto", "van"]) == [
        (0, 2)
    ]  # the last place, whichever synonym has it
    assert meteor.align(["car"], ["van", "van", "auto"]) == [(0, 2)]
    without = Meteor2005(lambda word: word.removesuffix("s"), None)
    assert without.align(["cars", "car", "cars"], ["autos", "car", "cars"]) == [(1, 1), (2, 2)]
    assert without.name == EXACT_STEM_NAME == "exact+stem"


# Against nltk.

ODD: list[tuple[list[str], list[str]]] = [
    ([], []),
    ([], ["a"]),
    (["caries"], ["caries"]),
    (["caries"], ["cavity"]),
    (["全景", "片", "显示", "缺失"], ["全景", "片", "未见", "缺失"]),
    (["no\u2028caries", "a\rb", "\x85"], ["no", "a\rb", "\x85"]),
    (["\0", "a\0b", "c"], ["a\0b", "c"]),
    (["\ud800", "no", "\udfff"], ["no", "\udfff"]),
    (["x" * 20_000, "y" * 20_000], ["y" * 20_000 + "s", "x" * 20_000]),
    ([";", "!!", "|||"], ["...", ";", "|||"]),
    (["İSTANBUL", "Straße", "ﬁlling"], ["i̇stanbul", "STRASSE", "ﬁllings"]),
    (["", " ", "a"], ["a", "", " "]),
]


@pytest.fixture(scope="module")
def nltks_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """nltk's own reader of the same WordNet, laid out as nltk wants it."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out what other languages need, and half of the time that loading takes."""

    place = tmp_path_factory.mktemp("nltk_data")
    folder = place / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for path in DEBIAN.iterdir():
        shutil.copy(path, folder / path.name)
    # Debian has no `lexnames`: the names of WordNet's 45 source files, which no synonym depends on.
    (folder / "lexnames").write_text("".join(f"{at:02}\tfile.{at}\t1\n" for at in range(45)), "utf-8")
    nltk.data.path.insert(0, str(place))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = Reader(nltk.data.find("corpora/wordnet"), None)
    yield reader
    nltk.data.path.remove(str(place))
    for stream in reader._data_file_map.values():
        stream.close()


@pytest.fixture(scope="module")
def meteor() -> Meteor2005:
    return open_meteor2005()


def _by_nltk(pairs: list[tuple[list[str], list[str]]], reader: Any) -> list[float]:
    from nltk.translate.meteor_score import single_meteor_score

    return [single_meteor_score(reference, candidate, wordnet=reader) for candidate, reference in pairs]


@pytest.mark.slow
@needs_both
def test_values_are_those_of_nltk(meteor: Meteor2005, nltks_reader: Any) -> None:
    words = sorted({word for pair in report_pairs(40) for text in pair for word in text.lower().split()})
    words += [
        "car",
        "cars",
        "automobile",
        "autos",
        "big",
        "large",
        "larger",
        "seen",
        "saw",
        "sees",
        "bones",
        "os",
    ]
    pairs = [
        *ODD,
        *((one.split(), other.split()) for one, other in report_pairs(200, seed=4)),
        *_random_pairs(1_000, words, 40, seed=1),
        *_random_pairs(1_500, words[-12:], 12, seed=2),
    ]
    assert meteor.values(pairs) == pytest.approx(_by_nltk(pairs, nltks_reader), abs=1e-12)
    stemmed = open_exact_stem()
    assert np.mean(stemmed.values(pairs)) < np.mean(meteor.values(pairs))


@needs_both
def test_without_synonyms_values_are_those_of_nltk_without_wordnet() -> None:
    class Empty:
        def synsets(self, word: str) -> list[object]:
            return []

    pairs = [*ODD, *((one.split(), other.split()) for one, other in report_pairs(100, seed=5))]
    assert open_exact_stem().values(pairs) == pytest.approx(_by_nltk(pairs, Empty()), abs=1e-12)


@pytest.mark.slow
@needs_both
def test_synonyms_are_those_of_nltk(nltks_reader: Any) -> None:
    _compare_synonyms(nltks_reader, share=0.02)


@pytest.mark.slow
@needs_both
def test_all_synonyms_are_those_of_nltk(nltks_reader: Any) -> None:
    _compare_synonyms(nltks_reader, share=1.0)


def _compare_synonyms(reader: Any, share: float) -> None:
    ours = find_wordnet(DEBIAN)
    known = sorted(reader._lemma_pos_offset_map) + sorted(
        word for part in reader._exception_map.values() for word in part
    )
    chance = random.Random(3)
    words = chance.sample(known, int(share * len(known)))
    endings = ("s", "es", "ies", "ed", "ing", "er", "est", "men", "ves")
    words += [word + chance.choice(endings) for word in words] + [word[:-1] for word in words]
    words += ["cars", "glasses", "prooves", "foxes", "waltzes", "churches", "brushes", "craftsmen", "ladies"]
    words += ["walks", "carries", "uses", "passes", "used", "walked", "using", "walking", "taller", "tallest"]
    words += [
        "larger",
        "largest",
        "",
        "s",
        "ses",
        "x" * 20_000,
        "\0",
        "\ud800",
        "牙齿",
        "CARIES",
        "#46",
        "%",
        "(a)",
        "it's",
    ]
    for word in words:
        theirs = {
            lemma.name()
            for sense in reader.synsets(word)
            for lemma in sense.lemmas()
            if "_" not in lemma.name()
        }
        assert ours.synonyms(word) == theirs, word


@needs_both
def test_the_two_reports_of_table_3_are_far_above_what_the_table_shows(meteor: Meteor2005) -> None:
    first, second = table_3_tokens()
    assert meteor.value(second, first) == pytest.approx(0.897, abs=5e-4)
    assert meteor.value(first, second) == pytest.approx(0.875, abs=5e-4)


# A WordNet of our own: two nouns and an adjective, in the files' form.

_VERSION_LINE = "  1 This software and database. WordNet {} Copyright 2006 by Nobody.  \n"


def _small_wordnet(folder: Path, version: str = "3.0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    header = _VERSION_LINE.format(version)
    for part in ("noun", "verb", "adj", "adv"):
        for name in (f"index.{part}", f"data.{part}"):
            (folder / name).write_text(header, "utf-8")
        (folder / f"{part}.exc").write_text("teeth tooth\n" if part == "noun" else "", "utf-8")
    at = len(header)
    noun = f"{at:08} 05 n 03 tooth 0 dens 0 hard_thing 0 000 | one of the hard parts\n"
    (folder / "data.noun").write_text(header + noun, "utf-8")
    (folder / "index.noun").write_text(
        f"{header}dens n 1 0 1 0 {at:08}  \nhard_thing n 1 0 1 0 {at:08}  \ntooth n 1 1 @ 1 1 {at:08}  \n",
        "utf-8",
    )
    adjective = f"{at:08} 00 s 02 Afraid(p) 0 scared 0 001 & {at:08} a 0000 | feeling fear\n"
    (folder / "data.adj").write_text(header + adjective, "utf-8")
    (folder / "index.adj").write_text(
        f"{header}afraid a 1 1 & 1 1 {at:08}  \nscared a 1 0 1 0 {at:08}  \n", "utf-8"
    )
    return folder


def _is_small(wordnet: WordNet) -> bool:
    return wordnet.synonyms("tooth") == {"tooth", "dens"}


def test_synonyms_come_from_base_forms_exceptions_and_all_single_words_of_a_sense(tmp_path: Path) -> None:
    wordnet = find_wordnet(_small_wordnet(tmp_path))
    assert wordnet.synonyms("tooth") == wordnet.synonyms("Teeth") == {"tooth", "dens"}
    assert wordnet.synonyms("tooths") == {"tooth", "dens"}
    assert wordnet.synonyms("scared") == {"Afraid", "scared"}
    assert wordnet.synonyms("caries") == wordnet.synonyms("") == frozenset()


@pytest.mark.parametrize("inside", [".", "dict", "corpora/wordnet", "wordnet"])
def test_a_named_folder_may_be_wordnets_or_one_of_nltks(tmp_path: Path, inside: str) -> None:
    _small_wordnet(tmp_path / inside)
    assert _is_small(find_wordnet(tmp_path))


def test_nltks_zip_file_is_read_as_it_is(tmp_path: Path) -> None:
    folder = _small_wordnet(tmp_path / "wordnet")
    place = tmp_path / "nltk_data" / "corpora" / "wordnet.zip"
    place.parent.mkdir(parents=True)
    with zipfile.ZipFile(place, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"wordnet/{path.name}")
    assert _is_small(find_wordnet(place))
    assert _is_small(find_wordnet(tmp_path / "nltk_data"))


def test_the_environment_names_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_WORDNET", str(_small_wordnet(tmp_path / "own")))
    assert _is_small(find_wordnet())


def test_nltks_variable_is_looked_at_before_the_systems_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _small_wordnet(tmp_path / "second" / "corpora" / "wordnet")
    monkeypatch.delenv("HARNESS_WORDNET", raising=False)
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert _is_small(find_wordnet())


def test_a_named_place_without_wordnet_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = r"the folder that was named holds no WordNet; install.*wordnet-base.*HARNESS_WORDNET"
    with pytest.raises(MetricUnavailableError, match=reason):
        find_wordnet(tmp_path)
    monkeypatch.setenv("HARNESS_WORDNET", str(tmp_path / "missing"))
    with pytest.raises(MetricUnavailableError, match=reason):
        find_wordnet()


def test_another_version_of_wordnet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MetricUnavailableError, match=r"WordNet 3\.0, and .* WordNet 3\.1 only"):
        find_wordnet(_small_wordnet(tmp_path, version="3.1"))


def test_an_incomplete_wordnet_is_none(tmp_path: Path) -> None:
    (_small_wordnet(tmp_path) / "verb.exc").unlink()
    with pytest.raises(MetricUnavailableError, match="no WordNet"):
        find_wordnet(tmp_path)


@needs_nltk
def test_without_wordnet_there_is_a_reason_and_no_other_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_WORDNET", str(tmp_path))
    with pytest.raises(MetricUnavailableError, match=r"needs WordNet 3\.0"):
        open_meteor2005()
    assert open_exact_stem().name == "exact+stem"


# F48
def test_nltk_is_loaded_only_where_it_is_wanted() -> None:
    code = "import harness.scoring.meteor2005, harness.scoring.meteor15, sys; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_without_nltk_the_reason_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", None)
    for opened in (open_meteor2005, open_exact_stem):
        with pytest.raises(MetricUnavailableError, match=r"needs the package nltk; .*meteor2005"):
            opened()


@needs_both
def test_values_stay_between_0_and_1(meteor: Meteor2005) -> None:
    pairs = [(one.split(), other.split()) for one, other in report_pairs(50, seed=9)]
    values = meteor.values(pairs)
    assert ((values > 0.4) & (values < 1)).all()
    assert not any(math.isnan(value) for value in values)

"""What a reformatter's restated answer is worth: what our code fills in, and what nobody had said.

The paper sets every label that the original answer left out to 0 (arXiv 2604.13060, table 6).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from harness.benchmarks.base import Filled
from harness.benchmarks.triage.taxonomy import ALIASES, DOMAINS, LABELS, label_key
from harness.canonical import JSON

# Words that name a label or its treatment and fit no label of another domain. Each is a regular
# expression over lower-case text; blanks stand for any run of punctuation and blanks.
_CLUES: Final[Mapping[str, tuple[str, ...]]] = {
    "Gingivitis (BPE screening score 1 or 2) - Non-surgical periodontal treatment": (
        "gingivitis", "gingival inflammation",
    ),
    "Mild to moderate periodontitis (BPE screening score 3) - Non-surgical periodontal treatment": (
        "(mild|moderate) (to moderate )?(chronic )?(periodontitis|(periodontal )?bone loss)",
    ),
    "Severe periodontitis (BPE screening score 4) - Complex periodontal treatment": (
        "(severe|advanced) (chronic )?(periodontitis|(periodontal )?bone loss)", "complex periodontal",
        "furcation",
    ),
    "Simple operative (Class I to V)": (
        "simple operative", "fillings?", "(direct|composite|amalgam) restorations?", "operative treatment",
    ),
    "Management of discolorations (e.g. Veneers and/or vital bleaching)": (
        "discolou?rations?", "discolou?red", "veneers?", "bleaching", "whitening",
    ),
    "Endodontics (Anterior and/or premolars)": (
        "(anteriors?|incisors?|canines?|premolars?) (root canal|endodontics?|rct)",
        "(root canal|endodontics?|rct) (treatment )?(of|on|for) (the )?((upper|lower) )?((left|right) )?"
        "(anteriors?|incisors?|canines?|premolars?)",
        "endodontics anterior",
    ),
    "Molar endodontics": (
        "molar (root canal|endodontics?|rct)",
        "(root canal|endodontics?|rct) (treatment )?(of|on|for) (the )?((upper|lower) )?((left|right) )?"
        "((first|second|third) )?molars?",
    ),
    "Single-unit Crowns (Anterior)": ("anterior crowns?", "single unit crowns?"),
    "Crowns (Posterior; incl. Onlays)": ("(posterior|molar|premolar) crowns?", "onlays?"),
    "Resin bonded bridges (Anterior; <= 2 missing teeth)": (
        "resin bonded bridges? anterior", "anterior (resin bonded )?bridges?",
    ),
    "Resin bonded bridges (Posterior; <= 2 missing teeth)": (
        "resin bonded bridges? posterior", "posterior (resin bonded )?bridges?",
    ),
    "Conventional bridges (<= 4 units)": ("conventional bridges?", "fixed fixed bridges?"),
    "Removable partial dentures (Simple; bound or free-end saddle)": (
        "(removable )?partial dentures? simple", "simple (removable )?partial dentures?",
        "(bound|free end) saddles?",
    ),
    "Extensive removable partial denture (Acrylic base; mucosally supported)": (
        "extensive (removable )?partial dentures?", "acrylic base", "mucosally supported",
    ),
    "Overdenture (incl. complete or partial)": ("over dentures?", "overdentures?",),
    "Complete dentures": ("(complete|full) dentures?",),
    "Combination case (Edentulous in one arch only)": ("combination case", "edentulous in one arch"),
    "Implants (Single tooth)": ("single (tooth )?implant", "implants? single"),
    "Implants (Multiple teeth)": ("(multiple|several) implants", "implants? multiple"),
    "Exodontia": ("exodontia", "extractions?", "extract(ed)?"),
    "Minor O.S.": (
        "minor o s", "minor os", "minor oral surgery", "surgical (removal|extraction)s?",
        "surgically removed?",
    ),
    "Other OMSF Consult": (
        "other om[sf]{2} consult(ation)?", "om[sf]{2} consult(ation)?", "cysts?", "cystic", "tumou?rs?",
        "fractures?", "tmj", "temporomandibular", "mucosal lesions?",
    ),
}

_GAP: Final = r"[^a-z0-9]+"
_BETWEEN: Final = r"[\s\"'`*_:=|>)\]\-]*"
"""Punctuation that may stand between a name and its value."""
_REST_OF_LABEL: Final = r"(?:\.(?=[\"'`*_:=|]))?(?:\s*\([^()\n]{0,80}\))?"
_DENIED_AFTER: Final = re.compile(
    _REST_OF_LABEL + _BETWEEN + r"(0(?![.\d])|no\b|not\b|false\b|null\b|none\b|n/a\b)"
)
# "no" reaches over the commas of a list; "not restorable, extraction advised" stops at its comma.
_DENIED_BEFORE: Final = re.compile(
    r"\b(?:(?:no|without|neither|nor|absent|denies|exclude[sd]?)\b[^.;:!?\n{}\[\]\"|]{0,40}"
    r"|(?:not|cannot|(?:is|are|does|do|was)n't)\b[^.,;:!?\n{}\[\]\"|]{0,40})$"
)
_YES_AFTER: Final = re.compile(_BETWEEN + r"(1(?![.\d])|yes\b|true\b)")


def fill_answer(value: JSON, answer: str) -> Filled:
    """Return a restated answer with every label that it leaves out, or leaves null, set to 0.

    `value` None when it asserts nothing: an explicit 0 is an assertion, an explanation alone is none.
    """
    given = _given(value)
    if not given:
        return Filled(None)
    output: dict[str, JSON] = {
        domain: {label: given.get(label, 0) for label in labels} for domain, labels in DOMAINS.items()
    }
    reasoning = value.get("reasoning") if isinstance(value, Mapping) else None
    filled = [label_key(label) for label in LABELS if label not in given]
    if not isinstance(reasoning, str):
        filled.append("reasoning")
    text = normalised(answer)
    return Filled(
        value={"triage_output": output, "reasoning": reasoning if isinstance(reasoning, str) else ""},
        filled_keys=tuple(filled),
        unsupported=tuple(
            label_key(label) for label in LABELS if given.get(label) == 1 and not is_supported(label, text)
        ),
    )


def normalised(answer: str) -> str:
    """Return an answer as `is_supported` reads it: lower case, one form of each character."""
    plain = unicodedata.normalize("NFKC", html.unescape(answer)).casefold()
    return plain.replace("\u2019", "'").replace("\\n", "\n").replace('\\"', '"')


def is_supported(label: str, text: str) -> bool:
    """Tell whether a normalised answer gives ground for a label's 1. A conservative rule of ours.

    Ground is (a) the label's own string, in either spelling and with any punctuation, or words that
    name it or its treatment, unless a 0, "no", "false" or "null" follows or a negation stands before
    it in the same clause; or (b) its domain's name with a 1 or "yes" right after it. Wording that the
    list of words lacks is reported as unsupported: the flag asks for a look, and changes no score.
    """
    named = any(_affirmed(match, text) for match in _clues(label).finditer(text))
    return named or any(_YES_AFTER.match(text, match.end()) for match in _domain(label).finditer(text))


def _given(value: JSON) -> dict[str, JSON]:
    """Return label -> 0 or 1 for every label that the answer settles."""
    output = value.get("triage_output") if isinstance(value, Mapping) else None
    given: dict[str, JSON] = {}
    for domain, labels in DOMAINS.items():
        members = output.get(domain) if isinstance(output, Mapping) else None
        if isinstance(members, Mapping):
            flags = {label: members.get(label) for label in labels}
            given.update({label: int(flag == 1) for label, flag in flags.items() if flag is not None})
    return given


def _affirmed(match: re.Match[str], text: str) -> bool:
    if _DENIED_AFTER.match(text, match.end()):
        return False
    return not _DENIED_BEFORE.search(text, max(0, match.start() - 60), match.start())


@lru_cache
def _clues(label: str) -> re.Pattern[str]:
    spellings = [label, *(alias for alias, meant in ALIASES.items() if meant == label)]
    whole = [" ".join(re.findall(r"[a-z0-9]+", spelling.casefold())) for spelling in spellings]
    # The whole string goes first: what follows it is the value, not the rest of the string.
    either = "|".join([*whole, *_CLUES[label]]).replace(" ", _GAP)
    return re.compile(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])")


@lru_cache
def _domain(label: str) -> re.Pattern[str]:
    domain = label_key(label).partition("/")[0].casefold()
    names = "om[sf]{2}" if domain == "omfs" else f"{domain}|{domain.removesuffix('s')}"
    return re.compile(rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])")

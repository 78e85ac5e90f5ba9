"""The words by which clinical reports speak of each of the 21 findings.

A statement is searched for `TOPICS` from left to right; what one has taken is not read again, so "root canal
filling" is no filling. Topics are of two kinds: those that name findings, and those that may mean one of
several ("restorations" of no said material).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_MATERIAL: Final = r"(?:restorat|restored|fill(?:ing|ed)|inlay|onlay)\w*"
_NOT_METAL: Final = r"non-?\s?metal\w*"
_LOSS: Final = r"(?: (?:loss|levels?|height|defects?|resorption))?"

TOPICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "post": rf"{_NOT_METAL}\s+(?:posts?\b|prosthetic placement|material anchored)(?: and cores?\b)?"
        rf"|\bposts?\b(?![- ]?(?:op|treat|endo|extract|trauma|surg))(?:[- ]?(?:and|&|/)?[- ]?cores?\b)?"
        rf"(?:\s+(?:of\s+{_NOT_METAL}|without metal)(?: materials?)?)?",
        "bridge": r"\bbridge(?:s|work)?\b|\bpontics?\b|\bfixed (?:partial|dental) (?:denture|prosthes)\w*",
        "crown": r"\bcrowned\b|(?<!anatomic )(?<!anatomical )(?<!clinical )"
        r"\b(?:(?:metal|ceramic|porcelain|zirconia|gold|fused|to|full|coverage|cast|stainless|steel)[- ])*"
        r"crowns?\b(?! of\b)(?:[- ](?:restorations?|prosthes[ei]s))?",
        "root_canal": rf"\broot[- ]?canals?(?:[- ](?:{_MATERIAL}|treat\w+|therap\w+|obturat\w+))?"
        r"|\broot[- ]fill\w+|\bcanal fill\w+|\bendodont\w+(?: (?:treat|fill|therap)\w+)?"
        r"|\bgutta[- ]?percha|\bobturat\w+|\brct\b",
        "non_metal": rf"\b{_MATERIAL} of (?:less than metal density|{_NOT_METAL}|other materials?)"
        rf"|\b{_NOT_METAL}(?: dental)? (?:{_MATERIAL}(?: work)?|materials?)"
        rf"|\b(?:tooth-?\s?colou?red|composite|resin|glass[- ]ionomer|ceramic)(?: resin)?(?: {_MATERIAL})?",
        "metal": rf"\b{_MATERIAL} of metal\b"
        rf"|(?<!non-)(?<!non )(?<!without )\bmetal(?:lic)?(?:[- ]density)?(?: dental)? {_MATERIAL}"
        rf"|\bamalgams?(?: {_MATERIAL})?",
        "caries": r"\bcari(?:es|ous)\b|\bdecay\w*|\bcavitat\w+"
        r"|(?<!pulp )(?<!oral )(?<!nasal )(?<!sinus )\bcavit(?:y|ies)\b",
        "furcation": r"\b(?:bi|tri)?furca\w+|\binter-?\s?radicular|\bbone between the roots",
        "apical": r"\b(?:peri-?\s?)?apical\w*|\bapex\b|\bapices\b|\broot[- ](?:tip|end)s?\b"
        r"|\bperi-?radicular\w*",
        "eruption": r"\bimpact(?:ed|ions?)\b|\b(?:un)?erupt\w+|\bembedded\b",
        "angular": rf"\bangular(?:(?: or |/| and )vertical)?(?: (?:alveolar )?(?:bon[ey]|osseous))?{_LOSS}"
        rf"|\bvertical(?:(?: or |/| and )angular)? (?:alveolar )?(?:bon[ey]|osseous|defects?){_LOSS}"
        r"|\b(?:infra|intra)-?\s?bony(?: (?:defect|pocket)s?)?|\bbony pockets?",
        "crest": r"\b(?:generali[sz]ed|horizontal)(?: \w+)? bone (?:loss|resorption)|\bbone crests?\b"
        rf"|\b(?:crestal|alveolar|marginal)(?: alveolar)? (?:bone|crests?|ridges?){_LOSS}",
        "sinus": r"\bsinus(?:es)?\b|\bantr(?:um|a|al)\b",
        "joint": r"\btemporo-?\s?mandibular(?: joints?)?|\btmjs?\b|\b(?:mandibular )?condyl\w+"
        r"|\bjaw joints?\b|\bglenoid",
        "jaw_bone": r"\bosteo(?:lytic|blastic|sclero\w+|porotic)|\bcyst(?:s|ic)?\b|\btumou?rs?\b"
        r"|\bjaw fracture|\bstructural abnormalit\w+|\bbone of (?:the (?:upper|lower) jaw|both jaws)",
        "restoration": rf"\b{_MATERIAL}\b|\brestorative",
        "prosthesis": r"\bprosth\w+",
        "bone": r"\bbone (?:loss|levels?|height|resorption|defects?)|\bperiodont\w+",
        "lesion": r"\blesions?\b|\bradiolucen\w+",
        "present": r"\bteeth present\b|\bpresent teeth\b|\bteeth (?:visible|identified)\b",
    }
)  # fmt: skip
"""Topic -> the words that name it, in lower case; of several that begin at one place the first counts."""

TOPIC: Final = re.compile("|".join(f"(?P<{name}>{words})" for name, words in TOPICS.items()))

MISSING: Final = re.compile(
    r"\bmissing\b|\bedentul\w+|\bextract(?:ed|ions?)\b|\bagenesis\b|\black(?:s|ing)?\b|\blost teeth\b"
    r"|\babsence of (?:the )?(?:permanent )?(?:tooth|teeth|#|\d|third|wisdom)|\babsent (?:tooth|teeth)"
    r"|\b(?:tooth|teeth|molars?)\b[^.]{0,160}?\b(?:absent|not present)\b|^\W*not present in the image"
    r"|\ball (?:32 )?(?:\w+ )?teeth (?:are present|are accounted|can be counted)"
    r"|\b(?:complete|full) dentition\b|\bdentition is complete\b|\bfull complement\b"
)
"""Words for missing teeth, searched apart: they lie far from each other, with other topics between."""

NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "post": ("non_metal_post_core",),
        "bridge": ("bridge",),
        "crown": ("artificial_crown",),
        "root_canal": ("root_canal_treatment",),
        "non_metal": ("non_metal_restoration",),
        "metal": ("metallic_restoration",),
        "caries": ("caries",),
        "furcation": ("furcation_radiolucency",),
        "apical": ("periapical_lesion",),
        "eruption": ("partially_erupted_or_impacted",),
    }
)
"""Topic -> the findings that it names, wherever they are."""

BY_JAW: Final[Mapping[str, str]] = MappingProxyType({"angular": "abl", "crest": "gcbl"})
"""Topic -> what the ids of its two findings begin with, `_maxilla` and `_mandible`."""

BY_SIDE: Final[Mapping[str, str]] = MappingProxyType({"sinus": "sinus", "joint": "tmj"})
"""Topic -> what the ids of its two findings begin with, `_left` and `_right`."""

_JAWS: Final = ("maxillary_abnormality", "mandibular_abnormality")

OPEN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "restoration": ("metallic_restoration", "non_metal_restoration"),
        "prosthesis": ("artificial_crown", "bridge", "non_metal_post_core"),
        "bone": ("gcbl_maxilla", "gcbl_mandible", "abl_maxilla", "abl_mandible"),
        "lesion": ("caries", "periapical_lesion", "furcation_radiolucency", *_JAWS),
        "present": ("missing_teeth",),
    }
)
"""Topic -> the findings of which it may mean one."""

MAXILLA: Final = re.compile(r"\bupper\b|\bmaxill(?!ary (?:sinus|antr))\w+")
MANDIBLE: Final = re.compile(r"\blower\b|\bmandib(?!ular (?:condyl|canal|foram|fossa|nerve))\w+")
JAW: Final = re.compile(
    r"\bmaxillae?\b|\bmandible\b|\bjaw(?:s|bones?)?\b(?! joint)|\b(?:maxillary|mandibular) (?:bone|structure)"
)
LEFT: Final = re.compile(r"\bleft\b")
RIGHT: Final = re.compile(r"\bright\b")

"""Sentences of simulated clinical reports, in our own words, and the words by which topics are known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

Sentences = tuple[tuple[str, ...], tuple[str, ...]]
"""What says that a topic is there, and what says that it is not; the first of each is the plainest."""

SENTENCES: Final[Mapping[str, Sentences]] = {
    "missing": (
        ("Missing from the dental arches: {places}.", "The dentition is incomplete, with {places} missing."),
        ("No permanent tooth is missing from the dental arches.", "There are no missing teeth."),
    ),
    "unerupted": (
        ("Impaction or incomplete eruption is seen at {places}.", "Not fully erupted or impacted: {places}."),
        ("No impacted or partially erupted teeth are seen.", "All teeth in the image have erupted."),
    ),
    "caries": (
        ("Radiolucent defects in keeping with caries are seen at {places}.",
         "Caries is suspected at {places}."),
        ("There is no radiographic evidence of caries.", "None of the teeth shows signs of caries."),
    ),
    "apical": (
        ("A radiolucent lesion at the root apex is seen at {places}.",
         "Periapical radiolucency is noted at {places}."),
        ("The bone around the apices appears intact.",
         "No periapical lesion is evident at any root."),
    ),
    "furcation": (
        ("Loss of bone in the furcation is visible at {places}.",
         "Furcation involvement is seen at {places}."),
        ("No radiolucency is visible in the furcation of any molar.", "No furcation involvement is seen."),
    ),
    "metal_filling": (
        ("Radiopaque fillings of metal density are present at {places}.",
         "Metallic restorations are noted on {places}."),
        ("No fillings of metal density are present.", "No metallic restorations are noted."),
    ),
    "other_filling": (
        ("Tooth-coloured, non-metal fillings are present at {places}.",
         "Non-metallic restorations are noted on {places}."),
        ("No tooth-coloured or other non-metal fillings can be made out.",
         "No non-metallic restorations are noted."),
    ),
    "root_filling": (
        ("Root-canal filling material is visible at {places}.",
         "Endodontic treatment is evident at {places}."),
        ("No root-canal filling material is visible in any tooth.", "No endodontic treatment is evident."),
    ),
    "crown": (
        ("Artificial crowns are in place at {places}.", "Full crowns cover {places}."),
        ("No tooth has been restored with an artificial crown.", "No artificial crowns are noted."),
    ),
    "bridge": (
        ("A tooth-supported bridge is in place, built as {places}.", "Bridgework is noted: {places}."),
        ("There is no tooth-supported bridge in either arch.", "No bridges are noted in either dental arch."),
    ),
    "post": (
        ("Non-metal posts with a core build-up are visible at {places}.",
         "A non-metallic post and core is noted at {places}."),
        ("No non-metal post or core is visible in any root.", "No non-metallic post and core is noted."),
    ),
    "crest_upper": (
        ("The crestal bone of the maxilla is reduced in a generalized pattern.",
         "Generalized crestal bone loss is evident in the maxilla."),
        ("The crestal bone of the maxilla is kept at a normal level.",
         "No generalized crestal bone loss is evident in the maxilla."),
    ),
    "crest_lower": (
        ("The crestal bone of the mandible is reduced in a generalized pattern.",
         "Generalized crestal bone loss is evident in the mandible."),
        ("The crestal bone of the mandible is kept at a normal level.",
         "No generalized crestal bone loss is evident in the mandible."),
    ),
    "pocket_upper": (
        ("In the maxilla, a localized angular defect of the bone is seen at {places}.",
         "Vertical bone loss in the upper jaw is noted at {places}."),
        ("In the maxilla, no localized angular defects of the bone are seen.",
         "No vertical bone loss is noted in the upper jaw."),
    ),
    "pocket_lower": (
        ("In the mandible, a localized angular defect of the bone is seen at {places}.",
         "Vertical bone loss in the lower jaw is noted at {places}."),
        ("In the mandible, no localized angular defects of the bone are seen.",
         "No vertical bone loss is noted in the lower jaw."),
    ),
    "upper_jaw": (
        ("The bony structure of the maxilla holds an area that looks abnormal.",
         "An abnormality of the maxilla is suspected."),
        ("The bony structure of the maxilla is unremarkable.", "The maxilla looks normal in structure."),
    ),
    "lower_jaw": (
        ("The bony structure of the mandible holds an area that looks abnormal.",
         "An abnormality of the mandible is suspected."),
        ("The bony structure of the mandible is unremarkable.", "The mandible looks normal in structure."),
    ),
    "sinus_left": (
        ("The left maxillary sinus shows haziness or a thickened lining.",
         "The left antrum is hazy along its floor."),
        ("The left maxillary sinus is well aerated.", "The left maxillary antrum is clear."),
    ),
    "sinus_right": (
        ("The right maxillary sinus shows haziness or a thickened lining.",
         "The right antrum is hazy along its floor."),
        ("The right maxillary sinus is well aerated.", "The right maxillary antrum is clear."),
    ),
    "joint_left": (
        ("The condyle of the left temporomandibular joint appears flattened.",
         "The left TMJ looks flattened."),
        ("The left temporomandibular joint looks normal.", "The left TMJ is unremarkable in shape."),
    ),
    "joint_right": (
        ("The condyle of the right temporomandibular joint appears flattened.",
         "The right TMJ looks flattened."),
        ("The right temporomandibular joint looks normal.", "The right TMJ is unremarkable in shape."),
    ),
}  # fmt: skip

OPENINGS: Final = (
    "This panoramic radiograph was read tooth by tooth.",
    "The panoramic radiograph is of adequate quality.",
)

PAIRS: Final[Mapping[tuple[str, str], Sentences]] = {
    ("upper_jaw", "lower_jaw"): (
        ("The bony structure of the maxilla and of the mandible holds areas that look abnormal.",
         "Abnormalities of the maxilla and the mandible are suspected."),
        ("The bony structure of the maxilla and of the mandible is unremarkable.",
         "The maxilla and the mandible look normal in structure and outline."),
    ),
    ("sinus_left", "sinus_right"): (
        ("Both maxillary sinuses show haziness or a thickened lining.",
         "Both antra are hazy along their floors."),
        ("Both maxillary sinuses are well aerated.", "Both maxillary antra are clear."),
    ),
    ("joint_left", "joint_right"): (
        ("The condyles of both temporomandibular joints appear flattened.",
         "The heads of both TMJs look flattened."),
        ("Both temporomandibular joints look normal, with smooth condyles.", "Both TMJs are unremarkable."),
    ),
}  # fmt: skip
"""Topics that share one sentence where both are there, or neither is."""

_UPPER, _LOWER = r"maxill|upper", r"mandib|lower"
_MARKS: Final = (  # the first that is found counts
    ("bridge", r"\bbridge|pontic|fixed partial denture"),
    ("post", r"\bposts?\b|\bcores?\b"),
    ("other_filling", r"(?:non-? ?metal|tooth-? ?colou?red|resin)[^.]*(?:filling|restor)|composite"),
    ("root_filling", r"root-? ?canal|endodontic|root-? ?filling"),
    ("metal_filling", r"metal|amalgam"),
    ("caries", r"\bcari(?:es|ous)|\bdecay|\bcavit"),
    ("apical", r"apical|\bapex|\bapices|root tip"),
    ("furcation", r"furcat"),
    ("crown", r"\bcrown"),
    ("pocket", r"\bangular|\bvertical"),
    ("crest", r"crest|generali[sz]ed|horizontal bone|bone level"),
    ("joint", r"temporomandibular|\btmj|condyl|jaw joint"),
    ("sinus", r"\bsinus|\bantr(?:um|a)\b"),
    ("unerupted", r"impact|erupt"),
    ("missing", r"missing|absent|absence of (?:tooth|teeth)|\black|edentul|not present|extracted"),
    ("jaw", rf"(?:{_UPPER}|{_LOWER})[^.]*(?:abnormal|structure|bone|normal|lesion|remarkable)"
            rf"|(?:abnormal|lesion|normal)[^.]*(?:{_UPPER}|{_LOWER})"),
)  # fmt: skip
_TOPIC_MARKS: Final = tuple((name, re.compile(mark, re.IGNORECASE)) for name, mark in _MARKS)
_PARTS: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "pocket": (("pocket_upper", _UPPER), ("pocket_lower", _LOWER)),
    "crest": (("crest_upper", _UPPER), ("crest_lower", _LOWER)),
    "jaw": (("upper_jaw", _UPPER), ("lower_jaw", _LOWER)),
    "sinus": (("sinus_left", r"\bleft"), ("sinus_right", r"\bright")),
    "joint": (("joint_left", r"\bleft"), ("joint_right", r"\bright")),
}


@lru_cache(maxsize=4096)
def topics_of(sentence: str) -> tuple[str, ...]:
    """Return the topics that a sentence is about: of jaws and sides those that it names, both without any."""
    name = next((name for name, mark in _TOPIC_MARKS if mark.search(sentence)), None)
    if name is None:
        return ()
    if name not in _PARTS:
        return (name,)
    parts = _PARTS[name]
    named = tuple(part for part, mark in parts if re.search(mark, sentence, re.IGNORECASE))
    return named or tuple(part for part, _ in parts)

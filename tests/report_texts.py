# ruff: noqa: RUF001, SIM905
"""Reports in our own words, with all that clinicians and models put into text: made anew from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

_FINDINGS = (
    "caries|periapical radiolucency|furcation involvement|crestal bone loss|endodontic treatment|sclerosis"
    "|an artificial crown|an amalgam restoration|external root resorption|an impacted third molar|calculus"
    "|a widened periodontal ligament space|a mucous retention cyst|condylar flattening|a retained root"
    "|an odontogenic keratocyst"
).split("|")
_SITES = (
    "maxilla|mandible|left maxillary sinus|right TMJ|ramus|mesial root|distal surface|occlusal third"
    "|anterior region|posterior segment|inferior alveolar canal|nasal floor"
).split("|")
_UNITS = (
    "mm|cm|%|°|µm|kVp|mA|mGy|years|y/o|-year-old|mm²|cm³|mm x 4 mm|×5 mm|mg/mL|ppm|Hz|\"|'|st|th|nd|T"
).split("|")
_SENTENCES = (
    "The panoramic radiograph shows absence of teeth {t}.",
    "No {f} is seen in the {s}.",
    "There is {f} on tooth {t} ({m}), e.g. at the {s}.",
    "A {m} radiolucent lesion, i.e. {f}, is noted near {t}; follow-up is advised.",
    "Dr. {N} reviewed the study on {d} at {h}.",
    "Teeth {t}: {f}.",
    "Impression: {f} vs. {f}.",
    "It's {f}; the patient doesn't report pain.",
    "Grade {G}/IV mobility of {t}.",
    "Cannot exclude {f} (see Fig. {n}).",
    "Compare with the exam of {d} (No. {n}).",
    "The patient's {s} measures {m}, {m} and {m}.",
    "{f} [{n}] in {s}, {s} and/or {s}.",
    "Both joints appear WNL ... no further comment",
    "Bone loss is {m}–{m} in the {s}.",
    "Class {G}. The {s} is clear.",
    "“{f}” is not “{f}”.",
    "‘Ghost’ teeth in the {s}’s border.",
    "Cost: ${n}.50 or €{n}.",
    "e-mail: dr.{N}@clinic.org, see https://www.clinic.org/a/b?x={n}.",
    "R/O {f}; s/p RCT {t}; h/o {f}.",
    "Left > right; {m} < {m}.",
    "Ratio {n}:{n}, {n}/{n}, {n} of {n} (50%).",
    "T{n}-L{n}, C{n}/C{n}, A{n}, T2*-weighted at 1.5T. The {s} is not.",
    "Prof. {N} et al. ({y}) described {f}.",
    "{f}, {f}, etc. The {s} is normal.",
)
_MARKDOWN = (
    "## Findings",
    "**Impression:**",
    "- **{t}**: {f}",
    "1. {f} at {t}.",
    "2) {s}: {f}",
    "|---|:---:|---:|",
    "| {t} | {f} | {m} |",
    "---",
    "- [x] {f}",
    "__{s}__: {m}",
    "<br>",
    "&nbsp;{f}",
    "• {f} → {s} ✓",
    "```json",
)
_OTHER_SCRIPTS = (
    "未见明显异常。",
    "第{n}颗牙：{n}mm。",
    "左侧上颌窦黏膜增厚（{n}）",
    "Résumé: lésion périapicale, dent n° {n}.",
    "Befund: Zähne {t}, „Karies“.",
    "α-angle {m}, β {n}, Δ{n} 🦷",
)
_SLIPS = " |,|.|'|\"|-|\xa0|—|*|(|)|/|\u2028|…|🦷|;|:|’|\r".split("|")


def plain_report(seed: int, words: int = 200) -> str:
    """Return sentences of clinical prose in one line."""
    return _report(random.Random(seed), words, _SENTENCES, " ")


def wild_report(seed: int, words: int = 200) -> str:
    """Return a report as models write them: markdown, other scripts, line ends of all kinds, slips."""
    rng = random.Random(seed)
    kinds = (_SENTENCES, _SENTENCES, _MARKDOWN, _OTHER_SCRIPTS)
    text = _report(
        rng, words, tuple(one for kind in kinds for one in kind), rng.choice(["\n", "\r\n", "\n\n", "  "])
    )
    if rng.random() < 0.1:
        text = text.upper()
    characters = list(text)
    for _ in range(rng.randint(0, 8)):
        characters[rng.randrange(len(characters))] = rng.choice(_SLIPS)
    return "".join(characters)


def perturbed(text: str, seed: int, share: float = 0.1) -> str:
    """Return the text with a share of its words dropped, doubled or put elsewhere."""
    rng = random.Random(seed)
    found = []
    for word in text.split(" "):
        if rng.random() >= share:
            found.append(word)
        elif rng.random() < 0.6:
            found.insert(rng.randint(0, len(found)), word)
    return " ".join(found)


def _report(rng: random.Random, words: int, kinds: tuple[str, ...], separator: str) -> str:
    found: list[str] = []
    while sum(len(one.split()) for one in found) < words:
        sentence = rng.choice(kinds)
        for slot, make in _SLOTS.items():
            while slot in sentence:
                sentence = sentence.replace(slot, make(rng), 1)
        found.append(sentence[:1].upper() + sentence[1:])
    return separator.join(found)


def _tooth(rng: random.Random) -> str:
    return rng.choice("1234") + rng.choice("12345678")


def _teeth(rng: random.Random) -> str:
    teeth = [_tooth(rng) for _ in range(rng.randint(2, 6))]
    named = [f"#{tooth}" for tooth in teeth]
    return rng.choice(
        [
            ", ".join(named[:-1]) + " and " + named[-1],
            ", ".join(teeth),
            "/".join(teeth),
            ",".join(teeth),
            " ".join(teeth),
            f"{named[0]}-{named[1]}",
            f"{teeth[0]}-{teeth[1]}",
        ]
    )


def _measure(rng: random.Random) -> str:
    sign = rng.choice(["", "~", ">", "<", "≥", "≤", "approx. ", "ca. ", "about ", "+", "-", "±"])
    number = rng.choice(
        [f"{rng.randint(1, 30)}", f"{rng.randint(0, 30)}.{rng.randint(0, 99)}", "7 1/2", "3,5", "1,200"]
    )
    return sign + number + rng.choice(["", " ", "-", " "]) + rng.choice(_UNITS)


def _date(rng: random.Random) -> str:
    day, month, year = rng.randint(10, 28), rng.randint(1, 9), rng.randint(2010, 2026)
    return rng.choice(
        [f"{day}/{month}/{year}", f"{year}-0{month}-{day}", f"{day} Jan. {year}", f"Mar. {day}, {year}"]
    )


_SLOTS: dict[str, Callable[[random.Random], str]] = {
    "{t}": _teeth,
    "{m}": _measure,
    "{f}": lambda rng: rng.choice(_FINDINGS),
    "{s}": lambda rng: rng.choice(_SITES),
    "{N}": lambda rng: rng.choice(["Smith", "O'Brien", "Müller", "Lee", "D'Angelo", "St. John", "Wong-Li"]),
    "{d}": _date,
    "{h}": lambda rng: rng.choice(["10:30 a.m.", "3 p.m.", "14:05", "9am", "5 o'clock"]),
    "{G}": lambda rng: rng.choice(["I", "II", "III", "A", "B"]),
    "{n}": lambda rng: str(rng.randint(1, 400)),
    "{y}": lambda rng: str(rng.randint(1990, 2026)),
}

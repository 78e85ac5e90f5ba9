"""Pairs of dental reports in our own words, some 200 words each: a reference, and what a model made of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

TABLE_3 = Path(__file__).parents[1].parent / "shared" / "spec" / "pandent-table3.json"

_OPENINGS = (
    "The panoramic image shows that {teeth} are missing.",
    "Teeth {teeth} have been lost.",
    "On this film, {teeth} cannot be seen.",
)
_FINDINGS = (
    "Caries can be seen on {teeth}, with a radiolucent area that reaches the dentine (moderate).",
    "A dark zone around the apex of {tooth} suggests a periapical lesion of about 3.5 mm.",
    "Amalgam fillings are present in {teeth}; their margins look intact.",
    "Tooth {tooth} carries an artificial crown, and its root canals were filled.",
    "The bone level is lowered by 20-30% in the {jaw}, mainly on the {side} side.",
    "There's no sign of a fracture in the {jaw}.",
    "Wisdom tooth {tooth} is impacted and lies close to the canal of the nerve.",
    "A bridge spans {teeth} and seems well fitted.",
    "The {side} sinus is clear, its floor is smooth.",
    "Both condyles appear normal in shape and position.",
    "Calculus is noted between {teeth}: cleaning is advised.",
    "No cyst, tumor or foreign body was detected in the {jaw}.",
    "The roots of {teeth} are shortened, probably after orthodontic treatment.",
    "An implant replaces {tooth}; the surrounding bone is healthy.",
)
_OTHER_WORDS = {
    "shows": "displays",
    "missing": "absent",
    "lost": "missing",
    "seen": "observed",
    "present": "presents",
    "teeth": "tooth",
    "fillings": "restorations",
    "normal": "unremarkable",
    "image": "picture",
    "lowered": "reduced",
    "sign": "evidence",
    "noted": "note",
    "healthy": "sound",
}


def report_pairs(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """Return so many pairs (candidate, reference), the same ones for the same seed."""
    chance = random.Random(seed)
    return [_pair(chance) for _ in range(count)]


def table_3_tokens() -> tuple[list[str], list[str]]:
    """Return the PTB tokens of the two reports that PanDent prints; skip where they are not at hand."""
    if not TABLE_3.is_file():
        pytest.skip("the printed reports are not here")
    table = json.loads(TABLE_3.read_text("utf-8"))
    no_marks = str.maketrans({",": "", ".": "", "#": "# "})
    first, second = (table[row].lower().translate(no_marks).split() for row in ("row1", "row2"))
    assert (len(first), len(second)) == tuple(table["computed"]["row1_as_reference"]["tokens"])
    return first, second


def _pair(chance: random.Random) -> tuple[str, str]:
    sentences = [_filled(chance, chance.choice(_OPENINGS))]
    while sum(len(sentence.split()) for sentence in sentences) < 195:
        sentences.append(_filled(chance, chance.choice(_FINDINGS)))
    changed = [one for one in sentences if chance.random() > 0.1]
    if chance.random() < 0.5:
        chance.shuffle(changed)
    words = " ".join(changed).split()
    return " ".join(_reworded(chance, word) for word in words), " ".join(sentences)


def _filled(chance: random.Random, sentence: str) -> str:
    numbers = [f"#{quadrant}{place}" for quadrant in range(1, 5) for place in range(1, 9)]
    teeth = ", ".join(chance.sample(numbers, chance.randint(1, 4)))
    return sentence.format(
        teeth=teeth,
        tooth=chance.choice(numbers),
        jaw=chance.choice(("maxilla", "mandible")),
        side=chance.choice(("left", "right")),
    )


def _reworded(chance: random.Random, word: str) -> str:
    if chance.random() < 0.4:
        return _OTHER_WORDS.get(word, word)
    return chance.choice(("", word.upper(), f"{word},")) if chance.random() < 0.03 else word

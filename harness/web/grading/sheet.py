"""A sheet as pages show it: what is read on the left, what is judged and asked on the right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.sheets import Option, Sheet, SheetPart, SheetQuestion
from harness.canonical import JSON

PART: Final = (12_000, 3_000)
"""Characters up to which a text is shown whole (some 2,000 words); how many of a longer one are."""
SUBJECT: Final = (1_000, 300)
"""The same of a text that stands beside its question."""
_SHORT: Final = 20
"""Characters up to which options stand beside each other."""
_OPTION_REM: Final = 3.5
_LETTER_REM: Final = 0.45
_MOST_ROOM_REM: Final = 40
"""Width of an option around its words, and of a letter (grading.css); the widest row that is looked for."""
_FORTH: Final = ("n", "j")
_BACK: Final = ("p", "k")
"""Keys for the next sheet and the one before, where no option has them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question as it stands on a page. `chosen` is the key of the option that was given."""

    number: int
    name: str
    title: str
    help: str
    subject: str | None
    options: Sequence[Option]
    chosen: str | None

    @property
    def worded(self) -> bool:
        """Tell whether the options are sentences, which stand below each other."""
        return any(len(option.label) > _SHORT for option in self.options)

    @property
    def room(self) -> int:
        """Return the width, in rem and a multiple of 4, from which on the options stand in one row.

        Estimated from their longest words, between which a label may go on in a line of its own.
        """
        words = [max(map(len, option.label.split()), default=0) for option in self.options]
        need = sum(_OPTION_REM + _LETTER_REM * length for length in words)
        return min(math.ceil(need / 4) * 4, _MOST_ROOM_REM)

    @property
    def label(self) -> str:
        """Return how messages call it."""
        return f"question {self.number}"


@dataclass(frozen=True, slots=True)
class SheetView:
    """What a page shows of a sheet.

    `scale` are the options if all questions have the same and they need explaining: that is done once, above.
    `keys` are those of all options.
    """

    left: Sequence[SheetPart]
    right: Sequence[SheetPart]
    questions: Sequence[Asked]
    scale: Sequence[Option]
    keys: str

    @property
    def forth(self) -> Sequence[str]:
        """Return the keys for the next sheet."""
        return [key for key in _FORTH if key not in self.keys.split()]

    @property
    def back(self) -> Sequence[str]:
        """Return the keys for the sheet before."""
        return [key for key in _BACK if key not in self.keys.split()]

    @property
    def complete(self) -> bool:
        """Tell whether every question has an answer."""
        return all(one.chosen is not None for one in self.questions)


def view_of(sheet: Sheet, questions: Sequence[SheetQuestion], grades: Mapping[str, JSON]) -> SheetView:
    """Return a sheet with what was said of it so far."""
    asked = tuple(_asked(sheet, questions, grades))
    # Questions whose options are sentences fill more than a screen: all that is read stays beside them.
    left, right = (sheet.parts, ()) if any(one.worded for one in asked) else _columns(sheet.parts)
    same = len({one.options for one in questions}) == 1
    return SheetView(
        left,
        right,
        asked,
        questions[0].options if same and any(option.help for option in questions[0].options) else (),
        " ".join(dict.fromkeys(option.key for one in questions for option in one.options)),
    )


def chosen_value(question: SheetQuestion, key: str) -> JSON:
    """Return the value of the option with a key. Raises KeyError where there is none."""
    return {option.key: option.value for option in question.options}[key]


def key_of(question: SheetQuestion, value: JSON) -> str | None:
    """Return the key of the option that has a value; None where none has it."""
    return next((option.key for option in question.options if option.value == value), None)


def _columns(parts: Sequence[SheetPart]) -> tuple[Sequence[SheetPart], Sequence[SheetPart]]:
    """Put what is judged beside the questions, and all that it is held against on the other side."""
    if len(parts) > 1 and parts[-1].kind == "candidate":
        return parts[:-1], parts[-1:]
    return parts, ()


def _asked(sheet: Sheet, questions: Sequence[SheetQuestion], grades: Mapping[str, JSON]) -> Iterator[Asked]:
    for number, one in enumerate(questions, 1):
        chosen = key_of(one, grades[one.name]) if one.name in grades else None
        yield Asked(number, one.name, one.title, one.help, sheet.subjects.get(one.name), one.options, chosen)

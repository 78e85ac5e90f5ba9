"""What the fields of each benchmark's case files hold, so that cells of a table can be turned into them.

A new benchmark needs its row in `CASE_FIELDS`, and a function `case_form` in its module `cases`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from harness.benchmarks.case_files import id_fault
from harness.benchmarks.case_loading import CaseForm
from harness.benchmarks.pandent.findings import FINDINGS, FindingType
from harness.benchmarks.registry import BENCHMARKS
from harness.canonical import JSON
from harness.errors import UnknownNameError

Kind: TypeAlias = Literal[
    "id", "name", "text", "texts", "tags", "flag", "box", "numbers", "described", "json", "image", "images",
    "videos",
]  # fmt: skip
"""What a field holds: `id` and `name`: text, or a whole number that becomes text. `texts`: a list of text;
`tags`: likewise, or one text. `flag`: yes or no. `box`: four whole numbers. `numbers`: a list of whole
numbers. `described`: yes or no, or an object. `json`: anything. `image`: one; `images`, `videos`: several."""

MEDIA: Final[frozenset[Kind]] = frozenset({"image", "images", "videos"})
"""Kinds whose cells are files."""
LISTS: Final[frozenset[Kind]] = frozenset({"texts", "tags", "images", "videos"})
"""Kinds that several columns can make together, one after the other."""


class Nothing(Enum):
    """What an empty cell becomes where nothing stands for it."""

    LEFT_OUT = 1
    REFUSED = 2


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name (`findings.caries` is a part of `findings`), its kind, what an empty cell becomes."""

    name: str
    kind: Kind
    empty: JSON | Nothing = Nothing.REFUSED

    @property
    def required(self) -> bool:
        """True where a case needs it, and no column and no constant means that it cannot be made."""
        return self.empty is Nothing.REFUSED or self.empty is None

    @property
    def part_of(self) -> str | None:
        """The field that it is a part of."""
        whole, dot, _ = self.name.partition(".")
        return whole if dot else None


_COMMON: Final = (Field("group", "name", Nothing.LEFT_OUT), Field("tags", "tags", Nothing.LEFT_OUT))
_FINDING_KINDS: Final[Mapping[FindingType, Kind]] = MappingProxyType(
    {
        "tooth_set": "numbers",
        "binary": "flag",
        "binary_with_description": "described",
        "bridge_patterns": "texts",
    }
)

CASE_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = MappingProxyType(
    {
        "triage": (
            Field("id", "id"),
            Field("chief_complaint", "text"),
            Field("image", "image"),
            Field("labels", "texts"),
            Field("rationale", "text", Nothing.LEFT_OUT),
            *_COMMON,
        ),
        "pandent": (
            Field("id", "id"),
            Field("image", "image"),
            Field("findings", "json"),
            *(Field(f"findings.{one.id}", _FINDING_KINDS[one.type], None) for one in FINDINGS),
            Field("report", "text", None),
            Field("erupted", "numbers", Nothing.LEFT_OUT),
            Field("auxiliary_note", "text", Nothing.LEFT_OUT),
            Field("accepted_conflicts", "texts", Nothing.LEFT_OUT),
            *_COMMON,
        ),
        "medlay": (
            Field("id", "id"),
            Field("image", "image"),
            Field("roi", "box", None),
            Field("modality", "text"),
            Field("expert_caption", "text"),
            Field("lay_caption", "text"),
            Field("concepts", "texts", Nothing.LEFT_OUT),
            *_COMMON,
        ),
        "radm": (
            Field("id", "id"),
            Field("subset", "text"),
            Field("language", "text"),
            Field("subspecialty", "text"),
            Field("rare", "flag"),
            Field("history", "text"),
            Field("history_en", "text", Nothing.LEFT_OUT),
            Field("images", "images", ()),
            Field("videos", "videos", ()),
            Field("diagnosis", "text"),
            *_COMMON,
        ),
    }
)
"""Benchmark -> the fields of its case files, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The fields of one benchmark, and what its own case files ask of them."""

    benchmark: str
    fields: tuple[Field, ...]
    form: CaseForm

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(field.name for field in self.fields)

    def missing(self, given: Sequence[str]) -> list[str]:
        """Return the fields that a case needs and that are not given; parts may stand for their whole."""
        whole = {*given, *(name.partition(".")[0] for name in given)}
        return [
            field.name
            for field in self.fields
            if field.required and field.part_of is None and field.name not in whole
        ]

    def faults(self, value: Mapping[str, JSON]) -> Iterator[str]:
        """Yield what the benchmark would say of a line with these values."""
        if (fault := id_fault(value["id"])) is not None:
            yield fault
        yield from self.form.faults(value)


def case_table(benchmark: str) -> CaseTable:
    """Return the fields of a benchmark's cases. Raises UnknownNameError."""
    if benchmark not in BENCHMARKS or benchmark not in CASE_FIELDS:
        known = ", ".join(sorted(set(BENCHMARKS) & set(CASE_FIELDS)))
        raise UnknownNameError(f"unknown benchmark {benchmark!r}; known: {known}")
    cases = import_module(f"{BENCHMARKS[benchmark]}.cases")
    return CaseTable(benchmark, CASE_FIELDS[benchmark], cast(CaseForm, cases.case_form()))

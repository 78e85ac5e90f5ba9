"""What a reference and a prediction differ in, as data that a page shows part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from harness.web.viewing.word_differences import WordDifference


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """Labels that belong together: only in the reference, only in the prediction, in both."""

    name: str
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """Two sets of labels, by groups; groups that neither has are left out.

    `noun` and `nouns` are what a label is called. `answered` False: there is no prediction, and `missing` is
    the whole reference. `notes` are sentences below.
    """

    kind: ClassVar[str] = "labels"
    title: str
    groups: tuple[LabelGroup, ...]
    noun: str
    nouns: str
    answered: bool = True
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """How many are missing in all."""
        return sum(len(group.missing) for group in self.groups)

    @property
    def extra(self) -> int:
        """How many are extra in all."""
        return sum(len(group.extra) for group in self.groups)

    @property
    def same(self) -> int:
        """How many both have."""
        return sum(len(group.same) for group in self.groups)

    @property
    def short(self) -> bool:
        """Whether labels are so short that they stand side by side."""
        return all(
            len(label) <= 4 for group in self.groups for label in (*group.missing, *group.extra, *group.same)
        )


@dataclass(frozen=True, slots=True)
class Rank:
    """One of several answers in order of confidence; `grade` is what was said of it, None: nothing."""

    rank: int
    text: str
    grade: str | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was answered in order of confidence, beside what is right. `notes` are sentences below."""

    kind: ClassVar[str] = "ranked"
    title: str
    reference: str | None
    ranks: tuple[Rank, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Texts:
    """Two texts, compared. Without a comparison (one of them is not there) each stands by itself."""

    kind: ClassVar[str] = "texts"
    title: str
    reference_title: str
    reference: str | None
    answer_title: str
    answer: str | None
    difference: WordDifference | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: what it is about, what is said of it, and why."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a step says of an answer, point by point."""

    kind: ClassVar[str] = "verdicts"
    title: str
    head: tuple[str, str, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A place in JSON where two values differ; None: there is nothing at that place."""

    path: str
    reference: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class Values:
    """Two JSON values, compared place by place; `same` places are alike, `left` ones are not listed."""

    kind: ClassVar[str] = "value"
    title: str
    changes: tuple[Change, ...]
    same: int
    left: int = 0
    notes: tuple[str, ...] = ()


Part: TypeAlias = Labels | Ranked | Texts | Verdicts | Values


@dataclass(frozen=True, slots=True)
class Difference:
    """A prediction beside the reference of its case.

    `kind` is that of the first part. `summary` says it in a sentence. `missing`: why there is no prediction,
    None where there is one.
    """

    parts: tuple[Part, ...]
    summary: str
    missing: str | None = None

    @property
    def kind(self) -> str:
        """What the first part is: "labels", "ranked", "texts", "verdicts" or "value"."""
        return self.parts[0].kind if self.parts else "value"

"""What the four papers printed of models' scores, by benchmark, condition and metric path.

Facts alone: numbers from the papers' tables and sentences, in files of our own layout, each at the path of
the score here that is the same measure, in the same unit. A number stands here where the paper says whose it
is and of what; `left_out` lists those for which that is not so. What the papers leave open of a measure is in
its `note`. The texts that these were read in lack the bodies of some tables, whose numbers are missing here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias, cast

Kind: TypeAlias = Literal["model", "rater"]

PAPERS: Final[Mapping[str, str]] = {
    "medlay": "MedLayXPlain",
    "pandent": "PanDent",
    "radm": "RadM-Bench",
    "triage": "Dental-TriageBench",
}
"""Benchmark -> how its paper calls it."""

_FINDING: Final = "exact_match."
_DELTA: Final = "delta."
_DECIMALS: Final = 3
"""Decimals of the papers' tables of clinical reports."""


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A number as printed; `low` to `high` is its interval of 95 %, where the paper has one.

    `source`: paper and table or section. `subject`: as the paper names it. `model`: whom the catalogue calls
    so, None where it is no model or has weights that nobody can ask for. `note`: what to know before this is
    held against a number of ours.
    """

    source: str
    subject: str
    model: str | None
    path: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: Kind = "model"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A printed number that is at no path here, and why; `value` as printed."""

    benchmark: str
    section: str
    subject: str
    condition: str
    metric: str
    value: str
    reason: str


def published(benchmark: str, condition: str) -> Sequence[PublishedValue]:
    """Return what the paper printed for a condition, or a union of conditions, in the order of the paper.

    `benchmark` may be a step ("pandent.normalise"), whose condition is its kind. Empty where nothing was.
    """
    return _by_condition().get((benchmark, condition), ())


@cache
def left_out() -> Sequence[LeftOut]:
    """Return the printed numbers that are at no path here."""
    return [LeftOut(**row) for row in _rows("left_out.csv")]


@cache
def conditions() -> Sequence[tuple[str, str]]:
    """Return every benchmark (or step) and condition of which something was printed."""
    return list(_by_condition())


@cache
def _by_condition() -> Mapping[tuple[str, str], Sequence[PublishedValue]]:
    found: dict[tuple[str, str], list[PublishedValue]] = {}
    for benchmark, condition, value in [*_table_1(), *_table_2(), *_prose()]:
        found.setdefault((benchmark, condition), []).append(value)
    return found


def _table_1() -> Iterator[tuple[str, str, PublishedValue]]:
    """Yield clinical reports raw; and raw, restated and the difference, as the step `normalise` has them."""
    for row in _rows("pandent_table1.csv"):
        subject = row.pop("subject")
        for path, printed in row.items():
            if path.startswith(_DELTA):
                continue
            raw, delta = float(printed), float(row[_DELTA + path])
            yield "pandent", "report", _value("pandent", "Table 1", subject, path, raw)
            restated = {"raw.": raw, "normalised.": round(raw + delta, _DECIMALS), _DELTA: delta}
            for prefix, number in restated.items():
                value = _value("pandent.normalise", "Table 1", subject, prefix + path, number)
                yield "pandent.normalise", "normalise", value


def _table_2() -> Iterator[tuple[str, str, PublishedValue]]:
    """Yield the nine findings and their mean, in the union of all questions and in each question alone."""
    for row in _rows("pandent_table2.csv"):
        subject = row.pop("subject")
        for path, printed in row.items():
            union = _value("pandent", "Table 2", subject, path, float(printed))
            yield "pandent", "attributes", union
            finding = path.removeprefix(_FINDING)
            if finding != "mean":
                alone = _value("pandent", "Table 2", subject, "exact_match", float(printed))
                yield "pandent", f"attribute:{finding}", alone


def _prose() -> Iterator[tuple[str, str, PublishedValue]]:
    for row in _rows("prose.csv"):
        section = row["section"]
        where = f"section {section}" if section[0].isdigit() else section
        where = f"appendix {section}" if section in ("I", "M.2") else where
        value = PublishedValue(
            f"{PAPERS[row['benchmark']]}, {where}",
            row["subject"],
            _model(row["subject"])[0],
            row["path"],
            float(row["value"]),
            float(row["low"]) if row["low"] else None,
            float(row["high"]) if row["high"] else None,
            _note(row["benchmark"], row["path"], row["subject"], row["note"]),
            cast(Kind, row["kind"]),
        )
        yield row["benchmark"], row["condition"], value


def _value(benchmark: str, where: str, subject: str, path: str, value: float) -> PublishedValue:
    source = f"{PAPERS[benchmark.partition('.')[0]]}, {where}"
    note = _note(benchmark, path, subject, "")
    return PublishedValue(source, subject, _model(subject)[0], path, value, note=note)


def _note(benchmark: str, path: str, subject: str, own: str) -> str:
    of_measure = [
        row["note"]
        for row in _rows("measures.csv")
        if row["benchmark"] == benchmark and fnmatchcase(path, row["path"])
    ]
    return "; ".join(part for part in (own, *of_measure, _model(subject)[1]) if part)


def _model(subject: str) -> tuple[str | None, str]:
    name, note = _models()[subject]
    return name or None, note


@cache
def _models() -> Mapping[str, tuple[str, str]]:
    return {row["subject"]: (row["model"], row["note"]) for row in _rows("models.csv")}


def _rows(name: str) -> Iterator[dict[str, str]]:
    return iter([dict(row) for row in _read(name)])


@cache
def _read(name: str) -> Sequence[Mapping[str, str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

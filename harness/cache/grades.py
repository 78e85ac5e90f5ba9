"""Human grades of units, with their history: a newer grade supersedes an older one, which stays."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Transaction
from harness.cache.parts import StorePart, chunks
from harness.cache.rows import UnitId
from harness.cache.tables import GRADE, UNIT_KEY, AnyRow
from harness.canonical import JSON, canonical_json, pack, unpack
from harness.errors import ConfigError, StoreError

GradeValue: TypeAlias = str | int | float | bool

_FEW: Final = 200
"""Cases of a model and condition, and raters, that are looked up one by one: beyond that a run's grades are
read as a whole."""

_ORDER: Final = (GRADE.c.graded_at_us, GRADE.c.id)


class GradeKey(NamedTuple):
    """What one rater says about one question of one unit: of several grades the newest stands."""

    unit: UnitId
    question: str
    rater: str


@dataclass(frozen=True, slots=True)
class Grade:
    """One grade as it was given at a moment, integer microseconds since 1970 UTC."""

    unit: UnitId
    rater: str
    question: str
    value: GradeValue
    graded_at_us: int

    @property
    def key(self) -> GradeKey:
        """Return what the grade is about, and whose it is."""
        return GradeKey(self.unit, self.question, self.rater)


@dataclass(frozen=True, slots=True)
class NewGrade:
    """A grade to be kept. `graded_at_us` None: given now; `where` says where it stands, for messages."""

    unit: UnitId
    rater: str
    question: str
    value: GradeValue
    graded_at_us: int | None = None
    where: str = ""

    @property
    def key(self) -> GradeKey:
        """Return what the grade is about, and whose it is."""
        return GradeKey(self.unit, self.question, self.rater)


@dataclass(frozen=True, slots=True)
class GradesAdded:
    """How many grades were new, how many of them superseded another one, and how many were there already."""

    new: int
    superseding: int
    known: int


@dataclass(frozen=True, slots=True)
class _Addition:
    run_id: int
    grades: Sequence[NewGrade]
    now_us: int
    dry: bool


@dataclass(frozen=True, slots=True)
class _Next:
    addition: _Addition
    unit: UnitId
    last: int


class GradeStore(StorePart):
    """The grades of all runs."""

    async def add_grades(
        self, run_id: int, grades: Sequence[NewGrade], *, dry_run: bool = False
    ) -> GradesAdded:
        """Keep grades of a run's units, all or none, in one commit.

        One that is there already is not kept twice: a dated one with its moment, one without a date where it
        says what the newest one says. What is given now becomes the newest, whatever the clock says. Raises
        ConfigError where a rater is to have said two different things at one moment, StoreError.
        """
        addition = _Addition(run_id, grades, self._clock(), dry_run)
        if dry_run:
            async with self._database.reading() as connection:
                return _Sorted(await _said_before(connection, addition), addition).counts
        return await self._writer.submit(_add_all, addition, alone=True)

    async def add_next_grade(self, run_id: int, grade: NewGrade, last: int) -> bool:
        """Keep a grade by somebody who knows all grades of its unit up to the one with the id `last`.

        False, and nothing is kept, where the unit got another one since: what follows from that one may be
        that this grade must not be kept. Otherwise as `add_grades`.
        """
        addition = _Addition(run_id, [grade], self._clock(), dry=False)
        return await self._writer.submit(_add_next_all, _Next(addition, grade.unit, last), alone=True)

    async def grades(self, run_id: int) -> tuple[Grade, ...]:
        """Return the grade that stands for each unit, question and rater, in their order.

        Ordered by model, condition, case, repeat, question and rater as Python compares text, the same on
        every database. Where two moments are equal, as joined stores may have them, the greater value stands.
        """
        return tuple(standing(await self.grade_history(run_id)))

    async def grade_history(self, run_id: int) -> tuple[Grade, ...]:
        """Return every grade of a run ever given, in the same order and then by time."""
        statement = select(GRADE).where(GRADE.c.run_id == run_id).order_by(*_ORDER)
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return tuple(sorted(map(read_grade, rows), key=_place))


def standing(history: Sequence[Grade]) -> Sequence[Grade]:
    """Return the newest grade of each key, of a history in the order of `GradeStore.grade_history`."""
    return list({grade.key: grade for grade in history}.values())


def packed_value(value: GradeValue) -> bytes:
    """Return a value as it is stored."""
    return pack(canonical_json(value))


def unpacked_value(data: bytes) -> JSON:
    """Undo `packed_value`. Raises zlib.error or ValueError for what it never made."""
    value: JSON = json.loads(unpack(data))
    return value


def _place(grade: Grade) -> tuple[GradeKey, int, bytes]:
    return grade.key, grade.graded_at_us, canonical_json(grade.value)


def read_grade(row: AnyRow) -> Grade:
    """Return a row of the table as a grade. Raises StoreError for a damaged one."""
    try:
        value = unpacked_value(row.value)
    except (zlib.error, ValueError):
        value = None
    if not isinstance(value, str | int | float | bool):
        raise StoreError(
            f"grade {row.id} in this store is damaged; `harness store verify` lists all that is; take the "
            "grades from a backup"
        )
    unit = UnitId(row.model, row.condition, row.case_id, row.repeat)
    return Grade(unit, row.rater, row.question, value, row.graded_at_us)


class _Sorted:
    """New grades apart from known ones, given everything that is stored."""

    def __init__(self, stored: Iterable[Grade], addition: _Addition) -> None:
        history: dict[GradeKey, dict[int, bytes]] = {}
        for grade in stored:
            said, at = history.setdefault(grade.key, {}), grade.graded_at_us
            said[at] = max(said.get(at, b""), canonical_json(grade.value))
        self.new: list[Grade] = []
        superseding = 0
        for wanted in addition.grades:
            said = history.setdefault(wanted.key, {})
            value, newest = canonical_json(wanted.value), max(said, default=-1)
            at = newest if wanted.graded_at_us is None else wanted.graded_at_us
            if said.get(at) == value:
                continue
            if wanted.graded_at_us is None:
                at = max(addition.now_us, newest + 1)
            elif at in said:
                raise ConfigError(_contradiction(wanted, said[at]))
            superseding += 0 <= newest < at
            said[at] = value
            self.new.append(Grade(wanted.unit, wanted.rater, wanted.question, wanted.value, at))
        self.counts = GradesAdded(len(self.new), superseding, len(addition.grades) - len(self.new))


def _contradiction(wanted: NewGrade, said: bytes) -> str:
    unit = wanted.unit
    where = f"{wanted.where}: " if wanted.where else ""
    return (
        f"{where}rater {wanted.rater!r} has another grade of the same moment, {said.decode('ascii')}, for "
        f"{wanted.question!r} of case {unit.case_id!r}, condition {unit.condition!r}, model {unit.model!r}, "
        f"repeat {unit.repeat}; give the correction a later time, or none"
    )


async def _said_before(connection: AsyncConnection, addition: _Addition) -> list[Grade]:
    """Return what is stored of the same keys, and perhaps of others of the run.

    A grade that is saved alone reads what its own rater said of that case before, however many grades there
    are; many at once read the run in one go.
    """
    cases: dict[tuple[str, str], dict[str, None]] = {}
    raters = list(dict.fromkeys(grade.rater for grade in addition.grades))
    for grade in addition.grades:
        cases.setdefault((grade.unit.model, grade.unit.condition), {})[grade.unit.case_id] = None
    statement = select(GRADE).where(GRADE.c.run_id == addition.run_id)
    if sum(map(len, cases.values())) > _FEW or len(raters) > _FEW:
        return list(map(read_grade, (await connection.execute(statement)).all()))
    found: list[Grade] = []
    for (model, condition), ids in cases.items():
        for part in chunks(list(ids)):
            few = statement.where(
                GRADE.c.model == model,
                GRADE.c.condition == condition,
                GRADE.c.case_id.in_(part),
                GRADE.c.rater.in_(raters),
            )
            found += map(read_grade, (await connection.execute(few)).all())
    return found


async def _add_all(transaction: Transaction, additions: Sequence[_Addition]) -> list[GradesAdded]:
    return [await _add(transaction, addition) for addition in additions]


async def _add_next_all(transaction: Transaction, wanted: Sequence[_Next]) -> list[bool]:
    return [await _add_next(transaction, one) for one in wanted]


async def _add_next(transaction: Transaction, wanted: _Next) -> bool:
    run_id, unit = wanted.addition.run_id, wanted.unit
    named = zip(UNIT_KEY, (run_id, unit.model, unit.condition, unit.case_id, unit.repeat), strict=True)
    newer = select(GRADE.c.id).where(*(GRADE.c[name] == value for name, value in named))
    found = await transaction.connection.execute(newer.where(GRADE.c.id > wanted.last).limit(1))
    if found.first() is not None:
        return False
    await _add(transaction, wanted.addition)
    return True


async def _add(transaction: Transaction, addition: _Addition) -> GradesAdded:
    connection = transaction.connection
    found = _Sorted(await _said_before(connection, addition), addition)
    last = int((await connection.execute(select(func.coalesce(func.max(GRADE.c.id), 0)))).scalar_one())
    rows: list[Mapping[str, object]] = [
        {
            "id": id,
            "run_id": addition.run_id,
            "model": grade.unit.model,
            "condition": grade.unit.condition,
            "case_id": grade.unit.case_id,
            "repeat": grade.unit.repeat,
            "rater": grade.rater,
            "question": grade.question,
            "value": packed_value(grade.value),
            "graded_at_us": grade.graded_at_us,
        }
        for id, grade in enumerate(found.new, start=last + 1)
    ]
    for part in chunks(rows):
        await connection.execute(insert(GRADE), list(part))
    return found.counts

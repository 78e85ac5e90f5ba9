"""The steps of joining two stores: each takes rows of theirs and adds what ours lacks, in one commit.

Every step may be done again: what is there already is found by its content, so a merge that was killed is
finished by merging again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Table, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.blobs import unpacked_blob
from harness.cache.dialects import StoreDialect
from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.grades import unpacked_value
from harness.cache.merge_report import MergeReport
from harness.cache.tables import BLOB, GRADE, MEDIA, MEDIA_PLACE, RUN, SESSION, AnyRow
from harness.canonical import canonical_json
from harness.errors import StoreError

Values: TypeAlias = dict[str, Any]

AGAIN: Final = "again_after"
"""Where a session keeps the exchange up to which stored answers do not count: an id, so it is translated."""


@dataclass(frozen=True, slots=True)
class Target:
    """Our store within one transaction; `dry`: nothing is written."""

    connection: AsyncConnection
    dialect: StoreDialect
    dry: bool

    async def add(self, table: Table, rows: Sequence[Values], update: Sequence[str] | None = None) -> None:
        """Insert rows; with `update`, those columns of rows that exist are replaced."""
        if rows and not self.dry:
            statement = insert(table) if update is None else self.dialect.upsert(table, update)
            await self.connection.execute(statement, list(rows))

    async def next_id(self, table: Table) -> int:
        """Return the first free id of a table."""
        statement = select(func.coalesce(func.max(table.c.id), 0))
        return int((await self.connection.execute(statement)).scalar_one()) + 1


async def add_blobs(target: Target, rows: Sequence[AnyRow], report: MergeReport) -> None:
    """Take over blobs that ours lacks. Raises StoreError for a damaged one."""
    known = await known_keys(target, BLOB, [row.sha256 for row in rows])
    new = [row for row in rows if row.sha256 not in known]
    for row in new:
        if unpacked_blob(row.sha256, row.data) is None:
            raise StoreError(
                f"blob {row.sha256} of the other store is damaged; look at it with `harness store verify`, "
                "or merge a backup of it"
            )
    await target.add(BLOB, [dict(row._mapping) for row in new])
    report.blobs_new += len(new)


async def add_media(target: Target, rows: Sequence[AnyRow], report: MergeReport) -> None:
    """Take over media that ours lacks, and bytes of media that ours knows without them."""
    digests = [row.sha256 for row in rows]
    statement = select(MEDIA.c.sha256, MEDIA.c.data.is_not(None).label("kept"))
    found = await target.connection.execute(statement.where(MEDIA.c.sha256.in_(digests)))
    kept = {row.sha256: bool(row.kept) for row in found}
    new = [row for row in rows if row.sha256 not in kept]
    fuller = [row for row in rows if row.data is not None and kept.get(row.sha256) is False]
    await target.add(MEDIA, [dict(row._mapping) for row in new])
    await target.add(MEDIA, [dict(row._mapping) for row in fuller], update=["data"])
    report.media_new += len(new) + len(fuller)


async def add_places(target: Target, rows: Sequence[AnyRow]) -> None:
    """Take over where media were found, for places that ours knows nothing of."""
    known = await known_keys(target, MEDIA_PLACE, [row.path for row in rows])
    await target.add(MEDIA_PLACE, [dict(row._mapping) for row in rows if row.path not in known])


async def known_keys(target: Target, table: Table, keys: Sequence[str]) -> set[str]:
    """Return those primary keys that ours has."""
    (column,) = table.primary_key.columns
    return set((await target.connection.execute(select(column).where(column.in_(keys)))).scalars())


async def add_runs(target: Target, rows: Sequence[AnyRow], report: MergeReport) -> Mapping[int, int]:
    """Take over runs; one of the same identity is the same run. Returns their ids -> ours."""
    found = (await target.connection.execute(select(RUN.c.id, RUN.c.digest, RUN.c.name))).all()
    ids = {row.digest: row.id for row in found}
    names = {row.name for row in found}
    next_id = await target.next_id(RUN)
    new: list[Values] = []
    for row in rows:
        if row.digest in ids:
            report.runs_known += 1
            continue
        name = free_name(row.name, names)
        if name != row.name:
            report.renamed[row.name] = name
        names.add(name)
        ids[row.digest] = next_id + len(new)
        new.append({**row._mapping, "id": ids[row.digest], "name": name})
    await target.add(RUN, new)
    report.runs_new += len(new)
    return {row.id: ids[row.digest] for row in rows}


def free_name(wanted: str, taken: set[str]) -> str:
    """Return a name, or with a number behind it if it is taken."""
    names: Iterator[str] = (f"{wanted}-{number}" for number in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(name for name in names if name not in taken)


async def add_sessions(
    target: Target, rows: Sequence[AnyRow], runs: Mapping[int, int], report: MergeReport
) -> Mapping[int, int]:
    """Take over sessions; one of the same run and start is the same. Returns their ids -> ours.

    A session that has ended since it was last taken over is brought up to date.
    """
    statement = select(SESSION).where(SESSION.c.run_id.in_(sorted(set(runs.values()))))
    ours = {(row.run_id, row.started_at_us): row for row in await target.connection.execute(statement)}
    next_id = await target.next_id(SESSION)
    ids: dict[int, int] = {}
    new: list[Values] = []
    ended: list[Values] = []
    for row in rows:
        run = runs[row.run_id]
        found = ours.get((run, row.started_at_us))
        values = {**row._mapping, "run_id": run, "info": packed_json(_without_again(row.info))}
        if found is None:
            ids[row.id] = next_id + len(new)
            new.append({**values, "id": ids[row.id]})
        else:
            ids[row.id] = found.id
            if found.ended_at_us is None and row.ended_at_us is not None:
                ended.append({**values, "id": found.id})
    await target.add(SESSION, new)
    await target.add(SESSION, ended, update=["ended_at_us", "exit_code", "info"])
    report.sessions_new += len(new)
    return ids


def _without_again(info: bytes) -> Values:
    # An id of theirs means nothing here until their exchanges are here: see `translate_again`.
    found: Values = unpacked_json(info)
    return {**found, AGAIN: None} if AGAIN in found else found


async def translate_again(
    target: Target, rows: Sequence[AnyRow], sessions: Mapping[int, int], up_to: Sequence[int]
) -> None:
    """Give the sessions that were taken over the ids of their `--again` lists, in our numbers."""
    for row in rows:
        theirs = unpacked_json(row.info).get(AGAIN)
        if not isinstance(theirs, int) or target.dry:
            continue
        here = SESSION.c.id == sessions[row.id]
        stored = await target.connection.execute(select(SESSION.c.info).where(here))
        info = unpacked_json(stored.scalar_one())
        if info.get(AGAIN) is None:
            changed = packed_json({**info, AGAIN: up_to[min(theirs, len(up_to) - 1)]})
            await target.connection.execute(update(SESSION).where(here).values(info=changed))


def _grade_value(row: AnyRow) -> bytes:
    try:
        return canonical_json(unpacked_value(row.value))
    except (zlib.error, ValueError) as error:
        raise StoreError(
            f"grade {row.id} of case {row.case_id!r} is damaged; look at both stores with `harness store "
            "verify`, or merge a backup"
        ) from error


async def add_grades(
    target: Target, rows: Sequence[AnyRow], runs: Mapping[int, int], report: MergeReport
) -> None:
    """Take over grades that ours lacks, with their history."""

    def content(row: AnyRow, run: int) -> object:
        # What is compared is the value, not its compressed bytes: other versions may compress otherwise.
        values = {**row._mapping, "id": 0, "run_id": run, "value": _grade_value(row)}
        return tuple(sorted((name, str(value)) for name, value in values.items()))

    cases, here = sorted({row.case_id for row in rows}), sorted(set(runs.values()))
    statement = select(GRADE).where(GRADE.c.run_id.in_(here), GRADE.c.case_id.in_(cases))
    known = {content(row, row.run_id) for row in await target.connection.execute(statement)}
    first = await target.next_id(GRADE)
    missing = [row for row in rows if content(row, runs[row.run_id]) not in known]
    new: list[Values] = [
        {**row._mapping, "id": id, "run_id": runs[row.run_id]} for id, row in enumerate(missing, start=first)
    ]
    await target.add(GRADE, new)
    report.grades_new += len(new)

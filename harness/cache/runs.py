"""Runs and the sessions that worked on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, insert, select, update

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.parts import StorePart
from harness.cache.rows import Run, Session
from harness.cache.tables import RUN, SESSION, AnyRow
from harness.canonical import JSON
from harness.errors import ConfigError, RunNameTakenError, StoreError, UnknownNameError

LATEST: Final = "latest"
_SHOWN: Final = 10
SHORTEST_PREFIX: Final = 4
NAME_DIGITS: Final = 8

_DIGEST_PREFIX = re.compile(rf"^[0-9a-f]{{{SHORTEST_PREFIX},64}}$")


@dataclass(frozen=True, slots=True)
class _NewRun:
    name: str | None
    stem: str
    digest: str
    benchmark: str
    manifest: bytes
    created_at_us: int


@dataclass(frozen=True, slots=True)
class _NewSession:
    run_id: int
    info: Mapping[str, JSON]
    started_at_us: int


@dataclass(frozen=True, slots=True)
class _SessionEnd:
    id: int
    info: Mapping[str, JSON]
    exit_code: int
    ended_at_us: int


class RunStore(StorePart):
    """The runs and sessions."""

    async def save_run(
        self,
        name: str | None,
        digest: str,
        benchmark: str,
        manifest: Mapping[str, JSON],
        *,
        stem: str | None = None,
    ) -> Run:
        """Return the run of this digest, made if it is new.

        Without a name it is called after `stem`, else the benchmark, and its digest. A known digest keeps its
        first name. Raises RunNameTakenError where another run holds the name, ConfigError for "latest" or "".
        """
        if name is not None and name.strip() in {"", LATEST}:
            raise ConfigError(f"{name!r} cannot be a run's name; choose another with --name")
        new = _NewRun(name, stem or benchmark, digest, benchmark, packed_json(manifest), self._clock())
        return await self._writer.submit(_save_runs, new)

    async def find_run(self, ref: str = LATEST) -> Run:
        """Return a run by name, by at least four digits of its digest, or the one worked on last.

        The beginning of a name is enough where only one run's begins so. Raises UnknownNameError that lists
        what there is.
        """
        async with self._database.reading() as connection:
            if ref == LATEST:
                row = (await connection.execute(_LATEST)).one_or_none()
                if row is None:
                    raise UnknownNameError("there is no run in this store yet; start one with `harness run`")
                return _run(row)
            row = (await connection.execute(_RUNS.where(RUN.c.name == ref))).one_or_none()
            if row is not None:
                return _run(row)
            found: Sequence[AnyRow] = ()
            if _DIGEST_PREFIX.match(ref):
                found = (await connection.execute(_RUNS.where(RUN.c.digest.startswith(ref)))).all()
            if len(found) == 1:
                return _run(found[0])
            known = (await connection.execute(select(RUN.c.name).order_by(RUN.c.id))).scalars().all()
            begun = [name for name in known if ref and name.startswith(ref)]
            if len(begun) == 1 and not found:
                return _run((await connection.execute(_RUNS.where(RUN.c.name == begun[0]))).one())
        if begun and not found:
            raise UnknownNameError(f"{ref!r} is the beginning of {_some(begun)}; give more of the name")
        if found:
            names = " and ".join(f"{row.name!r} ({row.digest[:12]})" for row in found)
            raise UnknownNameError(f"{ref!r} is short for {names}; give more digits, or the name")
        raise UnknownNameError(f"unknown run {ref!r}; known: {_some(known) or 'none yet'}")

    async def runs(self) -> tuple[Run, ...]:
        """Return all runs, oldest first."""
        async with self._database.reading() as connection:
            return tuple(_run(row) for row in await connection.execute(_RUNS.order_by(RUN.c.id)))

    async def newest_runs(self) -> tuple[Run, ...]:
        """Return all runs, the latest first: the one whose last session began last."""
        async with self._database.reading() as connection:
            return tuple(_run(row) for row in await connection.execute(_NEWEST_FIRST))

    async def start_session(self, run_id: int, info: Mapping[str, JSON]) -> int:
        """Note that an invocation began to work on a run; return the session's id.

        Several sessions may work on one run at once.
        """
        return await self._writer.submit(_start_sessions, _NewSession(run_id, info, self._clock()))

    async def end_session(self, id: int, exit_code: int, info: Mapping[str, JSON] | None = None) -> None:
        """Note how a session ended, and add to what is known of it; names that exist are replaced."""
        await self._writer.submit(_end_sessions, _SessionEnd(id, info or {}, exit_code, self._clock()))

    async def sessions(self, run_id: int) -> tuple[Session, ...]:
        """Return a run's sessions, oldest first."""
        statement = select(SESSION).where(SESSION.c.run_id == run_id).order_by(SESSION.c.id)
        async with self._database.reading() as connection:
            return tuple(map(_session, await connection.execute(statement)))

    async def sessions_by_run(self) -> dict[int, tuple[Session, ...]]:
        """Return run -> its sessions, oldest first, of all runs that have any."""
        found: dict[int, list[Session]] = {}
        async with self._database.reading() as connection:
            for row in await connection.execute(select(SESSION).order_by(SESSION.c.id)):
                found.setdefault(row.run_id, []).append(_session(row))
        return {run_id: tuple(sessions) for run_id, sessions in found.items()}


_RUNS = select(RUN)
_LAST_START = select(func.max(SESSION.c.started_at_us)).where(SESSION.c.run_id == RUN.c.id).scalar_subquery()
_NEWEST_FIRST = _RUNS.order_by(func.coalesce(_LAST_START, RUN.c.created_at_us).desc(), RUN.c.id.desc())
_LATEST = _NEWEST_FIRST.limit(1)


def _session(row: AnyRow) -> Session:
    info = unpacked_json(row.info)
    return Session(row.id, row.run_id, row.started_at_us, row.ended_at_us, row.exit_code, info)


def _some(names: Sequence[str]) -> str:
    """Return names for a message: the newest ten."""
    more = f" and {len(names) - _SHOWN} older ones" if len(names) > _SHOWN else ""
    return ", ".join(names[-_SHOWN:]) + more


def _run(row: AnyRow) -> Run:
    manifest = unpacked_json(row.manifest)
    return Run(row.id, row.name, row.digest, row.benchmark, manifest, row.created_at_us)


async def _save_runs(transaction: Transaction, wanted: Sequence[_NewRun]) -> list[Run]:
    return [await _save_run(transaction, new) for new in wanted]


async def _save_run(transaction: Transaction, new: _NewRun) -> Run:
    connection = transaction.connection
    stored = (await connection.execute(_RUNS.where(RUN.c.digest == new.digest))).one_or_none()
    if stored is not None:
        return _run(stored)
    name = new.name
    if name is None:
        name = await _free_name(transaction, new)
    elif await _is_taken(transaction, name):
        raise RunNameTakenError(
            f"the name {name!r} is held by a run that wants something else; choose another --name, "
            "or leave it out"
        )
    id = int((await connection.execute(select(func.coalesce(func.max(RUN.c.id), 0)))).scalar_one()) + 1
    await connection.execute(
        insert(RUN),
        {
            "id": id,
            "name": name,
            "digest": new.digest,
            "benchmark": new.benchmark,
            "manifest": new.manifest,
            "created_at_us": new.created_at_us,
        },
    )
    return Run(id, name, new.digest, new.benchmark, unpacked_json(new.manifest), new.created_at_us)


async def _free_name(transaction: Transaction, new: _NewRun) -> str:
    for digits in range(NAME_DIGITS, len(new.digest) + 1):
        name = f"{new.stem}-{new.digest[:digits]}"
        if not await _is_taken(transaction, name):
            return name
    raise RunNameTakenError(f"every name for the run {new.digest!r} is taken; choose one with --name")


async def _is_taken(transaction: Transaction, name: str) -> bool:
    statement = select(RUN.c.id).where(RUN.c.name == name)
    return (await transaction.connection.execute(statement)).one_or_none() is not None


async def _start_sessions(transaction: Transaction, wanted: Sequence[_NewSession]) -> list[int]:
    statement = select(func.coalesce(func.max(SESSION.c.id), 0))
    first = int((await transaction.connection.execute(statement)).scalar_one()) + 1
    rows = [
        {
            "id": id,
            "run_id": new.run_id,
            "started_at_us": new.started_at_us,
            "info": packed_json(new.info),
        }
        for id, new in enumerate(wanted, start=first)
    ]
    await transaction.connection.execute(insert(SESSION), rows)
    return list(range(first, first + len(wanted)))


async def _end_sessions(transaction: Transaction, ends: Sequence[_SessionEnd]) -> list[None]:
    for end in ends:
        statement = select(SESSION.c.info).where(SESSION.c.id == end.id)
        info = (await transaction.connection.execute(statement)).scalar()
        if info is None:
            raise StoreError(f"there is no session {end.id} in this store")
        values: dict[str, object] = {
            "info": packed_json({**unpacked_json(info), **end.info}),
            "exit_code": end.exit_code,
            "ended_at_us": end.ended_at_us,
        }
        await transaction.connection.execute(update(SESSION).where(SESSION.c.id == end.id).values(values))
    return [None] * len(ends)

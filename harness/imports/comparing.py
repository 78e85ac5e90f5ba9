"""Tells which answers of a reader are new to the store, changed since, or known; nothing is stored here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from harness.cache.key import KEY_VERSION
from harness.cache.rows import NewExchange, UnitId
from harness.cache.store import Store
from harness.canonical import canonical_json, digest, sha256_hex
from harness.case_spool import case_ids
from harness.imports.imported_run import Wanted
from harness.imports.reader import Answer, AnswerReader, Named
from harness.messages import Fault
from harness.settings import IMPORTED

BATCH = 500
"""Answers looked up and committed together."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer as it would be stored. `changes`: the run has another one to the same ask.

    `known`: it is there; `elsewhere`: the exchange with it, where only another run has it.
    """

    unit: UnitId
    new: NewExchange
    known: bool = False
    changes: bool = False
    elsewhere: int | None = None


@dataclass(slots=True)
class Stored:
    """What an import did: answers added, those that were there, and the cases whose answer changed.

    `linked`: of those that were there, how many stood in another run only.
    """

    added: int = 0
    known: int = 0
    linked: int = 0
    changed: Named = field(default_factory=Named)

    def count(self, one: Compared) -> None:
        """Count an answer."""
        if not one.known:
            self.added += 1
            if one.changes:
                self.changed.add(one.unit.case_id)
            return
        self.known += 1
        self.linked += one.elsewhere is not None


class Comparison:
    """Compares answers with those of one run and of the whole store."""

    def __init__(
        self,
        store: Store | None,
        run_id: int | None,
        wanted: Wanted,
        names: Sequence[tuple[str, str]],
        now_us: int,
    ) -> None:
        """`store`, `run_id`: None where there is none yet. `names`: each file's name and SHA-256."""
        self._store = store
        self._run_id = run_id
        self._wanted = wanted
        self._names = names
        self._now_us = now_us
        self._case_ids = case_ids(wanted.cases.cases)

    async def batches(self, reader: AnswerReader) -> AsyncIterator[list[Compared]]:
        """Yield every answer of a reader, in its order, at most `BATCH` at once."""
        for batch in _batches(reader.answers(), BATCH):
            yield await self._compare(batch)

    async def count(self, reader: AnswerReader) -> Stored:
        """Return what storing the answers of a reader would do."""
        stored = Stored()
        async for batch in self.batches(reader):
            for one in batch:
                stored.count(one)
        return stored

    async def _compare(self, batch: Sequence[Answer]) -> list[Compared]:
        made = [(self._unit(answer), self._exchange(answer)) for answer in batch]
        if self._store is None:
            return [Compared(unit, new) for unit, new in made]
        here: dict[str, tuple[int, str]] = {}
        if self._run_id is not None:
            here = await self._store.imported_in_run(self._run_id, (new.twin for _, new in made))
        absent = [new.key for _, new in made if new.twin not in here]
        elsewhere = await self._store.imported_by_key(absent)
        compared = []
        for unit, new in made:
            _, key = here.get(new.twin, (0, None))
            other = elsewhere.get(new.key) if key is None else None
            known = key == new.key or other is not None
            compared.append(Compared(unit, new, known, key is not None and not known, other))
        return compared

    def _unit(self, answer: Answer) -> UnitId:
        return UnitId(
            self._wanted.model.name, self._wanted.condition, self._case_ids[answer.case], answer.repeat
        )

    def _exchange(self, answer: Answer) -> NewExchange:
        stated, reading, unit = answer.stated, answer.reading, self._unit(answer)
        name, sha256 = self._names[answer.file]
        twin = digest(
            {
                "adapter": IMPORTED,
                "benchmark": self._wanted.benchmark.name,
                "unit": [unit.model, unit.condition, unit.case_id, unit.repeat],
                "attempt": answer.attempt,
            }
        )
        key = digest(
            {
                "key_version": KEY_VERSION,
                "adapter": IMPORTED,
                "twin": twin,
                "body": sha256_hex(answer.raw.body),
                "headers": answer.raw.headers,
            }
        )
        about = {
            "imported": {"file": name, "sha256": sha256, "row": answer.number},
            "prompt_sha256": stated.prompt_sha256,
        }
        return NewExchange(
            key=key,
            twin=twin,
            pool=IMPORTED,
            purpose="answer",
            attempt=answer.attempt,
            repeat=answer.repeat,
            provider=IMPORTED,
            endpoint=IMPORTED,
            model=self._wanted.model.model,
            adapter=IMPORTED,
            wire_revision=1,
            request=canonical_json(about),
            raw=answer.raw,
            outcome=reading.outcome,
            started_at_us=stated.started_at_us or self._now_us,
            total_s=stated.total_s or 0.0,
            served_model=stated.served_model,
            usage=stated.usage,
            error=reading.message if isinstance(reading, Fault) else None,
            masked=answer.masked,
        )


def _batches(answers: Iterator[Answer], size: int) -> Iterator[list[Answer]]:
    while batch := list(islice(answers, size)):
        yield batch

"""The text answers of a run with the texts they are compared with, for metrics that are computed outside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from harness.benchmarks.base import Case
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.grading.rows import shown_time
from harness.media import Media
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import StoredRun
from harness.outcomes import USABLE


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A usable text answer as it is read today, and the texts of its case as the run keeps them.

    `asked_at_us` is when its newest exchange was sent, microseconds since 1970 UTC.
    """

    unit: UnitId
    answer: str
    case: Case
    reference: str | None
    source: str | None
    asked_at_us: int


@dataclass(slots=True)
class Passed:
    """Units without a text answer: `unusable` by outcome, which the scores count, and other usable ones."""

    unusable: Counter[str] = field(default_factory=Counter)
    no_text: int = 0


async def answer_texts(
    store: Store, stored: StoredRun, passed: Passed
) -> AsyncGenerator[AnswerText, None]:
    """Yield every text answer of a run once, replayed as it is scored, in little memory; count the others."""
    async with aclosing(replay_units(store, stored, Replayer(stored))) as units:
        async for replayed in units:
            result = replayed.result
            if result.outcome not in USABLE:
                passed.unusable[result.outcome.value] += 1
            elif not isinstance(result.prediction, str):
                passed.no_text += 1
            else:
                yield _text(stored, replayed, result.prediction)


def _text(stored: StoredRun, replayed: ReplayedUnit, answer: str) -> AnswerText:
    unit = replayed.unit
    case = stored.case_index.case(stored.case_index.place(unit.case_id))
    reference, source = stored.benchmark.compared_texts(case, unit.condition)
    return AnswerText(
        unit=unit,
        answer=answer,
        case=case,
        reference=reference,
        source=source,
        asked_at_us=max((one.data.started_at_us for _, one in replayed.links), default=0),
    )


def media_of(stored: StoredRun) -> Collection[str]:
    """Return the digests of all media of a run's cases."""
    return {one.sha256 for case in stored.cases.cases for many in case.media.values() for one in many}


async def write_texts(
    store: Store,
    stored: StoredRun,
    stream: IO[bytes],
    *,
    places: Mapping[str, Media],
    now_us: int,
    passed: Passed,
) -> int:
    """Write the text answers of a run as JSON lines, and return how many there are.

    `places`: digest -> medium with its path. `now_us` stands in each line as `time`, by which a grade of this
    answer is told from one of an answer that came later. Text is escaped: only LF ends a line.
    """
    count = 0
    async with aclosing(answer_texts(store, stored, passed)) as texts:
        async for text in texts:
            count += 1
            line = json.dumps(_fields(text, places, now_us), allow_nan=False)
            stream.write(line.encode("ascii") + b"\n")
    return count


def _fields(text: AnswerText, places: Mapping[str, Media], now_us: int) -> dict[str, JSON]:
    media = [one for many in text.case.media.values() for one in many]
    images: list[JSON] = [_place(places.get(one.sha256)) for one in media]
    return {
        "model": text.unit.model,
        "condition": text.unit.condition,
        "case_id": text.unit.case_id,
        "repeat": text.unit.repeat,
        "time": shown_time(now_us),
        "answer": text.answer,
        "reference": text.reference,
        "source": text.source,
        "images": images,
    }


def _place(medium: Media | None) -> str | None:
    """Return the absolute path of a medium; None where it is not known."""
    path = None if medium is None else medium.path
    return None if path is None else str(Path(path).absolute())

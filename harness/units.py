"""One unit from its case to its result."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from harness.attempts import Asked, AttemptPolicy, Feedback, UnitError, UnitResult, run_attempts
from harness.benchmarks.base import Benchmark
from harness.client import Ask, Client
from harness.errors import (
    MediaChangedError,
    MediaError,
    MediaLimitError,
    MediaReadError,
    StoreError,
    UnsupportedInputError,
)
from harness.media_threads import in_media_thread
from harness.messages import Message, Request, Structured, media_parts
from harness.outcomes import UnitOutcome
from harness.plans import ConditionPlan, Unit, unit_request, with_recipes
from harness.reformatter import feedback_messages, reformat_request
from harness.settings import Model

Forget: TypeAlias = Callable[[Path], Awaitable[None]]

_log = logging.getLogger(__name__)


class UnitRunner:
    """Asks units of one benchmark by one client; `forget` drops what is noted of a file that has changed."""

    def __init__(
        self, benchmark: Benchmark, client: Client, structured: Structured, forget: Forget
    ) -> None:
        self._benchmark = benchmark
        self._client = client
        self._structured = structured
        self._forget = forget
        self._elsewhere: Counter[str] = Counter()
        self._unreformatted: dict[str, AttemptPolicy] = {}

    def waiting_elsewhere(self, model: str) -> int:
        """Return how many units of a model wait for its reformatter or for another process."""
        return self._elsewhere[model] + self._client.claim_waits[model]

    async def run(self, unit: Unit) -> UnitResult:
        """Return how a unit ended. Raises StoreError; any other trouble is the unit's own."""
        if unit.case.problem is not None:
            return _failed(UnitOutcome.CASE_ERROR, "case", unit.case.problem)
        try:
            messages = await self._messages(unit)
            asker = _LiveAsker(self._client, unit, messages, self._structured, self._elsewhere)
            policy = unit.condition.policy
            if policy.reformat and unit.model.reformatter is None:
                policy = self._without_reformatter(unit.condition)
            return await run_attempts(asker, policy)
        except MediaLimitError as error:
            return _failed(UnitOutcome.NOT_APPLICABLE, "media_limit", str(error))
        except MediaReadError as error:
            if isinstance(error, MediaChangedError):
                await self._forget(error.path)  # its fingerprint was wrong, and would be again
            return _failed(UnitOutcome.PROVIDER_ERROR, "local", str(error))
        except MediaError as error:
            return _failed(UnitOutcome.CASE_ERROR, "media", str(error))
        except UnsupportedInputError as error:
            return _failed(UnitOutcome.NOT_APPLICABLE, "unsupported_input", str(error))
        except StoreError:
            raise
        except MemoryError:
            mend = "lower --max-in-flight, or close other programs, then run the same command again"
            return _failed(UnitOutcome.PROVIDER_ERROR, "local", f"this machine ran out of memory; {mend}")
        except Exception as error:  # noqa: BLE001 - one poisoned case must not end a night's run
            # The text of an unforeseen error may quote a case: only its kind is kept.
            _log.error("unit %s: internal error %s%s", unit.id, type(error).__name__, _where(error))
            return _failed(
                UnitOutcome.PROVIDER_ERROR,
                "internal",
                f"internal error {type(error).__name__}; please report it",
            )

    def _without_reformatter(self, condition: ConditionPlan) -> AttemptPolicy:
        if condition.name not in self._unreformatted:
            self._unreformatted[condition.name] = replace(condition.policy, reformat=False)
        return self._unreformatted[condition.name]

    async def _messages(self, unit: Unit) -> tuple[Message, ...]:
        """Return the messages; recipes are chosen off the event loop, since that may read the images."""
        messages = self._benchmark.render(unit.case, unit.condition.name, unit.condition.prompt)
        if next(media_parts(messages), None) is None:
            return messages
        return await in_media_thread(with_recipes, messages, unit.model)


@dataclass(frozen=True, slots=True)
class _LiveAsker:
    client: Client
    unit: Unit
    messages: tuple[Message, ...]
    structured: Structured
    elsewhere: Counter[str]

    async def answer(self, attempt: int, feedback: Feedback | None) -> Asked:
        messages = self.messages if feedback is None else feedback_messages(self.messages, feedback)
        request = unit_request(self.unit, messages, self.structured, attempt)
        return await self._ask(request, self.unit.model.model)

    async def reformat(self, answer: str) -> Asked:
        reformatter = self.unit.model.reformatter
        assert reformatter is not None
        request = reformat_request(self.unit, answer)
        self.elsewhere[self.unit.id.model] += 1
        try:
            return await self._ask(request, reformatter)
        finally:
            self.elsewhere[self.unit.id.model] -= 1

    async def _ask(self, request: Request, model: Model) -> Asked:
        unit = self.unit
        return await self.client.ask(Ask(request, model, (unit.run_id, unit.id), unit.after))


def _failed(outcome: UnitOutcome, kind: str, message: str) -> UnitResult:
    return UnitResult(outcome, error=UnitError(kind, message))


def _where(error: BaseException) -> str:
    """Return the lines of code that an error came through, for whoever debugs: without what it said."""
    if not _log.isEnabledFor(logging.DEBUG):
        return ""
    return "\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip()

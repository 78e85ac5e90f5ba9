"""How a unit is asked until it has an answer: attempts, then the reformatter, then a typed failure.

The same code runs live and over stored exchanges, so that a replay decides exactly as the run did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from harness.answers.extraction import Aliases, extract, unchanged
from harness.answers.readings import PROSE_REFUSAL, Reading, TextReader, UnitError, read_answer
from harness.answers.validation import Validator
from harness.benchmarks.base import Benchmark, Filled, Prompt
from harness.benchmarks.prompts import placeholders, render
from harness.canonical import JSON
from harness.messages import Fault, Purpose, Reply
from harness.outcomes import UnitOutcome
from harness.retry import unit_outcome_of

__all__ = [
    "PROSE_REFUSAL",
    "AskRef",
    "Asked",
    "Asker",
    "AttemptPolicy",
    "Feedback",
    "Fill",
    "NotAskedError",
    "UnitError",
    "UnitResult",
    "run_attempts",
]

ECHO_WORDS = 4
"""Words that a text in a prompt's example must have for its repetition to be taken for an echo."""
_ASKED_AGAIN = frozenset({UnitOutcome.UNPARSABLE, UnitOutcome.EMPTY, UnitOutcome.TRUNCATED})

Fill: TypeAlias = Callable[[JSON, str], Filled]


class NotAskedError(Exception):
    """On replay: the store holds no exchange for an ask that the attempts now need."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One ask as the attempts see it: exactly one of `reply`, `fault` and `not_attempted` is set.

    `exchange_id` is the exchange that answered, or the last that failed; None when nothing was sent.
    `not_attempted` says why nothing was sent (the pool is closed ...).
    """

    reply: Reply | None = None
    fault: Fault | None = None
    exchange_id: int | None = None
    not_attempted: str | None = None

    def __post_init__(self) -> None:
        if [self.reply, self.fault, self.not_attempted].count(None) != 2:
            raise ValueError("an ask ends in a reply, in a fault, or was not attempted")


@dataclass(frozen=True, slots=True)
class Feedback:
    """What an attempt is told about the one before: its answer without reasoning, and what was wrong.

    The answer is as the model wrote it, under the names of properties that it is asked for again.
    """

    previous_answer: str
    problem: str


class Asker(Protocol):
    """Who carries the asks out: the client, or the store on replay (which may raise NotAskedError)."""

    async def answer(self, attempt: int, feedback: Feedback | None) -> Asked:
        """Ask the model; `attempt` counts from 1."""
        ...

    async def reformat(self, answer: str) -> Asked:
        """Ask the reformatter to restate an answer."""
        ...


@dataclass(frozen=True, slots=True)
class AttemptPolicy:
    """How a unit is asked. Without a validator every complete text that shows anything is an answer, unless
    `read_text` finds nothing in it.

    `reformat` needs `validator`, `reformat_validator` and `fill`. `example` is the value that the prompt
    itself shows: an answer that only repeats it is none.
    """

    validator: Validator | None
    max_attempts: int = 3
    reask: Literal["same", "feedback"] = "same"
    aliases: Aliases = unchanged
    reformat: bool = False
    reformat_validator: Validator | None = None
    fill: Fill | None = None
    example: JSON = None
    read_text: TextReader | None = None

    def __post_init__(self) -> None:
        if self.reformat and (self.validator is None or self.reformat_validator is None or self.fill is None):
            raise ValueError("reformatting needs a schema, the reformatter's schema and a filling policy")
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, not {self.max_attempts}")


def attempt_policy(
    benchmark: Benchmark,
    condition: str,
    schema: Mapping[str, JSON] | None,
    reformat_schema: Mapping[str, JSON] | None,
    *,
    max_attempts: int,
    reask: Literal["same", "feedback"],
    reformat: bool,
    prompt: Prompt,
) -> AttemptPolicy:
    """Return how a condition is asked, the same for the run and for its replay; `schema` None: free text."""
    validator = None if schema is None else Validator(schema)
    return AttemptPolicy(
        validator=validator,
        max_attempts=max_attempts,
        reask=reask,
        aliases=benchmark.aliases,
        reformat=reformat and schema is not None and reformat_schema is not None,
        reformat_validator=None if reformat_schema is None else Validator(reformat_schema),
        fill=benchmark.fill,
        example=None if validator is None else _example_in(prompt, validator, benchmark.aliases),
        read_text=None if validator is not None else benchmark.text_reader(condition),
    )


def _example_in(prompt: Prompt, validator: Validator, aliases: Aliases) -> JSON:
    """Return the value that a prompt shows as its form, if repeating it can be nothing but an echo.

    That takes a text of several words in it, which no answer has by chance; without one, an example may be
    the right answer.
    """
    text = render(prompt, dict.fromkeys(placeholders(prompt), ""))
    example = extract(text, validator, aliases).value
    return example if _most_words(example) >= ECHO_WORDS else None


def _most_words(value: JSON) -> int:
    match value:
        case str():
            return len(value.split())
        case Mapping():
            return max(map(_most_words, value.values()), default=0)
        case list() | tuple():
            return max(map(_most_words, value), default=0)
        case _:
            return 0


class AskRef(NamedTuple):
    """One ask of a unit that reached the network; the reformatter's has attempt 1."""

    purpose: Purpose
    attempt: int
    exchange_id: int


@dataclass(frozen=True, slots=True)
class UnitResult:
    """How a unit ended.

    `stage` says where the prediction comes from; None without one. `asks` are all asks that were looked
    at, in order; `used` those on which the outcome rests: the answer (and, once the reformatter was
    asked, the answer it was given and its own), or the last unusable answer. Nobody's answer uses none.
    """

    outcome: UnitOutcome
    stage: str | None = None
    prediction: JSON = None
    error: UnitError | None = None
    filled_keys: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    used: tuple[AskRef, ...] = ()
    asks: tuple[AskRef, ...] = ()


async def run_attempts(asker: Asker, policy: AttemptPolicy) -> UnitResult:
    """Ask until a usable answer, a failure that asking again does not mend, or the end of the attempts.

    NotAskedError passes through to the caller.
    """
    trail = _Trail()
    feedback: Feedback | None = None
    for attempt in range(1, policy.max_attempts + 1):
        asked = await asker.answer(attempt, feedback)
        ref = trail.note("answer", attempt, asked)
        if asked.reply is None:
            if feedback is not None and _does_not_fit(asked):
                break  # the first request fitted: what is too long is our feedback, not the case
            return trail.nobodys_answer(asked)
        reading = read_reply(asked.reply, policy)
        trail.read(reading, ref)
        if reading.usable:
            return trail.result(f"attempt-{attempt}")
        if not is_asked_again(reading):
            break
        feedback = _feedback_on(reading, policy)
    if policy.reformat and trail.complete:
        return await _reformatted(asker, policy, trail)
    return trail.result()


def read_reply(reply: Reply, policy: AttemptPolicy) -> Reading:
    """Return what a model's reply is worth; one that only repeats the prompt's example is worth nothing."""
    reading = read_answer(reply, policy.validator, policy.aliases, policy.read_text)
    echoes = reading.usable and policy.example is not None and reading.prediction == policy.example
    return _ECHO if echoes else reading


def is_asked_again(reading: Reading) -> bool:
    """Tell whether an answer is asked for once more, while there are attempts."""
    return reading.outcome in _ASKED_AGAIN


_ECHO = Reading(
    UnitOutcome.UNPARSABLE,
    error=UnitError("echo", "the answer only repeats the example that the prompt shows"),
)
"""Has no `answer`: nothing of it may be handed on, least of all to the reformatter."""


def _feedback_on(reading: Reading, policy: AttemptPolicy) -> Feedback | None:
    """Return what the next attempt is told; an answer that was cut off or empty is never sent back."""
    if policy.reask == "same" or not reading.answer or reading.error is None:
        return None
    return Feedback(reading.as_written or reading.answer, reading.error.message)


def _does_not_fit(asked: Asked) -> bool:
    return asked.fault is not None and unit_outcome_of(asked.fault) is UnitOutcome.NOT_APPLICABLE


@dataclass(slots=True)
class _Trail:
    """What happened to a unit so far."""

    asks: list[AskRef] = field(default_factory=list)
    last: tuple[Reading, AskRef | None] | None = None
    complete: tuple[Reading, AskRef | None] | None = None

    def note(self, purpose: Purpose, attempt: int, asked: Asked) -> AskRef | None:
        """Add an ask; what never reached the network leaves no trace."""
        if asked.exchange_id is None:
            return None
        ref = AskRef(purpose, attempt, asked.exchange_id)
        self.asks.append(ref)
        return ref

    def read(self, reading: Reading, ref: AskRef | None) -> None:
        """Remember an answer, and whether the reformatter may see it."""
        self.last = (reading, ref)
        if reading.answer:
            self.complete = self.last

    def result(self, stage: str | None = None) -> UnitResult:
        """Return what the last answer makes of the unit."""
        assert self.last is not None
        reading, ref = self.last
        return UnitResult(
            reading.outcome,
            stage,
            reading.prediction,
            error=reading.error,
            flags=reading.flags,
            used=_refs(ref),
            asks=tuple(self.asks),
        )

    def nobodys_answer(self, asked: Asked) -> UnitResult:
        """Return the result of a unit whose model was not reached or gave no answer."""
        if asked.fault is None:
            outcome, error = UnitOutcome.NOT_ATTEMPTED, UnitError("not_attempted", asked.not_attempted or "")
        else:
            outcome = unit_outcome_of(asked.fault)
            error = UnitError(asked.fault.outcome.value, asked.fault.message)
        return UnitResult(outcome, error=error, asks=tuple(self.asks))

    def reformatter_failed(self, asked: Asked) -> UnitResult:
        """Return the result of a unit whose reformatter could not be asked: it is asked on resume."""
        result = self.nobodys_answer(asked)
        assert result.error is not None
        closed = result.outcome is UnitOutcome.NOT_ATTEMPTED
        error = _of_reformatter(result.error, "the reformatter gave no answer")
        outcome = UnitOutcome.NOT_ATTEMPTED if closed else UnitOutcome.PROVIDER_ERROR
        return UnitResult(outcome, error=error, asks=result.asks)


async def _reformatted(asker: Asker, policy: AttemptPolicy, trail: _Trail) -> UnitResult:
    assert trail.complete is not None
    original, given = trail.complete
    asked = await asker.reformat(original.answer)
    ref = trail.note("reformat", 1, asked)
    if asked.reply is None:
        return trail.reformatter_failed(asked)
    restated = _restate(asked.reply, original.answer, policy)
    used, asks = (*_refs(given), *_refs(ref)), tuple(trail.asks)
    if isinstance(restated, UnitError):
        return UnitResult(UnitOutcome.UNPARSABLE, error=restated, flags=original.flags, used=used, asks=asks)
    return UnitResult(
        UnitOutcome.REFORMATTED,
        "reformatter",
        restated.value,
        filled_keys=restated.filled_keys,
        unsupported=restated.unsupported,
        flags=original.flags,
        used=used,
        asks=asks,
    )


def _restate(reply: Reply, answer: str, policy: AttemptPolicy) -> Filled | UnitError:
    """Return the filled value of a reformatter's reply, or why it is unusable."""
    assert policy.fill is not None and policy.validator is not None
    reading = read_answer(reply, policy.reformat_validator, policy.aliases)
    if reading.error is not None:
        return _of_reformatter(reading.error, "the reformatter's answer is unusable")
    filled = policy.fill(reading.prediction, answer)
    if filled.value is None:
        return UnitError("reformatter_asserts_nothing", "the reformatter found no assertion in the answer")
    problem = policy.validator.problem(filled.value)
    if problem is not None:
        return UnitError("reformatter_schema", f"the reformatter's answer, once filled: {problem}")
    return filled


def _of_reformatter(error: UnitError, what: str) -> UnitError:
    return UnitError(f"reformatter_{error.kind}", f"{what}: {error.message}")


def _refs(ref: AskRef | None) -> tuple[AskRef, ...]:
    return () if ref is None else (ref,)

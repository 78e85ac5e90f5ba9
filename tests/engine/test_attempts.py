"""Attempts: what is asked again, what is handed on, and what a unit comes to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from harness.answers.validation import Validator
from harness.attempts import (
    PROSE_REFUSAL,
    Asked,
    AttemptPolicy,
    Feedback,
    NotAskedError,
    UnitResult,
    run_attempts,
)
from harness.benchmarks.base import Filled
from harness.canonical import JSON
from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome, UnitOutcome

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"sign": {"enum": [0, 1]}, "why": {"type": "string"}},
    "required": ["sign"],
    "additionalProperties": False,
}
NULLABLE: dict[str, JSON] = {
    "type": "object",
    "properties": {"sign": {"enum": [0, 1, None]}},
    "required": ["sign"],
}
GOOD = '{"sign": 1}'
PROSE = "I would say that the sign is there"


def fill(value: JSON, answer: str) -> Filled:
    """Fill a missing sign with 0, and find "two" unsupported in any answer without that word."""
    assert isinstance(value, dict)
    if value["sign"] is None:
        return Filled(None)
    extra = {key: item for key, item in value.items() if item is not None}
    return Filled(extra, ("why",), () if "sign" in answer else ("sign",))


POLICY = AttemptPolicy(Validator(SCHEMA))
WITH_REFORMATTER = AttemptPolicy(
    Validator(SCHEMA), reformat=True, reformat_validator=Validator(NULLABLE), fill=fill
)
WITH_FEEDBACK = AttemptPolicy(Validator(SCHEMA), reask="feedback")
FREE_TEXT = AttemptPolicy(None)


def said(text: str) -> Reply:
    return Reply(ExchangeOutcome.ANSWERED, text)


def cut(text: str) -> Reply:
    return Reply(ExchangeOutcome.TRUNCATED, text, finish_reason="length")


EMPTY = Reply(ExchangeOutcome.EMPTY)
REFUSED = Reply(ExchangeOutcome.REFUSED, text="no", detail="policy 7")
FILTERED = Reply(ExchangeOutcome.FILTERED, text=GOOD)


@dataclass
class Script:
    """An asker that answers from lists, and keeps what it was asked."""

    replies: Sequence[Reply | Fault | str]
    reformatter: Reply | Fault | str | None = None
    feedback: list[Feedback | None] = field(default_factory=list)
    restated: list[str] = field(default_factory=list)

    async def answer(self, attempt: int, feedback: Feedback | None) -> Asked:
        if attempt > len(self.replies):
            raise NotAskedError(f"attempt {attempt}")
        assert attempt == len(self.feedback) + 1
        self.feedback.append(feedback)
        return asked(self.replies[attempt - 1], attempt)

    async def reformat(self, answer: str) -> Asked:
        if self.reformatter is None:
            raise NotAskedError("reformatter")
        self.restated.append(answer)
        return asked(self.reformatter, 90)


def asked(outcome: Reply | Fault | str, exchange_id: int) -> Asked:
    match outcome:
        case Reply():
            return Asked(reply=outcome, exchange_id=exchange_id)
        case Fault():
            return Asked(fault=outcome, exchange_id=exchange_id)
        case _:
            return Asked(not_attempted=outcome)


def error_kind(result: UnitResult) -> str | None:
    return result.error.kind if result.error else None


async def test_whole_answer_that_fits_is_valid_at_once() -> None:
    script = Script([said(GOOD)])

    result = await run_attempts(script, POLICY)

    assert (result.outcome, result.stage, result.prediction) == (UnitOutcome.VALID, "attempt-1", {"sign": 1})
    assert result.used == result.asks == (("answer", 1, 1),)
    assert result.error is None


async def test_answer_cut_out_of_prose_is_recovered() -> None:
    result = await run_attempts(Script([said(f"Sure: {GOOD}")]), POLICY)

    assert (result.outcome, result.stage) == (UnitOutcome.RECOVERED, "attempt-1")


async def test_documented_alias_is_recovered() -> None:
    def aliases(value: JSON) -> JSON:
        return {"sign": 1} if value == {"sgn": 1} else value

    result = await run_attempts(
        Script([said('{"sgn": 1}')]), AttemptPolicy(Validator(SCHEMA), aliases=aliases)
    )

    assert (result.outcome, result.prediction) == (UnitOutcome.RECOVERED, {"sign": 1})


@pytest.mark.parametrize(
    "bad", [said(PROSE), said('{"sign": 2}'), said(""), said("<think>1</think>"), EMPTY, cut("{")]
)
async def test_unusable_answer_is_asked_again(bad: Reply) -> None:
    script = Script([bad, bad, said(GOOD)])

    result = await run_attempts(script, POLICY)

    assert (result.outcome, result.stage) == (UnitOutcome.VALID, "attempt-3")
    # F26: every ask stays linked, and only the one that counts is used.
    assert result.asks == (("answer", 1, 1), ("answer", 2, 2), ("answer", 3, 3))
    assert result.used == (("answer", 3, 3),)


@pytest.mark.parametrize(
    ("reply", "outcome"), [(REFUSED, UnitOutcome.REFUSED), (FILTERED, UnitOutcome.FILTERED)]
)
async def test_typed_refusal_and_filter_are_not_asked_again(reply: Reply, outcome: UnitOutcome) -> None:
    script = Script([reply, said(GOOD)], reformatter=said(GOOD))

    result = await run_attempts(script, WITH_REFORMATTER)

    assert result.outcome is outcome
    assert len(script.feedback) == 1 and not script.restated


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (said(PROSE), UnitOutcome.UNPARSABLE),
        (EMPTY, UnitOutcome.EMPTY),
        (said("\ufeff \n"), UnitOutcome.EMPTY),
        (said(f"<think>{GOOD}</think>"), UnitOutcome.EMPTY),
        (said(f"<think>{GOOD}"), UnitOutcome.EMPTY),
        (cut(PROSE), UnitOutcome.TRUNCATED),
        (REFUSED, UnitOutcome.REFUSED),
        (FILTERED, UnitOutcome.FILTERED),
    ],
)
async def test_unusable_unit_takes_the_outcome_of_its_last_attempt(last: Reply, outcome: UnitOutcome) -> None:
    result = await run_attempts(Script([said(PROSE), cut("x"), last]), POLICY)

    assert (result.outcome, result.stage, result.prediction) == (outcome, None, None)
    assert result.used == (("answer", 3, 3),)
    assert result.error is not None


async def test_truncated_answer_is_no_answer_even_where_it_fits() -> None:
    result = await run_attempts(Script([cut(GOOD)] * 3), POLICY)

    assert (result.outcome, result.prediction) == (UnitOutcome.TRUNCATED, None)


async def test_max_attempts_is_the_number_of_asks() -> None:
    script = Script([said(PROSE)] * 9)

    await run_attempts(script, AttemptPolicy(Validator(SCHEMA), max_attempts=2))

    assert len(script.feedback) == 2


async def test_refusal_in_prose_is_unparsable_with_a_flag() -> None:
    result = await run_attempts(Script([said("I'm sorry, but I can't help with that.")] * 3), POLICY)

    assert (result.outcome, result.flags) == (UnitOutcome.UNPARSABLE, (PROSE_REFUSAL,))


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (ExchangeOutcome.BAD_REQUEST, UnitOutcome.REJECTED),
        (ExchangeOutcome.CONTEXT_LENGTH, UnitOutcome.NOT_APPLICABLE),
        (ExchangeOutcome.UNAVAILABLE, UnitOutcome.PROVIDER_ERROR),
        (ExchangeOutcome.AUTH, UnitOutcome.NOT_ATTEMPTED),
    ],
)
@pytest.mark.parametrize("before", [[], [said(PROSE)]])
async def test_fault_is_nobodys_answer(
    fault: ExchangeOutcome, outcome: UnitOutcome, before: list[Reply]
) -> None:
    script = Script([*before, Fault(fault, "so it is")], reformatter=said(GOOD))

    result = await run_attempts(script, WITH_REFORMATTER)

    assert (result.outcome, error_kind(result)) == (outcome, fault.value)
    assert result.used == () and len(result.asks) == len(before) + 1
    assert not script.restated


async def test_closed_pool_leaves_the_unit_not_attempted() -> None:
    result = await run_attempts(Script(["the pool is closed until 7:00"]), POLICY)

    assert (result.outcome, result.asks) == (UnitOutcome.NOT_ATTEMPTED, ())
    assert result.error is not None and "7:00" in result.error.message


async def test_transport_trouble_within_an_ask_costs_no_attempt() -> None:  # F28
    # The ask that met two 429s before it was answered is one attempt like any other.
    result = await run_attempts(Script([said(PROSE), said(PROSE), said(GOOD)]), POLICY)

    assert result.stage == "attempt-3"


# --- feedback ---


async def test_asked_the_same_way_unless_feedback_is_wanted() -> None:
    script = Script([said(PROSE)] * 3)

    await run_attempts(script, POLICY)

    assert script.feedback == [None, None, None]


async def test_feedback_tells_the_last_answer_and_its_problem() -> None:
    script = Script([said('<think>hm</think>{"sign": 5}'), said(PROSE), said(GOOD)])

    await run_attempts(script, WITH_FEEDBACK)

    assert script.feedback == [
        None,
        Feedback('{"sign": 5}', "the value does not fit the schema: $.sign is not one of the allowed values"),
        Feedback(PROSE, "the answer holds no JSON value"),
    ]


@pytest.mark.parametrize("bad", [cut(PROSE), EMPTY, said("<think>so long")])
async def test_what_was_cut_off_or_empty_is_never_sent_back(bad: Reply) -> None:  # F27
    script = Script([said(PROSE), bad, said(GOOD)])

    await run_attempts(script, WITH_FEEDBACK)

    assert script.feedback[2] is None


async def test_feedback_that_is_too_long_for_the_model_does_not_make_the_case_too_long() -> None:
    script = Script([said(PROSE), Fault(ExchangeOutcome.CONTEXT_LENGTH, "too long"), said(GOOD)])

    result = await run_attempts(script, WITH_FEEDBACK)

    assert (result.outcome, result.used) == (UnitOutcome.UNPARSABLE, (("answer", 1, 1),))
    assert len(result.asks) == 2


# --- reformatter ---


async def test_reformatter_restates_the_last_attempt() -> None:
    script = Script([said("first"), said("second"), said("third sign")], reformatter=said(GOOD))

    result = await run_attempts(script, WITH_REFORMATTER)

    assert script.restated == ["third sign"]
    assert (result.outcome, result.stage) == (UnitOutcome.REFORMATTED, "reformatter")
    assert (result.prediction, result.filled_keys, result.unsupported) == ({"sign": 1}, ("why",), ())
    assert result.used == (("answer", 3, 3), ("reformat", 1, 90))


async def test_what_the_answer_does_not_support_is_listed() -> None:  # F13
    result = await run_attempts(Script([said("dunno")] * 3, reformatter=said(GOOD)), WITH_REFORMATTER)

    assert result.unsupported == ("sign",)


@pytest.mark.parametrize("last", [cut(PROSE), EMPTY, said("<think>never closed"), REFUSED, said(" ")])
async def test_reformatter_gets_the_last_complete_answer(last: Reply) -> None:
    script = Script([said("<think>a</think> the sign"), last, last], reformatter=said(GOOD))

    result = await run_attempts(script, WITH_REFORMATTER)

    assert script.restated == ["the sign"]
    assert result.used[0] == ("answer", 1, 1)


@pytest.mark.parametrize("only", [cut(PROSE), EMPTY, said("<think>x</think>"), REFUSED, FILTERED])
async def test_reformatter_is_not_asked_when_there_is_nothing_to_restate(only: Reply) -> None:
    script = Script([only] * 3, reformatter=said(GOOD))

    await run_attempts(script, WITH_REFORMATTER)

    assert script.restated == []


async def test_reformatter_is_not_asked_when_an_attempt_is_usable() -> None:
    script = Script([said(PROSE), said(GOOD)], reformatter=said(GOOD))

    assert (await run_attempts(script, WITH_REFORMATTER)).outcome is UnitOutcome.VALID
    assert script.restated == []


@pytest.mark.parametrize(
    "reply",
    [said("no idea"), said('{"sign": 7}'), said('{"sign": null}'), EMPTY, cut(GOOD), REFUSED, FILTERED],
)
async def test_unusable_reformatter_makes_the_unit_unparsable(reply: Reply) -> None:  # F12
    script = Script([said(PROSE), said(PROSE), cut("x")], reformatter=reply)

    result = await run_attempts(script, WITH_REFORMATTER)

    assert (result.outcome, result.prediction, result.stage) == (UnitOutcome.UNPARSABLE, None, None)
    assert (error_kind(result) or "").startswith("reformatter_")
    assert len(script.restated) == 1


@pytest.mark.parametrize(
    "fault", [ExchangeOutcome.UNAVAILABLE, ExchangeOutcome.BAD_REQUEST, ExchangeOutcome.CONTEXT_LENGTH]
)
async def test_failing_reformatter_makes_the_unit_a_provider_error(fault: ExchangeOutcome) -> None:
    script = Script([said(PROSE)] * 3, reformatter=Fault(fault, "down"))

    result = await run_attempts(script, WITH_REFORMATTER)

    assert (result.outcome, error_kind(result)) == (UnitOutcome.PROVIDER_ERROR, f"reformatter_{fault.value}")
    assert result.error is not None and "reformatter" in result.error.message
    assert result.used == () and len(result.asks) == 4


@pytest.mark.parametrize("closed", ["pool closed", Fault(ExchangeOutcome.QUOTA_EXHAUSTED, "no credit")])
async def test_reformatter_with_a_closed_pool_leaves_the_unit_not_attempted(closed: Fault | str) -> None:
    result = await run_attempts(Script([said(PROSE)] * 3, reformatter=closed), WITH_REFORMATTER)

    assert result.outcome is UnitOutcome.NOT_ATTEMPTED
    assert result.error is not None and "reformatter" in result.error.message


async def test_reformatter_that_asserts_nothing_is_told_apart() -> None:
    result = await run_attempts(
        Script([said(PROSE)] * 3, reformatter=said('{"sign": null}')), WITH_REFORMATTER
    )

    assert (result.outcome, error_kind(result)) == (UnitOutcome.UNPARSABLE, "reformatter_asserts_nothing")


async def test_filled_value_must_fit_the_schema_of_answers() -> None:
    reply = said('{"sign": 1, "surplus": "x"}')

    result = await run_attempts(Script([said(PROSE)] * 3, reformatter=reply), WITH_REFORMATTER)

    assert (result.outcome, error_kind(result)) == (UnitOutcome.UNPARSABLE, "reformatter_schema")


# --- free text ---


async def test_any_complete_text_is_a_valid_free_text_answer() -> None:
    result = await run_attempts(Script([said("No fracture.\n")]), FREE_TEXT)

    assert (result.outcome, result.prediction, result.flags) == (UnitOutcome.VALID, "No fracture.\n", ())


async def test_reasoning_is_no_part_of_a_free_text_answer() -> None:
    result = await run_attempts(Script([said("<think>Fracture?</think>\nNo fracture.")]), FREE_TEXT)

    assert result.prediction == "No fracture."


async def test_refusal_as_free_text_is_scored_as_it_stands_with_a_flag() -> None:
    result = await run_attempts(Script([said("I cannot interpret medical images.")]), FREE_TEXT)

    assert (result.outcome, result.flags) == (UnitOutcome.VALID, (PROSE_REFUSAL,))


async def test_free_text_that_shows_nothing_is_asked_again() -> None:
    script = Script([said(" "), said("<think>x"), cut("half a"), said("late")])

    result = await run_attempts(script, FREE_TEXT)

    assert (result.outcome, len(script.feedback)) == (UnitOutcome.TRUNCATED, 3)


# --- replay ---


async def test_ask_that_nobody_made_reaches_the_caller_on_replay() -> None:
    with pytest.raises(NotAskedError, match="attempt 2"):
        await run_attempts(Script([said(PROSE)]), POLICY)
    with pytest.raises(NotAskedError, match="reformatter"):
        await run_attempts(Script([said(PROSE)] * 3), WITH_REFORMATTER)


async def test_replay_that_accepts_attempt_one_needs_no_other() -> None:  # F11
    lenient = AttemptPolicy(Validator({"type": "object"}))

    result = await run_attempts(Script([said(json.dumps({"other": 1}))]), lenient)

    assert (result.stage, result.asks) == ("attempt-1", (("answer", 1, 1),))


def test_ask_has_exactly_one_end() -> None:
    with pytest.raises(ValueError, match="not attempted"):
        Asked()
    with pytest.raises(ValueError, match="not attempted"):
        Asked(reply=EMPTY, not_attempted="closed")


def test_a_policy_that_reformats_needs_a_filling_policy() -> None:
    with pytest.raises(ValueError, match="filling"):
        AttemptPolicy(Validator(SCHEMA), reformat=True)

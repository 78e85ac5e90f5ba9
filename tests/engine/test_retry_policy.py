"""Which faults are sent again, how often and after how long."""

from __future__ import annotations

import pytest
from fake_clock import FakeClock
from hypothesis import given
from hypothesis import strategies as st

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.outcomes import UnitOutcome
from harness.pools.holds import back_off_s
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.retry import AskBudget, Retry, Stop, unit_outcome_of


def a_pool() -> Pool:
    clock = FakeClock()
    return Pool("p", PoolLimits(), clock=clock.time, sleep=clock.sleep, random=lambda low, high: high)


def sends_until_stop(budget: AskBudget, fault: Fault) -> tuple[int, Stop]:
    for sends in range(1, 100):
        decision = budget.decide(fault)
        if isinstance(decision, Stop):
            return sends, decision
    raise AssertionError("never stopped")


@pytest.mark.parametrize(
    ("outcome", "unit"),
    [
        (Outcome.BAD_REQUEST, UnitOutcome.REJECTED),
        (Outcome.CONTEXT_LENGTH, UnitOutcome.NOT_APPLICABLE),
        (Outcome.UNSUPPORTED_INPUT, UnitOutcome.NOT_APPLICABLE),
        (Outcome.QUOTA_EXHAUSTED, UnitOutcome.NOT_ATTEMPTED),
        (Outcome.AUTH, UnitOutcome.NOT_ATTEMPTED),
        (Outcome.MODEL_NOT_FOUND, UnitOutcome.NOT_ATTEMPTED),
        (Outcome.UNKNOWN, UnitOutcome.PROVIDER_ERROR),
    ],
)
def test_what_a_retry_cannot_mend_is_sent_once(outcome: Outcome, unit: UnitOutcome) -> None:  # F21, F22
    fault = Fault(outcome, "no", wait_s=5, maybe_billed=True)
    sends, stop = sends_until_stop(AskBudget(4, a_pool()), fault)
    assert (sends, stop.outcome) == (1, unit)


@pytest.mark.parametrize("max_sends", [1, 3, 4])
@pytest.mark.parametrize("outcome", [Outcome.UNAVAILABLE, Outcome.MALFORMED_REPLY])
def test_passing_faults_are_sent_max_sends_times(outcome: Outcome, max_sends: int) -> None:  # F20
    sends, stop = sends_until_stop(AskBudget(max_sends, a_pool()), Fault(outcome, "503"))
    assert (sends, stop.outcome) == (max_sends, UnitOutcome.PROVIDER_ERROR)


def test_a_cut_reply_goes_by_max_sends_although_it_may_be_billed() -> None:
    fault = Fault(Outcome.MALFORMED_REPLY, "cut", maybe_billed=True)
    assert sends_until_stop(AskBudget(4, a_pool()), fault)[0] == 4


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Outcome.TIMEOUT, "silence"),
        Fault(Outcome.TIMEOUT, "silence", maybe_billed=True),
        Fault(Outcome.UNAVAILABLE, "504", maybe_billed=True),
        Fault(Outcome.CONNECTION, "reset", maybe_billed=True),
    ],
)
def test_what_may_have_been_billed_is_sent_once_more_at_most(fault: Fault) -> None:
    sends, stop = sends_until_stop(AskBudget(4, a_pool()), fault)
    assert (sends, stop.outcome) == (2, UnitOutcome.PROVIDER_ERROR)
    assert sends_until_stop(AskBudget(1, a_pool()), fault)[0] == 1


def test_a_timeout_among_other_faults_still_allows_only_one_more() -> None:
    budget = AskBudget(4, a_pool())
    assert isinstance(budget.decide(Fault(Outcome.UNAVAILABLE, "503")), Retry)
    assert isinstance(budget.decide(Fault(Outcome.TIMEOUT, "silence")), Retry)
    assert isinstance(budget.decide(Fault(Outcome.TIMEOUT, "silence")), Stop)


def test_rate_limits_and_faults_have_budgets_of_their_own() -> None:  # F28
    budget = AskBudget(2, a_pool())
    for _ in range(50):
        assert isinstance(budget.decide(Fault(Outcome.RATE_LIMITED, "429", wait_s=1)), Retry)
    assert isinstance(budget.decide(Fault(Outcome.UNAVAILABLE, "503")), Retry)
    assert isinstance(budget.decide(Fault(Outcome.UNAVAILABLE, "503")), Stop)


def test_two_asks_of_one_pool_do_not_share_a_budget() -> None:  # F28
    pool = a_pool()
    first, second = AskBudget(2, pool), AskBudget(2, pool)
    assert isinstance(first.decide(Fault(Outcome.UNAVAILABLE, "503")), Retry)
    assert isinstance(first.decide(Fault(Outcome.UNAVAILABLE, "503")), Stop)
    assert isinstance(second.decide(Fault(Outcome.UNAVAILABLE, "503")), Retry)
    assert first.ticket < second.ticket


def test_connection_failures_count_only_while_others_connect() -> None:
    pool = a_pool()
    budget = AskBudget(2, pool)
    refused = Fault(Outcome.CONNECTION, "refused")
    for _ in range(30):
        assert budget.decide(refused) == Retry(2, "nothing connects")
    pool.report(Reply(Outcome.ANSWERED))
    assert budget.decide(refused) == Retry(2, "connection, send 2 of 2 is next")
    assert isinstance(budget.decide(refused), Retry)
    pool.report(Reply(Outcome.ANSWERED))
    assert isinstance(budget.decide(refused), Stop)


def test_a_told_wait_is_obeyed_in_full() -> None:  # F31
    budget = AskBudget(4, a_pool())
    assert budget.decide(Fault(Outcome.UNAVAILABLE, "503", wait_s=333)) == Retry(
        333, "unavailable, send 2 of 4 is next"
    )
    assert budget.decide(Fault(Outcome.RATE_LIMITED, "429", wait_s=0.174)) == Retry(0.174, "rate limited")


def test_waits_of_our_own_grow_with_each_send() -> None:
    budget = AskBudget(9, a_pool())
    decisions = [budget.decide(Fault(Outcome.UNAVAILABLE, "503")) for _ in range(8)]
    assert [decision.wait_s for decision in decisions if isinstance(decision, Retry)] == [
        2, 4, 8, 16, 32, 60, 60, 60,
    ]


@given(tries=st.integers(1, 10_000), chance=st.floats(0, 1))
def test_full_jitter_stays_between_1_and_60_seconds(tries: int, chance: float) -> None:
    wait_s = back_off_s(tries, lambda low, high: low + (high - low) * chance)
    assert 1 <= wait_s <= 60


def test_with_its_pool_closed_an_ask_stops_as_not_attempted() -> None:
    pool = a_pool()
    budget = AskBudget(4, pool)
    pool.close("told to")
    decision = budget.decide(Fault(Outcome.UNAVAILABLE, "503"))
    assert isinstance(decision, Stop)
    assert decision.outcome is UnitOutcome.NOT_ATTEMPTED


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_fault_comes_to_a_unit_outcome_and_no_answer_does(outcome: Outcome) -> None:
    if outcome.serves:
        with pytest.raises(ValueError, match=outcome.value):
            unit_outcome_of(Fault(outcome, ""))
    else:
        assert unit_outcome_of(Fault(outcome, "")) in UnitOutcome

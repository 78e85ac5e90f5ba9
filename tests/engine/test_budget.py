"""`--max-cost` in simulation: whatever is asked at once, no limit is passed, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_loop import run_virtual

from harness.budget import Budget, MaxCost, Spending
from harness.costs import reserve_usd
from harness.errors import BudgetReachedError
from harness.messages import Usage
from harness.settings import Model, Price, Provider

LAB = Provider(name="lab", adapter="openai", base_url="http://127.0.0.1:1/v1")


def model(name: str, **price: object) -> Model:
    rates = Price.model_validate({"input": 2.0, "output": 10.0, "cached_input": 0.5, **price})
    return Model(name=name, model=name, provider=LAB, price=rates, max_output_tokens=1000)


@dataclass(frozen=True)
class Sent:
    """One send: whose, its estimate, its true counts (never above what was reserved), how long it takes."""

    name: str
    estimate: int
    share_in: float
    share_out: float
    seconds: int
    told: bool

    @property
    def usage(self) -> Usage:
        if not self.told:
            return Usage()
        return Usage(int(self.estimate * self.share_in), int(1000 * self.share_out))


SHARES = st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0])
SENDS = st.builds(
    Sent, st.sampled_from("abr"), st.integers(1, 50_000), SHARES, SHARES, st.integers(1, 5), st.booleans()
)


@given(sends=st.lists(SENDS, max_size=40), total=st.floats(0.001, 0.5), of_a=st.floats(0.0, 0.2))
@settings(max_examples=60, deadline=None)
def test_no_limit_is_passed_whatever_is_asked_at_once(
    sends: list[Sent], total: float, of_a: float
) -> None:
    models = {name: model(name) for name in "abr"}
    budget = Budget(MaxCost(total, {"a": of_a}))
    truly: dict[str, float] = dict.fromkeys("abr", 0.0)
    refused: list[Sent] = []

    async def send(one: Sent) -> None:
        asked = models[one.name]
        most = reserve_usd(asked, one.estimate, {})
        assert most is not None
        try:
            async with budget.reserve(asked, one.estimate, {}) as reservation:
                await asyncio.sleep(one.seconds)
                # without counts it may have cost anything up to the reservation
                cost = (one.usage.input_tokens or 0) * 2e-6 + (one.usage.output_tokens or 0) * 1e-5
                truly[one.name] += cost if one.told else most
                assert sum(truly.values()) <= total + 1e-9 and truly["a"] <= of_a + 1e-9
                reservation.settle(one.usage, billed=True)
        except BudgetReachedError:
            refused.append(one)

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            for one in sends:
                group.create_task(send(one))

    run_virtual(work())
    assert budget.counted_usd == pytest.approx(sum(truly.values()))
    assert budget.reached is bool(refused)
    for one in refused:  # it would not have fitted into what was left when it was refused, nor does it now
        most = reserve_usd(models[one.name], one.estimate, {})
        over_all = sum(truly.values()) + (most or 0) > total
        assert over_all or (one.name == "a" and truly["a"] + (most or 0) > of_a)


def test_a_send_of_unknown_cost_counts_in_full_and_is_told_as_unknown() -> None:
    async def work() -> Budget:
        budget = Budget(MaxCost(1.0))
        async with budget.reserve(model("a"), 1000, {}) as reservation:
            reservation.settle(Usage(), billed=True)
        async with budget.reserve(model("a"), 1000, {}) as reservation:
            reservation.settle(Usage(), billed=False)  # an error is not billed
        async with budget.reserve(model("a"), 1000, {}):
            pass  # nothing was sent
        return budget

    budget = asyncio.run(work())
    assert budget.counted_usd == pytest.approx(0.012)
    assert budget.by_model["a"].to_json() == {
        "usd": None, "known_usd": 0.0, "sends": 2, "unknown": 1, "at_most_usd": pytest.approx(0.012)
    }  # fmt: skip


def test_what_is_known_is_told_apart_from_a_worst_case() -> None:
    async def work() -> Budget:
        budget = Budget(MaxCost(1.0))
        for usage in (Usage(1000, 10), Usage(), Usage()):
            async with budget.reserve(model("a"), 1000, {}) as reservation:
                reservation.settle(usage, billed=True)
        return budget

    budget = asyncio.run(work())
    spent = budget.spending()
    assert (spent.usd, spent.unknown) == (pytest.approx(0.0021), 2)
    assert spent.at_most_usd == pytest.approx(0.0021 + 2 * 0.012)
    assert budget.counted_usd == pytest.approx(0.0021 + 2 * 0.012)
    assert spent.told() == "$0.0021; 2 sends of unknown cost, $0.0240 more at most"
    assert budget.spending(but=["a"]).told() == "$0.0000"


def test_no_most_is_told_where_nothing_bounds_a_send() -> None:
    async def work() -> Spending:
        budget = Budget(MaxCost())
        async with budget.reserve(model("a", output=None), 1000, {}) as reservation:
            reservation.settle(Usage(), billed=True)
        return budget.spending()

    spent = asyncio.run(work())
    assert (spent.at_most_usd, spent.told()) == (None, "$0.0000; 1 send of unknown cost")


def test_a_refusal_says_what_one_request_may_cost_why_and_what_to_do() -> None:
    async def refused(limit: float) -> str:
        budget = Budget(MaxCost(limit))
        with pytest.raises(BudgetReachedError) as caught:
            for _ in range(2):
                async with budget.reserve(model("a"), 1000, {"max_tokens": 64_000}) as reservation:
                    reservation.settle(Usage(1000, 10), billed=True)
        assert budget.stopped == {None: str(caught.value)}
        return str(caught.value)

    request = "request of 'a' may cost $0.6420 (its output limit is 64000 tokens), more than the "
    ways = "left; lower max_tokens (--param max_tokens=N) or raise --max-cost"
    assert asyncio.run(refused(0.5)) == f"--max-cost 0.5 USD is reached: one {request}$0.5000 {ways}"
    told = f"--max-cost 0.643 USD is reached: $0.0021 spent, and one {request}$0.6409 {ways}"
    assert asyncio.run(refused(0.643)) == told


def test_a_long_request_is_reserved_at_its_own_price() -> None:
    tier = {"above_input_tokens": 200_000, "input": 4.0, "output": 20.0}
    asked = model("a", tiers=[tier])
    assert reserve_usd(asked, 200_000, {}) == pytest.approx(0.4 + 0.01)
    assert reserve_usd(asked, 200_001, {}) == pytest.approx(0.800004 + 0.02)


def test_input_that_is_to_be_kept_is_reserved_at_what_keeping_costs() -> None:
    kept = {"cache_control": {"type": "ephemeral"}}
    assert reserve_usd(model("a", cache_write=2.5), 1_000_000, kept) == pytest.approx(2.5 + 0.01)
    assert reserve_usd(model("a"), 1_000_000, kept) is None, "unknown, so it cannot be held to a budget"

"""The first ask goes alone, and five that are refused alike are enough."""

from __future__ import annotations

import asyncio

import pytest

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome
from harness.pools.canary import MAX_ALIKE, Canary

REFUSED = Fault(ExchangeOutcome.BAD_REQUEST, "unknown parameter", code="bad")
ANSWER = Reply(ExchangeOutcome.ANSWERED, "yes")


class Asks:
    """Asks that pass a canary and end when they are told how."""

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self.inside = 0
        self._ends: asyncio.Queue[tuple[Reply | Fault, int]] = asyncio.Queue()
        self.enough: list[bool] = []

    async def ask(self) -> None:
        async with self._canary.passage():
            self.inside += 1
            try:
                result, status = await self._ends.get()
                self.enough.append(self._canary.saw(result, status))
            finally:
                self.inside -= 1

    async def end(self, result: Reply | Fault, status: int = 200) -> None:
        self._ends.put_nowait((result, status))
        await settle()


async def settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_asks_pass_one_by_one_until_one_is_not_refused_then_all_at_once() -> None:
    asks = Asks(Canary())
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(asks.ask())
        await settle()
        assert asks.inside == 1
        await asks.end(REFUSED, 400)
        assert asks.inside == 1
        await asks.end(ANSWER)
        assert asks.inside == 18
        for _ in range(18):
            await asks.end(ANSWER)


async def test_an_open_gate_makes_nobody_wait() -> None:
    canary = Canary()
    assert canary.saw(ANSWER, 200) is False
    async with canary.passage(), canary.passage():
        assert canary.opened


async def test_an_ask_that_is_cancelled_lets_the_next_one_through() -> None:
    asks = Asks(Canary())
    first, second = asyncio.create_task(asks.ask()), asyncio.create_task(asks.ask())
    await settle()
    first.cancel()
    await settle()
    assert (first.cancelled(), asks.inside) == (True, 1)
    await asks.end(ANSWER)
    await second


def test_the_fifth_refusal_alike_is_enough() -> None:
    canary = Canary()
    assert [canary.saw(REFUSED, 400) for _ in range(MAX_ALIKE)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("other", "status"),
    [
        (Fault(ExchangeOutcome.BAD_REQUEST, "unknown parameter", code="worse"), 400),
        (Fault(ExchangeOutcome.BAD_REQUEST, "unknown parameter", code="bad"), 422),
    ],
)
def test_a_refusal_of_another_kind_starts_the_count_anew(other: Fault, status: int) -> None:
    canary = Canary()
    for _ in range(MAX_ALIKE - 1):
        canary.saw(REFUSED, 400)
    assert canary.saw(other, status) is False
    assert [canary.saw(REFUSED, 400) for _ in range(MAX_ALIKE)] == [False] * 4 + [True]


def test_other_words_of_the_same_refusal_count_as_alike() -> None:
    canary = Canary()
    said = [Fault(ExchangeOutcome.BAD_REQUEST, f"request {number}", code="bad") for number in range(5)]
    assert [canary.saw(one, 400) for one in said][-1] is True


@pytest.mark.parametrize(
    "outcome", [ExchangeOutcome.RATE_LIMITED, ExchangeOutcome.UNAVAILABLE, ExchangeOutcome.CONTEXT_LENGTH]
)
def test_whatever_is_no_refused_parameter_opens_the_gate(outcome: ExchangeOutcome) -> None:
    canary = Canary()
    assert canary.saw(Fault(outcome, "x"), 500) is False
    assert canary.opened
    assert [canary.saw(REFUSED, 400) for _ in range(2 * MAX_ALIKE)] == [False] * 10

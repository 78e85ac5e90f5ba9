"""How many units are at work at once, however many there are."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from harness.pools.limits import PoolLimits, PoolStatus
from harness.pools.pool import Pool
from harness.window import ASLEEP, LOOK_AHEAD, SMALLEST, Window

STATUS = Pool("p", PoolLimits()).status()


class Units:
    """Units that wait to be told that they are done."""

    def __init__(self) -> None:
        self.begun = 0
        self.at_work = 0
        self.most = 0
        self.cancelled = 0
        self.gates: list[asyncio.Event] = []

    async def unit(self) -> None:
        gate = asyncio.Event()
        self.gates.append(gate)
        self.begun += 1
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_work -= 1

    async def start(self, window: Window, count: int) -> None:
        for _ in range(count):
            await window.start(self.unit())

    async def settle(self) -> None:
        """Let everything run that can."""
        for _ in range(10):
            await asyncio.sleep(0)

    def end(self, count: int) -> None:
        ended, self.gates = self.gates[:count], self.gates[count:]
        for gate in ended:
            gate.set()


async def drained(units: Units, filling: asyncio.Task[None]) -> None:
    while not filling.done() or units.gates:
        units.end(len(units.gates))
        await units.settle()


@pytest.mark.parametrize(("limit", "size"), [(1, SMALLEST), (500, LOOK_AHEAD * 500)])
async def test_no_more_units_are_at_work_than_the_pool_can_use(limit: int, size: int) -> None:  # F36
    units = Units()
    async with Window(lambda: replace(STATUS, limit=limit, backing_off=0)) as window:
        filling = asyncio.create_task(units.start(window, size + 100))
        await units.settle()
        assert (units.begun, filling.done()) == (size, False)
        units.end(3)
        await units.settle()
        assert (units.begun, units.at_work) == (size + 3, size)
        await drained(units, filling)
    assert (units.begun, units.most) == (size + 100, size)


async def test_units_that_sleep_before_a_retry_make_room_for_others_up_to_a_bound() -> None:  # F30 F36
    units, status = Units(), replace(STATUS, limit=1, backing_off=10)
    async with Window(lambda: status) as window:
        filling = asyncio.create_task(units.start(window, 10 * SMALLEST))
        await units.settle()
        assert units.at_work == SMALLEST + 10
        status = replace(status, backing_off=10**6)
        units.end(1)  # any end lets the window look again
        await units.settle()
        assert units.at_work == SMALLEST + ASLEEP * SMALLEST
        await drained(units, filling)


async def test_a_window_that_is_left_waits_for_its_units() -> None:
    units = Units()

    async def work() -> None:
        async with Window(lambda: STATUS) as window:
            await units.start(window, 3)

    working = asyncio.create_task(work())
    await units.settle()
    assert (units.begun, working.done()) == (3, False)
    units.end(3)
    await working


async def test_the_first_exception_cancels_the_other_units_and_is_raised() -> None:
    units = Units()

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        async with Window(lambda: STATUS) as window:
            await units.start(window, 5)
            await units.settle()
            await window.start(broken())
            await asyncio.Event().wait()
    assert [type(one) for one in caught.value.exceptions] == [ZeroDivisionError]
    assert (units.cancelled, units.at_work) == (5, 0)


async def test_a_unit_that_waits_for_room_is_dropped_when_another_fails() -> None:
    units, full = Units(), replace(STATUS, limit=1, backing_off=0)
    fails = asyncio.Event()

    async def broken() -> None:
        await fails.wait()
        raise ZeroDivisionError

    async def fill(status: PoolStatus) -> None:
        async with Window(lambda: status) as window:
            await window.start(broken())
            await units.start(window, SMALLEST)

    filling = asyncio.create_task(fill(full))
    await units.settle()
    assert units.begun == SMALLEST - 1
    fails.set()
    with pytest.raises(ExceptionGroup):
        await asyncio.wait_for(filling, 5)
    assert (units.begun, units.cancelled) == (SMALLEST - 1, SMALLEST - 1)

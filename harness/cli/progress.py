"""How a run is going: bars on a terminal, a line now and then in a pipe, always on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType, TracebackType
from typing import Any, Self

from tqdm import tqdm

from harness.budget import Budget
from harness.cache.rows import UnitId
from harness.cli.options import printable, say
from harness.cli.tables import cut
from harness.outcomes import USABLE, ExchangeOutcome, UnitOutcome
from harness.pools.limits import PoolStatus
from harness.pools.pool import Pool

MAX_BARS = 8
"""Most models that have a bar of their own."""
PIPE_EVERY_S = 15.0
"""Seconds between two lines in a pipe."""
CAUSE_WIDTH = 200
"""Most characters of a cause that are shown."""
POLL_S = 0.5
"""Seconds between two looks at the pools."""


class Progress:
    """Shows units done and what each pool is doing; `unit_done` and `refresh` are called by the session."""

    def __init__(
        self,
        open_by_model: Mapping[str, int],
        key_variables: Mapping[str, str] = MappingProxyType({}),
        *,
        terminal: bool | None = None,
    ) -> None:
        self._key_variables = key_variables
        self._open = {name: count for name, count in open_by_model.items() if count}
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._done: Counter[str] = Counter()
        self._failures: dict[str, Counter[UnitOutcome]] = {name: Counter() for name in self._open}
        self._bars: dict[str | None, tqdm[Any]] = {}
        self._began = self._said = time.monotonic()
        self._told: set[str] = set()
        self._claim_waits: Mapping[str, int] = {}
        self._caused: set[tuple[str, ExchangeOutcome]] = set()

    def __enter__(self) -> Self:
        if self._terminal:
            self._bars[None] = _bar("all", sum(self._open.values()), 0)
            for position, (name, count) in enumerate(list(self._open.items())[:MAX_BARS], start=1):
                self._bars[name] = _bar(name, count, position)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for bar in reversed(self._bars.values()):  # from the lowest: each closed one moves those below it
            bar.close()

    def unit_done(self, unit: UnitId, outcome: UnitOutcome) -> None:
        """Count a unit that ended."""
        if outcome is UnitOutcome.NOT_ATTEMPTED:
            self._failures[unit.model][outcome] += 1
            return
        self._done[unit.model] += 1
        if outcome not in USABLE:
            self._failures[unit.model][outcome] += 1
        for name in (None, unit.model):
            if name in self._bars:
                self._bars[name].update()

    def refresh(self, pools: Mapping[str, Pool], budget: Budget, claim_waits: Mapping[str, int]) -> None:
        """Show what the pools are doing now; `claim_waits`: asks that wait for another process, by model."""
        self._claim_waits = claim_waits
        statuses = {name: pool.status() for name, pool in pools.items() if self._is_shown(name, pool)}
        self._tell_causes(_by_pool({name: pools[name] for name in statuses}))
        self._tell_closed(statuses)
        if self._terminal:
            for name, status in statuses.items():
                if name in self._bars:
                    self._bars[name].set_postfix_str(self._state(name, status), refresh=True)
            others = [f"{name}: {self._state(name, one)}" for name, one in self._others(statuses)]
            self._bars[None].set_postfix_str("; ".join([_spent(budget), *others]), refresh=True)
        elif time.monotonic() - self._said >= PIPE_EVERY_S:
            self._said = time.monotonic()
            self.say_lines(statuses, budget)

    def say_lines(self, statuses: Mapping[str, PoolStatus], budget: Budget) -> None:
        """Print the state as lines, for a pipe."""
        done, total = self._done.total(), sum(self._open.values())
        rate = done / max(time.monotonic() - self._began, 1e-9)
        say(f"progress: {done}/{total} units, {rate:.1f}/s, {_spent(budget)}")
        for name, status in statuses.items():
            if self._done[name] < self._open.get(name, 0):
                say(f"  {name}: {self._done[name]}/{self._open[name]}, {self._state(name, status)}")
        for name, status in self._others(statuses):
            say(f"  {name} (reformatter): {self._state(name, status)}")

    def _is_shown(self, name: str, pool: Pool) -> bool:
        return name in self._open or pool.status().sends > 0

    def _others(self, statuses: Mapping[str, PoolStatus]) -> list[tuple[str, PoolStatus]]:
        """Return the pools that have no units of their own but hold up those of others: reformatters."""
        return [
            (name, status)
            for name, status in statuses.items()
            if name not in self._open and (status.in_flight or status.waiting or status.backing_off)
        ]

    def _tell_closed(self, statuses: Mapping[str, PoolStatus]) -> None:
        for name, status in statuses.items():
            if status.closed and status.closed != "interrupted" and name not in self._told:
                self._told.add(name)
                told = f"{status.closed}{_until(status)}{self._key_to_check(name, status)}"
                self.write(f"{name}: no more requests in this session: {told}")

    def _key_to_check(self, name: str, status: PoolStatus) -> str:
        """Return what to look at where the provider did not take the key."""
        variable = self._key_variables.get(name)
        refused = status.failures.get(ExchangeOutcome.AUTH)
        return f"; check the key in {variable}" if variable and refused else ""

    def _tell_causes(self, pools: Mapping[str, Pool]) -> None:
        """Say once what each kind of failure was, in the words of the server or the network.

        Of models that share a pool nobody knows whose it was, so they are named together.
        """
        for names, pool in pools.items():
            for outcome, message in pool.status().last_messages.items():
                if (pool.name, outcome) not in self._caused:
                    self._caused.add((pool.name, outcome))
                    self.write(f"{names}: {outcome}: {cut(message, CAUSE_WIDTH)}")

    def write(self, text: str) -> None:
        """Print a line, above the bars where there are any."""
        if self._terminal:
            tqdm.write(printable(text), file=sys.stderr)
        else:
            say(text)

    def _state(self, name: str, status: PoolStatus) -> str:
        parts = [f"{status.in_flight} in flight", f"{status.sends} sends"]
        if self._claim_waits.get(name):
            parts.append(f"{self._claim_waits[name]} wait for another process")
        if status.held_until_s:
            parts.append(f"waiting {status.held_until_s:.0f} s ({status.held_why})")
        parts += [f"{count} x {why}" for why, count in status.backing_off_for.items()]
        if status.retries:
            parts.append(f"{status.retries} retries")
        faults = ", ".join(f"{count} {outcome}" for outcome, count in status.failures.items())
        parts += [faults] if faults else []
        ended = ", ".join(f"{count} {outcome}" for outcome, count in self._failures.get(name, {}).items())
        return "; ".join([*parts, *([f"units: {ended}"] if ended else [])])


def _by_pool(pools: Mapping[str, Pool]) -> Mapping[str, Pool]:
    """Return each pool once, under the names of all models that share it."""
    names: dict[int, list[str]] = {}
    for name, pool in pools.items():
        names.setdefault(id(pool), []).append(name)
    return {", ".join(found): pools[found[0]] for found in names.values()}


def _spent(budget: Budget) -> str:
    spent = budget.spending()
    return f"${spent.usd:.4f}{'+?' if spent.unknown else ''}"


def _until(status: PoolStatus) -> str:
    if status.closed_until_s is None:
        return ""
    moment = datetime.now(UTC) + timedelta(seconds=min(status.closed_until_s, 315_576_000.0))
    return f"; until {moment:%Y-%m-%d %H:%M} UTC"


def _bar(name: str, total: int, position: int) -> tqdm[Any]:
    return tqdm(
        total=total,
        desc=name[:20].ljust(min(20, max(len(name), 12))),
        position=position,
        file=sys.stderr,
        dynamic_ncols=True,
        leave=position == 0,
        bar_format="{desc} {n_fmt}/{total_fmt} {rate_fmt}{postfix}",
    )

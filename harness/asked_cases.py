"""Of which cases a condition is asked: of all, but where it needs what some cases do not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from harness.benchmarks.base import Benchmark, Case

AskedCases: TypeAlias = "Mapping[str, bytes]"
"""Condition -> one byte a case, in their order, 1 where it is asked; without those that are asked of all."""


def asked_cases(benchmark: Benchmark, cases: Iterable[Case], conditions: Iterable[str]) -> AskedCases:
    """Return of which cases each condition is asked; decodes them only where a condition is partial."""
    partial = [name for name in conditions if name in benchmark.partial_conditions]
    if not partial:
        return {}
    flags = {name: bytearray() for name in partial}
    for case in cases:
        for name, asked in flags.items():
            asked.append(benchmark.asks(case, name))
    return {name: bytes(asked) for name, asked in flags.items() if not all(asked)}

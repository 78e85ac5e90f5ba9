"""Which benchmarks and steps there are, by name; a package is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from harness.benchmarks.base import Benchmark
from harness.errors import ConfigError, UnknownNameError

BENCHMARKS = {
    "medlay": "harness.benchmarks.medlay",
    "pandent": "harness.benchmarks.pandent",
    "radm": "harness.benchmarks.radm",
    "triage": "harness.benchmarks.triage",
}

STEPS = {
    "evaluate": ("medlay",),
    "grade": ("radm",),
    "judge": ("triage",),
    "normalise": ("pandent",),
    "translate": ("radm",),
    "verify": ("medlay",),
}
"""Kind of step -> the benchmarks that have one, in `steps` of their package."""


def get_benchmark(name: str) -> Benchmark:
    """Return a benchmark by name, or one of its steps, as in "triage.judge".

    Each package holds one, named `benchmark`, and its steps by kind as `steps`. Raises UnknownNameError.
    """
    base, dot, kind = name.partition(".")
    if base not in BENCHMARKS:
        raise UnknownNameError(f"unknown benchmark {name!r}; known: {', '.join(sorted(BENCHMARKS))}")
    if dot and base not in STEPS.get(kind, ()):
        known = ", ".join(one for one, owners in STEPS.items() if base in owners) or "none"
        raise UnknownNameError(f"{base} has no step {kind!r}; it has: {known}")
    package = import_module(BENCHMARKS[base])
    return cast(Benchmark, package.steps[kind] if dot else package.benchmark)


def chosen_conventions(benchmark: Benchmark, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return every convention with the value that is wanted, else its default. Raises ConfigError."""
    for name, value in wanted.items():
        known = benchmark.conventions.get(name)
        if known is None:
            raise ConfigError(
                f"unknown convention {name!r} of {benchmark.name}; known: {', '.join(benchmark.conventions)}"
            )
        if value not in known:
            raise ConfigError(f"convention {name!r} cannot be {value!r}; known: {', '.join(known)}")
    return {name: wanted.get(name, values[0]) for name, values in benchmark.conventions.items()}

"""The PanDent benchmark: clinical reports and questions about single findings of a panoramic radiograph."""

from __future__ import annotations

from collections.abc import Mapping

from harness.benchmarks.base import Benchmark
from harness.benchmarks.pandent.normalise import Normalise
from harness.benchmarks.pandent.task import PanDent
from harness.benchmarks.steps import Step

benchmark: Benchmark = PanDent()
steps: Mapping[str, Step] = {"normalise": Normalise()}

"""The triage benchmark (Dental-TriageBench)."""

from __future__ import annotations

from collections.abc import Mapping

from harness.benchmarks.base import Benchmark
from harness.benchmarks.steps import Step
from harness.benchmarks.triage.judge import TriageJudge
from harness.benchmarks.triage.task import Triage

benchmark: Benchmark = Triage()
steps: Mapping[str, Step] = {"judge": TriageJudge()}

"""The triage benchmark (Dental-TriageBench)."""

from __future__ import annotations

from harness.benchmarks.base import Benchmark
from harness.benchmarks.triage.task import Triage

benchmark: Benchmark = Triage()

"""RadM-Bench: ranked differential diagnoses of radiology cases, in two languages."""

from __future__ import annotations

from collections.abc import Mapping

from harness.benchmarks.base import Benchmark
from harness.benchmarks.radm.grade import RadMGrade
from harness.benchmarks.radm.task import RadM
from harness.benchmarks.radm.translate import Translate
from harness.benchmarks.steps import Step

benchmark: Benchmark = RadM()
steps: Mapping[str, Step] = {"grade": RadMGrade(), "translate": Translate()}

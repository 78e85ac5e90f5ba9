"""The MedLayXPlain benchmark: lay explanations of a marked region of a medical image."""

from __future__ import annotations

from collections.abc import Mapping

from harness.benchmarks.base import Benchmark
from harness.benchmarks.medlay.evaluate import Evaluate
from harness.benchmarks.medlay.task import MedLay
from harness.benchmarks.medlay.verify import Verify
from harness.benchmarks.steps import Step

benchmark: Benchmark = MedLay()
steps: Mapping[str, Step] = {"evaluate": Evaluate(), "verify": Verify()}

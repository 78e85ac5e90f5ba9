"""The step `translate`: Chinese histories in English, for the cross-language control.

The paper translated every history of RealClin by DeepSeek-V3 (deepseek-chat, April 2026) and asked all models
again, everything else alike ("Cross-Linguistic Control Experiment"). Its provider has withdrawn that model,
so the user names one. One call a case: a translation is of the case, whoever is asked with it afterwards.

What a translation loses is no score of anybody; what can be told of it without reading is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.case_steps import CaseStep
from harness.benchmarks.prompts import load_prompt, render
from harness.benchmarks.quoting import quoted
from harness.benchmarks.radm.cases import HAN
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Made, NoCase, StepCase
from harness.messages import Message, TextPart

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Resampling

_DIGITS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PATHS: Final = ("chinese_left.share", "digits_lost.share")


class Translate(CaseStep):
    """The step as the engine sees it."""

    kind = "translate"
    benchmark = "radm"
    title = "RadM-Bench: Chinese clinical histories in English"
    no_default = (
        "since its provider has withdrawn the paper's, deepseek-chat (its stand-in is deepseek-v4-flash)"
    )
    fields = frozenset({"history"})
    scorer = "radm.translate-1"

    def made_of(self, case: Case) -> Made:
        """Return the history of a Chinese case that has no English one yet."""
        if case.reference["language"] != "zh":
            return NoCase("in English already")
        if "history_en" in case.fields:
            return NoCase("translated already")
        return StepCase(fields={"history": case.fields["history"]}, reference={})

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case; the history is quoted data."""
        text = render(prompt, quoted({"history": case.fields["history"]}))
        return (Message("user", (TextPart(text),)),)

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt."""
        return load_prompt("radm-translate-v1")

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows are shown; they have no order of merit."""
        return ScoreTable(
            numbers=("translated", "chinese_left", "digits_lost"),
            main_metric=None,
            columns=(
                MetricColumn(_PATHS[0], ("Chinese", "left"), better="lower", best=0),
                MetricColumn(_PATHS[1], ("digits", "lost"), better="lower", best=0),
            ),
            legend=(
                "share of the translations with Chinese characters in them, and of those that lack a number "
                "which the history has in digits (it may stand there as a word)"
            ),
            one_reading="translated (a history without a translation is in no number)",
        )

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return whether there is a translation, Chinese characters in it, and numbers lost (1 or 0)."""
        if unit.prediction is None:
            return (0, 0, 0)
        text = str(unit.prediction)
        lost = set(_DIGITS.findall(unit.case.fields["history"])) - set(_DIGITS.findall(text))
        return (1, bool(HAN.search(text)), bool(lost))

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return both shares of the translations that there are."""
        there = units.numbers[units.numbers[:, 0] == 1]
        if not len(there):
            return {path: MetricValue(None, 0, "nothing was translated") for path in _PATHS}
        return {
            path: MetricValue(float(there[:, column].mean()), len(there))
            for column, path in enumerate(_PATHS, start=1)
        }

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return nothing: these are counts of what to look at, no estimates."""
        return {}

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return both for one translation."""
        return {
            path: float(numbers[column]) if numbers[0] else None
            for column, path in enumerate(_PATHS, start=1)
        }

"""The MedLayXPlain benchmark: a medical image with a marked region, explained to a patient in lay words.

Source of its rules: "MedLayXPlain: Benchmarking the Expert-Lay Gap in Medical Vision-Language Models", "the
paper" in this package. Prompts are worded by us. Its task A is said to ask for an expert and a lay text, but
the prompt that it prints asks for the lay text alone, and its table is of that: so do we.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from harness.benchmarks.base import Benchmark, Case, CaseSet, Prompt, Question
from harness.benchmarks.details import Detail
from harness.benchmarks.medlay import details
from harness.benchmarks.medlay.attributes import QUESTIONS, SCALE
from harness.benchmarks.medlay.cases import EXPERT, check_cases, load_cases
from harness.benchmarks.medlay.ratings import POINTS
from harness.benchmarks.medlay.ratings import QUESTIONS as RATINGS
from harness.benchmarks.medlay.roi import image_part
from harness.benchmarks.prompts import check_placeholders, load_prompt, placeholders, render
from harness.benchmarks.scored import BaselineRow, MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.task import Task
from harness.canonical import JSON
from harness.errors import ConfigError, UnknownNameError
from harness.media_reading import MediaReader
from harness.messages import Message, Part, Schema, TextPart

if TYPE_CHECKING:
    from harness.benchmarks.medlay.lay_numbers import Layout
    from harness.benchmarks.sheets import GradingTask
    from harness.scoring.intervals import Interval
    from harness.scoring.replicates import Statistic, Units
    from harness.scoring.resampling import Resampling

CONDITIONS: Final = ("A", "B", "C")
WITH_IMAGE: Final = frozenset({"A", "B"})
WITH_CAPTION: Final = frozenset({"B", "C"})

RANKS: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "none": None,
        "medlayeval": "medlayeval.overall",
        "rubric": "rubric.overall",
        "rouge_l": "rouge_l",
        "sari": "sari",
    }
)
"""Value of the convention `rank` -> the metric that ranks.

None by default. The paper ranks by MedLayEval alone; the other scores reward what they should not (copied
words, short texts, in SARI a caption that was not changed), and an order that came and went with the grades
would be two tables under one name. So whoever wants an order says by what, and the scores keep it.
"""

_COLUMNS: Final = (
    MetricColumn("rouge_l", ("", "R-L"), 2, best=SCALE),
    MetricColumn("medlayeval.overall", ("MLE", "S"), 1, optional=True, best=SCALE),
    MetricColumn("rubric.overall", ("", "rubric"), 1, optional=True, best=SCALE),
    MetricColumn("bertscore", ("", "BERT-F"), 1, optional=True, best=SCALE),
    MetricColumn("ratescore", ("", "RaTE"), 1, optional=True, best=SCALE),
    MetricColumn("green", ("", "GREEN"), 1, optional=True, best=SCALE),
    MetricColumn("sari", ("", "SARI"), 2, best=SCALE),
    MetricColumn("bleu4", ("", "BLEU4"), 2, best=SCALE),
    MetricColumn("fk.answer", ("FK", "grade"), 1, better=None, best=None),
    MetricColumn("fk.reduction", ("FK", "less"), 1, better=None, best=None),
    MetricColumn("three_parts.share", ("three", "parts")),
    MetricColumn("length_ratio", ("len", "ratio"), 2, better=None, best=None),
    MetricColumn("medlayeval.factual", ("MLE", "fact"), 1, optional=True, best=SCALE),
    MetricColumn("medlayeval.readability", ("MLE", "read"), 1, optional=True, best=SCALE),
    MetricColumn("rubric.factual", ("rubric", "fact"), 1, optional=True, best=SCALE),
    MetricColumn("rubric.readability", ("rubric", "read"), 1, optional=True, best=SCALE),
    MetricColumn("expert.completeness.mean", ("expert", "compl"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("expert.fluency.mean", ("expert", "fluent"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("expert.simplicity.mean", ("expert", "simple"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("expert.factual_correctness.mean", ("expert", "fact"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("reader.understandability.mean", ("reader", "underst"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("reader.fluency.mean", ("reader", "fluent"), 2, optional=True, best=POINTS[-1]),
    MetricColumn("reader.trustworthiness.mean", ("reader", "trust"), 2, optional=True, best=POINTS[-1]),
)
_LEGEND: Final = (
    "0 to 100, as the paper prints them: R-L, SARI (source: the expert caption), BLEU4 and grades; FK: "
    "Flesch-Kincaid grade, less: below the expert caption; MLE S, rubric: means of the five attributes, by "
    "MedLayEval and by a model with a rubric; three parts: share of answers of that form; len ratio: "
    "tokens per token of reference; expert, reader: means of people's points, 1 to 5. No score here ranks "
    "by itself: the paper ranks by MedLayEval and finds that R-L and BLEU4 reward copied words, SARI "
    "hardly tells models apart, and FK rewards short texts. With grades, --convention rank=medlayeval or "
    "rank=rubric (docs/medlay.md)"
)


class MedLay(Task):
    """The MedLayXPlain benchmark as the engine sees it; `conventions` are those that a run is scored by."""

    name: str = "medlay"
    title: str = "MedLayXPlain: a marked region of a medical image, explained to a patient"
    conditions: tuple[str, ...] = CONDITIONS
    main_conditions: tuple[str, ...] = ("A",)
    default_params: Mapping[str, JSON] = MappingProxyType({"temperature": 0, "max_tokens": 1024})
    scorer: str = "medlay-1"
    strata: Sequence[str] = ("modality",)
    conventions: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {"sari": ("hf", "easse"), "rank": tuple(RANKS)}
    )
    questions: Mapping[str, Question] = MappingProxyType({**QUESTIONS, **RATINGS})

    def __init__(self, chosen: Mapping[str, str] | None = None) -> None:
        self._chosen = chosen or {name: values[0] for name, values in self.conventions.items()}

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Read a folder of case files. Raises CaseFileError that names the line and the mend."""
        return load_cases(folder, media)

    def check(self, folder: Path) -> list[str]:
        """Return everything that is wrong with a folder of case files, unusable images included."""
        return check_cases(folder)

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return what radiologists and lay readers are asked about a lay text."""
        from harness.benchmarks.medlay.ratings import ExpertRatings, ReaderRatings

        return {"expert": ExpertRatings(), "reader": ReaderRatings()}

    def schema(self, condition: str) -> Schema | None:
        """Return None: answers are text."""
        _check(condition)
        return None

    def compared_texts(self, case: Case, condition: str) -> tuple[str | None, str | None]:
        """Return the lay caption, and the expert's that it words anew."""
        return str(case.reference["lay_caption"]), case.fields[EXPERT]

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt of a condition."""
        _check(condition)
        return load_prompt(f"medlay-{condition.lower()}-v1")

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError where a prompt cannot serve a condition: {expert_caption} is of B and C alone."""
        _check(condition)
        shown = frozenset({EXPERT}) if condition in WITH_CAPTION else frozenset[str]()
        check_placeholders(prompt, shown)
        if shown - placeholders(prompt):
            raise ConfigError(
                f"prompt {prompt.id!r} lacks {{{EXPERT}}}, which condition {condition!r} is about"
            )

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case: the text, then the image. Raises ConfigError, MediaError."""
        self.check_prompt(prompt, condition)
        values = {EXPERT: case.fields[EXPERT]} if condition in WITH_CAPTION else {}
        parts: list[Part] = [TextPart(render(prompt, values))]
        if condition in WITH_IMAGE:
            parts.append(image_part(case))
        return (Message("user", tuple(parts)),)

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the input ablation, where a run asks several conditions."""
        from harness.benchmarks.medlay.ablation import unions

        return unions(conditions)

    def table(self, condition: str) -> ScoreTable:
        """Return how rows are scored and shown: those of a condition, or of the ablation."""
        from harness.benchmarks.medlay import ablation
        from harness.benchmarks.medlay.baselines import NOTES, PREVALENCE

        if condition == ablation.UNION:
            return ScoreTable(self._layout.names, None, ablation.COLUMNS, ablation.LEGEND)
        return ScoreTable(
            numbers=self._layout.names,
            main_metric=RANKS[self._chosen["rank"]],
            columns=_COLUMNS,
            legend=_LEGEND,
            baseline_notes=NOTES,
            unrelated=PREVALENCE,
            unit_value="rouge_l",
        )

    def prepared(self, conventions: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
        """Give the benchmark by the conventions that a run is scored by."""
        return nullcontext(cast("Benchmark", MedLay(conventions)))

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `medlay.details`."""
        from harness.benchmarks.medlay import ablation

        return () if condition == ablation.UNION else details.CONDITION

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return what the metrics need; see `lay_numbers`."""
        from harness.benchmarks.medlay.lay_numbers import CaseTexts, lay_numbers
        from harness.benchmarks.medlay.lay_texts import LayText

        reference = unit.case.reference
        case = CaseTexts(
            LayText(str(reference["lay_caption"])),
            LayText(unit.case.fields[EXPERT]),
            str(reference["modality"]),
        )
        answer = None if unit.prediction is None else LayText(str(unit.prediction))
        return lay_numbers(answer, case, unit.grades, self._layout)

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row; see `lay_scores` and `ablation`."""
        from harness.benchmarks.medlay import ablation, lay_scores

        if condition == ablation.UNION:
            return ablation.difference_metrics(units, self._layout)
        return lay_scores.lay_metrics(units.numbers, self._layout)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of one row's metrics."""
        from harness.benchmarks.medlay import ablation, lay_scores

        if condition == ablation.UNION:
            return ablation.difference_intervals(units, self._layout, resampling)
        return lay_scores.lay_intervals(units, self._layout, resampling)

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return the sums of a condition; see `lay_scores`. The ablation's rows are not compared."""
        from harness.benchmarks.medlay import ablation, lay_scores

        return None if condition == ablation.UNION else lay_scores.lay_sums(units, self._layout)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return the metrics that are means over units, for one unit."""
        from harness.benchmarks.medlay.lay_scores import lay_unit_scores

        return lay_unit_scores(numbers, self._layout)

    def baselines(
        self, cases: Mapping[str, Iterable[Case]], conventions: Mapping[str, str]
    ) -> Mapping[str, BaselineRow]:
        """Return the rows of texts that look at no image; none in the ablation, where they do not differ."""
        from harness.benchmarks.medlay.baselines import baseline_rows

        if len(cases) > 1:
            return {}
        (of_one,) = cases.values()
        return baseline_rows(of_one, self._layout)

    @property
    def _layout(self) -> Layout:
        from harness.benchmarks.medlay.lay_numbers import layout_of

        return layout_of(self._chosen["sari"])


def _check(condition: str) -> None:
    if condition not in CONDITIONS:
        raise UnknownNameError(
            f"unknown condition {condition!r} of medlay; known: {', '.join(CONDITIONS)}; correct --conditions"
        )

"""The PanDent benchmark: a clinical report of a panoramic radiograph, and questions about single findings.

Source of its rules: "PanDent: Toward Comprehensive Tooth-Level Structure-Language Consistency in Dental
Radiology", "the paper" in this package. Prompts are worded by us; the paper prints those of single findings,
and only a line of the other (its table 5). It states no decoding parameters and no second attempt: give
`--attempts 1` for its way of counting an answer that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from harness.answers.readings import TextReader
from harness.benchmarks.base import Benchmark, Case, CaseSet, Prompt
from harness.benchmarks.details import Detail
from harness.benchmarks.pandent import details
from harness.benchmarks.pandent.answers.reader import attribute_reader
from harness.benchmarks.pandent.cases import ROLE, check_cases, load_cases
from harness.benchmarks.pandent.findings import ABBREVIATIONS, BY_ID, FINDINGS, TABLE2
from harness.benchmarks.pandent.questions import ATTRIBUTE, ATTRIBUTES, QUESTIONS, REPORT, finding_of
from harness.benchmarks.pandent.report_tools import (
    REPORT_CONVENTIONS,
    ReportTools,
    open_tools,
    tools_here,
)
from harness.benchmarks.prompts import check_placeholders, load_prompt, placeholders, render
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.task import Task
from harness.canonical import JSON, sha256_hex
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.media_reading import MediaReader
from harness.messages import ImagePart, Message, Schema, TextPart

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.replicates import Statistic, Units
    from harness.scoring.resampling import Resampling

_PROMPTS: Final = {
    "binary": "pandent-binary-v1",
    "binary_with_description": "pandent-binary-v1",
    "tooth_set": "pandent-tooth-set-v1",
    "bridge_patterns": "pandent-bridge-v1",
}
"""Type of a finding -> id of the prompt that asks about it."""

_QUESTION_FIELDS: Final = frozenset({"finding", "none"})

_REPORT_NOTES: Final = MappingProxyType(
    {
        "nothing": "reports that nothing was found, in our own sentences, in every case",
        "prevalence": (
            "gives each case the reference of another case, drawn at random: mean of 3 seeded draws (one "
            "beyond 500 cases), without METEOR; what it scores is owed to the templates that the references "
            "are made of"
        ),
        "fixed template": (
            "reports what is usual in the references of the scored cases, in our own sentences, in every case"
        ),
        "typical report": "gives every case the reference of the most usual one",
    }
)
_ATTRIBUTE_NOTES: Final = MappingProxyType(
    {
        "nothing": "says no, or names no tooth, in every case",
        "majority": "gives every case the most frequent answer of the references",
        "prevalence": (
            "guesses each tooth (or yes) by itself, as often as it is in the references of the scored cases: "
            "the expected values"
        ),
        "fixed template": "gives every case what the fixed clinical report of the references says",
    }
)
_ATTRIBUTE_LEGEND: Final = (
    "exact: share of whole answers that are right; mean: over the questions, n being the fewest cases of "
    "one; if pos: of the cases that have the finding; P, R: precision and recall of teeth; GCBL: generalized "
    "crestal bone loss (M mandible, X maxilla), NMPP: non-metal posts, Peri: periapical lesions, RCT: "
    "root-canal treatment, Amal: metallic and NMR non-metal restorations"
)


def _short(finding: str) -> str:
    """Return the paper's short name of a finding, else the start of its id."""
    return ABBREVIATIONS[finding].rstrip(".") if finding in ABBREVIATIONS else finding[:8]


def _attribute_table(condition: str) -> ScoreTable:
    """Return the table of the union, or of one question: shown where there is no union."""
    from harness.benchmarks.pandent.attribute_scores import NUMBERS

    united = condition == ATTRIBUTES
    main = "exact_match.mean" if united else "exact_match"
    binary = not united and BY_ID[finding_of(condition)].answer == "binary"
    kind = "yes" if binary else "tooth"
    columns = [
        MetricColumn(main, ("exact", "mean") if united else ("exact", "match")),
        MetricColumn("positives.exact_match", ("exact", "if pos")),
        MetricColumn(f"{kind}.precision", (kind, "P")),
        MetricColumn(f"{kind}.recall", (kind, "R")),
    ]
    if united:
        columns += [
            MetricColumn(f"exact_match.{name}", ("exact", _short(name)))
            for name in (*TABLE2, *(name for name in BY_ID if name not in TABLE2))
        ]
    return ScoreTable(
        numbers=NUMBERS,
        main_metric=main,
        columns=tuple(columns),
        legend=_ATTRIBUTE_LEGEND,
        baseline_notes=_ATTRIBUTE_NOTES,
        shown_in=None if united else ATTRIBUTES,
        right="exact_match",
    )


class PanDent(Task):
    """The PanDent benchmark as the engine sees it; `tools` are what scoring clinical reports takes."""

    name: str = "pandent"
    title: str = "PanDent: clinical reports and single findings of a panoramic radiograph"
    conditions: tuple[str, ...] = (REPORT, *(f"{ATTRIBUTE}{finding.id}" for finding in FINDINGS))
    main_conditions: tuple[str, ...] = (
        REPORT,
        *(f"{ATTRIBUTE}{finding.id}" for finding in FINDINGS if finding.id in TABLE2),
    )
    scorer: str = "pandent-1"
    conventions: Mapping[str, tuple[str, ...]] = REPORT_CONVENTIONS

    def __init__(self, tools: ReportTools | None = None) -> None:
        self._tools = tools

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Read a folder of case files. Raises CaseFileError that names the line and the mend."""
        return load_cases(folder, media)

    def check(self, folder: Path) -> list[str]:
        """Return everything that is wrong with a folder of case files, unusable images included."""
        return check_cases(folder)

    def schema(self, condition: str) -> Schema | None:
        """Return None: answers are text."""
        _check(condition)
        return None

    def text_reader(self, condition: str) -> TextReader | None:
        """Return how one sentence about a finding is read; a clinical report stands as it is."""
        return None if condition == REPORT else attribute_reader(_finding(condition))

    def compared_texts(self, case: Case, condition: str) -> tuple[str | None, str | None]:
        """Return the expert's clinical report, where one is asked for and the case has it."""
        found = case.reference.get("report") if condition == REPORT else None
        return (found if isinstance(found, str) else None), None

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt of a condition, with the words of its question put in."""
        _check(condition)
        if condition == REPORT:
            return load_prompt("pandent-report-v1")
        name = _finding(condition)
        form = load_prompt(_PROMPTS[BY_ID[name].type])
        text = render(form, _words(name))
        return Prompt(f"{form.id}:{name}", sha256_hex(text.encode("utf-8")), text)

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError where a prompt cannot serve a condition.

        Only questions have words to put in: {finding}, and the sentence for none as {none}.
        """
        _check(condition)
        check_placeholders(prompt, frozenset() if condition == REPORT else _QUESTION_FIELDS)

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case: the text, then the image. Raises ConfigError, MediaError."""
        self.check_prompt(prompt, condition)
        words = _words(_finding(condition)) if placeholders(prompt) else {}
        images = [ImagePart(media) for media in case.media.get(ROLE, ())]
        if not images:
            raise MediaError(f"case {case.id!r} has no usable image: {case.problem or 'none was loaded'}")
        return (Message("user", (TextPart(render(prompt, words)), *images)),)

    def reformat_prompt(self, condition: str) -> Prompt:
        """Nobody restates text answers; see `harness step normalise`."""
        raise ConfigError("pandent has no reformatter; `harness step normalise` restates clinical reports")

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the union of all questions about single findings, where there are several."""
        asked = tuple(name for name in conditions if name != REPORT)
        return {ATTRIBUTES: asked} if len(asked) > 1 else {}

    def table(self, condition: str) -> ScoreTable:
        """Return how rows are scored and shown: those of reports, of one question, or of all together."""
        if condition != REPORT:
            return _attribute_table(condition)
        from harness.benchmarks.pandent import report_scores

        return ScoreTable(
            numbers=report_scores.REPORT_NUMBERS,
            main_metric=report_scores.REPORT_MAIN_METRIC,
            columns=report_scores.REPORT_COLUMNS,
            legend=report_scores.REPORT_LEGEND,
            baseline_notes=_REPORT_NOTES,
            unrelated="prevalence",
            unit_value="rouge_l",
        )

    @contextmanager
    def prepared(self, conventions: Mapping[str, str]) -> Iterator[Benchmark]:
        """Give the benchmark with what scoring clinical reports takes, and end that afterwards."""
        with open_tools(conventions) as tools:
            yield PanDent(tools)

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `pandent.details`."""
        return details.UNION if condition == ATTRIBUTES else ()

    def tools_here(self, conventions: Mapping[str, str]) -> Mapping[str, bool]:
        """Return whether each METEOR can be computed here, unless it is switched off."""
        return tools_here(conventions)

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return what the metrics need; see `report_scores` and `attribute_scores`."""
        if unit.condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import unit_numbers

            return unit_numbers(unit)
        from harness.benchmarks.pandent.report_scores import report_numbers

        assert self._tools is not None, "scoring goes through `prepared`"
        answer = None if unit.prediction is None else str(unit.prediction)
        reference = unit.case.reference["report"]
        return report_numbers(answer, None if reference is None else str(reference), self._tools)

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row."""
        if condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import metrics

            return metrics(units)
        from harness.benchmarks.pandent.report_scores import report_metrics

        return report_metrics(units.numbers, self._tools)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of one row's metrics."""
        if condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import intervals

            return intervals(units, resampling)
        from harness.benchmarks.pandent.report_intervals import report_intervals

        return report_intervals(units, resampling)

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return the sums of reports, or of questions; see `report_intervals`, `attribute_scores`."""
        if condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import sums

            return sums(units)
        from harness.benchmarks.pandent.report_intervals import report_sums

        return report_sums(units)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return the metrics that are means over units, for one unit."""
        if condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import unit_scores

            return unit_scores(numbers)
        from harness.benchmarks.pandent.report_scores import report_unit_scores

        return report_unit_scores(numbers)

    def constant_answers(self, cases: Iterable[Case], condition: str) -> Mapping[str, JSON]:
        """Return the rows `nothing`, `fixed template` and `majority` or `typical report`."""
        if condition != REPORT:
            from harness.benchmarks.pandent.attribute_scores import constant_answers

            return constant_answers(cases, condition)
        from harness.benchmarks.pandent.constant_reports import constant_reports

        return constant_reports([*cases])

    def baselines(
        self, cases: Mapping[str, Iterable[Case]], conventions: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return the row `prevalence`."""
        if REPORT not in cases:
            from harness.benchmarks.pandent.attribute_scores import prevalence_metrics

            return {"prevalence": prevalence_metrics(cases)}
        from harness.benchmarks.pandent.drawn_reports import drawn_metrics

        return {"prevalence": drawn_metrics([*cases[REPORT]], conventions)}


def _check(condition: str) -> None:
    if condition != REPORT and _finding(condition) not in BY_ID:
        raise UnknownNameError(
            f"unknown condition {condition!r} of pandent; known: {REPORT}, and {ATTRIBUTE}ID of "
            f"{', '.join(BY_ID)}; correct --conditions"
        )


def _finding(condition: str) -> str:
    return finding_of(condition) if condition.startswith(ATTRIBUTE) else condition


def _words(finding: str) -> Mapping[str, str]:
    question = QUESTIONS[finding]
    return {"finding": question.finding, "none": question.none}

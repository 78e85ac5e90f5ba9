"""The triage benchmark: which referrals a patient needs, from a complaint and a panoramic radiograph.

Source of its rules: Dental-TriageBench, arXiv 2604.13060. Prompts are worded by us.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from harness.benchmarks.base import Case, CaseSet, Filled, Prompt
from harness.benchmarks.details import Detail
from harness.benchmarks.prompts import check_placeholders, load_prompt, load_schema, placeholders, render
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.task import Task
from harness.benchmarks.triage import ablation, details
from harness.benchmarks.triage.cases import ROLE, check_cases, load_cases
from harness.benchmarks.triage.filling import fill_answer
from harness.benchmarks.triage.taxonomy import ALIASES, DOMAIN_OF, answer_of
from harness.benchmarks.triage.unit_scores import NUMBERS, unit_numbers, unit_scores
from harness.canonical import JSON
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.media_reading import MediaReader
from harness.messages import ImagePart, Message, Part, Schema, TextPart

if TYPE_CHECKING:
    from harness.benchmarks.sheets import GradingTask
    from harness.scoring.intervals import Interval
    from harness.scoring.replicates import Statistic, Units
    from harness.scoring.resampling import Resampling


@dataclass(frozen=True, slots=True)
class _Condition:
    prompt: str
    fields: frozenset[str]
    image: bool


_CONDITIONS: Final[Mapping[str, _Condition]] = MappingProxyType(
    {
        "both": _Condition("triage-both-v1", frozenset({"chief_complaint"}), image=True),
        "complaint": _Condition("triage-complaint-v1", frozenset({"chief_complaint"}), image=False),
        "opg": _Condition("triage-opg-v1", frozenset(), image=True),
    }
)


_TABLE: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric="fine.macro_f1",
    columns=(
        MetricColumn("fine.macro_f1", ("fine", "maF1")),
        MetricColumn("fine.micro_f1", ("fine", "miF1")),
        MetricColumn("fine.macro_recall", ("fine", "rec")),
        MetricColumn("fine.exact_match", ("fine", "EMR")),
        MetricColumn("coarse.macro_f1", ("coarse", "maF1")),
        MetricColumn("over_referral.mean_count", ("over", "/case"), 2, better="lower", best=0),
        MetricColumn("under_referral.mean_count", ("under", "/case"), 2, better="lower", best=0),
    ),
    legend=(
        "maF1, miF1: macro- and micro-F1; rec: macro-recall; EMR: exact match ratio; "
        "over, under: labels added and missed per case"
    ),
    baseline_notes=MappingProxyType(
        {
            "nothing": "refers no one: every label 0 in every case",
            "prevalence": (
                "guesses each label by itself, as often as it is positive in the references of the scored "
                "cases; mean of 1,000 seeded draws; it uses the references, so it is no model that could be "
                "asked"
            ),
        }
    ),
    right="fine.exact_match",
    unit_value="case_f1",
)


class Triage(Task):
    """The triage benchmark as the engine sees it."""

    name: str = "triage"
    title: str = "Dental triage: referrals from a chief complaint and a panoramic radiograph"
    conditions: tuple[str, ...] = tuple(_CONDITIONS)
    main_conditions: tuple[str, ...] = ("both",)
    reformatter: str | None = "gemini-3.5-flash-lite"
    reformatter_departure: str | None = (
        "answers that cannot be read are restated by Gemini 3.5 Flash-Lite; the paper used Gemini 2.0 "
        "Flash, which its provider has retired"
    )
    scorer: str = "triage-1"
    conventions: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {"zero_division": ("0", "skip-empty", "1"), "case_f1_empty": ("1", "0")}
    )

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Read a folder of case files. Raises CaseFileError that names the line and the mend."""
        return load_cases(folder, media)

    def check(self, folder: Path) -> list[str]:
        """Return everything that is wrong with a folder of case files, unusable images included."""
        return check_cases(folder)

    def schema(self, condition: str) -> Schema | None:
        """Return the schema that an answer must fit."""
        _known(condition)
        return load_schema("triage-v1")

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt of a condition."""
        return load_prompt(_known(condition).prompt)

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError where a prompt cannot serve a condition.

        The complaint stays out of `opg` altogether, and is shown in every other condition.
        """
        known = _known(condition)
        if condition == "opg" and "chief_complaint" in placeholders(prompt):
            raise ConfigError(
                f"prompt {prompt.id!r} uses {{chief_complaint}}, but condition 'opg' shows nothing of the "
                "complaint; choose --conditions both or complaint, or take the placeholder out"
            )
        check_placeholders(prompt, known.fields)
        if known.fields and not placeholders(prompt):
            raise ConfigError(
                f"prompt {prompt.id!r} lacks {{chief_complaint}}, which condition {condition!r} shows the "
                "model; put it where the complaint goes, or choose --conditions opg"
            )

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case: the text, then the image where the condition shows it.

        Raises ConfigError where the prompt cannot serve the condition, MediaError rather than ask without
        an image that belongs to it.
        """
        known = _known(condition)
        self.check_prompt(prompt, condition)
        text = render(prompt, {name: case.fields[name] for name in known.fields})
        images = [ImagePart(media) for media in case.media.get(ROLE, ())] if known.image else []
        if known.image and not images:
            raise MediaError(f"case {case.id!r} has no usable image: {case.problem or 'none was loaded'}")
        parts: tuple[Part, ...] = (TextPart(text), *images)
        return (Message("user", parts),)

    def aliases(self, value: JSON) -> JSON:
        """Return an answer with the other spelling of "Other OMSF Consult" replaced.

        The same object when there is none, and when both spellings are there: then the schema refuses it.
        """
        output = value.get("triage_output") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(output, Mapping):
            return value
        changed: dict[str, JSON] = {}
        for alias, label in ALIASES.items():
            members = output.get(DOMAIN_OF[label])
            if isinstance(members, Mapping) and alias in members and label not in members:
                changed[DOMAIN_OF[label]] = {
                    label if name == alias else name: flag for name, flag in members.items()
                }
        return {**value, "triage_output": {**output, **changed}} if changed else value

    def reformat_schema(self, condition: str) -> Schema | None:
        """Return the reformatter's schema, in which anything may be null or left out."""
        _known(condition)
        return load_schema("triage-reformat-v1")

    def reformat_prompt(self, condition: str) -> Prompt:
        """Return the reformatter's prompt, with the placeholder {answer}."""
        _known(condition)
        return load_prompt("triage-reformat-v1")

    def fill(self, value: JSON, answer: str) -> Filled:
        """Set what the reformatter left out to 0, as the paper does; see `triage.filling`."""
        return fill_answer(self.aliases(value), answer)

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return the check of the judge: people look for the failures that it looks for."""
        from harness.benchmarks.triage.judge_check import JudgeCheck

        return {"judge": JudgeCheck()}

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the modality ablation where `both` and a modality alone are asked; see `triage.ablation`."""
        return ablation.unions(conditions)

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows of a condition, all alike, or of the ablation are scored and shown."""
        return ablation.TABLE if condition == ablation.UNION else _TABLE

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `triage.details`."""
        return details.ABLATION if condition == ablation.UNION else details.CONDITION

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return whether there is an answer, and truth and answer as codes; see `triage.unit_scores`."""
        return unit_numbers(unit)

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row; see `triage.scores` for their definitions."""
        if condition == ablation.UNION:
            from harness.benchmarks.triage.gains import gains

            return gains(units, conventions)
        from harness.benchmarks.triage.scores import score

        return score(units.numbers, conventions)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of one row's metrics; see `triage.intervals`."""
        if condition == ablation.UNION:
            from harness.benchmarks.triage.gains import gain_intervals

            return gain_intervals(units, conventions, resampling)
        from harness.benchmarks.triage.intervals import intervals

        return intervals(units, conventions, resampling)

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return the sums of a condition; see `triage.intervals`. The ablation's rows are not compared."""
        if condition == ablation.UNION:
            return None
        from harness.benchmarks.triage.intervals import sums

        return sums(units, conventions)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return the metrics that are means over units, for one unit."""
        return unit_scores(numbers, conventions)

    def constant_answers(self, cases: Iterable[Case], condition: str) -> Mapping[str, JSON]:
        """Return the row `nothing`, which refers no one."""
        return {"nothing": answer_of([])}

    def baselines(
        self, cases: Mapping[str, Iterable[Case]], conventions: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return the row `prevalence`; see `triage.baselines`. Draws gain nothing by what they see."""
        if len(cases) > 1:
            return {}
        from harness.benchmarks.triage.baselines import baselines

        (asked,) = cases.values()
        return baselines(asked, conventions)


def _known(condition: str) -> _Condition:
    if condition not in _CONDITIONS:
        raise UnknownNameError(
            f"unknown condition {condition!r} of triage; known: {', '.join(_CONDITIONS)}; "
            "correct --conditions"
        )
    return _CONDITIONS[condition]

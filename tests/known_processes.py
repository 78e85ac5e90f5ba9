"""Synthetic sweeps with a known truth: units of each benchmark, drawn as its scores keep them.

A process draws cases with their references and how hard they are, and then the answers of one or several
models alike, each given the cases: their scores depend on each other only through these. Prevalences and
scores are like those that the papers print; some answers are unusable. What a metric comes to in the long run
is the value of the sums of a million units (`long_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import Benchmark
from harness.benchmarks.medlay.lay_numbers import OUTSIDE, READABLE, known, layout_of
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.ratings import RATED
from harness.benchmarks.medlay.task import MedLay
from harness.benchmarks.pandent.findings import BY_ID, TABLE2
from harness.benchmarks.pandent.questions import ATTRIBUTE, ATTRIBUTES, REPORT
from harness.benchmarks.pandent.report_scores import REPORT_NUMBERS
from harness.benchmarks.pandent.task import PanDent
from harness.benchmarks.radm.cases import SUBSETS, SUBSPECIALTIES
from harness.benchmarks.radm.ranking import WEIGHTS
from harness.benchmarks.radm.task import RadM
from harness.benchmarks.scored import UnitTable
from harness.benchmarks.triage.task import Triage

Random = np.random.Generator
Floats = NDArray[np.float64]
Draw = Callable[[Random, int, int], list[UnitTable]]

UNUSABLE = 0.02
"""Share of answers that are."""
TRIAGE = {"zero_division": "0", "case_f1_empty": "1"}
MEDLAY = {"sari": "hf", "rank": "none"}


@dataclass(frozen=True)
class Process:
    """Who answers what: `draw(random, cases, models)` gives the units of each model about the same cases."""

    benchmark: Benchmark
    condition: str
    cases: int
    conventions: Mapping[str, str]
    draw: Draw

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the paths of the printed table, without those of questions that are not asked here."""
        paths = [column.path for column in self.benchmark.table(self.condition).columns]
        return tuple(path for path in paths if path not in NOT_ASKED)

    def values(self, units: UnitTable) -> Mapping[str, float]:
        """Return path -> value of what all units add up to."""
        return self._of(self.sums(units)[0].total(), units)

    def sums(self, units: UnitTable) -> Any:
        """Return the benchmark's sums of units."""
        found = self.benchmark.sums(units, self.condition, self.conventions)
        assert found is not None
        return found

    def long_run(self, cases: int = 1_000_000, at_a_time: int = 25_000) -> Mapping[str, float]:
        """Return path -> value over so many cases."""
        random = np.random.default_rng(99)
        total: Any = 0.0
        for _ in range(cases // at_a_time):
            units = self.draw(random, at_a_time, 1)[0]
            total = total + self.sums(units)[0].total()
        return self._of(total, self.draw(random, self.cases, 1)[0])

    def _of(self, total: Floats, units: UnitTable) -> Mapping[str, float]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return {path: float(value) for path, value in self.sums(units)[1](total).items()}


def table(numbers: Floats, conditions: tuple[str, ...], members: Any = None) -> UnitTable:
    """Return units of cases that are each a cluster; `members` (units) of a union, case by case."""
    units = len(numbers)
    places = np.arange(units) // len(conditions)
    ones = np.ones(units, dtype=np.int32)
    whose = 0 * ones if members is None else members
    return UnitTable(numbers, places, places, ones, whose, conditions)


def usable(random: Random, units: int) -> Floats:
    """Return 1 for answers that are, else 0."""
    return (random.random(units) >= UNUSABLE).astype(np.float64)


TRIAGE_SHARES = np.geomspace(0.5, 0.012, 22)[
    [8, 2, 13, 0, 17, 6, 4, 11, 3, 18, 15, 10, 9, 16, 20, 14, 21, 7, 12, 1, 5, 19]
]
"""Of the 22 labels in their order: every domain has one that is not rare, and a case needs 2.6 domains."""


def triage(random: Random, cases: int, models: int) -> list[UnitTable]:
    """Draw sets of labels: needed ones are named in a half of the cases, others by how frequent they are."""
    demand = random.gamma(4.0, 0.25, (cases, 1))
    truth = random.random((cases, 22)) < 1 - (1 - TRIAGE_SHARES) ** demand
    sure = np.where(random.random((cases, 1)) < 0.4, 0.35, 0.65)
    bits = 2.0 ** np.arange(22)
    found = []
    for _ in range(models):
        answered = usable(random, cases)
        named = np.where(
            truth, random.random((cases, 22)) < sure, random.random((cases, 22)) < TRIAGE_SHARES / 3
        )
        numbers = np.stack([answered, truth @ bits, (named @ bits) * answered], axis=1)
        found.append(table(numbers, ("both",)))
    return found


FINDING_SHARES = (0.884, 0.126, 0.36, 0.3, 0.48, 0.328, 0.408, 0.61, 0.492, 0.542)


def _attributes(names: Sequence[str]) -> Draw:
    """Return a process of questions: no, yes or a few teeth, of which answers often miss or add one."""
    conditions = tuple(f"{ATTRIBUTE}{name}" for name in names)
    binary = np.array([BY_ID[name].answer == "binary" for name in names])
    shares = np.resize(FINDING_SHARES, len(names))

    def draw(random: Random, cases: int, models: int) -> list[UnitTable]:
        shape = cases, len(names)
        positive = random.random(shape) < shares
        first, second = (np.left_shift(1, random.integers(0, 32, shape)) for _ in range(2))
        teeth = np.where(random.random(shape) < 0.4, first, first | second)
        truth = np.where(positive, np.where(binary, 1, teeth), 0)
        hard = random.random((cases, 1)) < 0.5
        found = []
        for _ in range(models):
            right = random.random(shape) < np.where(hard, 0.45, 0.75)
            added = np.where(binary, 1 - truth, truth ^ np.left_shift(1, random.integers(0, 32, shape)))
            given = np.where(right, truth, np.where(random.random(shape) < 0.5, added, 0))
            answered = (random.random(shape) >= UNUSABLE).astype(np.float64)
            columns = np.ones(shape), answered, truth.astype(np.float64), given * answered
            numbers = np.stack(columns, axis=-1).reshape(-1, 4)
            members = np.tile(np.arange(len(names), dtype=np.int32), cases)
            found.append(table(numbers, conditions, members))
        return found

    return draw


def _matched(random: Random, length: NDArray[np.int64], share: Floats) -> tuple[Floats, Floats]:
    """Return n-grams matched and n-grams there (units, 4), of texts of which words match at such a share."""
    orders = np.arange(4)
    grams = np.maximum(0, length[:, None] - orders)
    matches = random.binomial(grams, share[:, None] ** (1 + 0.6 * orders))
    return matches.astype(np.float64), grams.astype(np.float64)


def reports(random: Random, cases: int, models: int) -> list[UnitTable]:
    """Draw counts of reports of some 190 words; a few cases have no clinical report."""
    annotated = (random.random(cases) >= 0.01).astype(np.float64)
    reference = random.poisson(193, cases) + 1
    ease = random.normal(0, 0.5, cases)
    found = []
    for _ in range(models):
        answered = usable(random, cases) * annotated
        length = (np.maximum(20, random.normal(180, 40, cases)) * answered).astype(np.int64)
        share = 1 / (1 + np.exp(-(0.3 + ease + random.normal(0, 0.4, cases))))
        matches, grams = _matched(random, length, share)
        weighted = np.round(11 * matches[:, 0]), np.round(11 * matches[:, 0])
        chunks = np.round(matches[:, 0] * (1 - share) * 0.8)
        of = {
            "annotated": annotated, "answered": answered, "words": length, "candidate_length": length,
            "reference_length": reference, "rouge_l": np.clip(0.95 * share, 0, 1) * answered,
            "meteor2005": share**1.2 * answered, "meteor15_candidate_matched": weighted[0],
            "meteor15_reference_matched": weighted[1], "meteor15_candidate_length": 12 * length,
            "meteor15_reference_length": 12 * reference, "meteor15_chunks": chunks,
            "meteor15_matches": 2 * matches[:, 0],
        }  # fmt: skip
        of |= {f"matches_{order + 1}": matches[:, order] for order in range(4)}
        of |= {f"grams_{order + 1}": grams[:, order] for order in range(4)}
        numbers = np.stack([np.asarray(of[name], dtype=np.float64) for name in REPORT_NUMBERS], axis=1)
        found.append(table(numbers * annotated[:, None], (REPORT,)))
    return found


def medlay(random: Random, cases: int, models: int) -> list[UnitTable]:
    """Draw counts and values of lay texts of some 80 words, every usable one graded."""
    names = layout_of("hf").names
    modality = np.full(cases, MODALITIES.index("MRI"))  # one: the table has no more
    reference = random.poisson(70, cases) + 5
    grade, expert = random.normal(8, 1.5, cases), random.normal(13, 2.5, cases)
    ease = random.normal(0, 0.5, cases)
    found = []
    for _ in range(models):
        answered = usable(random, cases)
        length = (random.negative_binomial(8, 8 / (8 + 85), cases) + 5) * answered.astype(np.int64)
        share = 1 / (1 + np.exp(-(-0.7 + ease + random.normal(0, 0.4, cases))))
        matches, grams = _matched(random, length, share)
        said = random.normal(9, 2, cases)
        readable = answered * (random.random(cases) >= 0.02)
        of: dict[str, Any] = {
            "units": np.ones(cases), "answered": answered, "modality": modality, "words": length,
            "candidate_length": length, "reference_length": reference, "rouge_l": 0.8 * share * answered,
            "three_parts": (random.random(cases) < 0.9) * answered, "sari": (30 + 20 * share) * answered,
            "fk.answer": said * readable, known("fk.answer"): readable, "fk.reference": grade,
            known("fk.reference"): np.ones(cases), "fk.expert": expert, known("fk.expert"): np.ones(cases),
            "fk.reduction": (expert - said) * readable, known("fk.reduction"): readable,
        }  # fmt: skip
        assert {name for name in of if name.startswith("fk.")} >= set(READABLE)
        of |= {f"matches_{order + 1}": matches[:, order] for order in range(4)}
        of |= {f"grams_{order + 1}": grams[:, order] for order in range(4)}
        for place, name in enumerate(OUTSIDE):
            of[name] = np.clip(0.4 + share / 2 + random.normal(0, 0.1, cases) - place / 100, 0, 1) * answered
            of[known(name)] = answered
        for place, name in enumerate(RATED):
            points = np.rint(np.clip(3 + 2 * share - place / 10 + random.normal(0, 0.8, cases), 1, 5))
            of[name], of[known(name)] = points * answered, answered
        found.append(
            table(np.stack([np.asarray(of[name], dtype=np.float64) for name in names], axis=1), ("A",))
        )
    return found


TIERS = np.array([[0.62, 0.16, 0.13, 0.09], [0.85, 0.08, 0.05, 0.02]])
"""Chances of tiers 0 to 3, of easy and of hard cases."""


def _ranked(subsets: Sequence[int], condition: str) -> Draw:
    """Return a process of five graded diagnoses; of two subsets in turn, or of one."""

    def draw(random: Random, cases: int, models: int) -> list[UnitTable]:
        subset = np.resize(subsets, cases)
        rare = np.zeros(cases)  # one stratum, of one subspecialty: the table has no more
        hard = (random.random(cases) < 0.5).astype(np.int64)
        place = np.full(cases, SUBSPECIALTIES.index("chest"))
        found = []
        for _ in range(models):
            answered = np.ones(cases)  # an unusable answer is worth as much as one that names no disease
            limits = TIERS[hard].cumsum(axis=1)[:, None, :3]
            tiers = (random.random((cases, 5))[:, :, None] >= limits).sum(axis=2)
            tiers *= random.random((cases, 1)) >= UNUSABLE
            hits = tiers >= 1
            columns = (
                answered, answered, (tiers * WEIGHTS).max(axis=1),
                np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0), tiers.max(axis=1), subset, place,
                rare, subset == SUBSETS.index("RealClin"), np.zeros(cases), np.zeros(cases),
            )  # fmt: skip
            numbers = np.stack([np.asarray(one, dtype=np.float64) for one in columns], axis=1)
            found.append(table(numbers, (condition,)))
        return found

    return draw


QUESTION = f"{ATTRIBUTE}caries"
NOT_ASKED = {f"exact_match.{name}" for name in BY_ID if name not in TABLE2}
PROCESSES: Mapping[str, Process] = {
    "triage": Process(Triage(), "both", 246, TRIAGE, triage),
    "attributes": Process(PanDent(), ATTRIBUTES, 500, {}, _attributes(TABLE2)),
    "attribute": Process(PanDent(), QUESTION, 500, {}, _attributes(("caries",))),
    "report": Process(PanDent(), REPORT, 500, {}, reports),
    "medlay": Process(MedLay(MEDLAY), "A", 500, MEDLAY, medlay),
    "radm text": Process(RadM(), "text", 720, {}, _ranked((0, 1), "text")),
    "radm volume": Process(RadM(), "text_volume_fps2", 360, {}, _ranked((1,), "text_volume_fps2")),
}

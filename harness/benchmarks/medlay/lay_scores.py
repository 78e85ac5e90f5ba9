"""Scores of lay texts against the lay captions, by model and condition, and by modality.

All but reading grades, words and shares are from 0 to 100, as the paper prints them.

- `bleu4`: of the whole corpus, tokens 13a, smoothing `exp`: sacrebleu's default.
- `rouge_l`: mean over texts of rouge-score's F1, without stemmer.
- `sari`: the expert caption is the source and the lay caption the one reference, in all conditions: in A the
  model never saw that source. Variant by the convention `sari`: `hf`, a mean over texts, or `easse`, of the
  corpus.
- `fk.answer`, `fk.reference`, `fk.expert`: mean Flesch-Kincaid grades of the answers, the lay captions and
  the expert captions; `fk.reduction`: how many grades an answer is below its expert caption. They have no
  worst value: what is unusable has none, and n says so.
- `three_parts.share`: answers with three numbered parts, a measure of form; `words`: mean number of words of
  an answer; `length_ratio`: tokens answered per token of reference.
- `ratescore`, `green`, `bertscore`, `medlayeval.*`, `rubric.*`: means of grades (see `attributes`), null
  where there are none. An unusable answer counts as 0. Where only some answers are graded, these stand for
  all: the mean of the graded ones times the share of usable answers. n counts graded and unusable ones.
- `expert.*.mean`, `reader.*.mean`: means of the points that people gave, 1 to 5, several raters of an answer
  by their mean (see `ratings`); there only where there are any. An unusable answer counts as 1, the worst
  point; n and partly graded rows as with the other grades.
- `modality.<modality>.<path>`: the main ones, of that modality's cases alone.

The paper leaves the toolkits, SARI's source and the reference open; its discussion speaks of expert
references for BLEU and GREEN. Here the lay caption is the reference: its table 1 is of the lay register.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from harness.benchmarks.medlay.attributes import SCALE
from harness.benchmarks.medlay.lay_numbers import OUTSIDE, OVERALL, READABLE, Layout, known
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.ratings import POINTS, RATED
from harness.benchmarks.scored import MetricValue, UnitNumbers, UnitTable
from harness.scoring.bootstrap import intervals_of
from harness.scoring.intervals import Interval
from harness.scoring.multilabel import ratio
from harness.scoring.replicates import Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values
from harness.scoring.sacre_bleu import sacrebleu_from_sums
from harness.scoring.sari import sari_from_sums

BY_MODALITY: Final = ("bleu4", "rouge_l", "sari", "fk.answer", *OVERALL)
"""Paths that each modality has of its own."""

_MEANS: Final = {f"{name}.mean": name for name in RATED}
"""Path -> the question whose points it is the mean of."""

_NO_UNITS: Final = "no lay text to score"
_NO_CASES: Final = "no case of this modality"
_NO_ANSWERS: Final = "no lay text was answered"
_NOT_READABLE: Final = "no text has a reading grade, which means nothing but for words in Latin letters"
_NOT_GRADED: Final = "no grade of any answer: `harness grades import`, or a step, and --grades"


def lay_metrics(numbers: UnitNumbers, layout: Layout) -> dict[str, MetricValue]:
    """Return every metric path of one row of (units, `layout.names`)."""
    found = dict(_metrics(numbers.sum(axis=0), layout, _NO_UNITS))
    for place, modality in enumerate(MODALITIES):
        of_it = numbers[numbers[:, layout.at["modality"]] == place]
        own = dict(_metrics(of_it.sum(axis=0), layout, _NO_CASES))
        found |= {f"modality.{modality}.{path}": own[path] for path in BY_MODALITY}
    return found


def lay_intervals(units: UnitTable, layout: Layout, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of all units of a row, their repeats together; what nobody graded is left out.

    Those of a modality resample its own cases, so that their number is the same in each resample.
    """
    found = _intervals(units, layout, resampling)
    for place, modality in enumerate(MODALITIES):
        of_it = units.where(units.numbers[:, layout.at["modality"]] == place)
        if len(of_it):
            own = _intervals(of_it, layout, resampling, BY_MODALITY)
            found |= {f"modality.{modality}.{path}": interval for path, interval in own.items()}
    return found


def _intervals(
    units: UnitTable, layout: Layout, resampling: Resampling, paths: Sequence[str] | None = None
) -> dict[str, Interval]:
    """Return path -> interval of these paths (None: all) that have a value of any unit."""
    graded = {**{name: name for name in OUTSIDE}, **_MEANS}
    ungraded = {
        path for path, name in graded.items() if not units.numbers[:, layout.at[known(name)]].any()
    }
    summed, values = lay_sums(units, layout)

    def statistic(sums: Values) -> Mapping[str, Values]:
        found = values(sums)
        return {path: found[path] for path in paths or found if path not in ungraded}

    return dict(intervals_of(replicate(summed, statistic, resampling)))


def lay_sums(units: UnitTable, layout: Layout) -> tuple[Units, Statistic]:
    """Return what each unit adds to the sums of a row, and every path that is made of them.

    Those of a modality are not: a model's cases of one are resampled by themselves.
    """
    return Units(units.numbers, units.clusters, units.repeats), lambda sums: values_of_sums(sums, layout)


def values_of_sums(sums: Values, layout: Layout) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., `layout.names`) over units; NaN where undefined."""
    of = {name: sums[..., place] for name, place in layout.at.items()}
    units, answered = of["units"], of["answered"]
    found = {
        "bleu4": SCALE * sacrebleu_from_sums(sums[..., layout.bleu]),
        "rouge_l": SCALE * ratio(of["rouge_l"], units),
        "sari": ratio(of["sari"], units)
        if layout.sari == "hf"
        else sari_from_sums(sums[..., layout.sari_summands]),
        "three_parts.share": ratio(of["three_parts"], units),
        "words": ratio(of["words"], answered),
        "length_ratio": ratio(of["candidate_length"], of["reference_length"]),
    }
    for name in READABLE:
        found[name] = ratio(of[name], of[known(name)])
    usable = ratio(answered, units)
    for name in OUTSIDE:
        found[name] = SCALE * ratio(of[name], of[known(name)]) * usable
    for path, name in _MEANS.items():
        found[path] = ratio(of[name], of[known(name)]) * usable + POINTS[0] * (1 - usable)
    return {path: np.where(units > 0, values, np.nan) for path, values in found.items()}


def lay_unit_scores(numbers: Sequence[float], layout: Layout) -> dict[str, float | None]:
    """Return the metrics that are means over units, for one unit: grades, which are kept already, are not."""
    at = layout.at
    found: dict[str, float | None] = {
        "rouge_l": SCALE * numbers[at["rouge_l"]],
        "three_parts.share": numbers[at["three_parts"]],
        "words": numbers[at["words"]] if numbers[at["answered"]] else None,
    }
    if layout.sari == "hf":
        found["sari"] = numbers[at["sari"]]
    for name in READABLE:
        found[name] = numbers[at[name]] if numbers[at[known(name)]] else None
    return found


def _metrics(sums: Values, layout: Layout, why_none: str) -> Iterator[tuple[str, MetricValue]]:
    """Yield path and value of sums (`layout.names`), each with its n; no points where nobody gave any."""
    at = layout.at
    n, answered = int(sums[at["units"]]), int(sums[at["answered"]])
    for path, value in values_of_sums(sums, layout).items():
        units, reason = n, why_none
        if path == "words":
            units, reason = answered, _NO_ANSWERS if n else why_none
        elif path in READABLE:
            units, reason = int(sums[at[known(path)]]), _NOT_READABLE if n else why_none
        elif path in OUTSIDE or path in _MEANS:
            graded = int(sums[at[known(_MEANS.get(path, path))]])
            if path in _MEANS and not graded:
                continue
            units, reason = graded + (n - answered if graded else 0), _NOT_GRADED if n else why_none
            if 0 < graded < answered:
                partly = f"{answered - graded} of {answered} answers have no grade"
                yield path, MetricValue(float(value), units, partly)
                continue
        there = bool(np.isfinite(value))
        yield path, MetricValue(float(value) if there else None, units, None if there else reason)

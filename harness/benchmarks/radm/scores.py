"""The metric paths of RadM-Bench, by condition, and what they keep of each unit.

- `score`: mean over answers of max(weight x tier), 0 to 3 (`radm.ranking`); `top1`, `top3`, `top5`: share of
  answers with any diagnosis of tier 1 or more within the first k.
- `tier.0.share` ... `tier.3.share`: share of answers whose best diagnosis, at any rank, has this tier.
- `RadEdu.*`, `RealClin.*`: the same within a subset; below each of them `rare.*`, `common.*` and the nine
  subspecialties (`RadEdu.head_and_neck.score`) with score and accuracies.
- `RadEdu.rare_premium`: mean score of rare less that of common diseases, same subset and condition.
- `graded.share`: share of usable answers that are graded.
- `graded_only.score`, `graded_only.top1` ... `top5`: of the graded answers alone, whose number is n; unusable
  answers are not in them. What a sample comes to: it ranks nobody. They are held back while raters differ
  on an answer without a consensus: what they differ on is not like the rest, and the paper's two
  radiologists settled all of it.

An unusable answer needs no grade: it scores 0, hits nothing, and its best tier is 0. A usable answer without
all five grades has no score, and then no number that it belongs to has a value: a mean over those that were
graded first is no estimate of the mean over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from harness.benchmarks.base import Case
from harness.benchmarks.radm.cases import SUBSETS, SUBSPECIALTIES
from harness.benchmarks.radm.ranking import FIFTHS, QUESTION_NAMES, TIERS, TOP, fifths, first_hit, tiers_of
from harness.benchmarks.scored import MetricValue, Scored, UnitNumbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NUMBERS: Final = (
    "answered", "graded", "fifths", "first_hit", "best_tier", "subset", "subspecialty", "rare", "chinese",
    "waiting", "disputed",
)  # fmt: skip
"""Whether there is an answer and all five grades (1 or 0), what these come to (0 without them; see
`radm.ranking`), and the case: subset and subspecialty as places in the tuples of
`radm.cases`, rare and chinese as 1 or 0. At last whether an answer without all five grades waits for another
rater, or has a tier in dispute; one that is both is in dispute."""

CHINESE: Final = "zh"

HITS: Final = {f"top{k}": k for k in TOP}
"""Path of an accuracy -> its k."""
GRADED_ONLY: Final = "graded_only."
"""Paths of the graded answers alone begin with it."""
_NO_CASE: Final = "no such case was scored"


def unit_numbers(unit: Scored) -> tuple[int, ...]:
    """Return `NUMBERS` of one unit. Raises ValueError for a case of no known subset or subspecialty."""
    strata = _strata(unit.case)
    if unit.prediction is None:
        return (0, 0, 0, 0, 0, *strata, 0, 0)
    tiers = tiers_of(unit.grades)
    if tiers is None:
        why = {unit.unsettled[name] for name in QUESTION_NAMES if name in unit.unsettled}
        is_disputed = "disputed" in why
        return (1, 0, 0, 0, 0, *strata, int("waiting" in why and not is_disputed), int(is_disputed))
    return (1, 1, fifths(tiers), first_hit(tiers), max(tiers), *strata, 0, 0)


def unit_scores(numbers: Sequence[float]) -> Mapping[str, float | None]:
    """Return metric path -> value for one unit; None without the grades that it takes.

    Averaged over a row's units they are the row's values of the same paths.
    """
    answered, graded, worth, first = numbers[:4]
    if answered and not graded:
        return {"score": None, **{path: None for path in HITS}}
    return {"score": worth / FIFTHS, **{path: float(0 < first <= k) for path, k in HITS.items()}}


def _strata(case: Case) -> tuple[int, int, int, int]:
    known = case.reference
    subset, subspecialty = (str(known.get(name)) for name in ("subset", "subspecialty"))
    if subset not in SUBSETS or subspecialty not in SUBSPECIALTIES:
        raise ValueError(
            f"case {case.id!r} is of subset {subset!r} and subspecialty {subspecialty!r}; known: "
            f"{', '.join(SUBSETS)}; {', '.join(SUBSPECIALTIES)}"
        )
    return (
        SUBSETS.index(subset),
        SUBSPECIALTIES.index(subspecialty),
        int(known.get("rare") is True),
        int(known.get("language") == CHINESE),
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """Units by what is known of them, (units) each; `ungraded` are usable answers without a grade."""

    numbers: UnitNumbers

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.numbers)

    def where(self, mask: NDArray[np.bool_]) -> Answers:
        """Return the units for which the mask is true."""
        return Answers(self.numbers[mask])

    def of(self, name: str) -> NDArray[np.float64]:
        """Return one of `NUMBERS` of all units."""
        found: NDArray[np.float64] = self.numbers[:, NUMBERS.index(name)]
        return found

    @property
    def ungraded(self) -> NDArray[np.bool_]:
        """Return which units have an answer and no grade, so that their score is unknown."""
        found: NDArray[np.bool_] = (self.of("answered") == 1) & (self.of("graded") != 1)
        return found

    def without_grades(self) -> str | None:
        """Return why numbers of all these units have no value: some are not graded; None: all are."""
        if not (missing := int(self.ungraded.sum())):
            return None
        waiting, disputed = (int(self.of(name).sum()) for name in ("waiting", "disputed"))
        return ungraded_reason(missing, len(self), waiting=waiting, disputed=disputed)

    def not_a_sample(self) -> str | None:
        """Return why the graded ones alone come to nothing; None: they do."""
        if disputed := int(self.of("disputed").sum()):
            return (
                f"raters differ on {disputed} of these answers, and no consensus says what counts: the "
                "others alone are no sample; settle them (`harness grade`, the consensus link), or take one "
                "rater (`--grades imported:NAME`)"
            )
        return None if self.of("graded").any() else "no answer is graded"

    def counted(self) -> dict[str, NDArray[np.bool_]]:
        """Return path -> the units that it counts, of all paths that are shares of units."""
        first = self.of("first_hit")
        return {path: (first > 0) & (first <= k) for path, k in HITS.items()}

    def tiers(self) -> dict[str, NDArray[np.bool_]]:
        """Return path -> the units whose best diagnosis has its tier."""
        best = self.of("best_tier")
        return {f"tier.{tier}.share": best == tier for tier in TIERS}


def ungraded_reason(
    missing: int, of: int, what: str = "answers", *, waiting: int = 0, disputed: int = 0
) -> str:
    """Return why a number has no value where so many answers, or pairs of them, have no grade.

    So many of the answers wait for another rater, or have a tier in dispute.
    """
    states = ((waiting, "wait for another rater"), (disputed, "in dispute without a consensus"))
    told = ", ".join(f"{n} {state}" for n, state in states if n)
    return (
        f"{missing} of {of} {what} have no grade that counts{f' ({told})' if told else ''}; "
        "of the graded ones alone: `graded_only.score`"
    )


def groups(numbers: UnitNumbers) -> Iterator[tuple[str, NDArray[np.bool_], bool]]:
    """Yield the groups that are scored: the prefix of their paths, their units, and whether it is a large
    one (all units, a subset), of which everything is told.
    """
    units = Answers(numbers)
    rare, subspecialty = units.of("rare") == 1, units.of("subspecialty")
    yield "", units.of("subset") >= 0, True
    for code, subset in enumerate(SUBSETS):
        inside = units.of("subset") == code
        yield f"{subset}.", inside, True
        yield f"{subset}.rare.", inside & rare, False
        yield f"{subset}.common.", inside & ~rare, False
        for place, name in enumerate(SUBSPECIALTIES):
            yield f"{subset}.{path_name(name)}.", inside & (subspecialty == place), False


def path_name(subspecialty: str) -> str:
    """Return a subspecialty as paths have it: head_and_neck."""
    return subspecialty.replace(" ", "_")


def score(numbers: UnitNumbers) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units, (units, `NUMBERS`)."""
    units = Answers(numbers)
    found: dict[str, MetricValue] = {}
    for prefix, inside, is_large in groups(numbers):
        for path, value in _group(units.where(inside), is_large=is_large):
            found[prefix + path] = value
    for subset in SUBSETS:
        found[f"{subset}.rare_premium"] = _premium(found, subset)
    return found


def _group(units: Answers, *, is_large: bool) -> Iterator[tuple[str, MetricValue]]:
    n = len(units)
    reason = units.without_grades() or (None if n else _NO_CASE)
    shares = units.counted() | (units.tiers() if is_large else {})
    if reason is not None:
        for path in ("score", *shares):
            yield path, MetricValue(None, n, reason)
    else:
        yield "score", MetricValue(mean_score(units), n)
        for path, counts in shares.items():
            yield path, MetricValue(int(counts.sum()) / n, n)
    if is_large:
        yield from _graded(units)


def _graded(units: Answers) -> Iterator[tuple[str, MetricValue]]:
    usable, graded = int(units.of("answered").sum()), int(units.of("graded").sum())
    share = MetricValue(graded / usable, usable) if usable else MetricValue(None, 0, "no usable answer")
    yield "graded.share", share
    if reason := units.not_a_sample():
        yield from ((GRADED_ONLY + path, MetricValue(None, graded, reason)) for path in ("score", *HITS))
        return
    only = units.where(units.of("graded") == 1)
    yield f"{GRADED_ONLY}score", MetricValue(mean_score(only), graded)
    for path, counts in only.counted().items():
        yield GRADED_ONLY + path, MetricValue(int(counts.sum()) / graded, graded)


def mean_score(units: Answers) -> float:
    """Return the mean score of at least one unit: a whole number of fifths, divided once."""
    return int(units.of("fifths").sum()) / (FIFTHS * len(units))


def _premium(found: Mapping[str, MetricValue], subset: str) -> MetricValue:
    rare, common = found[f"{subset}.rare.score"], found[f"{subset}.common.score"]
    n = rare.n + common.n
    for name, side in (("rare", rare), ("common", common)):
        if not side.n:
            return MetricValue(None, n, f"no case of a {name} disease was scored")
    if rare.value is None or common.value is None:
        return MetricValue(None, n, found[f"{subset}.score"].reason)
    return MetricValue(rare.value - common.value, n)

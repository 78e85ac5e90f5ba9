"""What the scores keep of one lay text: counts and values that add up over units, and its grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

from harness.benchmarks.medlay.attributes import ATTRIBUTES, EVALUATORS, GRADED
from harness.benchmarks.medlay.lay_texts import LayText
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.ratings import RATED
from harness.canonical import JSON
from harness.scoring.bleu import ORDERS, ngram_summands
from harness.scoring.rouge import rouge_l_f1
from harness.scoring.sari import SARI_ORDERS, SARI_SUMMANDS, sari_hf_of, sari_summands

OVERALL: Final = tuple(f"{name}.overall" for name in EVALUATORS)
"""The mean of an evaluator's five attributes, of the units that have them all."""

OUTSIDE: Final = (*GRADED, *OVERALL)
"""Names of all numbers that come as grades, or are made of them."""

READABLE: Final = tuple(f"fk.{name}" for name in ("answer", "reference", "expert", "reduction"))
"""The reading grades of a unit: of the answer, the lay and the expert caption, and how far the first is below
the last."""

_DELETED: Final = (6, 7)
"""Places, within the nine numbers of an order, of n-grams deleted rightly and deleted at all."""


@dataclass(frozen=True)
class Layout:
    """Which number stands where, by the variant of SARI: `hf` keeps one of a unit, `easse` all that it sums.

    Each of `READABLE`, of `OUTSIDE` and of `RATED` is a value and whether there is one: 0 and 0 where there
    is none.
    """

    sari: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of all numbers of a unit."""
        orders = range(1, ORDERS + 1)
        return (
            "units",
            "answered",
            "modality",
            "words",
            *(f"matches_{order}" for order in orders),
            *(f"grams_{order}" for order in orders),
            "candidate_length",
            "reference_length",
            "rouge_l",
            "three_parts",
            *(("sari",) if self.sari == "hf" else (f"sari_{place}" for place in range(SARI_SUMMANDS))),
            *_with_flags(READABLE),
            *_with_flags(OUTSIDE),
            *_with_flags(RATED),
        )

    @cached_property
    def at(self) -> Mapping[str, int]:
        """Return name -> place."""
        return MappingProxyType({name: place for place, name in enumerate(self.names)})

    @cached_property
    def bleu(self) -> slice:
        """Return where the summands of BLEU stand."""
        return slice(self.at["matches_1"], self.at["reference_length"] + 1)

    @cached_property
    def sari_summands(self) -> slice:
        """Return where SARI's numbers stand."""
        first = self.at["three_parts"] + 1
        return slice(first, first + (1 if self.sari == "hf" else SARI_SUMMANDS))


@dataclass(frozen=True, slots=True)
class CaseTexts:
    """What the texts about one case are compared with."""

    lay: LayText
    expert: LayText
    modality: str


@lru_cache
def layout_of(sari: str) -> Layout:
    """Return the layout for a variant of SARI."""
    return Layout(sari)


def known(name: str) -> str:
    """Return the name of the number that says whether another has a value."""
    return f"{name} known"


def lay_numbers(
    answer: LayText | None, case: CaseTexts, grades: Mapping[str, JSON], layout: Layout
) -> tuple[float, ...]:
    """Return the numbers of one unit, as `layout` names them.

    `answer` None: it is unusable. It counts as an empty text in BLEU and ROUGE-L, as 0 in SARI (`easse`: as a
    text that added, kept and deleted nothing), and has no reading grade.
    """
    said = answer or LayText("")
    return (
        1.0,
        float(answer is not None),
        float(MODALITIES.index(case.modality)),
        float(said.words),
        *map(float, ngram_summands(said.bleu, case.lay.bleu)),
        rouge_l_f1(said.rouge, case.lay.rouge, both_empty="zero"),
        float(said.three_parts),
        *_sari(answer, case, layout.sari),
        *_reading(answer, case),
        *_graded({} if answer is None else grades),
    )


def _with_flags(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from (name, known(name))


def _sari(answer: LayText | None, case: CaseTexts, variant: str) -> Sequence[float]:
    if variant == "hf":
        return (0.0 if answer is None else sari_hf_of(case.expert.sari, answer.sari, [case.lay.sari]).sari,)
    said = answer.sari_tokens if answer else []
    found = [*map(float, sari_summands(case.expert.sari_tokens, said, [case.lay.sari_tokens]))]
    if answer is None:
        for order in range(SARI_ORDERS):
            for place in _DELETED:
                found[len(found) // SARI_ORDERS * order + place] = 0.0
    return found


def _reading(answer: LayText | None, case: CaseTexts) -> Iterator[float]:
    """Yield the reading grades: of the answer, of both captions, and how far it is below the expert's."""
    said = answer.grade if answer else None
    source = case.expert.grade
    less = None if said is None or source is None else source - said
    yield from _values([said, case.lay.grade, source, less])


def _graded(grades: Mapping[str, JSON]) -> Iterator[float]:
    values = {name: float(value) for name, value in grades.items() if isinstance(value, int | float)}
    for evaluator in EVALUATORS:
        five = [values.get(f"{evaluator}.{attribute}") for attribute in ATTRIBUTES]
        there = [one for one in five if one is not None]
        if len(there) == len(ATTRIBUTES):
            values[f"{evaluator}.overall"] = sum(there) / len(there)
    yield from _values([values.get(name) for name in (*OUTSIDE, *RATED)])


def _values(values: Sequence[float | None]) -> Iterator[float]:
    for value in values:
        yield from (0.0, 0.0) if value is None else (value, 1.0)

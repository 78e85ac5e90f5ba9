"""Lay texts that look at no image: what a number is worth is seen beside them.

- `nothing`: a text in three parts that says nothing about its case.
- `fixed template`: likewise, with the kind of image that most of the scored cases have, and what is usual.
- `expert copy`: the expert caption itself, unchanged. Whatever it scores is owed to words that expert and lay
  captions share.
- `prevalence`: the lay caption of another case, drawn at random.

All but the first use the references of the scored cases, so none is a model that could be asked.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.cases import EXPERT
from harness.benchmarks.medlay.lay_numbers import CaseTexts, Layout, lay_numbers
from harness.benchmarks.medlay.lay_scores import lay_metrics
from harness.benchmarks.medlay.lay_texts import LayText
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.scored import BaselineRow, BaselineUnits, UnitNumbers

SEED: Final = 122_789
MOST: Final = 5_000
"""Cases that baselines are scored on at most: as many as the paper evaluates."""
PREVALENCE: Final = "prevalence"

NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "nothing": "a text in three parts that says nothing about its case",
        "fixed template": "the same text for every case: the most frequent kind of image, and what is usual",
        "expert copy": (
            "the expert caption, copied: what it scores is owed to words that both captions share, and to "
            "no plain one"
        ),
        PREVALENCE: "gives each case the lay caption of another case, drawn at random",
    }
)

_NOTHING: Final = (
    "1. This is a medical image of a part of the body.\n2. The marked area lies inside the green box.\n"
    "3. Your doctor can tell you what this means."
)
_USUAL: Final = (
    "1. The image is {kind} showing a part of the body and the tissue around it.\n"
    "2. The highlighted area, located near the center of the image, shows an abnormal area that looks "
    "different from the surrounding tissue (the healthy parts of the body around it).\n"
    "3. This area may be a sign of a disease, and it could affect the nearby tissue."
)
_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Pathology": "a microscope picture", "MRI": "an MRI scan", "CT": "a CT scan", "X-Ray": "an X-ray",
        "PET": "a PET scan", "Dermoscopy": "a close-up picture of the skin",
        "Endoscopy": "a picture from a camera inside the body", "Ultrasound": "an ultrasound picture",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Pair:
    """The captions of a case, and its kind of image."""

    id: str
    lay: str
    expert: str
    modality: str


def baseline_rows(cases: Iterable[Case], layout: Layout) -> dict[str, BaselineRow]:
    """Return baseline name -> its units in one condition, or its metrics; the order of cases does not matter.

    All but what is drawn have one text a case, and so units. Of more than `MOST` cases so many are drawn, by
    digests of their ids: what a text that looks at no image is worth is known well enough from these. Then
    there are metrics only, since a case without units would have no answer; n says how many there were.
    """
    every = 0

    def counted() -> Iterator[_Pair]:
        nonlocal every
        for case in cases:
            every += 1
            yield _pair(case)

    pairs = sorted(heapq.nsmallest(MOST, counted(), key=_lot), key=lambda one: one.id)
    ids = [one.id for one in pairs]
    return {
        name: (
            lay_metrics(rows, layout)
            if name == PREVALENCE or every > len(pairs)
            else BaselineUnits(ids, rows)
        )
        for name, rows in _numbers(pairs, layout).items()
    }


def _numbers(pairs: Sequence[_Pair], layout: Layout) -> dict[str, UnitNumbers]:
    names = [name for name in NOTES if name != PREVALENCE or len(pairs) > 1]
    numbers = {name: np.empty((len(pairs), len(layout.names))) for name in names}
    nothing, usual = LayText(_NOTHING), LayText(_usual(pairs))
    for place, (pair, other) in enumerate(zip(pairs, _others(len(pairs)), strict=True)):
        case = CaseTexts(LayText(pair.lay), LayText(pair.expert), pair.modality)
        said = {
            "nothing": nothing,
            "fixed template": usual,
            "expert copy": case.expert,
            PREVALENCE: LayText(pairs[other].lay),
        }
        for name in names:
            numbers[name][place] = lay_numbers(said[name], case, {}, layout)
    return numbers


def _lot(pair: _Pair) -> bytes:
    return hashlib.sha256(f"{SEED}|{pair.id}".encode()).digest()


def _pair(case: Case) -> _Pair:
    reference = case.reference
    return _Pair(case.id, str(reference["lay_caption"]), case.fields[EXPERT], str(reference["modality"]))


def _usual(pairs: Sequence[_Pair]) -> str:
    """Return the fixed template; of several kinds of image that are as frequent, the first of our list."""
    counts = Counter(one.modality for one in pairs)
    kind = max(MODALITIES, key=lambda name: (counts[name], -MODALITIES.index(name)))
    return _USUAL.format(kind=_KINDS[kind])


def _others(count: int) -> list[int]:
    """Return for each place another, drawn from a fixed seed, all equally likely; its own for one alone."""
    words = np.random.PCG64(SEED).random_raw(count) % np.uint64(max(1, count - 1))
    return [(place + 1 + step) % count for place, step in enumerate(words.tolist())]

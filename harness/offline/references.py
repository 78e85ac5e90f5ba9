"""Corrected references for stored answers: only where what the models were shown is unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from harness.benchmarks.base import Case, CaseSet
from harness.canonical import JSON, canonical_json, digest
from harness.offline.case_index import CaseIndex

_LISTED: Final = 20


@dataclass(frozen=True)
class References:
    """The cases to score against, and what became of each correction; ids in the order of the cases.

    `corrected` have another reference than the run kept; `inputs_changed` and `missing` keep the run's own,
    because the new files ask something else or lack them; `added` were never asked.
    """

    cases: CaseSet
    index: CaseIndex
    """The same cases by id."""
    corrected: tuple[str, ...] = ()
    inputs_changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Return the digest of everything that answers are compared with.

        That of the canonical JSON of `references` (by case id) and `raters`, one case at a time.
        """
        found = hashlib.sha256(b'{"raters":' + canonical_json(self.cases.raters) + b',"references":{')
        for place in range(len(self.index)):
            case = self.index.case(place)
            comma = b"," if place else b""
            found.update(comma + canonical_json(case.id) + b":" + canonical_json(case.reference))
        found.update(b"}}")
        return found.hexdigest()

    @cached_property
    def basis(self) -> str:
        """Return the digest of all that scores take from here: groups and tags too."""
        found = hashlib.sha256(
            canonical_json([self.sha256, list(self.inputs_changed), self.cases.synthetic])
        )
        for place in range(len(self.index)):
            case = self.index.case(place)
            found.update(b"\n" + canonical_json([case.id, case.group, list(case.tags)]))
        return found.hexdigest()

    def told(self) -> Iterator[str]:
        """Yield in words which cases are scored against corrected references, and which could not be."""
        for what, cases in (
            ("corrected references are used for", self.corrected),
            ("the run's own references are kept, because the inputs changed, for", self.inputs_changed),
            ("the run's own references are kept, because --data lacks them, for", self.missing),
            ("--data has cases that were never asked:", self.added),
        ):
            if cases:
                more = f" and {len(cases) - _LISTED} more" if len(cases) > _LISTED else ""
                number = f"{len(cases)} case{'' if len(cases) == 1 else 's'}"
                yield f"{what} {number}: {', '.join(cases[:_LISTED])}{more}"


def correct_references(kept: CaseSet, index: CaseIndex, corrected: CaseSet | None) -> References:
    """Return the run's cases with the references of other files, case by case where inputs agree.

    Raters' answers are taken from the other files where these have any, for the same cases. Cases are
    synthetic if either set is. `index` is that of the run's cases.
    """
    if corrected is None:
        return References(kept, index)
    new = {case.id: case for case in corrected.cases}
    same = {case.id for case in kept.cases if case.id in new and _same_inputs(case, new[case.id])}
    cases = [_corrected(case, new[case.id]) if case.id in same else case for case in kept.cases]
    raters = _merged_raters(kept, corrected, same) if corrected.raters else kept.raters
    old_ids = {case.id for case in kept.cases}
    return References(
        cases=replace(
            kept, cases=tuple(cases), raters=raters, synthetic=kept.synthetic or corrected.synthetic
        ),
        index=CaseIndex(cases),
        corrected=tuple(c.id for c in kept.cases if c.id in same and _differ(c, new[c.id])),
        inputs_changed=tuple(c.id for c in kept.cases if c.id in new and c.id not in same),
        missing=tuple(c.id for c in kept.cases if c.id not in new),
        added=tuple(c.id for c in corrected.cases if c.id not in old_ids),
    )


def _same_inputs(old: Case, new: Case) -> bool:
    return dict(old.fields) == dict(new.fields) and _media(old) == _media(new)


def _media(case: Case) -> Mapping[str, tuple[str, ...]]:
    return {role: tuple(one.sha256 for one in media) for role, media in case.media.items() if media}


def _differ(old: Case, new: Case) -> bool:
    # A snapshot gives lists where a reader may give tuples.
    return digest(old.reference) != digest(new.reference)


def _corrected(old: Case, new: Case) -> Case:
    return replace(old, reference=new.reference, group=new.group, tags=new.tags)


def _merged_raters(
    kept: CaseSet, corrected: CaseSet, same: set[str]
) -> Mapping[str, Mapping[str, JSON]]:
    merged = {}
    for name in sorted({*kept.raters, *corrected.raters}):
        old = kept.raters.get(name, {})
        new = corrected.raters.get(name, old)
        merged[name] = {case: rating for case, rating in old.items() if case not in same} | {
            case: rating for case, rating in new.items() if case in same
        }
    return merged

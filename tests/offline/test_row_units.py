"""What scoring holds of cases and units: whole numbers, in an order that no database decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run_builder import SCALING, case

from harness.benchmarks.base import CaseSet
from harness.canonical import digest
from harness.errors import StoreError
from harness.offline.case_index import CaseIndex
from harness.offline.references import correct_references
from harness.offline.row_units import UnitColumns
from harness.offline.stored_cases import stored_cases
from harness.outcomes import USABLE, UnitOutcome
from harness.snapshot import encode_cases

IDS = st.lists(st.text(max_size=6), unique=True, max_size=12)


@given(IDS, st.data())
def test_every_case_is_found_by_its_id_whatever_was_looked_up_before(
    ids: list[str], data: st.DataObject
) -> None:
    cases = [case(id) for id in ids]
    index = CaseIndex(cases)
    assert [index.id(place) for place in range(len(index))] == sorted(ids)
    assert [index.id(place) for place in index] == ids
    for id in data.draw(st.lists(st.sampled_from([*ids, "none of them"]))):
        place = index.find(id)
        if id in ids:
            assert place is not None
            assert index.id(place) == index.case(place).id == id
        else:
            assert place is None
    assert index.find("none of them") is None
    with pytest.raises(KeyError):
        index.place("none of them")


def test_an_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(StoreError, match="twice"):
        CaseIndex([case("a"), case("b"), case("a")])


@given(st.lists(st.text(max_size=40), min_size=0, max_size=8), st.booleans(), st.integers(1, 900))
def test_the_cases_of_a_snapshot_come_back_one_by_one(
    complaints: list[str], synthetic: bool, size: int
) -> None:
    cases = tuple(
        case(f"c{n}", SCALING, complaint=text, tags=("x",), group=f"g{n}")
        for n, text in enumerate(complaints)
    )
    given = CaseSet(cases, raters={"dr": {"c0": {"x": 1}}}, synthetic=synthetic)
    data = encode_cases(given)
    found = stored_cases(data[start : start + size] for start in range(0, len(data), size))
    assert (tuple(found.cases), found.raters, found.synthetic) == (cases, given.raters, synthetic)
    assert tuple(found.cases[1:3]) == cases[1:3]
    assert len(found.cases) == len(cases)
    with pytest.raises(IndexError):
        found.cases[len(cases)]


def test_the_references_keep_the_digest_that_they_had() -> None:
    cases = CaseSet((case("b", SCALING), case("a\ud800"), case("ä")), raters={"dr": {"b": {"x": 1.0}}})
    references = correct_references(cases, CaseIndex(cases.cases), None)
    whole = {"references": {one.id: one.reference for one in cases.cases}, "raters": cases.raters}
    assert references.sha256 == digest(whole)


def test_units_are_ordered_by_case_and_repeat_however_they_came() -> None:
    columns = UnitColumns(2)
    columns.add(1, 2, UnitOutcome.VALID, (5, 0.5))
    columns.add(0, 1, UnitOutcome.REFUSED, (3, 0.25))
    columns.add(1, 1, UnitOutcome.VALID, (6, 1.0), member=1)
    columns.add(1, 1, UnitOutcome.REJECTED, None, left_out=True)
    units = columns.units()
    assert units.numbers[[0, 2, 3]].tolist() == [[3, 0.25], [6, 1], [5, 0.5]]
    assert np.isnan(units.numbers[1]).all()
    assert units.ended(USABLE).tolist() == [False, False, True, True]
    assert units.left_out.tolist() == [False, True, False, False]
    table = units.where(~units.left_out).table(np.array([7, 8]), ("both", "opg"))
    assert (table.cases.tolist(), table.clusters.tolist()) == ([0, 1, 1], [7, 8, 8])
    assert (table.repeats.tolist(), table.members.tolist()) == ([1, 1, 2], [0, 1, 0])
    assert table.where(table.repeats == 9).conditions == ("both", "opg")
    assert table.where(table.repeats == 1).numbers.tolist() == [[3, 0.25], [6, 1]]
    # The same case in another condition is another question.
    assert len(set(units.questions().tolist())) == 3
    with pytest.raises(ValueError, match="not 2"):
        columns.add(0, 1, UnitOutcome.VALID, (1.0,))


def test_a_row_without_units_keeps_its_width() -> None:
    assert UnitColumns(3).units().numbers.shape == (0, 3)

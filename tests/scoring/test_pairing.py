"""Units of the same case in several conditions are found, whatever their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring.pairing import paired_rows

UNITS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(1, 5), st.integers(0, 2)), unique=True, max_size=40
)


def columns(units: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cases, repeats, members = np.array(units, dtype=np.int64).reshape(-1, 3).T
    return cases, repeats.astype(np.int32), members.astype(np.int32)


@given(UNITS, st.sampled_from([(0, 1), (1, 0), (0, 1, 2), (2, 0)]))
def test_pairs_are_those_of_a_plain_search(
    units: list[tuple[int, int, int]], wanted: tuple[int, ...]
) -> None:
    found, unpaired = paired_rows(*columns(units), wanted)
    rows = {unit: row for row, unit in enumerate(units)}
    asked = sorted({unit[:2] for unit in units if unit[2] in wanted})
    whole = [key for key in asked if all((*key, member) in rows for member in wanted)]
    assert found.tolist() == [[rows[*key, member] for key in whole] for member in wanted]
    assert unpaired == len(asked) - len(whole)


@pytest.mark.parametrize("units", [[], [(7, 1, 0)], [(7, 1, 0), (7, 2, 1)], [(7, 1, 2), (8, 1, 2)]])
def test_where_nobody_has_a_partner_there_are_no_pairs(units: list[tuple[int, int, int]]) -> None:
    found, unpaired = paired_rows(*columns(units), (0, 1))
    assert found.shape == (2, 0)
    assert unpaired == sum(member < 2 for _, _, member in units)


def test_thousands_of_units_in_any_order_are_paired() -> None:
    units = [(case, repeat, member) for case in range(2_000) for repeat in (1, 2) for member in (0, 1)]
    order = np.random.default_rng(5).permutation(len(units))
    cases, repeats, members = columns([units[place] for place in order])
    (first, second), unpaired = paired_rows(cases, repeats, members, (0, 1))
    assert unpaired == 0
    for rows, member in ((first, 0), (second, 1)):
        assert (cases[rows] == np.repeat(np.arange(2_000), 2)).all()
        assert (repeats[rows] == np.tile([1, 2], 2_000)).all() and (members[rows] == member).all()

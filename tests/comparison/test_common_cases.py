"""Which cases are compared: equal ids, equal contents, equal units; and why the others are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from comparison_examples import contender, run_cases

from harness.benchmarks.scored import UnitTable
from harness.comparison.common_cases import (
    NOT_ASKED,
    NOT_IN_RUN,
    OTHER_CONDITIONS,
    OTHER_CONTENT,
    PARTIAL,
    UNUSABLE,
    CommonCases,
    common_cases,
)
from harness.comparison.contenders import NO_ANSWER, Contender

IDS = ["a", "b", "c", "d", "e"]


def reasons(found: CommonCases) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {one.why: (one.whose, one.cases) for one in found.left_out}


def test_units_of_the_common_cases_stand_side_by_side() -> None:
    one = contender("one", [1, 2, 3, 4, 5], cases=run_cases(IDS))
    other = contender("other", [30, 20, 50], cases=run_cases(["b", "c", "e"], run="day"), places=[1, 0, 2])
    found = common_cases([one, other], "as_answered")
    assert found.ids == ("b", "c", "e")
    assert [table.numbers[:, 0].tolist() for table in found.tables()] == [[2, 3, 5], [20, 30, 50]]
    assert [table.cases.tolist() for table in found.tables()] == [[0, 1, 2]] * 2
    assert (found.wanted, found.units, found.clusters, found.independent) == (5, 3, 3, True)
    assert reasons(found) == {NOT_IN_RUN: (("other",), ("a", "d"))}


def test_a_case_of_another_content_is_another_case_whatever_its_id() -> None:  # F3
    changed = run_cases(IDS, run="day")
    changed = type(changed)("day", changed.ids, ("a", "b", "CHANGED", "d", "e"))
    found = common_cases(
        [contender("one", [1] * 5, cases=run_cases(IDS)), contender("other", [2] * 5, cases=changed)],
        "as_answered",
    )
    assert found.ids == ("a", "b", "d", "e")
    assert reasons(found) == {OTHER_CONTENT: (("one", "other"), ("c",))}


def test_the_reasons_are_those_of_each_contender() -> None:
    cases = run_cases(IDS)
    found = common_cases(
        [
            contender("whole", [1] * 5, cases=cases),
            contender("open", [1] * 3, cases=cases, places=[0, 1, 2], to_complete=2),
            contender("small", [1] * 4, cases=cases, places=[0, 2, 3, 4], absent={1: "not applicable"}),
            contender("asked", [1] * 4, cases=cases, places=[0, 1, 2, 3], wanted=range(4)),
        ],
        "as_answered",
    )
    assert found.ids == ("a", "c")
    assert reasons(found) == {
        NO_ANSWER: (("open",), ("d", "e")),
        "not applicable": (("small",), ("b",)),
        NOT_ASKED: (("asked",), ("e",)),
    }
    assert found.without == (2, 3, 3, 2)
    assert found.shared[0].tolist() == [5, 3, 4, 4]


def test_what_all_lack_for_the_same_reason_is_told_once() -> None:
    cases = run_cases(IDS)
    sides = [
        contender(name, [1] * 4, cases=cases, places=[0, 1, 2, 3], absent={4: "case_error"}) for name in "xyz"
    ]
    assert reasons(common_cases(sides, "as_answered")) == {"case_error": (("x", "y", "z"), ("e",))}


def test_a_case_that_lacks_a_repeat_is_left_out_with_all_its_repeats() -> None:
    cases = run_cases(IDS[:3])
    whole = contender("whole", [[1, 2], [3, 4], [5, 6]], cases=cases)
    part = contender("part", [[1, 2], [3, 4], [5, 6]], cases=cases, to_complete=1)
    units = part.units.where(np.array([True] * 3 + [False] + [True] * 2))
    lacking = contender("part", [1], cases=cases, units=units, usable=np.ones(5, dtype=np.bool_), repeats=2)
    found = common_cases([whole, lacking], "as_answered")
    assert found.ids == ("a", "c")
    assert reasons(found) == {PARTIAL: (("part",), ("b",))}
    assert [table.repeats.tolist() for table in found.tables()] == [[1, 2, 1, 2]] * 2


def test_of_different_repeats_the_first_ones_are_compared() -> None:
    cases = run_cases(IDS[:2])
    one = contender("one", [[1, 2, 3], [4, 5, 6]], cases=cases)
    other = contender("other", [[7, 8], [9, 10]], cases=cases)
    found = common_cases([one, other], "as_answered")
    assert found.repeats == 2
    assert next(found.tables()).numbers[:, 0].tolist() == [1, 2, 4, 5]
    assert not found.independent


def test_valid_only_leaves_out_each_case_that_anybody_failed() -> None:
    cases = run_cases(IDS)
    one = contender("one", [1] * 5, cases=cases, usable=[True, False, True, True, True])
    other = contender("other", [1] * 5, cases=cases, usable=[True, True, True, False, True])
    assert common_cases([one, other], "as_answered").ids == tuple(IDS)
    found = common_cases([one, other], "valid_only")
    assert found.ids == ("a", "c", "e")
    assert [(left.why, left.whose, left.cases) for left in found.left_out] == [
        (UNUSABLE, ("one",), ("b",)), (UNUSABLE, ("other",), ("d",)),
    ]  # fmt: skip


def test_units_of_a_union_belong_together() -> None:
    def of(label: str, members: list[int], places: list[int]) -> Contender:
        n = len(members)
        units = UnitTable(
            np.ones((n, 2)), np.array(places), np.array(places), np.ones(n, dtype=np.int32),
            np.array(members, dtype=np.int32), ("before", "after"),
        )  # fmt: skip
        cases = run_cases(IDS[:3])
        return contender(label, [1], cases=cases, units=units, usable=np.ones(n, dtype=np.bool_))

    found = common_cases(
        [of("one", [0, 1, 0, 1, 0], [0, 0, 1, 1, 2]), of("other", [1, 0, 1, 1], [0, 1, 1, 2])], "as_answered"
    )
    assert found.ids == ("b",)
    assert [table.members.tolist() for table in found.tables()] == [[0, 1], [0, 1]]
    assert not found.independent


def test_groups_are_those_of_either_run() -> None:
    one = contender("one", [1] * 5, cases=run_cases(IDS), groups=[7, 7, 8, 9, 10])
    other = contender("other", [1] * 5, cases=run_cases(IDS, run="day"), groups=[0, 1, 1, 2, 3])
    found = common_cases([one, other], "as_answered")
    assert not found.grouped_alike
    assert [table.clusters.tolist() for table in found.tables()] == [[0, 0, 0, 3, 4]] * 2
    same = common_cases(
        [one, contender("other", [1] * 5, cases=run_cases(IDS), groups=[1, 1, 0, 3, 2])], "as_answered"
    )
    assert same.grouped_alike and same.clusters == 4


def test_a_chain_of_groups_is_joined_to_its_end() -> None:
    ids = [f"{number:03}" for number in range(100)]
    one = contender("one", [1] * 100, cases=run_cases(ids), groups=[number // 2 for number in range(100)])
    other = contender(
        "other", [1] * 100, cases=run_cases(ids), groups=[(number + 1) // 2 for number in range(100)]
    )
    assert common_cases([one, other], "as_answered").clusters == 1


def test_nothing_in_common_is_no_case_and_all_reasons() -> None:
    found = common_cases(
        [
            contender("one", [1, 2], cases=run_cases(["a", "b"])),
            contender("other", [], cases=run_cases(["a", "b"]), to_complete=2),
        ],
        "as_answered",
    )
    assert (found.ids, found.units) == ((), 0)
    assert reasons(found) == {NO_ANSWER: (("other",), ("a", "b"))}


def test_units_and_outcomes_of_other_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="2 units of 'x'"):
        contender("x", [1, 2], usable=[True])


def in_union(label: str, marks: dict[str, list[float]], *, run: str = "night") -> Contender:
    """Return a contender with a mark for each case in each condition of a union."""
    cases = len(next(iter(marks.values())))
    plain = contender(label, [0] * cases, cases=run_cases(IDS[:cases], run=run))
    flat = [(own[case], case, member) for case in range(cases) for member, own in enumerate(marks.values())]
    values, places, members = zip(*flat, strict=True)
    units = UnitTable(
        np.stack([np.array(values, dtype=float), np.ones(len(flat))], axis=1),
        np.array(places),
        np.array(places),
        np.ones(len(flat), dtype=np.int32),
        np.array(members, dtype=np.int32),
        tuple(marks),
    )
    return replace(plain, units=units, usable=np.ones(len(flat), dtype=np.bool_))


def test_other_conditions_of_a_union_are_never_taken_for_the_same() -> None:  # F19
    found = common_cases(
        [
            in_union("one", {"caries": [1, 2], "bridge": [3, 4]}),
            in_union("other", {"periapical": [1, 2], "bridge": [3, 4]}, run="day"),
        ],
        "as_answered",
    )
    assert found.ids == ()
    assert reasons(found) == {OTHER_CONDITIONS: (("one", "other"), ("a", "b"))}


def test_a_part_of_a_union_is_no_common_ground_for_all_of_it() -> None:
    found = common_cases(
        [
            in_union("few", {"caries": [1, 2]}),
            in_union("many", {"bridge": [3, 4], "caries": [1, 2]}, run="day"),
        ],
        "as_answered",
    )
    assert found.ids == ()
    assert reasons(found) == {OTHER_CONDITIONS: (("few",), ("a", "b"))}


def test_units_of_a_union_are_paired_by_condition_in_whatever_order_runs_ask_them() -> None:
    found = common_cases(
        [
            in_union("one", {"caries": [1, 2], "bridge": [3, 4]}),
            in_union("other", {"bridge": [30, 40], "caries": [10, 20]}, run="day"),
        ],
        "as_answered",
    )
    assert found.ids == ("a", "b")
    tables = list(found.tables())
    assert [[table.conditions[member] for member in table.members] for table in tables] == [
        ["caries", "bridge", "caries", "bridge"]
    ] * 2
    assert [table.numbers[:, 0].tolist() for table in tables] == [[1, 3, 2, 4], [10, 30, 20, 40]]

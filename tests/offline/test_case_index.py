"""Which cases are resampled together, by their ids."""

from __future__ import annotations

from stored_run_builder import case

from harness.offline.case_index import CaseIndex


def test_a_case_without_a_group_is_a_group_of_its_own_and_so_is_an_id_that_no_case_has() -> None:
    index = CaseIndex([case("b", group="p"), case("a"), case("c", group="p"), case("d", group="")])
    assert [index.group(name) for name in ("a", "b", "c", "d", "nobody")] == ["a", "p", "p", "", "nobody"]

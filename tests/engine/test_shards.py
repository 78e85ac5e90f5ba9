"""Shares of a run: every case in exactly one, whatever other cases there are."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.errors import ConfigError
from harness.shards import Shard, read_shard


def owner(case_id: str, count: int) -> int:
    (found,) = (index for index in range(1, count + 1) if Shard(index, count).holds(case_id))
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_case_belongs_to_exactly_one_share_of_about_equal_size(count: int) -> None:
    owners = Counter(owner(f"case-{number}", count) for number in range(2_000))
    assert set(owners) == set(range(1, count + 1))
    assert all(abs(size - 2_000 / count) < 120 for size in owners.values())


def test_the_split_never_changes() -> None:
    """Golden: machines with different versions of the program share one run."""
    ids = ["c000", "c001", "patient 7", "\u00e9", "\udcff", ""]
    assert [owner(case_id, 3) for case_id in ids] == [3, 1, 2, 1, 3, 2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no share; write I/N"),
        ("1", "is no share"),
        ("1/2/3", "is no share"),
        ("a/b", "is no share"),
        ("-1/2", "is no share"),
        ("1.0/2", "is no share"),
        ("\u0661/\u0662", "is no share"),
        ("0/2", "the shares of 2 are 1/2 to 2/2"),
        ("3/2", "the shares of 2 are 1/2 to 2/2"),
        ("1/0", "there can be 1 to 10000 shares"),
        ("1/10001", "there can be 1 to 10000 shares"),
    ],
)
def test_bad_values_are_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_shard(text)
    assert says in str(caught.value) and repr(text) in str(caught.value)


def test_a_share_is_shown_as_it_is_written() -> None:
    assert (read_shard(" 2/4 "), str(read_shard("02/4"))) == (Shard(2, 4), "2/4")

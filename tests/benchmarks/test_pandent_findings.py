"""The table of findings and teeth, tooth codes, and the grammar of bridge patterns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.benchmarks.pandent.findings import (
    ABBREVIATIONS,
    ARCHES,
    BY_ID,
    FINDINGS,
    TABLE2,
    UNIVERSE,
    bridge_pattern,
    bridge_teeth,
    replaced_teeth,
    teeth_of,
    tooth_code,
)

FACTS = Path(__file__).resolve().parents[3] / "shared" / "spec" / "benchmarks.yaml"


def test_there_are_32_teeth_16_in_each_jaw() -> None:
    assert UNIVERSE[0] == 11
    assert list(UNIVERSE) == sorted({*range(11, 19), *range(21, 29), *range(31, 39), *range(41, 49)})
    assert sorted(ARCHES["maxilla"]) == [tooth for tooth in UNIVERSE if tooth < 30]
    assert sorted(ARCHES["mandible"]) == [tooth for tooth in UNIVERSE if tooth > 30]


def test_the_21_findings_are_those_of_the_facts_in_their_order() -> None:
    if not FACTS.exists():
        pytest.skip("the facts are not beside this checkout")
    facts = FACTS.read_text(encoding="utf-8")
    items = re.findall(r"- \{n: (\d+), +id: (\w+), *label: ([^,]+), +type: (\w+)(.*)\}", facts)
    assert [int(number) for number, *_ in items] == list(range(1, 22))
    assert [(name, label, kind, "derived: true" in rest) for _, name, label, kind, rest in items] == [
        (one.id, one.label, one.type, one.derived) for one in FINDINGS
    ]
    arches = {name: arch[1] for _, name, *_, rest in items if (arch := re.search(r"arch: (\w+)", rest))}
    assert arches == {one.id: one.arch for one in FINDINGS if one.arch}
    universe = re.search(r"universe: \[([\d,]+)\]", facts)
    assert universe is not None
    assert [int(number) for number in universe[1].split(",")] == list(UNIVERSE)
    columns = re.findall(r"\{abbr: \"?([^,\"]+)\"?, id: (\w+)\}", facts)
    assert [(name, abbreviation) for abbreviation, name in columns] == list(ABBREVIATIONS.items())
    assert [BY_ID[name].answer for name in TABLE2] == ["binary"] * 2 + ["tooth_set"] * 7


def test_answers_about_bridges_are_teeth_and_those_about_regions_yes_or_no() -> None:
    binary = [finding.id for finding in FINDINGS if finding.answer == "binary"]
    assert binary == [
        "gcbl_maxilla", "gcbl_mandible", "maxillary_abnormality", "mandibular_abnormality", "sinus_left",
        "sinus_right", "tmj_left", "tmj_right",
    ]  # fmt: skip
    assert BY_ID["bridge"].teeth == UNIVERSE
    assert BY_ID["abl_maxilla"].teeth == tuple(tooth for tooth in UNIVERSE if tooth < 30)
    assert BY_ID["gcbl_maxilla"].teeth == ()


def test_a_tooth_code_goes_both_ways_for_any_order() -> None:
    assert (tooth_code([11]), tooth_code([48]), tooth_code(())) == (1, 1 << 31, 0)
    assert tooth_code(UNIVERSE) == 2**32 - 1
    assert teeth_of(tooth_code([36, 11, 27])) == (11, 27, 36)
    assert tooth_code([27, 36]) == tooth_code([36, 27, 36])
    with pytest.raises(KeyError):
        tooth_code([19])


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("25-26-X", "25-26-X"),
        ("#25-#26-X", "25-26-X"),
        ("x-26-25", "25-26-X"),
        ("11-21", "11-21"),
        ("23-X-X-11", "11-X-X-23"),
        ("35-X-37", "35-X-37"),
        ("31-41", "41-31"),
        ("26-X", "26-X"),
        ("X-26", "X-26"),
        ("X-#14-X", "X-14-X"),
        ("24-X-26", "24-X-26"),
        ("34-X-36-X", "34-X-36-X"),
        ("28-X", "28-X"),
        ("27-X", "27-X"),
        ("X-X-17-X", "X-X-17-X"),
        ("X-27-26", "26-27-X"),
    ],
)
def test_a_bridge_pattern_has_one_spelling(written: str, pattern: str) -> None:
    assert bridge_pattern(written) == pattern
    assert bridge_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "'' is neither an FDI number nor X"),
        ("25", "two units or more"),
        ("X", "two units or more"),
        ("X-X", "no unit has a number"),
        ("25-", "'' is neither"),
        ("25--26", "'' is neither"),
        ("25-29", "'29' is neither"),
        ("25-19", "'19' is neither"),
        ("25-56", "'56' is neither"),
        ("25 - 26", "'25 ' is neither"),
        ("25-#X", "'#X' is neither"),
        ("25-##26", "'##26' is neither"),
        ("25\u201326", "is neither"),
        ("25-\u0662\u0666", "is neither"),
        ("25-26-\n", "is neither"),
        ("25-26\n", "is neither"),
        ("25-26-25", "it names a tooth twice"),
        ("25-35", "two jaws"),
        ("25-27-26", "not in the order of the arch"),
        ("11-22-21", "not in the order of the arch"),
        ("14-16", "^teeth 14 and 16 are no neighbours: write X for each replaced tooth, as in 14-X-16$"),
        ("34-36-X", "^teeth 34 and 36 are no neighbours: write X for each replaced tooth, as in 34-X-36$"),
        ("34-X-37", "^teeth 34 and 37 are no neighbours: .* as in 34-X-X-37$"),
        ("34-X-X-36", "^teeth 34 and 36 are no neighbours: .* as in 34-X-36$"),
        ("11-X-21", "^teeth 11 and 21 are neighbours: write 11-21$"),
        ("12-21", "as in 12-X-21$"),
        ("27-28-X", "^an X of it stands beyond the last tooth of the maxilla$"),
        ("X-48-47", "^an X of it stands beyond the last tooth of the mandible$"),
        ("X-18-X", "beyond the last tooth of the maxilla"),
        ("X-X-37-X-X", "beyond the last tooth of the mandible"),
    ],
)
def test_what_is_plainly_no_bridge_is_refused(written: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        bridge_pattern(written)


def test_what_x_stands_for_is_known_between_two_numbers() -> None:
    assert replaced_teeth("12-X-X-22") == (11, 21)
    assert replaced_teeth("X-26-X-28") == (27,)
    assert replaced_teeth("25-26-X") == replaced_teeth("X-14-X") == ()


def test_the_teeth_of_bridges_are_their_numbered_units() -> None:
    assert bridge_teeth(["25-26-X", "#35-X-#37"]) == (25, 26, 35, 37)
    assert bridge_teeth([]) == ()

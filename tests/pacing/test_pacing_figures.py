"""Every figure of docs/pacing.md: made again to the digit, and within what is promised."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pacing.scenario import SCENARIOS, Scenario
from pacing_table import rows, table

# The quick ones of each kind; all others with -m slow.
QUICK = {
    "strict_bucket", "clock_jumps", "tokens_off_either_way", "output_tokens", "oversize",  # F41
    "told_six_hours", "daily_reset",  # F51
    "eight", "as_many_as_asked",  # F35
    "refused", "side_by_side", "shared_pool",  # F42
}


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(__file__).parents[2] / "docs" / "pacing.md").read_text(encoding="utf-8")


def _marked(scenario: Scenario) -> ParameterSet:
    name = scenario.figures.__name__
    return pytest.param(scenario, id=name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [_marked(one) for one in SCENARIOS])
def test_the_documented_figures_are_seen_and_kept(  # F30, F31, F35, F40, F41, F42, F43, F51
    scenario: Scenario, page: str, caplog: pytest.LogCaptureFixture
) -> None:
    figures = scenario.run()
    assert [f"{one.name}: {one.shown()}, promised {one.promised()}" for one in figures if not one.kept] == []
    assert rows(scenario, figures) in table(page)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == (scenario.figures.__name__ == "oversize"), warnings


def test_the_page_lists_every_situation_once_and_no_other(page: str) -> None:
    titles = re.findall(r"^\| ([^|]+) \|", table(page), re.MULTILINE)
    assert titles == ["situation", *(one.title for one in SCENARIOS)]
    assert {one.figures.__name__ for one in SCENARIOS} >= QUICK

"""The table of a dry run fits 80 columns, whatever the models are called."""

from __future__ import annotations

import pytest

from harness.cli.forecast_table import table
from harness.dry_run import Forecast


def forecast(model: str, usd: float = 69.68) -> Forecast:
    tokens = (416_000, 13_600_000, 55_000, 11_800_000)
    return Forecast(model, 2400, 1200, 100, 1100, 0, *tokens, usd_low=usd / 90, usd_high=usd)


LONG = "openrouter/google/gemini-3-flash-preview-of-a-rather-long-name"


def test_ordinary_names_fit_beside_their_numbers() -> None:
    lines = list(table([forecast("claude-sonnet-4.5"), forecast("gemini-3-flash")], 80))
    assert len(lines) == 4 and max(map(len, lines)) <= 80
    assert lines[2].split() == [
        "claude-sonnet-4.5", "1200/2400", "100", "1100", "416k-13.6M", "55k-11.8M", "0.77-69.68"
    ]  # fmt: skip


@pytest.mark.parametrize("usd", [69.68, 123_456.78])
def test_a_long_name_stands_whole_in_a_line_of_its_own(usd: float) -> None:
    lines = list(table([forecast(LONG, usd), forecast("o3", usd), forecast(f"{LONG}-2", usd)], 80))
    assert max(map(len, lines)) <= 80
    assert [lines[2], lines[4].split()[0], lines[5]] == [LONG, "o3", f"{LONG}-2"]
    assert lines[3].split() == lines[4].split()[1:]

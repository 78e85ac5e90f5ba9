"""The measurement itself works: every row gives a number, and the table says what is missed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
QUICK = ("help", "rate-limit")
ALL = ("text-64", "text-512", "image", "replay", "memory", "planning", "concurrency", "lag")


def measured(*rows: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "perf", "--quick", "--json"]
    for row in rows:
        command += ["--only", row]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["quick"] is True
    assert list(found["rows"]) == list(rows)
    assert all(row["ours"] > 0 for row in found["rows"].values())
    return found["rows"]


def test_starting_up_and_the_use_of_a_limit_are_measured() -> None:
    rows = measured(*QUICK)
    assert rows["help"]["bare"] > 0
    assert rows["rate-limit"]["facts"]["most_in_60_s"] <= 600
    assert rows["rate-limit"]["ours"] >= 97


@pytest.mark.slow
def test_every_other_row_is_measured() -> None:
    rows = measured(*ALL)
    assert all(rows[name]["bare"] > 0 for name in ("text-64", "text-512", "image"))
    assert rows["text-64"]["facts"]["seen_at_once"] > 1
    assert rows["concurrency"]["ours"] == 48


def test_a_budget_that_is_missed_is_said_and_a_quick_run_judges_nothing() -> None:
    sys.path.insert(0, str(CHECKOUT))
    try:
        from perf.rows import Row, all_rows
        from perf.table import as_text
    finally:
        sys.path.remove(str(CHECKOUT))
    assert set(all_rows()) == {*QUICK, *ALL}
    rows = {
        "slow": Row("a thing", "<= 1 ms", 2.5, "ms", False, 0.5, "a note"),
        "fast": Row("another", "<= 1 s", 0.25, "s", True),
    }
    lines = [" ".join(line.split()) for line in as_text(rows, quick=False).splitlines()]
    assert "a thing <= 1 ms 2.50 ms 0.50 ms 5.0 NO" in lines
    assert "another <= 1 s 0.25 s yes" in lines and "a note" in lines
    quick = [" ".join(line.split()) for line in as_text(rows, quick=True).splitlines()]
    assert "another <= 1 s 0.25 s -" in quick and quick[-1].startswith("--quick: the sizes are too small")

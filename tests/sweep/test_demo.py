"""`make demo`, played as the Makefile plays it: all benchmarks, in lines of at most 80 columns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from harness.benchmarks.registry import BENCHMARKS

WIDTH = 80


def play(checkout: Path, folder: Path) -> str:
    (folder / "harness.toml").touch()
    environment = {
        name: value for name, value in os.environ.items() if name not in {"COLUMNS", "HARNESS_STORE"}
    }
    done = subprocess.run(
        [sys.executable, checkout / "tools" / "demo.py"],
        cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)


@pytest.mark.slow
def test_the_demo_shows_every_benchmark_and_marks_what_is_made_up(tmp_path: Path, checkout: Path) -> None:
    shown = play(checkout, tmp_path)
    assert [line for line in shown.splitlines() if width(line) > WIDTH] == []
    heads = re.findall(r"^(\w+)  run \S+ \(\w+\)\n(.*)$", shown, re.MULTILINE)
    assert sorted(name for name, _ in heads) == sorted(BENCHMARKS)
    assert all("SYNTHETIC DATA - SIMULATED MODELS" in mark for _, mark in heads)
    table = (checkout / "README.md").read_text(encoding="utf-8").split("```text\n", 1)[1].split("```", 1)[0]
    assert table.rstrip("\n") in shown

    radm = shown[shown.index("radm  run") :]
    assert "LLM-GRADED" in radm
    assert re.search(r"SIMULATED model,\s+NOT\s+by\s+people", radm)
    scores = [float(one) for one in re.findall(r"^  [1-3] sim/\w+ +\d+ +\S+ (\d\.\d+)", radm, re.MULTILINE)]
    assert len(scores) == 7
    assert 0.3 < min(scores) <= max(scores) < 3
    assert re.search(r"sim/reader: not_applicable 9 \(of 9\)", radm)
    assert re.search(r"sim/steady: \d+ whole clips\n  sim/messy: \d+ frames\n", radm)

    assert play(checkout, tmp_path) == shown, "played again it shows the same, from what is stored"

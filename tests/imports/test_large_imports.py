"""An import's memory does not grow with its rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sweep_kit import answer_text, write_cases

CASES = 50
MOST_MORE_MB = 30
"""A larger store's pages stay in the cache of its library; rows as objects would take ten times as much."""

MEASURED = """
import re, sys
from pathlib import Path
from harness.cli.main import cli
try:
    cli.main(sys.argv[1:])
finally:
    # Not getrusage: its peak is taken over from the process that started this one.
    status = Path("/proc/self/status").read_text()
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024, file=sys.stderr)
"""


def write_rows(path: Path, repeats: int) -> None:
    text = answer_text(reasoning="word " * 2_000)
    with path.open("w", encoding="utf-8") as stream:
        for repeat in range(1, repeats + 1):
            for case in range(CASES):
                stream.write(json.dumps({"id": f"c{case:03}", "answer": text, "repeat": repeat}) + "\n")


def peak_mb(folder: Path, repeats: int) -> int:
    name = f"{repeats}.jsonl"
    write_rows(folder / name, repeats)
    args = (
        "import",
        name,
        "--benchmark",
        "triage",
        "--model",
        "m",
        "--data",
        "data",
        "--store",
        f"{name}.db",
    )
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *args],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{CASES * repeats}  answers added" in done.stdout
    return int(done.stderr.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_ten_times_the_rows_take_the_same_memory(tmp_path: Path, checkout: Path) -> None:  # F36
    write_cases(tmp_path / "data", CASES)
    few, many = (peak_mb(tmp_path, repeats) for repeats in (10, 100))
    # 5,000 rows of 11 KB are 55 MB in their file, and three times that as objects.
    assert many - few < MOST_MORE_MB

"""docs/notebooks.md: its examples run as they are written, and its tables name every column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sweep_kit import harness as command

from harness.notebook.columns import METRICS, RECORDS, RUNS, SCORES, Column


def page(checkout: Path) -> str:
    return (checkout / "docs" / "notebooks.md").read_text(encoding="utf-8")


def test_the_examples_run_as_they_are_written(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page(checkout), re.DOTALL)
    assert len(blocks) == 7
    models = "sim/steady,sim/messy"
    done = command("run", "--benchmark", "triage", "--models", models, "--limit", "6", "--name", "night")
    assert done.code == 0, done.err
    names: dict[str, object] = {}
    printed = []
    for block in blocks:
        exec(compile(block, "docs/notebooks.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    assert "night" in printed[0] and "[sim/messy, sim/steady]" in printed[0]
    assert "sim/steady" in printed[1] and "prevalence" in printed[1]
    assert "valid" in printed[2] and "output_tokens" in printed[2]
    assert printed[3].startswith("syn-001 {'Endodontics")
    assert "count    6.0" in printed[4]
    assert printed[5] == "0.00 USD\n"
    assert printed[6] == ""
    assert sorted(one.name for one in tmp_path.iterdir()) == [".harness"]


@pytest.mark.parametrize(
    ("name", "columns"),
    [("runs", RUNS), ("records", RECORDS), ("scores", SCORES), ("metrics", METRICS)],
)
def test_every_column_is_on_the_page_in_order(checkout: Path, name: str, columns: tuple[Column, ...]) -> None:
    part = page(checkout).split(f"### `{name}`\n", 1)[1].split("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", part, re.MULTILINE)
    assert rows == [(column.name, column.about) for column in columns if column.name != "escaped"]

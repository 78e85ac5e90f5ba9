"""`harness report`: which runs, where to, and what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from report.report_examples import rich_report
from report.test_folder import DRAWERS

from harness.cli.main import cli

RUN = ["run", "--benchmark", "triage", "--models", "sim/steady", "--limit", "2", "--reformatter", "none"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Let a builder that notes its arguments give the example, and simple drawers draw it."""
    calls: list[dict[str, Any]] = []

    async def build_report(store: Any, runs: Sequence[Any], **options: Any) -> Any:
        options.pop("tell")("scoring run one first: it changed")
        calls.append({"runs": [run.name for run in runs], **options})
        return rich_report()

    modules: Mapping[str, Mapping[str, Any]] = {
        "building": {"build_report": build_report},
        "html": {"page": DRAWERS.page},
        "figures": {"drawn": DRAWERS.draw},
    }
    for name, names in modules.items():
        module = ModuleType(f"harness.report.{name}")
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield calls


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that has the runs `one` and `two`."""
    path = tmp_path_factory.mktemp("reported") / "store.sqlite3"
    for name, repeats in (("one", "1"), ("two", "2")):
        assert invoke(*RUN, "--name", name, "--repeats", repeats, "--store", str(path)).exit_code == 0
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Path) -> Path:
    """Return a working folder in which commands find the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_STORE", str(store))
    return tmp_path


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, list(args))


def test_the_latest_run_is_reported_without_a_name(place: Path, asked: list[dict[str, Any]]) -> None:
    result = invoke("report", "--out", "out")
    assert result.exit_code == 0, result.stderr
    assert asked == [{"runs": ["two"], "conventions": {}, "grades": None, "corrected": None}]
    assert "scoring run one first: it changed" in result.stderr
    assert result.stdout.splitlines() == [
        "run: two",
        "page: out/index.html",
        "all of it as data and text: out/report.json, out/report.md",
        "3 tables as CSV and LaTeX: out/tables/",
        "9 figures as SVG and PNG: out/figures/",
    ]
    assert (place / "out/index.html").is_file()


def test_several_runs_are_reported_in_order_and_once_each(place: Path, asked: list[dict[str, Any]]) -> None:
    args = ["--convention", "zero_division=skip-empty", "--grades", "none", "--json"]
    result = invoke("report", "two", "one", "latest", "--out", "out", *args)
    assert result.exit_code == 0, result.stderr
    assert asked == [
        {
            "runs": ["two", "one"],
            "conventions": {"zero_division": "skip-empty"},
            "grades": "none",
            "corrected": None,
        }
    ]
    found = json.loads(result.stdout)
    assert [run["name"] for run in found["runs"]] == ["two", "one"]
    assert (found["out"], found["page"]) == ("out", "out/index.html")
    on_disk = {str(path.relative_to(place)) for path in (place / "out").rglob("*") if path.is_file()}
    assert set(found["files"]) == on_disk - {"out/.harness-report"}


def test_a_folder_of_somebody_is_refused_before_anything_is_scored(
    place: Path, asked: list[dict[str, Any]]
) -> None:
    (place / "out").mkdir()
    (place / "out/mine").write_text("mine")
    result = invoke("report", "--out", "out")
    assert (result.exit_code, asked) == (2, [])
    assert "is not empty; name a new or an empty one" in result.stderr
    bare = invoke("report")
    assert (bare.exit_code, asked) == (2, [])
    assert bare.stderr == "error: a report needs a folder to stand in; give --out DIR, e.g. --out report\n"
    assert invoke("report", "nobody", "--out", "new").exit_code == 2 and not (place / "new").exists()


def test_help_says_where_to_look_first() -> None:
    shown = invoke("report", "--help").stdout
    assert "Usage: harness report [OPTIONS] [RUN ...]" in shown
    assert "DIR/index.html is the page" in " ".join(shown.split())
    assert "harness report latest --out report" in shown.split("Example")[1]


def test_the_command_imports_nothing_that_could_ask_a_model(checkout: Path) -> None:
    code = (
        "import sys, harness.cli.report, harness.report.folder\n"
        "heavy = ('httpx', 'aiohttp', 'litellm', 'matplotlib', 'jinja2', 'harness.sending')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=checkout, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_backend_for_windows_that_matplotlib_does_not_know_is_no_matter(checkout: Path) -> None:
    code = (
        "from harness.cli.report import _drawers; from harness.report.document import *;"
        "print(len(_drawers().draw(Figure('a', 'a', 'a', Intervals('x', [Point('m', 0.5)]), 't')).png()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MPLBACKEND": "nonsense"},
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert int(done.stdout) > 1000

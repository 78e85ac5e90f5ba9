"""`harness benchmarks`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from harness.benchmarks.registry import BENCHMARKS, get_benchmark
from harness.benchmarks.triage.verdicts import DIMENSIONS
from harness.cli.main import cli

GRADES = Path(__file__).resolve().parents[2] / "docs" / "grades.md"


def test_every_benchmark_is_listed_with_its_facts() -> None:
    listed = json.loads(CliRunner().invoke(cli, ["benchmarks", "--json"]).stdout)
    assert [each["name"] for each in listed] == sorted(BENCHMARKS)
    triage = listed[[each["name"] for each in listed].index("triage")]
    assert triage["main_conditions"] == ["both"]
    assert triage["conditions"] == list(get_benchmark("triage").conditions)
    benchmark = get_benchmark("triage")
    assert triage["sample_cases"] == len(benchmark.load(benchmark.sample_dir()).cases)


def test_a_page_names_conditions_reformatter_and_conventions_in_80_columns() -> None:
    page = CliRunner().invoke(cli, ["benchmarks", "triage"]).stdout
    assert max(len(line) for line in page.splitlines()) <= 80
    for words in ("both", "complaint", "opg", "gemini", "zero_division: 0", "synthetic", "bundled sample"):
        assert words in page


def test_a_page_names_what_people_grade_by_as_a_step_does() -> None:
    page = CliRunner().invoke(cli, ["benchmarks", "triage"]).stdout
    told = " ".join(page.split())
    assert f"grades of judge, each 0 or 1: {', '.join(DIMENSIONS)}" in told
    for words in (CliRunner().invoke(cli, ["grades", "import", "--help"]).stdout, GRADES.read_text("utf-8")):
        assert all(name in words for name in DIMENSIONS)
        assert "model,condition,case_id,question,value\n" in words
        assert "o3,both,syn-001,D1_Neglect,1\n" in words


def test_what_the_user_configured_is_shown(tmp_path: Path) -> None:
    text = "[benchmarks.triage]\ndata = 'd'\nreformatter = 'mine'\n"
    Path("harness.toml").write_text(text, encoding="utf-8")
    (facts,) = json.loads(CliRunner().invoke(cli, ["benchmarks", "triage", "--json"]).stdout)
    assert (facts["data"], facts["reformatter"]) == (str(tmp_path / "d"), "mine")
    assert facts["reformatter_departure"] is None


def test_an_unknown_benchmark_ends_with_2() -> None:
    result = CliRunner().invoke(cli, ["benchmarks", "traige"])
    assert (result.exit_code, "unknown benchmark 'traige'" in result.stderr) == (2, True)


def test_telling_of_benchmarks_and_their_steps_loads_no_numpy() -> None:
    code = (
        "import sys\nfrom harness.cli.main import cli\n"
        "try: cli(['benchmarks', '--json'])\nexcept SystemExit: pass\n"
        "heavy = ('numpy', 'rapidfuzz', 'scipy')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert '"pandent"' in done.stdout
    assert done.stderr.strip() == "[]"

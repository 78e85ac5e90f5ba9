"""`harness data check` and `harness data sample`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from sweep_kit import write_cases

from harness.benchmarks.registry import get_benchmark
from harness.cli.main import cli


def data(*args: str) -> Result:
    return CliRunner().invoke(cli, ["data", *args])


def written_sample(folder: Path) -> Path:
    assert data("sample", "--benchmark", "triage", "--out", str(folder)).exit_code == 0
    return folder


def test_the_bundled_sample_is_checked_when_nothing_is_named() -> None:
    result = data("check", "--benchmark", "triage", "--json")
    cases = len(get_benchmark("triage").load(get_benchmark("triage").sample_dir()).cases)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["counts"]["cases"] == cases > 0


def test_a_sound_folder_is_summed_up(tmp_path: Path) -> None:
    result = data("check", "--benchmark", "triage", "--data", str(written_sample(tmp_path / "mine")))
    assert result.exit_code == 0
    assert "  cases" in result.stdout
    assert str(tmp_path / "mine") in result.stderr


def test_one_case_is_no_plural(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    result = data("check", "--benchmark", "triage", "--data", str(tmp_path / "data"))
    assert result.exit_code == 0, result.output
    assert "      1  case\n" in result.stdout and "1  cases" not in result.stdout


def test_every_problem_is_listed_and_the_exit_is_2(tmp_path: Path) -> None:
    folder = written_sample(tmp_path / "mine")
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    broken = ["{ not json", *lines[1:], lines[-1]]
    (folder / "cases.jsonl").write_text("\n".join(broken) + "\n", encoding="utf-8")
    result = data("check", "--benchmark", "triage", "--data", str(folder))
    assert result.exit_code == 2
    assert len(result.stdout.splitlines()) >= 2  # the first line, and the id that is there twice  # F18
    assert "problems in" in result.stderr


def test_an_object_on_several_lines_is_told_once(tmp_path: Path) -> None:
    folder = written_sample(tmp_path / "mine")
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    spread, listed = json.dumps(json.loads(lines[0]), indent=2), ",\n".join(lines)
    for text in (spread, f"[\n{listed}\n]", "\n{\r\n}"):
        (folder / "cases.jsonl").write_text(text, encoding="utf-8")
        result = data("check", "--benchmark", "triage", "--data", str(folder))
        [told] = result.stdout.splitlines()
        assert result.exit_code == 2 and "stands alone in its line; write each object on one line" in told
    # Elsewhere it is a fault of its own line.
    (folder / "cases.jsonl").write_text("\n".join([*lines, "{"]), encoding="utf-8")
    [told] = data("check", "--benchmark", "triage", "--data", str(folder)).stdout.splitlines()
    assert f"line {len(lines) + 1}: no JSON object" in told


def test_problems_are_facts_too(tmp_path: Path) -> None:
    result = data("check", "--benchmark", "triage", "--data", str(tmp_path / "gone"), "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, len(told["problems"]), told["counts"]) == (2, 1, {})


def test_the_configured_folder_is_the_default(tmp_path: Path) -> None:
    written_sample(tmp_path / "mine")
    Path("harness.toml").write_text("[benchmarks.triage]\ndata = 'mine'\n", encoding="utf-8")
    assert str(tmp_path / "mine") in data("check", "--benchmark", "triage").stderr


def test_a_sample_is_not_written_over_somebodys_files(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    result = data("sample", "--benchmark", "triage", "--out", str(tmp_path / "full"))
    assert (result.exit_code, "is not empty" in result.stderr) == (2, True)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_a_file_in_the_samples_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    result = data("sample", "--benchmark", "triage", "--out", str(tmp_path / "file"))
    assert (result.exit_code, "is no folder" in result.stderr) == (2, True)

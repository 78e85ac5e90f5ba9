"""What an import shows before it is believed: pairs of positions, and what a dry run would change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import Done, harness, write_cases

CASES = 6


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six cases, and their ids in order as a file for `--ids`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)
    write_cases(tmp_path / "data", CASES)
    (tmp_path / "harness.toml").write_text('[benchmarks.triage]\ndata = "data"\n', encoding="utf-8")
    (tmp_path / "ids.txt").write_text("\n".join(map(name, range(CASES))), encoding="utf-8")
    return tmp_path


def name(number: int) -> str:
    return f"c{number % CASES:03}"


def bring(*args: str) -> Done:
    return harness("import", *args, "--benchmark", "triage", "--model", "old")


def write(path: str, lines: Sequence[object]) -> None:
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


def sample(number: int, **doc: Any) -> dict[str, Any]:
    return {"doc_id": number, "doc": doc, "arguments": {}, "resps": [[f"answer {number}"]]}


def line(number: int, answer: str = "x") -> dict[str, str]:
    return {"id": name(number), "answer": answer}


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_positions_are_shown_with_the_cases_that_they_became(dry: list[str]) -> None:  # F8 F24
    write("samples_x.jsonl", [sample(number) for number in (3, 1, 0, 5)])
    done = bring("samples_x.jsonl", "--ids", "ids.txt", *dry)
    assert "positions: 0 -> c000, 1 -> c001, 5 -> c005" in done.out, done.err
    found = bring("samples_x.jsonl", "--ids", "ids.txt", "--json", *dry).json
    assert found["positions"] == [[0, "c000"], [1, "c001"], [5, "c005"]]


def test_no_positions_are_shown_where_rows_have_ids() -> None:
    write("a.jsonl", [line(0)])
    assert "positions" not in bring("a.jsonl", "--dry-run").out


def test_rows_that_name_other_cases_than_their_positions_are_refused(folder: Path) -> None:  # F8 F24
    write("samples_x.jsonl", [sample(number, more=[{"case": name(number + 1)}]) for number in range(CASES)])
    done = bring("samples_x.jsonl", "--ids", "ids.txt")
    assert done.code == 2
    assert "'samples_x.jsonl' line 1: position 0 is the case 'c000' by --ids" in done.err
    assert "'doc.more.0.case' of the row names the case 'c001'" in done.err
    assert "6 of 6 rows" in done.err
    assert "--map id=doc.more.0.case" in done.err
    assert not (folder / ".harness").exists()
    assert bring("samples_x.jsonl", "--map", "id=doc.more.0.case").code == 0


@pytest.mark.parametrize(
    "doc",
    [
        lambda number: {"case": name(number + number % 2)},
        # The right case stands in the row too.
        lambda number: {"before": name(number - 1), "case": name(number)},
        # A label that is called as a case is: no id, as it does not tell rows apart.
        lambda number: {"target": name(4 + number % 2)},
        lambda number: {"case": f"{name(number + 1)}.png"},
    ],
)
def test_rows_that_do_not_contradict_their_positions_are_taken(doc: Callable[[int], dict[str, str]]) -> None:
    write("samples_x.jsonl", [sample(number, **doc(number)) for number in range(CASES)])
    done = bring("samples_x.jsonl", "--ids", "ids.txt")
    assert done.code == 0, done.err


def test_half_of_the_rows_are_not_more_than_half() -> None:
    right = [sample(number, case=name(number)) for number in range(CASES)]
    wrong = [sample(number, case=name(number + 1)) for number in range(CASES)]
    write("samples_x.jsonl", [*right, *wrong])
    assert bring("samples_x.jsonl", "--ids", "ids.txt").code == 0
    write("samples_x.jsonl", [*right[1:], *wrong])
    assert "is in 6 of 11 rows" in bring("samples_x.jsonl", "--ids", "ids.txt").err


def test_a_dry_run_refuses_the_names_that_the_import_would_refuse() -> None:
    write("a.jsonl", [line(0)])
    bring("a.jsonl", "--run", "theirs")
    for taken, told in (("theirs", "is held by"), ("latest", "cannot be a run's name")):
        for dry in ([], ["--dry-run"]):
            done = bring("a.jsonl", "--run", taken, "--condition", "complaint", *dry)
            assert (done.code, told in done.err) == (2, True), done.err


def test_a_dry_run_names_the_run_and_what_would_change(folder: Path) -> None:
    write("a.jsonl", [line(0), line(1), line(2)])
    first = bring("a.jsonl", "--dry-run")
    assert "a new run would be made" in first.out
    assert "3  answers new" in first.out
    assert "3  units without a row in these files: c003, c004, c005" in first.out
    assert not (folder / ".harness").exists()
    assert "a new run 'mine' would be made" in bring("a.jsonl", "--dry-run", "--run", "mine").out
    bring("a.jsonl", "--run", "theirs")
    write("b.jsonl", [line(1), line(2, "other"), line(3), line(4)])
    dry, before = bring("b.jsonl", "--dry-run"), harness("store", "stats", "--json").json
    assert "run theirs" in dry.out and "would be made" not in dry.out
    for told in ("2  answers new", "1  known already", "1  changed since: c002"):
        assert told in dry.out
    assert "2  units without a row in these files: c000, c005" in dry.out
    found = bring("b.jsonl", "--dry-run", "--json").json["would"]
    assert (found["run"], found["new"], found["known"]) == ("theirs", 2, 1)
    assert (found["changed"], found["makes_run"]) == ({"count": 1, "first": ["c002"]}, False)
    assert harness("store", "stats", "--json").json == before
    real = bring("b.jsonl", "--json").json
    assert (real["run"], real["added"], real["known"], real["changed"]["count"]) == ("theirs", 3, 1, 1)


def test_a_dry_run_counts_answers_that_stand_in_another_run() -> None:
    write("a.jsonl", [line(0), line(1)])
    bring("a.jsonl")
    dry = bring("a.jsonl", "--dry-run", "--prompt-note", "ours", "--json").json["would"]
    real = bring("a.jsonl", "--prompt-note", "ours", "--json").json
    assert (dry["makes_run"], dry["new"], dry["known"]) == (True, 0, 2)
    assert (real["added"], real["known"]) == (0, 2)

"""PanDent on simulated models: asked, re-asked, stopped, and scored the same for ever."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import Done, harness, records, spawn

from harness.benchmarks.pandent.findings import BY_ID

MODELS = "sim/steady,sim/messy"
CHOSEN = ("syn-pan-012", "syn-pan-013", "syn-pan-022")
"""Cases of the sample in which a messy model is unreadable now and then."""

CASES = len(CHOSEN)
ASKED = 10
"""Conditions that are asked by default: a report, and nine questions."""

NO_METEOR = ("--convention", "meteor15=off", "--convention", "meteor2005=off")

BASELINES = {
    "report": {"nothing", "fixed template", "typical report", "prevalence"},
    "attributes": {"nothing", "majority", "fixed template", "prevalence"},
}

NO_NETWORK = """
import socket, sys
def closed(*args, **kwargs):
    raise OSError("no network here")
socket.socket.connect = closed
socket.getaddrinfo = closed
from harness.cli.main import main
main()
"""


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave out the one metric whose program takes seconds to start."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def run_words(store: Path, cases: Sequence[str] = CHOSEN) -> list[str | Path]:
    return [
        "run", "--benchmark", "pandent", "--models", MODELS, "--cases", ",".join(cases), "--name", "night",
        "--json", "--store", store,
    ]  # fmt: skip


def score(store: Path, *more: str) -> Done:
    done = harness("score", "night", "--store", store, *NO_METEOR, *more)
    assert done.code == 0, done.err
    return done


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """A store with a finished run "night", and its records."""
    folder = tmp_path_factory.mktemp("pandent")
    store = folder / "store.sqlite3"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder))
        patch.delenv("JAVA_HOME", raising=False)
        done = harness(*run_words(store))
        assert done.code == 0, done.err
        yield store, records(folder, "night")


@pytest.mark.slow
def test_each_model_is_asked_for_a_report_and_the_nine_questions_of_each_case(swept: Any) -> None:
    _, rows = swept
    asked = Counter((row["model"], row["condition"]) for row in rows)
    assert len(asked) == 2 * ASKED and set(asked.values()) == {CASES}
    assert sum(name == "report" for _, name in asked) == 2
    assert Counter(row["outcome"] for row in rows if row["model"] == "sim/steady") == {"valid": CASES * ASKED}
    assert {row["outcome"] for row in rows} == {"valid", "unparsable"}
    for row in rows:
        if row["outcome"] != "valid":
            continue
        if row["condition"] == "report":
            text = row["exchanges"][-1]["text"]
            assert row["prediction"] == text.strip() and len(text.split()) > 10
        elif BY_ID[row["condition"].partition(":")[2]].answer == "binary":
            assert isinstance(row["prediction"], bool)
        else:
            assert isinstance(row["prediction"], list)


def test_an_unreadable_answer_is_asked_three_times_and_is_never_no_finding(swept: Any) -> None:  # F5
    store, rows = swept
    unreadable = [row for row in rows if row["outcome"] == "unparsable"]
    assert unreadable and all(row["model"] == "sim/messy" for row in unreadable)
    for row in unreadable:
        assert row["prediction"] is None and row["stage"] is None
        assert [one["attempt"] for one in row["exchanges"]] == [1, 2, 3]
        assert all(one["outcome"] == "answered" and one["text"] for one in row["exchanges"])
    for row in rows:
        if row["outcome"] == "valid":
            assert [one["used"] for one in row["exchanges"]] == [False] * (len(row["exchanges"]) - 1) + [True]
    assert any(len(row["exchanges"]) > 1 for row in rows if row["outcome"] == "valid")
    [mine] = [
        row for row in score(store, "--json").json["rows"]
        if (row["model"], row["condition"]) == ("sim/messy", "attributes")
    ]  # fmt: skip
    assert mine["outcomes"]["unparsable"] == len(unreadable)
    right = sum(
        exact(path, mine["as_answered"]) for path in mine["as_answered"] if path.startswith("exact_match.")
    )
    assert 0 < right <= CASES * (ASKED - 1) - len(unreadable)


def exact(path: str, found: Any) -> int:
    """Return how many answers to a question are right; the mean over questions is none."""
    return 0 if path.endswith(".mean") else round(found[path]["value"] * found[path]["n"])


def test_every_table_has_its_baselines_scored_on_the_same_cases(swept: Any) -> None:
    store, _ = swept
    rows = score(store, "--json").json["rows"]
    for condition, names in BASELINES.items():
        mine = [row for row in rows if row["kind"] == "baseline" and row["condition"] == condition]
        assert {row["model"] for row in mine} == names
        main = "bleu_4" if condition == "report" else "exact_match.mean"
        assert {row["as_answered"][main]["n"] for row in mine} == {CASES}
        assert all(row["rank"] is None for row in mine)
    shown = score(store).out
    tables = shown.split(": as answered")[1:]
    assert len(tables) == len(BASELINES)
    for table, names in zip(tables, BASELINES.values(), strict=True):
        lines = [line.strip() for line in table.split("valid answers only")[0].splitlines()]
        assert all(any(line.startswith(name) for line in lines) for name in names)
    assert "SYNTHETIC" in shown and max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_scores_are_the_same_to_the_byte_from_a_copy_without_network(  # F29 F49
    swept: Any, tmp_path: Path
) -> None:
    store, _ = swept
    first = score(store, "--json").out
    assert score(store, "--json").out == first
    copy = shutil.copy(store, tmp_path / "elsewhere.sqlite3")
    words = ["score", "night", "--json", "--store", str(copy), *NO_METEOR]
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == first


def test_the_same_command_asks_nothing_again(swept: Any) -> None:
    store, rows = swept
    before = exchanges(store)
    assert harness(*run_words(store)).code == 0
    assert exchanges(store) == before == sum(len(row["exchanges"]) for row in rows)


def exchanges(store: Path) -> int:
    """Return how many exchanges are stored, 0 before there is a store."""
    try:
        database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return 0
    try:
        return int(database.execute("SELECT count(*) FROM exchange").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


@pytest.mark.slow
def test_a_run_that_is_killed_at_six_moments_comes_to_the_same(tmp_path: Path) -> None:  # F23
    whole, store = tmp_path / "whole.sqlite3", tmp_path / "store.sqlite3"
    assert harness(*run_words(whole)).code == 0
    chance = random.Random(3)
    for kill in range(6):
        words = ["resume", "night", "--store", store] if kill % 2 and exchanges(store) else run_words(store)
        process = spawn(*words, "--max-in-flight", "2", cwd=tmp_path)
        target, end = exchanges(store) + chance.randint(1, 12), time.monotonic() + 120
        while exchanges(store) < target and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert kill > 3 or process.returncode == -signal.SIGKILL
    assert harness(*run_words(store)).code == 0
    assert score(store, "--json").out == score(whole, "--json").out
    # What was stored before a kill is not asked again: as many exchanges as without one.
    assert exchanges(store) == exchanges(whole)
    keys = [one["key"] for row in records(tmp_path, "night", store=store) for one in row["exchanges"]]
    assert len(keys) == len(set(keys)) == exchanges(store)
    assert harness("store", "verify", "--store", store).code == 0

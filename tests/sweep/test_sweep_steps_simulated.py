"""The steps of the papers on simulated models: asked, killed, resumed, and scored the same for ever."""

from __future__ import annotations

import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from sweep_kit import Done, harness, records, spawn

STEPS = {"triage": ("judge", "both"), "pandent": ("normalise", "report")}
ANSWERING, LOOKING = "sim/steady,sim/flaky,sim/messy", "sim/messy"


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave out the one metric whose program takes seconds to start."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def answered(folder: Path, benchmark: str, cases: int, store: Path) -> None:
    """Ask simulated models some cases of the sample, as the run "night"."""
    done = harness(
        "run", "--benchmark", benchmark, "--models", ANSWERING, "--conditions", STEPS[benchmark][1],
        "--limit", str(cases), "--name", "night", "--reformatter", "none", "--store", store,
    )  # fmt: skip
    assert done.code == 0, done.err


def step_words(benchmark: str, store: Path) -> list[str | Path]:
    return ["step", STEPS[benchmark][0], "night", "--model", LOOKING, "--json", "--store", store]


def check_scores(benchmark: str, done: Done, store: Path) -> None:
    assert done.code == 0, done.err
    score = done.json
    assert score["simulated"] and score["synthetic"] and score["step"]["kind"] == STEPS[benchmark][0]
    asked = sum(row["n_units"] for row in score["rows"] if row["kind"] == "model")
    shown = records(store.parent, score["run"]["name"], store=store)
    assert asked == len(shown) > 0
    assert all((one["prediction"] is None) == (one["stage"] is None) for one in shown)
    name = score["run"]["name"]
    assert harness("score", name, "--json", "--store", store).out == done.out
    assert harness("store", "verify", "--store", store).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", STEPS)
def test_a_step_over_simulated_answers_is_asked_once_and_scores_the_same(
    tmp_path: Path, benchmark: str
) -> None:
    store = tmp_path / "store.sqlite3"
    answered(tmp_path, benchmark, 3, store)
    first = harness(*step_words(benchmark, store))
    check_scores(benchmark, first, store)
    assert harness(*step_words(benchmark, store)).out == first.out
    (session,) = harness("status", first.json["run"]["name"], "--json", "--store", store).json["sessions"][1:]
    assert session["sends"] == 0


def exchanges(store: Path) -> int:
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(database.execute("SELECT count(*) FROM exchange").fetchone()[0])
    finally:
        database.close()


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", STEPS)
def test_a_step_over_simulated_answers_that_is_killed_comes_to_the_same(  # F23
    tmp_path: Path, benchmark: str
) -> None:
    store, whole = tmp_path / "store.sqlite3", tmp_path / "whole.sqlite3"
    answered(tmp_path, benchmark, 16, store)
    whole.write_bytes(store.read_bytes())
    unbroken = harness(*step_words(benchmark, whole))
    chance = random.Random(5)
    for _ in range(5):
        target = exchanges(store) + chance.randint(1, 8)
        process = spawn(*step_words(benchmark, store), "--max-in-flight", "2", cwd=tmp_path)
        end = time.monotonic() + 240
        while exchanges(store) < target and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = harness("resume", "--json", "--store", store)
    check_scores(benchmark, done, store)
    assert done.out == unbroken.out
    keys = [one["key"] for row in records(tmp_path, store=store) for one in row["exchanges"]]
    assert exchanges(store) == exchanges(whole) and len(keys) >= len(set(keys)) > 0

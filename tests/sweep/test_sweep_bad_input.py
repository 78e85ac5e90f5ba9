"""Bad input: one clear sentence that names the thing and the mend, exit 2, nothing half-written."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from scripted_replies import Arrival
from scripted_server import ScriptedServer
from sweep_kit import Done, harness, right_answer, run_args, write_cases, write_config


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A folder with cases and a configuration whose server must never be reached."""
    write_cases(tmp_path / "data", 2)
    write_config(tmp_path, "http://127.0.0.1:9")
    return tmp_path


def refused(done: Done, folder: Path, *words: str) -> None:
    """Check one sentence on stderr, nothing on stdout, exit 2, no store."""
    assert done.code == 2, (done.code, done.err)
    errors = [line for line in done.err.splitlines() if line.lower().startswith("error")]
    assert len(errors) == 1, done.err
    for word in words:
        assert word in errors[0], errors[0]
    assert done.out == "" and "Traceback" not in done.err
    assert not (folder / "store.sqlite3").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--benchmark", "triaje"), ("triaje", "triage")),
        (("--models", "gemini-3-flsh"), ("gemini-3-flsh", "gemini-3-flash")),
        (("--models", "nobody/x"), ("nobody",)),
        (("--models", ""), ("--models",)),
        (("--conditions", "bothh"), ("bothh", "did you mean 'both'?", "complaint")),
        (
            ("--benchmark", "pandent", "--conditions", "caries"),
            ("unknown condition 'caries' of pandent; did you mean 'attribute:caries'?", "known: report"),
        ),
        (("--cases", "c0001"), ("c0001", "c000")),
        (("--again", "valide"), ("valide", "truncated")),
        (("--param", "temperature"), ("NAME=VALUE",)),
        (("--max-cost", "lots"), ("lots",)),
        (("--reformatter", "gemini-2.0-flash"), ("retired", "--reformatter")),
        (("--reformatter", "gemini-3.5-flash-lite"), ("GEMINI_API_KEY", "--reformatter none")),
        (("--prompt", "missing.txt"), ("missing.txt",)),
        (("--data", "nowhere"), ("nowhere",)),
        (("--structured", "schemo"), ("schemo",)),
        (("--config", "nowhere.toml"), ("nowhere.toml",)),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_the_mend(
    ready: Path, change: tuple[str, str], words: tuple[str, ...]
) -> None:
    refused(harness(*run_args(ready), *change), ready, *words)


def test_a_reformatter_where_nobody_restates_is_refused(ready: Path) -> None:
    run = ("run", "--benchmark", "pandent", "--models", "sim/steady", "--store", ready / "store.sqlite3")
    done = harness(*run, "--reformatter", "gemini-3.5-flash-lite")
    refused(done, ready, "pandent has no reformatter", "leave out --reformatter")
    assert harness(*run, "--reformatter", "none", "--dry-run").code == 0


def test_an_unknown_option_is_refused_with_the_nearest(ready: Path) -> None:
    done = harness(*run_args(ready, "--modles", "x"))
    assert done.code == 2 and "--models" in done.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "c9"', ("cases.jsonl", "2")),
        (json.dumps({"id": "c9"}), ("chief_complaint",)),
        (
            json.dumps({"id": "c000", "chief_complaint": "x", "image": "images/000.png", "labels": []}),
            ("c000", "1"),
        ),
        (json.dumps({"id": 7, "chief_complaint": "x", "image": "images/000.png", "labels": []}), ("id",)),
        (
            json.dumps(
                {"id": "c9", "chief_complaint": "x", "image": "images/000.png", "labels": ["Exodonty"]}
            ),
            ("Exodonty",),
        ),
        (
            json.dumps(
                {"id": "c9", "chief_complaint": "x", "image": "images/000.png", "labels": [], "lables": 1}
            ),
            ("lables",),
        ),
    ],
)
def test_a_bad_case_line_is_named(ready: Path, line: str, words: tuple[str, ...]) -> None:  # F18
    cases = ready / "data" / "cases.jsonl"
    cases.write_text(cases.read_text().splitlines()[0] + "\n" + line + "\n")
    refused(harness(*run_args(ready)), ready, *words)
    checked = harness("data", "check", "--benchmark", "triage", "--data", ready / "data")
    assert checked.code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[models.m\n", ("harness.toml", "1")),
        ('[models.m]\nprovider = "openai"\nmodel = "m"\nmax_token = 3\n', ("max_token",)),
        ('[providers.lab]\nadapter = "openapi"\n', ("adapter",)),
        ('[models.m]\nprovider = "labb"\nmodel = "m"\n', ("labb",)),
        ("stroe = 1\n", ("stroe", "store")),
    ],
)
def test_a_misspelt_configuration_is_named(ready: Path, text: str, words: tuple[str, ...]) -> None:
    (ready / "harness.toml").write_text(text)
    refused(harness(*run_args(ready)), ready, *words)


def test_a_file_that_is_no_store_is_left_untouched(ready: Path) -> None:
    store = ready / "store.sqlite3"
    store.write_bytes(b"my thesis, chapter one\n" * 100)
    done = harness(*run_args(ready))
    assert done.code == 2 and "store.sqlite3" in done.err
    assert store.read_bytes() == b"my thesis, chapter one\n" * 100


def test_somebody_elses_database_is_left_untouched(ready: Path) -> None:
    store = ready / "store.sqlite3"
    with sqlite3.connect(store) as database:
        database.execute("create table photos (id integer)")
    database.close()
    before = store.read_bytes()
    done = harness(*run_args(ready))
    assert done.code == 2 and store.read_bytes() == before


def test_reading_commands_make_no_store(ready: Path) -> None:
    for command in (["score"], ["export"], ["status"], ["resume"], ["store", "stats"]):
        done = harness(*command, "--store", ready / "store.sqlite3")
        assert done.code in (1, 2) and "store" in done.err, command
        assert not (ready / "store.sqlite3").exists()


def test_an_unknown_run_is_refused_with_the_known_ones(ready: Path) -> None:
    def script(arrival: Arrival) -> object:
        return right_answer(arrival)

    with ScriptedServer(script) as server:  # type: ignore[arg-type]
        write_config(ready, server.url)
        assert harness(*run_args(ready, "--name", "first")).code == 0
    done = harness("score", "secnd", "--store", ready / "store.sqlite3")
    assert done.code == 2 and "secnd" in done.err and "first" in done.err

"""Scores long after: without network, keys, media, case files, HTTP library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, gemini_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    labels_of,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

BLOCKER = """
import sys, socket
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"httpx", "aiohttp", "httpx_aiohttp", "litellm", "PIL"}:
            raise ImportError(f"{name} is not available here")
sys.meta_path.insert(0, Refuse())
def closed(*args, **kwargs):
    raise OSError("no network here")
socket.socket.connect = closed
socket.getaddrinfo = closed
from harness.cli.main import main
main()
"""


def offline(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    return subprocess.run(
        [sys.executable, "-c", BLOCKER, *map(str, args)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def messy(arrival: Arrival) -> Behaviour:
    """A server of many moods: valid, fenced, nonsense, truncated, blocked, in two wire formats."""
    number = case_number(arrival)
    text = answer_text(labels_of(number))
    if "generateContent" in arrival.path:
        return gemini_reply(text if number % 2 else None, block_reason=None if number % 2 else "SAFETY")
    return [
        chat_reply(text),
        chat_reply(f"```json\n{text}\n```"),
        chat_reply("Exodontia, I think"),
        chat_reply(text[:50], finish="length"),
        chat_reply(None, refusal="no"),
    ][number % 5]


@pytest.mark.slow
def test_scores_are_the_runs_own_to_the_byte_with_nothing_but_the_store(tmp_path: Path) -> None:  # F49 F6
    write_cases(tmp_path / "data", 15)

    def script(arrival: Arrival) -> Behaviour:
        if "CASE<" not in arrival.text:
            return chat_reply(answer_text(["Exodontia"]))
        return messy(arrival)

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url, ["m", "fixer"])
        gemini = [
            "[providers.google]",
            'adapter = "gemini"',
            f'base_url = "{server.url}/v1beta"',
            "[models.g]",
            'provider = "google"',
            'model = "g"',
        ]
        config.write_text("\n".join([config.read_text(encoding="utf-8"), *gemini]), encoding="utf-8")
        done = harness(*run_args(tmp_path, "--json", models="m,g", reformatter="fixer"))
        arrived = len(server.arrivals)
    assert done.code == 0, done.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(tmp_path / "data")
    config.unlink()
    (tmp_path / "store.sqlite3").rename(elsewhere / "moved.sqlite3")
    for _ in range(2):
        score = offline("score", "--json", "--store", elsewhere / "moved.sqlite3", cwd=elsewhere)
        assert score.returncode == 0, score.stderr
        assert score.stdout == done.out
    assert len(server.arrivals) == arrived
    outcomes = {row["model"]: row["outcomes"] for row in done.json["rows"] if row["kind"] == "model"}
    assert outcomes["m"] == {"valid": 3, "recovered": 3, "reformatted": 3, "truncated": 3, "refused": 3}
    assert outcomes["g"] == {"valid": 7, "filtered": 8}


LISTING = """
import sys
from harness.cli.main import cli
try:
    cli.main(["--help"])
except SystemExit:
    pass
heavy = {"httpx", "aiohttp", "sqlalchemy", "pydantic", "numpy", "PIL", "litellm", "jsonschema"}
print(sorted(name for name in sys.modules if name.split(".")[0] in heavy))
"""


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:  # F48
    done = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_simulated_run_says_so_in_every_table(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    done = harness("run", "--benchmark", "triage", "--models", "sim/steady", "--limit", "2", "--store", store)
    assert done.code == 0, done.err
    assert "SYNTHETIC" in done.out and "SIMULATED" in done.out
    again = harness("score", "--store", store)
    assert again.out == done.out
    flags = harness("score", "--json", "--store", store).json
    assert flags["synthetic"] is True and flags["simulated"] is True


def test_own_data_on_a_real_wire_is_neither_synthetic_nor_simulated(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path))
    assert done.code == 0 and "SYNTHETIC" not in done.out and "SIMULATED" not in done.out


def test_the_readme_shows_the_table_that_the_demo_prints(tmp_path: Path, checkout: Path) -> None:
    store = tmp_path / "store.sqlite3"
    models = "sim/steady,sim/messy,sim/flaky"
    done = harness("run", "--benchmark", "triage", "--models", models, "--store", store)
    assert done.code == 0, done.err
    shown = (checkout / "README.md").read_text(encoding="utf-8").split("```text\n", 1)[1].split("```", 1)[0]
    assert done.out.startswith(shown.rstrip("\n"))

"""Both benchmarks and both steps on a genuine vLLM, killed, resumed and replayed.

Skipped unless HARNESS_TEST_VLLM names a running one that nobody else uses (CONTRIBUTING says how).
Any model will do, a random one too: what it says is not looked at, only what becomes of it.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import harness, records, spawn, wait_until

URL = os.environ.get("HARNESS_TEST_VLLM", "").rstrip("/")  # read here: tests have an environment without it
IN_FLIGHT = 4

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="HARNESS_TEST_VLLM names no vLLM server"),
]


def fetched(path: str) -> str:
    with urllib.request.urlopen(URL + path, timeout=10) as reply:
        return str(reply.read().decode())


def metric(name: str) -> float:
    """Return the sum of a counter or gauge of the server's."""
    lines = re.findall(rf"^vllm:{name}(?:{{[^}}]*}})? (\S+)$", fetched("/metrics"), re.MULTILINE)
    assert lines, f"the server counts no {name}"
    return sum(map(float, lines))


def served() -> int:
    """Return how many requests the server has ended, once it has none at work."""
    wait_until(lambda: metric("num_requests_running") + metric("num_requests_waiting") == 0)
    return int(metric("request_success_total"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose configuration knows the server's model as "live"."""
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store.sqlite3"))
    found = re.search(r'"id":\s*"([^"]+)"', fetched("/v1/models"))
    assert found is not None
    lines = [
        "[providers.lab]", 'adapter = "openai"', f'base_url = "{URL}/v1"', 'endpoint = "lab"',
        "[models.live]", 'provider = "lab"', f'model = "{found[1]}"', 'inputs = ["text", "image"]',
        'structured = ["json", "schema"]', f"max_in_flight = {IN_FLIGHT}",
        "params = { temperature = 0, seed = 1, max_tokens = 60 }",
    ]  # fmt: skip
    (tmp_path / "harness.toml").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exchanges(folder: Path) -> int:
    """Return how many exchanges are stored that were not simulated, 0 before there is a store."""
    try:
        database = sqlite3.connect(f"file:{folder / 'store.sqlite3'}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return 0
    try:
        found = database.execute("SELECT count(*) FROM exchange WHERE provider = 'lab'").fetchone()
        return int(found[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


def killed_and_resumed(folder: Path, name: str, *words: str) -> tuple[str, list[dict[str, Any]]]:
    """Kill a command twice, resume it, and return its scores and records; nothing stored is asked again."""
    before, stored = served(), exchanges(folder)
    command = (*words, "--name", name)
    for kill in range(2):
        process = spawn(*(("resume", name) if kill and process_began(folder, name) else command), cwd=folder)
        target, end = exchanges(folder) + 3, time.monotonic() + 120
        while exchanges(folder) < target and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = harness(*command, "--json")
    assert done.code == 0, done.err
    again = served() - before - (exchanges(folder) - stored)
    assert 0 <= again <= 2 * IN_FLIGHT
    assert harness(*command, "--json").out == done.out and served() - before >= exchanges(folder) - stored
    rows = records(folder, name, store=folder / "store.sqlite3")
    keys = [one["key"] for row in rows for one in row["exchanges"]]
    assert len(keys) == len(set(keys))
    assert harness("score", name, "--json").out == done.out == harness("score", name, "--json").out
    return done.out, rows


def process_began(folder: Path, name: str) -> bool:
    return exchanges(folder) > 0 and harness("status", name).code == 0


def ends(rows: list[dict[str, Any]], model: str) -> Counter[str]:
    return Counter(row["outcome"] for row in rows if row["model"] == model)


def test_reports_and_questions_and_the_normaliser(folder: Path) -> None:
    words = ("run", "--benchmark", "pandent", "--models", "live,sim/steady", "--limit", "2")
    _, rows = killed_and_resumed(folder, "night", *words)
    assert len(rows) == 2 * 2 * 10 and ends(rows, "sim/steady") == {"valid": 20}
    for row in rows:
        # No text that nobody can read is "no finding", and none that was cut is an answer.
        assert (row["prediction"] is None) == (row["outcome"] not in ("valid", "recovered"))
        if row["model"] == "live" and row["outcome"] in ("truncated", "unparsable"):
            assert [one["attempt"] for one in row["exchanges"]] == [1, 2, 3]
    shown, rows = killed_and_resumed(
        folder, "restated", "step", "normalise", "night", "--model", "live", "--param", "max_tokens=600",
        "--param", 'stop=["."]',
    )  # fmt: skip
    assert len(rows) >= 2 and ends(rows, "live").keys() <= {"valid", "truncated", "empty"}
    assert '"normalised.bleu_4"' in shown
    assert harness("store", "verify").code == 0


def test_triage_in_all_conditions_and_the_judge(folder: Path) -> None:
    words = (
        "run", "--benchmark", "triage", "--models", "live,sim/steady", "--conditions", "all", "--limit", "3",
        "--structured", "schema", "--reformatter", "none", "--param", "max_tokens=900",
    )  # fmt: skip
    _, rows = killed_and_resumed(folder, "night", *words)
    assert len(rows) == 2 * 3 * 3 and ends(rows, "sim/steady") == {"valid": 9}
    assert ends(rows, "live").keys() <= {"valid", "truncated", "unparsable"}
    shown, rows = killed_and_resumed(
        folder, "judged", "step", "judge", "night", "--model", "live", "--structured", "schema"
    )
    assert len(rows) >= 3 and '"failure.any.case_share"' in shown
    for row in rows:
        assert (row["prediction"] is None) == (row["outcome"] not in ("valid", "recovered"))
    assert harness("store", "verify").code == 0

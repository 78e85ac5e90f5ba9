from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from stored_run_builder import EXTRACTION, SCALING, Plan, built_run, case

from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import UnitId
from harness.cli.main import cli

OFFLINE = """
import socket, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"httpx", "httpx_aiohttp", "aiohttp", "litellm", "openai"}:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
def refuse(*args, **kwargs):
    raise OSError("no network here")
socket.socket.connect = socket.create_connection = refuse
from harness.cli.main import main
main()
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)


def stored(folder: Path, *, synthetic: bool = False) -> Path:
    """Make a store with one run of two cases; return its file."""

    async def make() -> None:
        plan = Plan([case("c1", SCALING), case("c2", EXTRACTION)], synthetic=synthetic)
        async with built_run(folder, plan) as built:
            await built.valid(UnitId("alpha", "both", "c1"), SCALING)
            await built.valid(UnitId("alpha", "both", "c2"), SCALING)

    asyncio.run(make())
    return folder / "store.sqlite3"


def harness(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def offline(folder: Path, args: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, *args], cwd=folder, env=environment, capture_output=True, check=False
    )


def test_the_table_goes_to_stdout_and_the_place_of_the_store_to_stderr(tmp_path: Path) -> None:
    found = harness("score", "--store", str(stored(tmp_path)))
    assert found.exit_code == 0
    assert found.stdout.startswith("triage  run test-run")
    assert found.stderr == f"store: {tmp_path / 'store.sqlite3'}\n"


def test_json_is_byte_identical_twice(tmp_path: Path) -> None:
    store = str(stored(tmp_path))
    first, second = (harness("score", "test-run", "--json", "--store", store) for _ in range(2))
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["rows"][0]["as_answered"]["fine.exact_match"]["value"] == 0.5


@pytest.mark.slow
def test_scoring_needs_no_network_no_http_library_no_key_and_no_files(tmp_path: Path) -> None:  # F49
    store = stored(tmp_path)
    expected = harness("score", "--json", "--store", str(store)).stdout
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.move(store, bare / "store.sqlite3")
    found = offline(bare, ["score", "latest", "--json", "--store", "store.sqlite3"])
    assert found.returncode == 0, found.stderr.decode()
    assert found.stdout.decode() == expected


@pytest.mark.slow
def test_exporting_needs_no_network_and_no_http_library(tmp_path: Path) -> None:  # F49
    stored(tmp_path)
    found = offline(tmp_path, ["export", "--store", "store.sqlite3"])
    assert found.returncode == 0, found.stderr.decode()
    assert len(found.stdout.splitlines()) == 2


def test_a_new_convention_is_applied_to_old_answers(tmp_path: Path) -> None:  # F49
    store = str(stored(tmp_path))
    found = harness("score", "--json", "--convention", "zero_division=skip-empty", "--store", store)
    score = json.loads(found.stdout)
    assert score["conventions"]["zero_division"] == "skip-empty"


def test_a_table_names_the_convention_that_is_not_the_usual_one(tmp_path: Path) -> None:
    store = str(stored(tmp_path))
    usual = harness("score", "--store", store).stdout
    other = harness("score", "--convention", "zero_division=skip-empty", "--store", store).stdout
    assert "convention" not in usual
    assert "convention zero_division=skip-empty (usually 0)" in " ".join(other.split())


@pytest.mark.parametrize("written", ["zero_division", "zero_division=", "=1", "nope=1", "zero_division=7"])
def test_a_convention_that_does_not_exist_is_refused(tmp_path: Path, written: str) -> None:
    found = harness("score", "--convention", written, "--store", str(stored(tmp_path)))
    assert (found.exit_code, found.stdout) == (2, "")
    assert "harness benchmarks" in found.stderr or "known:" in found.stderr


def test_a_convention_given_twice_with_different_values_is_refused(tmp_path: Path) -> None:
    twice = ("--convention", "zero_division=1", "--convention", "zero_division=0")
    found = harness("score", *twice, "--store", str(stored(tmp_path)))
    assert found.exit_code == 2


def test_corrected_references_are_read_from_a_folder(tmp_path: Path) -> None:
    sample = tmp_path / "corrected"
    shutil.copytree(get_benchmark("triage").sample_dir(), sample)
    found = harness("score", "--json", "--data", str(sample), "--store", str(stored(tmp_path)))
    assert found.exit_code == 0
    assert "because --data lacks them, for 2 cases: c1, c2" in found.stderr
    assert "--data has cases that were never asked" in found.stderr


def test_an_unknown_run_is_named_with_the_known_ones(tmp_path: Path) -> None:
    found = harness("score", "other", "--store", str(stored(tmp_path)))
    assert found.exit_code == 2
    assert "unknown run 'other'; known: test-run" in found.stderr


def test_a_store_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    found = harness("score", "--store", str(tmp_path / "none.sqlite3"))
    assert found.exit_code == 1
    assert "there is no store" in found.stderr
    assert not (tmp_path / "none.sqlite3").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_store_that_cannot_be_written_is_scored_all_the_same(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        found = harness("score", "--store", str(store))
    finally:
        tmp_path.chmod(0o700)
    assert found.exit_code == 0
    assert "reading only" in found.stderr


def test_synthetic_data_are_said_on_the_table(tmp_path: Path) -> None:
    assert "SYNTHETIC DATA" in harness("score", "--store", str(stored(tmp_path, synthetic=True))).stdout

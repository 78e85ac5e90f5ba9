"""`harness store`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cache.store import Store
from harness.cli.main import cli


def store(*args: str) -> Result:
    return CliRunner().invoke(cli, ["store", *args])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Make an empty store and return its file."""

    async def make() -> None:
        async with await Store.open(str(tmp_path / "s.sqlite3")):
            pass

    asyncio.run(make())
    return tmp_path / "s.sqlite3"


def test_the_path_follows_option_environment_configuration_and_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store("path").stdout == f"{tmp_path}/.harness/store.sqlite3\n"
    Path("harness.toml").write_text("store = 'configured.sqlite3'", encoding="utf-8")
    assert store("path").stdout == f"{tmp_path}/configured.sqlite3\n"
    monkeypatch.setenv("HARNESS_STORE", "environment.sqlite3")
    assert store("path").stdout == f"{tmp_path}/environment.sqlite3\n"
    assert store("path", "--store", "option.sqlite3").stdout == f"{tmp_path}/option.sqlite3\n"


def test_a_configured_store_counts_from_its_file_whatever_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere/other.toml").write_text("store = 's.sqlite3'", encoding="utf-8")
    told = store("path", "--config", "elsewhere/other.toml").stdout
    assert told == f"{tmp_path}/elsewhere/s.sqlite3\n"


def test_the_path_is_shown_without_credentials() -> None:  # F46
    told = store("path", "--store", "postgresql+asyncpg://me:hush-hush@db/store?password=hush-hush").output
    assert "hush-hush" not in told
    assert "db/store" in told


def test_asking_for_the_path_makes_nothing(tmp_path: Path) -> None:
    store("path")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["stats", "verify"])
def test_a_missing_store_is_no_reason_to_make_one(tmp_path: Path, name: str) -> None:
    result = store(name)
    assert (result.exit_code, "there is no store at" in result.stderr) == (1, True)
    assert "or run something first" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_store_is_counted(file: Path) -> None:
    facts = json.loads(store("stats", "--json", "--store", str(file)).stdout)
    assert (facts["exchanges"], facts["runs"], facts["last_exchange_at_us"]) == (0, 0, None)
    lines = store("stats", "--store", str(file)).stdout.splitlines()
    assert ["exchanges", "0"] in [line.rsplit(maxsplit=1) for line in lines]


def test_the_place_is_told_on_stderr(file: Path) -> None:
    assert store("stats", "--store", str(file)).stderr == f"store: {file}\n"


def test_a_sound_store_is_called_sound(file: Path) -> None:
    result = store("verify", "--store", str(file))
    assert (result.exit_code, result.stdout) == (0, "sound: nothing is wrong\n")


def test_a_damaged_store_ends_with_1_and_says_what_is_wrong(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("insert into served (key, exchange_id) values ('k', 7)")
    database.close()
    result = store("verify", "--store", str(file))
    assert result.exit_code == 1
    assert "exchange 7, which does not exist" in result.stdout
    problems = json.loads(store("verify", "--json", "--store", str(file)).stdout)["problems"]
    assert len(problems) == len(result.stdout.splitlines())


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("my notes", encoding="utf-8")
    result = store("stats", "--store", str(tmp_path / "notes.txt"))
    assert result.exit_code == 2
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "my notes"

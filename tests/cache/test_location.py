from __future__ import annotations

from pathlib import Path

import pytest

from harness.cache.location import as_given_again, display, find_store, sqlite_path, store_url
from harness.cache.postgres_address import read_address
from harness.errors import ConfigError


def url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


def test_the_option_comes_first_then_the_environment_then_the_configuration(tmp_path: Path) -> None:
    env = {"HARNESS_STORE": "from-env.sqlite3"}
    assert find_store("given.sqlite3", env, "conf.sqlite3", tmp_path) == url(tmp_path / "given.sqlite3")
    assert find_store(None, env, "conf.sqlite3", tmp_path) == url(tmp_path / "from-env.sqlite3")
    assert find_store(None, {}, "conf.sqlite3", tmp_path) == url(tmp_path / "conf.sqlite3")


def test_a_configured_path_counts_from_the_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "harness.toml").touch()
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    assert find_store(None, {}, "sqlite+aiosqlite:///x/s.sqlite3", here) == url(tmp_path / "x/s.sqlite3")


@pytest.mark.parametrize("marker", ["harness.toml", ".harness"])
def test_the_nearest_project_upwards_is_taken(tmp_path: Path, marker: str) -> None:
    (tmp_path / ".harness").mkdir()
    project = tmp_path / "project"
    (project / marker).mkdir(parents=True)
    here = project / "deep" / "er"
    here.mkdir(parents=True)
    assert find_store(None, {}, None, here) == url(project / ".harness/store.sqlite3")


def test_without_a_project_the_store_is_here_and_nothing_is_made(tmp_path: Path) -> None:
    assert find_store(None, {}, None, tmp_path) == url(tmp_path / ".harness/store.sqlite3")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["with space", "100% sure?", "é#1", "a:b"])
def test_odd_paths_survive(tmp_path: Path, name: str) -> None:
    assert sqlite_path(find_store(str(tmp_path / name), {}, None, tmp_path)) == tmp_path / name


def test_both_spellings_of_an_sqlite_address_are_one(tmp_path: Path) -> None:
    assert store_url("sqlite:///s.db", base=tmp_path) == store_url("s.db", base=tmp_path)
    assert store_url(url(tmp_path / "s.db"), base=Path("/elsewhere")) == url(tmp_path / "s.db")


@pytest.mark.parametrize("place", ["sqlite+aiosqlite://", "sqlite:///:memory:"])
def test_a_store_must_be_a_file(tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigError, match="names no file"):
        store_url(place, base=tmp_path)


def test_a_database_that_this_version_does_not_open_is_named_without_its_password() -> None:  # F46
    with pytest.raises(ConfigError, match="does not open") as caught:
        store_url("mysql://me:secret@db.test/harness?password=secret", base=Path())
    assert "secret" not in str(caught.value)
    assert "db.test/harness" in str(caught.value)


def test_a_store_is_shown_as_its_path_or_without_credentials(tmp_path: Path) -> None:  # F46
    assert display(url(tmp_path / "s.db")) == str(tmp_path / "s.db")
    assert display("postgresql://me:p@ss@db.test:5432/h?sslpassword=x") == "postgresql://db.test:5432/h"
    assert display("postgresql://me:p/s?s@db.test/h") == "postgresql://db.test/h"
    assert display("/plain/path") == "/plain/path"


@pytest.mark.parametrize(
    ("given", "shown", "again"),
    [
        ("postgresql://db/h", "postgresql://db/h", "postgresql://db/h"),
        (
            "postgresql+asyncpg://me:hush@db:5433/h?schema=mine&sslmode=require",
            "postgresql://db:5433/h?schema=mine",
            "postgresql://me:***@db:5433/h?schema=mine&sslmode=require",
        ),
        ("postgres://me@/h?host=/run/pg", "postgresql:///h?host=/run/pg", "postgresql://me@/h?host=/run/pg"),
        (
            "postgresql:///?dbname=h&user=me&password=hush&sslpassword=hush",
            "postgresql:///?dbname=h",
            "postgresql:///?dbname=h&user=me&password=***&sslpassword=***",
        ),
        ("postgresql://me:hu/sh@db/h", "postgresql://db/h", "postgresql://db/h"),
        ("store.sqlite3", "store.sqlite3", "store.sqlite3"),
        ("mysql://me:hush@db/h", "mysql://db/h", "mysql://db/h"),
    ],
)
def test_what_is_shown_tells_which_store_it_is_and_no_password(given: str, shown: str, again: str) -> None:
    # F46
    assert (display(given), as_given_again(given)) == (shown, again)


def test_every_spelling_of_a_postgres_address_is_one() -> None:
    urls = {
        store_url(f"{scheme}://me@db/h?schema=s", base=Path())
        for scheme in ("postgresql", "postgres", "postgresql+asyncpg")
    }
    assert urls == {"postgresql+asyncpg://me@db/h?schema=s"}


def test_the_schema_is_ours_and_the_rest_is_the_drivers() -> None:
    address = read_address("postgresql+asyncpg://me:p%40@db/h?sslmode=require&schema=mine")
    assert (address.dsn, address.schema) == ("postgresql://me:p%40@db/h?sslmode=require", "mine")
    assert read_address("postgresql://db/h").schema == "harness"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://db/h?shcema=x", "unknown option 'shcema' in the store's URL; did you mean 'schema'"),
        ("postgresql://db/h?statement_timeout=1", "unknown option 'statement_timeout'"),
        ("postgresql://db/h?schema=My Schema", "schema 'My Schema' in the store's URL cannot be used"),
        ("postgresql://db/h?schema=pg_mine", "cannot be used"),
        ('postgresql://db/h?schema=a"b', "cannot be used"),
    ],
)
def test_what_an_address_cannot_say_is_refused(url: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        store_url(url, base=Path())
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:hu/sh@db/h", "postgresql://me:hu#sh@db/h", "postgresql://db:hush/h"]
)
def test_a_password_that_breaks_the_address_is_not_repeated(url: str) -> None:  # F46
    with pytest.raises(ConfigError, match="special characters of a password are written as %XX") as caught:
        store_url(url, base=Path())
    assert "hush" not in str(caught.value) and "sh@" not in str(caught.value)

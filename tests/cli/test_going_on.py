"""Commands that are printed for the user to give next."""

from __future__ import annotations

from pathlib import Path

from harness.cli.going_on import where_again


def test_a_store_is_given_again_as_it_was_given_but_for_a_password() -> None:  # F46
    assert where_again(None, None) == []
    assert where_again(Path("a.toml"), "b.sqlite3") == ["--config", "a.toml", "--store", "b.sqlite3"]
    url = "postgresql://me:hush-hush@db.example/bench?schema=two&password=hush-hush"
    assert where_again(None, url) == [
        "--store", "postgresql://me:***@db.example/bench?schema=two&password=***"
    ]

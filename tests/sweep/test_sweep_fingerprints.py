"""What a second start reads: nothing that is unchanged, everything that may have changed."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted_replies import Arrival
from scripted_server import ScriptedServer
from sweep_kit import (
    case_number,
    finish,
    harness,
    outcomes,
    right_answer,
    run_args,
    spawn,
    wait_said,
    write_cases,
    write_config,
)

from harness import media_reading
from harness.canonical import sha256_hex, unpack
from harness.media import Media, load, probe
from harness.shards import Shard


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, in a world ten seconds later: no file is racily new."""
    names: list[str] = []

    def look(path: Path, *, name: str | None = None) -> Media:
        names.append(path.name)
        return probe(path, name=name)

    clock = media_reading.now_us
    monkeypatch.setattr(media_reading, "probe", look)
    monkeypatch.setattr(media_reading, "now_us", lambda: clock() + 10_000_000)
    return names


@pytest.fixture
def server() -> Any:
    with ScriptedServer(right_answer) as server:
        yield server


def asked(server: ScriptedServer, since: int = 0) -> list[int]:
    return sorted(case_number(arrival) for arrival in server.arrivals[since:])


def keep_times(path: Path, data: bytes) -> None:
    """Write a file in place and give it its old mtime, as some tools do."""
    old = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


def test_unchanged_files_are_read_once(tmp_path: Path, read: list[str], server: ScriptedServer) -> None:
    write_cases(tmp_path / "data", 4)
    write_config(tmp_path, server.url, ["m", "n"])
    assert harness(*run_args(tmp_path)).code == 0
    assert sorted(read) == [f"{number:03}.png" for number in range(4)]
    read.clear()
    for more in ((), ("--dry-run",), ("--limit", "2")):
        assert harness(*run_args(tmp_path, *more)).code == 0
    assert harness(*run_args(tmp_path, models="m,n")).code == 0
    assert read == [] and len(server.arrivals) == 8


def test_a_dry_run_without_a_store_makes_none(
    tmp_path: Path, read: list[str], server: ScriptedServer
) -> None:
    write_cases(tmp_path / "data", 2)
    write_config(tmp_path, server.url)
    assert harness(*run_args(tmp_path, "--dry-run")).code == 0
    assert len(read) == 2 and not (tmp_path / "store.sqlite3").exists()


@pytest.mark.slow
def test_racily_new_files_are_read_again(
    tmp_path: Path, read: list[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:  # F4
    write_cases(tmp_path / "data", 2)
    write_config(tmp_path, server.url)
    written = max(path.stat().st_ctime_ns for path in (tmp_path / "data" / "images").iterdir())
    monkeypatch.setattr(media_reading, "now_us", lambda: written // 1_000 + 1_900_000)
    for _ in range(2):
        assert harness(*run_args(tmp_path)).code == 0
    assert len(read) == 4
    monkeypatch.setattr(media_reading, "now_us", lambda: written // 1_000 + 2_100_000)
    for _ in range(2):
        assert harness(*run_args(tmp_path)).code == 0
    assert len(read) == 6 and len(server.arrivals) == 2


def test_a_touched_file_is_read_again_and_nothing_is_asked(
    tmp_path: Path, read: list[str], server: ScriptedServer
) -> None:
    data = write_cases(tmp_path / "data", 3)
    write_config(tmp_path, server.url)
    assert harness(*run_args(tmp_path)).code == 0
    read.clear()
    os.utime(data / "images" / "001.png", ns=(5, 5))
    for _ in range(2):
        assert harness(*run_args(tmp_path)).code == 0
    assert read == ["001.png"] and len(server.arrivals) == 3


def test_new_bytes_at_an_old_path_are_asked_even_with_the_old_size_and_mtime(
    tmp_path: Path, read: list[str], server: ScriptedServer
) -> None:  # F4
    images = write_cases(tmp_path / "data", 3) / "images"
    write_config(tmp_path, server.url)
    assert harness(*run_args(tmp_path)).code == 0
    read.clear()
    new = (images / "002.png").read_bytes()
    assert len(new) == (images / "001.png").stat().st_size, "this test needs images of one size"
    keep_times(images / "001.png", new)
    assert harness(*run_args(tmp_path)).code == 0
    assert read == ["001.png"] and asked(server, 3) == [1]


def test_a_moved_folder_is_read_again_and_nothing_is_asked(
    tmp_path: Path, read: list[str], server: ScriptedServer
) -> None:  # F4
    data = write_cases(tmp_path / "data", 3)
    write_config(tmp_path, server.url)
    assert harness(*run_args(tmp_path)).code == 0
    data.rename(tmp_path / "moved")
    read.clear()
    for _ in range(2):
        store = ("--config", tmp_path / "harness.toml", "--store", tmp_path / "store.sqlite3")
        done = harness("resume", "--data", tmp_path / "moved", *store)
        assert done.code == 0 and "nothing is left to ask" in done.err, done.err
    assert len(read) == 3 and len(server.arrivals) == 3


@pytest.mark.slow
def test_a_fingerprint_that_errs_sends_nothing_wrong_and_is_forgotten(
    tmp_path: Path, read: list[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:  # F4: a file system whose times say nothing
    images = write_cases(tmp_path / "data", 2) / "images"
    write_config(tmp_path, server.url, ["m", "n"])
    blind = media_reading.Stamp(1, 1, 1, 1)
    monkeypatch.setattr(media_reading, "stamp_of", lambda path: blind)
    monkeypatch.setattr("harness.cache.media_index._stamp", lambda row: blind)
    assert harness(*run_args(tmp_path)).code == 0
    new = Image.new("L", (30, 20), 5)
    new.save(images / "000.png")
    read.clear()
    done = harness(*run_args(tmp_path, models="m,n"))
    assert done.code == 3 and read == [], done.err
    assert asked(server, 2) == [1] and outcomes(tmp_path) == {"valid": 3, "provider_error": 1}
    done = harness(*run_args(tmp_path, models="m,n"))
    assert done.code == 0 and read == ["000.png"], done.err
    assert asked(server, 3) == [0, 0]
    sent = {arrival.json["model"] for arrival in server.arrivals[3:]}
    assert sent == {"m", "n"}, "the case with another image is another case, for both models"


def test_sixteen_bit_images_are_converted_on_request_also_when_they_are_known(
    tmp_path: Path, read: list[str], server: ScriptedServer
) -> None:  # F17
    images = write_cases(tmp_path / "data", 1) / "images"
    Image.new("I;16", (16, 8), 40_000).save(images / "000.png")
    write_config(tmp_path, server.url, ["m", "n"])
    wish = ("--image-recipe", "convert")
    assert harness(*run_args(tmp_path), *wish).code == 0
    read.clear()
    assert harness(*run_args(tmp_path, models="m,n"), *wish).code == 0 and read == []
    sent = [images_of(arrival) for arrival in server.arrivals]
    assert len(sent) == 2 and sent[0] == sent[1]


def images_of(arrival: Arrival) -> str:
    (url,) = [
        part["image_url"]["url"]
        for part in arrival.json["messages"][0]["content"]
        if part["type"] == "image_url"
    ]
    return str(url)


def test_kept_images_are_read_and_kept_once_and_only_those_of_the_share(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = write_cases(tmp_path / "data", 5) / "images"
    write_config(tmp_path, server.url)
    kept: list[str] = []

    def noted(media: Media, recipe: str) -> bytes:
        assert media.path is not None
        kept.append(media.path.name)
        return load(media, recipe)

    monkeypatch.setattr("harness.cli.session_work.load", noted)
    own = [f"{number:03}.png" for number in range(5) if Shard(1, 2).holds(f"c{number:03}")]
    for _ in range(2):
        assert harness(*run_args(tmp_path, "--keep-media", "--shard", "1/2")).code == 0
        assert kept == own
    assert harness(*run_args(tmp_path, "--keep-media")).code == 0
    names = [path.name for path in images.iterdir()]
    assert sorted(kept) == sorted(names)
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as store:
        blobs = dict(store.execute("SELECT sha256, data FROM blob"))
    for path in images.iterdir():
        assert unpack(blobs[sha256_hex(path.read_bytes())]) == path.read_bytes()


SLOW_READING = """
import sys, time
import harness.cli.run_planning, harness.media_reading as reading
harness.cli.run_planning.QUIET_S = 0.0
probe = reading.probe
def slow(path, *, name=None):
    time.sleep(0.6)
    return probe(path, name=name)
reading.probe = slow
from harness.cli.main import main
sys.argv = ["harness", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_reading_that_takes_long_is_told_and_ends_at_once_with_ctrl_c(
    tmp_path: Path, server: ScriptedServer
) -> None:  # F43
    write_cases(tmp_path / "data", 300)
    write_config(tmp_path, server.url)
    process = spawn(*run_args(tmp_path), cwd=tmp_path, code=SLOW_READING)
    wait_said(process, "/300, 0.0 GB read")
    process.send_signal(signal.SIGINT)
    done = finish(process, timeout=25)
    assert done.code == 130 and "Traceback" not in done.err, done.err
    assert server.arrivals == [] and not (tmp_path / "store.sqlite3").exists()

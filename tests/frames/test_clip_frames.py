"""Frames are made once however many ask, and kept in a folder that may go at any time."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import harness.frames.clip_frames as clip_frames
from harness.cache.location import store_url
from harness.frames.clip_frames import ClipFrames, Keep
from harness.frames.folder import FrameFolder
from harness.frames.place import frames_folder
from harness.recipes import RECIPE_VERSIONS
from harness.video_structure import BadVideoError

CLIP, OTHER = "c" * 64, "d" * 64


class Decoder:
    """Counts how often a clip is decoded, and which frames were made."""

    def __init__(self, *, fail: str = "", gate: threading.Event | None = None) -> None:
        self.made: list[set[int]] = []
        self.fail = fail
        self.gate = gate
        self.began = threading.Event()

    def __call__(self, wanted: Collection[int], keep: Keep) -> None:
        self.made.append(set(wanted))
        self.began.set()
        if self.gate is not None:
            assert self.gate.wait(20)
        for index in sorted(wanted):
            keep(index, jpeg(index))
        if self.fail:
            raise BadVideoError(self.fail)


def jpeg(index: int) -> bytes:
    return b"\xff\xd8" + bytes([index % 256]) * 50 + b"\xff\xd9"


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "frames"


def test_frames_are_made_once_and_read_ever_after(root: Path) -> None:
    decoder = Decoder()
    for _ in range(2):
        frames = ClipFrames(FrameFolder(root))  # as a later process would
        for _ in range(3):
            assert dict(frames.get(CLIP, [0, 5], decoder)) == {0: jpeg(0), 5: jpeg(5)}
    assert decoder.made == [{0, 5}]
    ClipFrames(FrameFolder(root)).get(OTHER, [0, 5], decoder)
    assert decoder.made == [{0, 5}] * 2


def test_only_what_is_missing_is_made(root: Path) -> None:
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder()
    frames.get(CLIP, [0, 5], decoder)
    assert set(frames.get(CLIP, range(8), decoder)) == set(range(8))
    assert decoder.made == [{0, 5}, {1, 2, 3, 4, 6, 7}]


def test_the_first_frame_makes_all_that_are_expected(root: Path) -> None:
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder()
    frames.expect(CLIP, range(0, 10, 5))
    frames.expect(CLIP, range(10))
    frames.expect(OTHER, [99])
    for index in range(10):
        assert frames.get(CLIP, [index], decoder) == {index: jpeg(index)}
    assert decoder.made == [set(range(10))]


def test_many_threads_that_lack_frames_wait_for_one(root: Path) -> None:
    gate = threading.Event()
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder(gate=gate)
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(frames.get, CLIP, range(20), decoder) for _ in range(8)]
        assert decoder.began.wait(20)
        gate.set()
        assert all(len(one.result(20)) == 20 for one in waiting)
    assert decoder.made == [set(range(20))]
    assert frames._at_work == {}


async def test_many_tasks_wait_their_turn_and_in_no_thread(root: Path) -> None:
    frames, decoder, inside = ClipFrames(FrameFolder(root)), Decoder(), 0

    async def one() -> None:
        nonlocal inside
        async with frames.turn(CLIP):
            inside += 1
            assert inside == 1
            await asyncio.to_thread(frames.get, CLIP, [1, 2], decoder)
            inside -= 1

    tasks = [asyncio.create_task(one()) for _ in range(30)]
    await asyncio.sleep(0)
    tasks[3].cancel()  # one who waits may give up
    await asyncio.gather(*tasks, return_exceptions=True)
    assert decoder.made == [{1, 2}]
    assert frames._turns == {}


def test_files_are_for_their_user_alone(root: Path) -> None:
    ClipFrames(FrameFolder(root)).get(CLIP, [3], Decoder())
    (kept,) = files(root)
    assert kept.relative_to(root).as_posix() == f"cc/{CLIP}-v1/3.jpg"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert {stat.S_IMODE(one.stat().st_mode) for one in (root, *kept.parents[:2])} == {0o700}


def test_a_file_that_is_damaged_cut_or_moved_is_made_again(root: Path) -> None:  # F4
    decoder = Decoder()
    ClipFrames(FrameFolder(root)).get(CLIP, range(4), decoder)
    place = root / "cc" / f"{CLIP}-v1"
    whole = (place / "0.jpg").read_bytes()
    (place / "0.jpg").write_bytes(whole[:-5])
    (place / "1.jpg").write_bytes(b"")
    (place / "2.jpg").write_bytes(whole)  # of another frame
    assert dict(ClipFrames(FrameFolder(root)).get(CLIP, range(4), decoder)) == {i: jpeg(i) for i in range(4)}
    assert decoder.made == [{0, 1, 2, 3}, {0, 1, 2}]


def test_changed_rules_make_frames_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder()
    ClipFrames(FrameFolder(root)).get(CLIP, [1], decoder)
    monkeypatch.setitem(RECIPE_VERSIONS, "frame", 2)
    ClipFrames(FrameFolder(root)).get(CLIP, [1], decoder)
    assert decoder.made == [{1}, {1}]


def test_the_folder_may_go_at_any_time(root: Path) -> None:
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder()
    frames.get(CLIP, [1, 2], decoder)
    root.rename(root.with_name("gone"))
    assert dict(frames.get(CLIP, [1, 2], decoder)) == {1: jpeg(1), 2: jpeg(2)}
    assert decoder.made == [{1, 2}, {1, 2}] and len(files(root)) == 2


def test_without_a_place_to_write_frames_are_held_in_memory_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    frames, decoder = ClipFrames(FrameFolder(blocked / "frames")), Decoder()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert dict(frames.get(CLIP, [1, 2], decoder)) == {1: jpeg(1), 2: jpeg(2)}
        frames.get(OTHER, [1], decoder)
    assert decoder.made == [{1, 2}, {1}]
    (said,) = caplog.messages
    assert "cannot be kept" in said and "HARNESS_FRAMES" in said


def test_a_full_disk_ends_nothing_and_leaves_nothing_half_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder()

    def full(path: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert set(frames.get(CLIP, [1, 2, 3], decoder)) == {1, 2, 3}
    assert set(frames.get(CLIP, [1, 2, 3], decoder)) == {1, 2, 3}
    assert decoder.made == [{1, 2, 3}]
    assert files(root) == [] and "No space left on device" in caplog.text


def test_memory_is_bounded_but_holds_the_latest_clip_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clip_frames, "MEMORY_BYTES", 5 * len(jpeg(0)))
    frames, decoder = ClipFrames(), Decoder()
    frames.get(CLIP, range(4), decoder)
    frames.get(OTHER, range(10), decoder)
    frames.expect(OTHER, range(10))
    for index in range(10):
        frames.get(OTHER, [index], decoder)
    assert len(decoder.made) == 2
    frames.get(CLIP, range(4), decoder)
    assert len(decoder.made) == 3


def test_a_damaged_clip_is_decoded_once_and_none_of_its_frames_is_kept(root: Path) -> None:
    frames, decoder = ClipFrames(FrameFolder(root)), Decoder(fail="it holds 7 frames")
    for wanted in ([1, 2], [3]):
        with pytest.raises(BadVideoError, match="it holds 7 frames"):
            frames.get(CLIP, wanted, decoder)
    assert decoder.made == [{1, 2}] and not root.exists()


def test_what_is_lacking_is_told(root: Path) -> None:
    frames = ClipFrames(FrameFolder(root))
    assert frames.lacks(CLIP, [1])
    frames.get(CLIP, [1], Decoder())
    assert not frames.lacks(CLIP, [1]) and frames.lacks(CLIP, [1, 2])
    held = ClipFrames()
    held.get(CLIP, [1], Decoder())
    assert not held.lacks(CLIP, [1]) and held.lacks(CLIP, [2])


def test_a_folder_that_may_not_be_looked_into_lacks_everything(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of another user: `Path.exists` raises there, and where a name is too long."""
    frames = ClipFrames(FrameFolder(root / ("x" * 300)))
    assert frames.lacks(CLIP, [1])
    assert dict(frames.get(CLIP, [1], Decoder())) == {1: jpeg(1)}
    assert not frames.lacks(CLIP, [1])

    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    other = ClipFrames(FrameFolder(root))
    other.get(CLIP, [1], Decoder())
    monkeypatch.setattr(Path, "exists", denied)
    assert other.lacks(CLIP, [1])


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_where_frames_are_kept(tmp_path: Path) -> None:
    def place(store: str, configured: Path | None = None, **env: str) -> str:
        url = store_url(store, base=tmp_path)
        return str(frames_folder(url, configured, env, tmp_path)).replace(str(tmp_path), "here")

    assert place(".harness/store.sqlite3") == "here/.harness/frames"
    assert place("lab.sqlite3") == "here/lab.sqlite3-frames"
    postgres = "postgresql://user@host/database"
    assert place(postgres, HOME=str(tmp_path)) == "here/.cache/harness/frames"
    assert place(postgres, HOME=str(tmp_path), XDG_CACHE_HOME="/tmp/c") == "/tmp/c/harness/frames"
    assert place("lab.sqlite3", Path("/scratch")) == "/scratch"
    assert place("lab.sqlite3", Path("/scratch"), HARNESS_FRAMES="there") == "here/there"

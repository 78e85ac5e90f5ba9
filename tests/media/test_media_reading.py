"""Reading many files: what is read, what is known, and how it is stopped."""

from __future__ import annotations

import hashlib
import inspect
import os
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from harness import image_structure, media, media_reading
from harness.errors import MediaError, MediaReadError
from harness.media import Media, probe
from harness.media_reading import MediaReader, Note, ReadingStoppedError, Stamp, stamp_of


def images(folder: Path, count: int) -> list[tuple[Path, str]]:
    for number in range(count):
        Image.new("L", (8, 8), number).save(folder / f"{number}.png")
    return [(folder / f"{number}.png", f"{number}.png") for number in range(count)]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the name of each file that is read is added."""
    read: list[str] = []

    def look(path: Path, *, name: str | None = None) -> Media:
        read.append(path.name)
        return probe(path, name=name)

    monkeypatch.setattr(media_reading, "probe", look)
    return read


def test_known_files_are_not_read_and_all_come_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = images(tmp_path, 6)
    files.insert(3, (tmp_path / "none.png", "none.png"))
    known = {path: probe(path) for path, name in files if name in ("1.png", "4.png")}
    asked: list[Mapping[Path, Stamp]] = []
    read = counted(monkeypatch)

    def recall(stamps: Mapping[Path, Stamp]) -> Mapping[Path, Media]:
        asked.append(stamps)
        return known

    with MediaReader(recall, clock=lambda: 5) as reader:
        found = list(reader.read(files))
    assert sorted(read) == ["0.png", "2.png", "3.png", "5.png", "none.png"]
    assert [type(one) for one in found] == [Note, Media, Note, MediaReadError, Note, Media, Note]
    for (path, _), one in zip(files, found, strict=True):
        if isinstance(one, Note):
            assert (one.media, one.stamp, one.read_at_us) == (probe(path), stamp_of(path), 5)
        elif isinstance(one, Media):
            assert one is known[path]
    (stamps,) = asked
    assert set(stamps) == {path for path, name in files if name != "none.png"}
    assert (reader.counts.known, reader.counts.read) == (2, 5)


def test_a_file_that_two_cases_share_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = images(tmp_path, 1) * 3
    read = counted(monkeypatch)
    with MediaReader() as reader:
        found = list(reader.read(files))
    assert read == ["0.png"] and len(found) == 3 and len(set(map(id, found))) == 1


def test_the_fingerprint_is_from_before_the_bytes_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F4: a change while it is read must be noticed the next time
    (file,) = images(tmp_path, 1)
    before = stamp_of(file[0])

    def changing(path: Path, *, name: str | None = None) -> Media:
        found = probe(path, name=name)
        Image.new("L", (9, 9), 1).save(path)
        return found

    monkeypatch.setattr(media_reading, "probe", changing)
    with MediaReader() as reader:
        (found,) = reader.read([file])
    assert isinstance(found, Note) and found.stamp == before != stamp_of(file[0])


def test_an_edit_that_keeps_size_and_mtime_changes_the_fingerprint(tmp_path: Path) -> None:  # F4
    path = tmp_path / "a.png"
    Image.new("L", (8, 8), 1).save(path)
    old = path.stat()
    before = stamp_of(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    after = stamp_of(path)
    assert before is not None and after is not None and before != after
    assert (before.size, before.mtime_ns) == (after.size, after.mtime_ns)


def test_stopping_reads_no_further_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, stop = images(tmp_path, 40), threading.Event()
    read: list[str] = []

    def look(path: Path, *, name: str | None = None) -> Media:
        read.append(path.name)
        stop.set()
        return probe(path, name=name)

    monkeypatch.setattr(media_reading, "probe", look)
    with pytest.raises(ReadingStoppedError), MediaReader(stop=stop) as reader:
        list(reader.read(files))
    assert len(read) <= media_reading.THREADS
    with pytest.raises(ReadingStoppedError), MediaReader(stop=stop) as reader:
        list(reader.read(files))


def test_a_file_that_cannot_be_used_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "folder.png").mkdir()
    (good,) = images(tmp_path, 1)
    bad = [(tmp_path / name, name) for name in ("bad.png", "folder.png", "a\0b")]
    with MediaReader() as reader:
        found = list(reader.read([*bad, good]))
    assert [isinstance(one, MediaError) for one in found] == [True, True, True, False]
    assert "'bad.png'" in str(found[0])


def test_code_that_says_what_a_file_is_has_a_version() -> None:
    """What a fingerprint stands for was found by this code: when it changes, files must be read anew."""
    sources = [inspect.getsource(image_structure), *map(inspect.getsource, (media.probe, media._inspect))]
    found = hashlib.sha256("\n".join(sources).encode()).hexdigest()
    assert (media.READER_VERSION, found[:16]) == (2, "d854e0eba28addd1"), (
        "raise READER_VERSION in harness/media.py if what `probe` finds may differ, and put the digest here"
    )

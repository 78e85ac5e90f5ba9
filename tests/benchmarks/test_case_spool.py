"""Cases on disk: the same cases, the same snapshot to the byte, and nothing of them in memory."""

from __future__ import annotations

import gc
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.registry import get_benchmark
from harness.canonical import sha256_hex
from harness.case_spool import (
    SpooledCases,
    SpoolWriter,
    broken_cases,
    case_ids,
    chosen_cases,
    media_notes,
    snapshot_digest,
    snapshot_pieces,
)
from harness.errors import SpoolError
from harness.line_spool import LineSpool
from harness.media import Media
from harness.media_reading import Note, Stamp
from harness.snapshot import decode_cases, encode_cases

ONE, TWO = (Media(digit * 64, "image/png", 3, 2, 1, Path(f"/d/{digit}.png"), plain=True) for digit in "12")
ODD = Case(
    "b \udcff",
    {"x": "tab\t nul\x00 \u2028 \ud800"},
    {"opg": (ONE, TWO), "a": ()},
    {"v": 1.0, "w": [2.5, None, True]},
    "g",
    ("t", "s"),
)
BROKEN = Case("c", {}, {}, {}, problem="image 'x' is gone")
NO_PATH = Case("d", {}, {"opg": (replace(ONE, path=None, plain=None),)}, {})
CASES = (ODD, BROKEN, NO_PATH)

GOLDEN = (
    b'{"n":2,"raters":{"r":{"c":{"k":1}}},"synthetic":true}\n'
    b'{"fields":{"x":"tab\\t nul\\u0000 \\u2028 \\ud800"},"group":"g","id":"b \\udcff",'
    b'"media":{"a":[],"opg":['
    b'{"height":1,"mime":"image/png","sha256":"' + b"1" * 64 + b'","size":3,"width":2},'
    b'{"height":1,"mime":"image/png","sha256":"' + b"2" * 64 + b'","size":3,"width":2}]},'
    b'"problem":null,"reference":{"v":1,"w":[2.5,null,true]},"tags":["t","s"]}\n'
    b'{"fields":{},"group":null,"id":"c","media":{},"problem":"image \'x\' is gone","reference":{},"tags":[]}'
)
"""As it was before cases were spooled: the digest of these bytes is in the identity of every run."""

SAMPLE_SNAPSHOT = "4bbacdf2edc02d42a1f69b74fae133be3cd589ada7e510fbb206369360778fc5"


def spooled(*cases: Case) -> SpooledCases:
    writer = SpoolWriter()
    for case in cases:
        writer.append(case)
    return writer.finish()


def without_paths(case: Case) -> Case:
    media = {role: tuple(replace(one, path=None) for one in many) for role, many in case.media.items()}
    return replace(case, media=media)


def live_cases() -> int:
    gc.collect()
    return sum(type(one) is Case for one in gc.get_objects())


@pytest.mark.parametrize("cases", [(ODD, BROKEN), spooled(ODD, BROKEN)], ids=["in memory", "spooled"])
def test_the_snapshot_has_the_bytes_that_it_always_had(cases: tuple[Case, ...] | SpooledCases) -> None:
    case_set = CaseSet(cases, {"r": {"c": {"k": 1.0}}}, synthetic=True)
    assert encode_cases(case_set) == b"".join(snapshot_pieces(case_set)) == GOLDEN
    assert snapshot_digest(case_set) == sha256_hex(GOLDEN)


def test_the_sample_has_the_snapshot_that_it_always_had() -> None:
    benchmark = get_benchmark("triage")
    cases = benchmark.load(benchmark.sample_dir())
    assert snapshot_digest(cases) == SAMPLE_SNAPSHOT
    assert isinstance(cases.cases, SpooledCases)
    assert list(decode_cases(encode_cases(cases)).cases) == list(map(without_paths, cases.cases))


def test_cases_come_back_as_they_were() -> None:
    cases = spooled(*CASES)
    assert list(cases) == list(CASES) and cases[-1] == NO_PATH and len(cases) == 3
    assert [one.plain for case in cases for many in case.media.values() for one in many] == [True, True, None]
    assert case_ids(cases) == case_ids(CASES) == ["b \udcff", "c", "d"]
    assert broken_cases(cases) == broken_cases(CASES) == (1, "image 'x' is gone")
    with pytest.raises(IndexError):
        cases[3]


def test_chosen_cases_are_a_sequence_of_their_own() -> None:
    cases = spooled(*CASES)
    for chosen in (chosen_cases(cases, [1, 2]), chosen_cases(CASES, [1, 2]), cases[1:]):
        assert list(chosen) == [BROKEN, NO_PATH] and case_ids(chosen) == ["c", "d"]
        assert broken_cases(chosen) == (1, "image 'x' is gone")
    without = cases.select([2, 0])
    assert list(without) == [NO_PATH, ODD] and broken_cases(without) == (0, None)
    assert list(without[1:]) == [ODD]
    assert snapshot_digest(CaseSet(cases[1:])) == sha256_hex(encode_cases(CaseSet(CASES[1:])))


def test_only_media_that_were_read_are_noted() -> None:
    writer = SpoolWriter()
    note = Note(TWO, Stamp(3, 4, 5, (1 << 64) - 1), 6)
    writer.append(BROKEN)
    writer.append(ODD, [note])
    writer.append(NO_PATH)
    cases = writer.finish()
    assert list(media_notes(cases)) == [note]
    assert list(media_notes(cases[:1])) == list(media_notes(CASES)) == []


@pytest.mark.slow
def test_no_case_stays_in_memory() -> None:  # F36
    writer, before = SpoolWriter(), live_cases()
    for number in range(2_000):
        writer.append(replace(ODD, id=str(number)))
    cases = writer.finish()
    assert live_cases() - before <= 1
    seen = 0
    for number, case in enumerate(cases):
        assert case.id == str(number)
        seen = max(seen, live_cases() - before) if number % 1_000 == 0 else seen
    assert 1 <= seen <= 2


def test_the_file_has_no_name_is_private_and_is_closed_with_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cases = spooled(ODD)
    fd = cases._spool._fd
    assert list(tmp_path.iterdir()) == []
    assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o600 and os.fstat(fd).st_nlink == 0
    part = cases[:1]
    del cases
    gc.collect()
    assert part[0] == ODD
    del part
    gc.collect()
    assert closed(fd)


def closed(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False


def test_a_folder_for_temporary_files_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(SpoolError, match=r"gone.*TMPDIR"):
        LineSpool()


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = LineSpool()
    spool.append(b"x")

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("harness.line_spool.os.write", full)
    with pytest.raises(SpoolError, match="No space left on device; free some space there"):
        spool.flush()


def test_lines_are_kept_whole_whatever_the_disk_takes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("harness.line_spool.os.write", lambda fd, data: write(fd, data[:7]))
    spool = LineSpool()
    lines = [b"", b"one", b"x" * 100, b"\n", b"end"]
    for line in lines:
        spool.append(line)
    spool.flush()
    spool.append(b"later")
    spool.flush()
    assert [spool.line(position) for position in range(len(spool))] == [*lines, b"later"]

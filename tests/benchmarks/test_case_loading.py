"""Case files of any size: read once, in order, in bounded memory, and not while they change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from harness.benchmarks.case_files import Fields, Reader
from harness.benchmarks.triage.cases import check_cases, load_cases
from harness.errors import CaseFileError
from harness.media import Media, probe
from harness.media_reading import MediaReader

LINE = {"chief_complaint": "It hurts", "labels": ["Exodontia"], "image": "a.png"}


def write(folder: Path, count: int) -> Path:
    folder.mkdir(exist_ok=True)
    Image.new("L", (20, 10), 90).save(folder / "a.png")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"c{number}", **LINE}) + "\n" for number in range(count))
    return folder


def appended(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "late", **LINE}) + "\n")


def replaced(path: Path) -> None:
    other = path.with_name("other.jsonl")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"It hurts", b"No pains"))
    os.utime(path, ns=(5, 5))


@pytest.mark.parametrize("change", [appended, replaced, edited])
def test_a_case_file_that_changes_while_it_is_read_is_reported(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    write(tmp_path, 3)
    reader = Reader(tmp_path)
    lines = reader.lines("cases.jsonl", Fields(("id",), tuple(LINE)))
    next(lines)
    change(tmp_path / "cases.jsonl")
    assert len(list(lines)) >= 2
    assert [problem for problem in reader.problems if "changed while it was read; wait" in problem]
    with pytest.raises(CaseFileError, match="changed while it was read"):
        reader.raise_first()
    assert len(load_cases(tmp_path).cases) in (3, 4), "once it is at rest, it is read"


def test_a_case_file_that_goes_away_while_it_is_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, 3)
    reader = Reader(tmp_path)
    lines = reader.lines("cases.jsonl", Fields(("id",), tuple(LINE)))
    next(lines)
    (tmp_path / "cases.jsonl").unlink()
    assert len(list(lines)) == 2 and len(reader.problems) == 1


def test_a_bad_line_is_told_before_any_image_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 3)
    appended(tmp_path / "cases.jsonl")
    appended(tmp_path / "cases.jsonl")
    monkeypatch.setattr("harness.media_reading.probe", lambda path, name: pytest.fail("an image is read"))
    with pytest.raises(CaseFileError, match="line 5: id 'late' is that of line 4"):
        load_cases(tmp_path)


def test_a_check_reads_every_image_whatever_is_known_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 2)
    seen: list[str] = []

    def look(path: Path, *, name: str | None = None) -> Media:
        seen.append(path.name)
        return probe(path, name=name)

    monkeypatch.setattr("harness.media_reading.probe", look)
    with MediaReader(lambda stamps: {path: probe(path) for path in stamps}) as reader:
        assert len(load_cases(tmp_path, reader).cases) == 2 and seen == []
    assert check_cases(tmp_path) == [] and seen == ["a.png"]


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    load_cases(write(tmp_path, 3))
    assert threading.active_count() == before


MEASURED = """
import resource, sys
from pathlib import Path
from harness.benchmarks.triage.cases import load_cases
from harness.case_spool import snapshot_digest
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cases = load_cases(Path(sys.argv[1]))
snapshot_digest(cases)
print(len(cases.cases), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_120_000_cases_load_in_bounded_memory(tmp_path: Path) -> None:  # F36
    folder = write(tmp_path / "data", 0)
    complaint = "It hurts. " * 400
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(120_000):
            case = {**LINE, "id": f"case-{number:06}", "chief_complaint": complaint}
            file.write(json.dumps(case) + "\n")
    size_kib = (folder / "cases.jsonl").stat().st_size // 1024
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(folder)], capture_output=True, text=True, timeout=300, check=True
    )
    count, grown_kib = map(int, done.stdout.split())
    assert count == 120_000
    assert size_kib > 450_000 and grown_kib < 100_000, f"{grown_kib} KiB more for {size_kib} KiB of cases"

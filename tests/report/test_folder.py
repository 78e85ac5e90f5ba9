"""The folder of a report: whole or not at all, and nobody's work is replaced."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from report.report_examples import figures_of, hostile_report, rich_report, tables_of

from harness.errors import ConfigError, SpoolError
from harness.report.document import Figure, Intervals, Report, Section, Table, TableRow
from harness.report.folder import MARKER, Drawers, check_replaceable, write_report


class Sketch:
    """A figure drawn as its id."""

    def __init__(self, figure: Figure) -> None:
        self.id = figure.id

    def svg(self, report_id: str) -> str:
        return f"<svg id='{report_id}-{self.id}'/>"

    def svg_file(self) -> bytes:
        return f"<svg>{self.id}</svg>".encode()

    def png(self) -> bytes:
        return self.id.encode()


DRAWERS = Drawers(page=lambda report, drawings: f"<p>{report.title!a} {sorted(drawings)}", draw=Sketch)  # type: ignore[arg-type]


def contents(folder: Path) -> Mapping[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def other_report() -> Report:
    return replace(rich_report(), title="another", sections=rich_report().sections[1:])


@pytest.mark.parametrize("report", [rich_report, hostile_report])
def test_all_formats_are_there_and_the_same_twice(report, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    names = write_report(report(), tmp_path / "one", DRAWERS)
    expected = {"index.html", "report.json", "report.md", "tables.tex"}
    expected |= {f"tables/{table.id}.{end}" for table in tables_of(report()) for end in ("csv", "tex")}
    expected |= {f"figures/{figure.id}.{end}" for figure in figures_of(report()) for end in ("svg", "png")}
    assert len(names) == len(expected) and set(names) == expected
    found = contents(tmp_path / "one")
    assert set(found) == {*expected, MARKER}
    marked = json.loads(found[MARKER])["files"]
    assert marked == {name: hashlib.sha256(found[name]).hexdigest() for name in expected}
    write_report(report(), tmp_path / "deeper" / "two", DRAWERS)
    assert contents(tmp_path / "deeper" / "two") == found
    for name in (
        "report.json",
        "report.md",
        "tables.tex",
        *(f"tables/{one.id}.csv" for one in tables_of(report())),
    ):
        found[name].decode("utf-8")


def test_a_report_replaces_a_report_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_report(rich_report(), out, DRAWERS)
    for by_product in (".DS_Store", "tables.pdf", "tables/.DS_Store"):
        (out / by_product).write_bytes(b"x")
    write_report(other_report(), out, DRAWERS)
    write_report(other_report(), tmp_path / "fresh", DRAWERS)
    assert contents(out) == contents(tmp_path / "fresh")
    assert names_in(tmp_path) == ["fresh", "out"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write_report(rich_report(), tmp_path / "out", DRAWERS)
    assert (tmp_path / "out" / "index.html").is_file()


def foreign(out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("mine", encoding="utf-8")


def a_file(out: Path) -> None:
    out.write_text("mine", encoding="utf-8")


def with_a_note(out: Path) -> None:
    write_report(rich_report(), out, DRAWERS)
    (out / "tables" / "notes.txt").write_text("mine", encoding="utf-8")


def with_a_link(out: Path) -> None:
    write_report(rich_report(), out, DRAWERS)
    (out / "data").symlink_to(out.parent)


def with_a_change(out: Path) -> None:
    write_report(rich_report(), out, DRAWERS)
    path = out / "tables" / "triage-both-leaderboard.tex"
    path.write_bytes(path.read_bytes().replace(b"0.61", b"0.62"))


def with_a_strange_marker(out: Path) -> None:
    out.mkdir()
    (out / MARKER).write_text('{"format": "else", "files": {}}')


def with_a_broken_marker(out: Path) -> None:
    out.mkdir()
    (out / MARKER).write_text('{"format": "harness report folder", "files": [')
    (out / "mine").write_text("mine", encoding="utf-8")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (foreign, "is not empty; name a new or an empty one"),
        (a_file, "is no folder"),
        (with_a_note, "'tables/notes.txt' in .* is no part of the report there; move it, or change --out"),
        (with_a_link, "'data' in .* is no part of the report"),
        (with_a_change, "leaderboard.tex' in .* was changed since the report was written"),
        (with_a_strange_marker, "is none that this program wrote; change --out"),
        (with_a_broken_marker, "is none that this program wrote; change --out"),
    ],
)
def test_anything_else_is_refused_and_left_alone(made, told: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    made(tmp_path / "out")
    before = contents(tmp_path)
    with pytest.raises(ConfigError, match=told):
        check_replaceable(tmp_path / "out")
    with pytest.raises(ConfigError, match=told):
        write_report(other_report(), tmp_path / "out", DRAWERS)
    assert contents(tmp_path) == before


def test_the_folder_one_stands_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(rich_report(), tmp_path / "out", DRAWERS)
    monkeypatch.chdir(tmp_path / "out" / "tables")
    with pytest.raises(ConfigError, match="leave it first"):
        write_report(other_report(), tmp_path / "out", DRAWERS)


@pytest.mark.parametrize(
    "replaced", [check_replaceable, lambda out: write_report(rich_report(), out, DRAWERS)]
)
def test_an_empty_folder_one_stands_in_is_not_replaced(  # type: ignore[no-untyped-def]
    replaced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    with pytest.raises(ConfigError, match="leave it first"):
        replaced(tmp_path / "out")
    (tmp_path / "out" / "note").write_text("still here", encoding="utf-8")
    assert Path("note").read_text("utf-8") == "still here"


def test_what_appears_while_a_report_is_written_is_not_touched(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_report(rich_report(), out, DRAWERS)
    before = contents(out)

    def page(report: Report, drawings: Mapping[str, str]) -> str:
        (out / "new.txt").write_text("mine", encoding="utf-8")
        return ""

    with pytest.raises(ConfigError, match=r"'new.txt' in .* is no part"):
        write_report(other_report(), out, replace(DRAWERS, page=page))
    assert contents(out) == {**before, "new.txt": b"mine"}
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), RuntimeError("drawn wrongly"), KeyboardInterrupt()]
)
def test_a_failure_leaves_what_was_there(error: BaseException, old: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if old:
        write_report(rich_report(), out, DRAWERS)
    before = contents(tmp_path)

    class Failing(Sketch):
        def png(self) -> bytes:
            raise error

    report = replace(other_report(), sections=rich_report().sections)
    with pytest.raises(SpoolError if isinstance(error, OSError) else type(error)):
        write_report(report, out, replace(DRAWERS, draw=Failing))
    assert contents(tmp_path) == before and names_in(tmp_path) == ["out"] * old


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_report(rich_report(), out, DRAWERS)
    before = contents(out)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(SpoolError, match="Permission denied"):
        write_report(other_report(), out, DRAWERS)
    assert contents(out) == before and names_in(tmp_path) == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from report.test_folder import DRAWERS, other_report
from harness.report.folder import write_report
import harness.new_folder

steps, wanted = 0, int(sys.argv[3])
real = {name: getattr(Path, name) for name in ("write_bytes", "write_text", "mkdir", "rename")}

def counted(name):
    def step(self, *args, **options):
        global steps
        if steps == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return real[name](self, *args, **options)
    return step

for name in real:
    setattr(Path, name, counted(name))
write_report(other_report(), Path(sys.argv[2]), DRAWERS)
print(steps)
"""


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_the_old_report_the_new_one_or_none(tmp_path: Path, checkout: Path) -> None:
    write_report(other_report(), tmp_path / "new", DRAWERS)
    seen = set()
    for step in range(100):
        out = tmp_path / f"at-{step}" / "out"
        write_report(rich_report(), out, DRAWERS)
        old = contents(out)
        command = [sys.executable, "-c", KILLED, str(checkout / "tests"), str(out), str(step)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=checkout, timeout=120)
        found = contents(out) if out.exists() else {}
        assert found in (old, contents(tmp_path / "new"), {})
        seen.add("old" if found == old else "none" if not found else "new")
        if done.returncode == 0:
            assert found == contents(tmp_path / "new") and int(done.stdout) == step
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        # Nothing that was left beside it is in the way of the next one.
        write_report(other_report(), out, DRAWERS)
        assert contents(out) == contents(tmp_path / "new")
    assert seen == {"old", "none", "new"}


def broken(**changes: object) -> Report:
    """Return a report that cannot be written, by what is wrong with its table."""
    table = replace(tables_of(rich_report())[0], **changes)  # type: ignore[arg-type]
    return Report("R", [Section("s", "S", [table])])


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (lambda: broken(id="../x"), "'../x' is no id"),
        (lambda: broken(id=""), "'' is no id"),
        (lambda: broken(id="S"), "has the id 's' more than once"),
        (lambda: broken(rows=[TableRow("r", [])]), "has 0 cells for 7 columns"),
        (
            lambda: broken(columns=[tables_of(rich_report())[0].columns[0]] * 7),
            "the id 'rank' more than once",
        ),
        (
            lambda: Report("R", [Section("s", "S", [Figure("f", "F", "", Intervals("x", []), "nowhere")])]),
            "in 'nowhere', which is no table",
        ),
    ],
)
def test_a_report_that_no_files_can_be_named_after_is_refused(report, told: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=told):
        write_report(report(), tmp_path / "out", DRAWERS)
    assert names_in(tmp_path) == []


def test_a_table_without_rows_is_written(tmp_path: Path) -> None:
    empty = Report("R", [Section("s", "S", [Table("t", "T", tables_of(rich_report())[0].columns, [])])])
    write_report(empty, tmp_path / "out", DRAWERS)
    assert len((tmp_path / "out/tables/t.csv").read_text(encoding="utf-8").splitlines()) == 1

"""`harness data convert` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dicom_examples import dicom, ramp, series

from harness.cli.main import cli


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["data", "convert", *args])


def test_outputs_are_printed_and_warnings_stand_on_stderr(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(4))
    result = run(str(tmp_path / "in"), "--out", str(tmp_path / "out"))
    (line,) = result.stdout.splitlines()
    assert result.exit_code == 0 and Path(line).is_file() and line.endswith(".mp4")
    assert "warning: " in result.stderr and "made 1; the record is" in result.stderr
    again = run(str(tmp_path / "in"), "--out", str(tmp_path / "out"))
    assert again.stdout == result.stdout and "made 0, 1 there already" in again.stderr


def test_the_facts_as_json(tmp_path: Path) -> None:
    dicom(tmp_path / "in" / "a.dcm", ramp()[3], WindowCenter=1, WindowWidth=2)
    (tmp_path / "in" / "b.dcm").write_bytes(b"x")
    (tmp_path / "in" / "notes.txt").write_bytes(b"x")
    result = run(str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 3  # some could not be made
    assert (len(told["made"]), told["kept"], told["warnings"], told["passed_over"]) == (1, [], [], 1)
    assert "b.dcm" in told["failed"][0] and "error: " in result.stderr


def test_when_nothing_can_be_made_the_exit_is_2(tmp_path: Path) -> None:
    (tmp_path / "b.dcm").write_bytes(b"x")
    assert run(str(tmp_path / "b.dcm"), "--out", str(tmp_path / "out")).exit_code == 2
    (tmp_path / "empty").mkdir()
    nothing = run(str(tmp_path / "empty"), "--out", str(tmp_path / "out"))
    assert nothing.exit_code == 2 and "neither a DICOM nor a NIfTI file" in nothing.stderr


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        (["--window", "wide"], "CENTRE/WIDTH"),
        (["--window", "40/0"], "CENTRE/WIDTH"),
        (["--window", "tag:-1"], "CENTRE/WIDTH"),
        (["--window", "1e999/5"], "CENTRE/WIDTH"),
        (["--size", "511"], "even number"),
        (["--size", "0"], "even number"),
        (["--slice", "first"], "middle or all"),
        (["--phase", "-1"], "number from 0 nor all"),
        (["--as", "clip", "--slice", "3"], "--slice is for images"),
        (["--fps", "0"], "--fps"),
        (["--axis", "oblique"], "--axis"),
    ],
)
def test_wishes_that_cannot_be_are_refused_before_anything_is_read(
    tmp_path: Path, wish: list[str], word: str
) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3])
    result = run(str(path), "--out", str(tmp_path / "out"), *wish)
    assert result.exit_code == 2 and word in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_slice_that_is_wished_makes_images(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(4))
    result = run(str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--slice", "2")
    assert result.stdout.endswith("-s0002.png\n")
    gone = run(str(tmp_path / "in"), "--out", str(tmp_path / "gone"), "--slice", "4")
    assert gone.exit_code == 2 and "--slice 4 is not there; it has 4, from 0" in gone.stderr


@pytest.mark.slow
def test_without_the_extra_one_sentence_names_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pydicom'] = None\nfrom harness.cli.main import main\nmain()"
    path = dicom(tmp_path / "a.dcm", ramp()[3])
    command = [sys.executable, "-c", code, "data", "convert", str(path), "--out", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr == (
        "error: converting DICOM and NIfTI needs pydicom; "
        "install the extra: pip install 'mllm-harness[convert]'\n"
    )


@pytest.mark.slow
def test_help_loads_no_library_and_has_an_example() -> None:
    code = (
        "import sys; sys.argv = ['harness', 'data', 'convert', '--help']\n"
        "from harness.cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({'pydicom', 'nibabel', 'av', 'numpy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Example: harness data convert" in result.stdout
    loaded = result.stdout.splitlines()[-1]
    assert "pydicom" not in loaded and "nibabel" not in loaded and "av" not in loaded

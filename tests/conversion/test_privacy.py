"""Nothing of a file's tags reaches an output, its record, its name, or what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pydicom
import pytest
from dicom_examples import convert, dataset, dicom, nifti, ramp, save
from pydicom import DataElement, Dataset
from pydicom.datadict import DicomDictionary

from harness.cli.main import cli

MARK, OID, DATE = "ZQXMARK", "1.9.7531973", "19530719"
TEXT = {"AE", "CS", "LO", "LT", "SH", "ST", "UC", "UR", "UT"}
NEEDED = {
    "PhotometricInterpretation", "SOPClassUID", "SOPInstanceUID", "TransferSyntaxUID", "SpecificCharacterSet",
    "PatientName", "NumberOfFrames",
}  # fmt: skip
WORDS = (MARK, MARK.lower(), OID, DATE, "患者")


def marked(made: Dataset) -> Dataset:
    """Fill every tag of the dictionary that can hold a text, and nested and private ones."""
    fill(made)
    nested, deeper = Dataset(), Dataset()
    fill(deeper)
    nested.ReferencedStudySequence = [deeper]
    fill(nested)
    made.RequestAttributesSequence = [nested]
    shared = Dataset()
    fill(shared)
    voi = Dataset()
    voi.WindowCenterWidthExplanation, voi.WindowCenter, voi.WindowWidth = MARK, 100, 200
    shared.FrameVOILUTSequence = [voi]
    made.SharedFunctionalGroupsSequence = [shared]
    block = made.private_block(0x0009, f"{MARK} CREATOR", create=True)
    block.add_new(0x01, "LO", MARK)
    block.add_new(0x02, "UN", MARK.encode())
    made.add_new(0x60003000, "OW", MARK.encode() + b"\0")
    made.add_new(0x60000010, "US", 2)
    made.SpecificCharacterSet = "ISO_IR 192"
    made.PatientName = f"{MARK}^患者"
    return made


def fill(made: Dataset) -> None:
    for tag, (kind, _, _, retired, keyword) in DicomDictionary.items():
        if retired or keyword in NEEDED or tag >> 16 in {0, 2} or not keyword:
            continue
        vr = kind.split(" or ")[0]
        if vr in TEXT | {"PN"}:
            made[tag] = DataElement(tag, vr, MARK)
        elif vr == "UI":
            made[tag] = DataElement(tag, vr, OID)
        elif vr == "DA":
            made[tag] = DataElement(tag, vr, DATE)


def found_in(data: bytes) -> set[str]:
    """Return the marks in bytes, and in whatever zlib streams they hold."""
    several = [data, *_unpacked(data)]
    spelt = {
        (word, word.encode(name)) for word in WORDS for name in ("utf-8", "utf-16-le", "utf-16-be", "gb18030")
    }
    spelt |= {("preamble", b"PREAMBLE-ZQX")}
    return {word for word, one in spelt for each in several if one in each}


def _unpacked(data: bytes) -> Iterator[bytes]:
    if data.startswith(b"\x89PNG"):
        yield zlib.decompress(b"".join(chunk for kind, chunk in chunks(data) if kind == b"IDAT"))
        return
    for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
        try:
            yield zlib.decompressobj().decompress(data[match.start() :], 1 << 20)
        except zlib.error:
            continue


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 8
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        yield data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        place += 12 + length


Run = Callable[..., tuple[int, dict[str, bytes]]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Run:
    """Return a function that runs the command and returns all that it wrote, by place."""

    def convert_to(out: Path, *args: str) -> tuple[int, dict[str, bytes]]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["data", "convert", *args, "--out", str(out)])
        told = capfd.readouterr()
        streams = {"stdout": told.out.encode(), "stderr": told.err.encode(), "log": caplog.text.encode()}
        return int(str(ended.value.code)), written_in(out) | streams

    return convert_to


def written_in(out: Path) -> dict[str, bytes]:
    files = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return files | {"names": "\n".join(files).encode()}


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    path = save(tmp_path / "a.dcm", marked(dataset(ramp()[3])), preamble=b"PREAMBLE-ZQX")
    assert found_in(path.read_bytes()) == {MARK, OID, DATE, "患者", "preamble"}
    assert MARK in found_in(b"zTXt" + zlib.compress(MARK.encode("utf-16-le") * 3))


@pytest.mark.slow
def test_no_tag_of_a_dicom_file_goes_along(tmp_path: Path, run: Run) -> None:
    source = tmp_path / "in"
    for index, pixels in enumerate(ramp(3)):
        tags: dict[str, Any] = {"ImagePositionPatient": [0, 0, index], "InstanceNumber": index}
        made = marked(dataset(pixels, ImageOrientationPatient=[1, 0, 0, 0, 1, 0], **tags))
        save(source / "s" / f"{index}.dcm", made, preamble=b"PREAMBLE-ZQX")
    single = marked(dataset(np.stack([ramp()[3]] * 3, axis=-1).astype(np.uint8)))
    single.SeriesInstanceUID = "1.2"
    save(source / "c.dcm", single, preamble=b"PREAMBLE-ZQX")
    for number, more in enumerate([[], ["--json", "--keep-names", "--slice", "all"]]):
        code, written = run(tmp_path / f"out{number}", str(source), *more)
        assert code == 0 and len(written) >= 6, written["stderr"]
        assert {place: found for place, data in written.items() if (found := found_in(data))} == {}


def broken_files(folder: Path) -> None:
    """Write files that each fail, or are warned about, at another place, all of them marked."""
    whole = save(folder / "whole.dcm", marked(dataset(ramp()[3]))).read_bytes()
    (folder / "cut.dcm").write_bytes(whole[: len(whole) - 100])
    (folder / "cut-in-tags.dcm").write_bytes(whole[: len(whole) // 3])
    for number, keyword in enumerate(["RescaleSlope", "WindowCenter", "Rows", "NumberOfFrames", "BitsStored",
                                      "PixelSpacing", "InstanceNumber", "ImagePositionPatient"]):  # fmt: skip
        made = marked(dataset(ramp()[3]))
        made[keyword] = DataElement(keyword, "LO", MARK)
        made.SeriesInstanceUID = f"1.{number + 1}"
        save(folder / f"bad-{keyword}.dcm", made)
    kind = marked(dataset(ramp()[3]))
    kind.PhotometricInterpretation = MARK
    save(folder / "kind.dcm", kind)
    save(folder / "syntax.dcm", marked(dataset(ramp()[3])), pydicom.uid.ImplicitVRLittleEndian)
    data = (folder / "syntax.dcm").read_bytes().replace(b"1.2.840.10008.1.2\0", b"1.9.7531973.12345\0"[:18])
    (folder / "syntax.dcm").write_bytes(data)
    (folder / "text.dcm").write_text(MARK * 100, encoding="utf-8")
    (folder / f"{'n' * 3}.nii").write_bytes(MARK.encode() * 100)
    del kind.PixelData
    save(folder / "report.dcm", kind)


@pytest.mark.slow
def test_no_message_about_a_broken_file_quotes_a_tag(tmp_path: Path, run: Run) -> None:
    (tmp_path / "in").mkdir()
    broken_files(tmp_path / "in")
    for number, more in enumerate([[], ["--json", "--window", "tag"]]):
        code, written = run(tmp_path / f"out{number}", str(tmp_path / "in"), *more)
        assert code == 3
        assert written["stderr"].count(b"error: ") >= 8
        assert b"not foreseen" not in written["stderr"]
        assert {place: found for place, data in written.items() if (found := found_in(data))} == {}
    # In a process of its own, warnings and logs go where a user would see them.
    command = [sys.executable, "-m", "harness", "data", "convert", str(tmp_path / "in"), "--out"]
    done = subprocess.run([*command, str(tmp_path / "own")], capture_output=True)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr and b"Warning" not in done.stderr
    assert found_in(done.stdout) | found_in(done.stderr) == set()


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_no_text_of_a_nifti_file_goes_along(tmp_path: Path, run: Run, suffix: str) -> None:
    fields = {"descrip": MARK, "aux_file": MARK, "intent_name": MARK, "db_name": MARK, "data_type": MARK}
    path = nifti(tmp_path / f"a{suffix}", ramp(4).transpose(2, 1, 0).astype(np.int16), **fields)
    made = nib.load(path)  # type: ignore[attr-defined]
    for code in (6, 2):
        made.header.extensions.append(nib.nifti1.Nifti1Extension(code, MARK.encode() * 20))  # type: ignore
    nib.save(made, path)  # type: ignore[attr-defined]
    whole = path.read_bytes()
    (tmp_path / f"cut{suffix}").write_bytes(whole[: len(whole) // 2])
    for number, more in enumerate([[], ["--json", "--slice", "2"]]):
        code, written = run(tmp_path / f"out{number}", str(path), str(tmp_path / f"cut{suffix}"), *more)
        assert code == 3 and b"cut off" in written["stderr"]
        assert {place: found for place, data in written.items() if (found := found_in(data))} == {}


def test_names_are_digests_unless_the_user_keeps_them(tmp_path: Path) -> None:
    path = dicom(tmp_path / "Doe^Jane.dcm", ramp()[3], WindowCenter=1, WindowWidth=2)
    assert "Doe" not in str(convert(tmp_path / "out", path).made)
    assert convert(tmp_path / "kept", path, keep_names=True).made == ["Doe^Jane.png"]


def test_a_png_has_no_chunk_of_text_and_a_clip_no_time_of_day(tmp_path: Path) -> None:
    dicom(tmp_path / "a.dcm", ramp()[3])
    dicom(tmp_path / "b.dcm", ramp(3))
    convert(tmp_path / "out", tmp_path / "a.dcm", tmp_path / "b.dcm")
    (png,) = [one.read_bytes() for one in (tmp_path / "out").glob("*.png")]
    (mp4,) = [one.read_bytes() for one in (tmp_path / "out").glob("*.mp4")]
    assert {kind for kind, _ in chunks(png)} == {b"IHDR", b"IDAT", b"IEND"}
    assert b"\0\0\0\x08ilst" in mp4  # no item of metadata
    assert mp4[mp4.index(b"mvhd") + 8 :][:8] == bytes(8)

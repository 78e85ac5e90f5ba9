"""Files that cannot be converted: a sentence each that names the file, and the others go on."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pydicom
import pytest
from dicom_examples import convert, dataset, dicom, encoded, jpeg, nifti, ramp, save, series
from pydicom.uid import DeflatedExplicitVRLittleEndian, JPEG2000Lossless, JPEGBaseline8Bit, RLELossless

from harness.conversion import dicom_files
from harness.errors import ConfigError

GREY = ramp()[3].astype(np.uint8)


def only_fault(tmp_path: Path, path: Path) -> str:
    """Convert a file beside a sound one, and return what is told of it."""
    dicom(tmp_path / "sound.dcm", ramp()[1], SeriesInstanceUID="5.5")
    outcome = convert(tmp_path / "out", path, tmp_path / "sound.dcm")
    assert len(outcome.made) == 1
    assert not [one for one in (tmp_path / "out").iterdir() if one.name.endswith(".part")]
    (told,) = outcome.failed
    assert told.startswith(repr(str(path)))
    return told


@pytest.mark.parametrize("keep", [200, 600])
def test_a_cut_off_dicom_file(tmp_path: Path, keep: int) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3])
    path.write_bytes(path.read_bytes()[:keep])
    assert "cut off" in only_fault(tmp_path, path)


def test_every_place_to_be_cut_off_at_ends_in_a_sentence(tmp_path: Path) -> None:
    window, item = pydicom.Dataset(), pydicom.Dataset()
    window.WindowCenter, window.WindowWidth = 100, 200
    item.FrameVOILUTSequence = [window]
    whole = dicom(tmp_path / "a.dcm", GREY, SharedFunctionalGroupsSequence=[item]).read_bytes()
    told = set()
    for keep in range(0, len(whole), 9):
        (tmp_path / "a.dcm").write_bytes(whole[:keep])
        outcome = convert(tmp_path / "out", tmp_path / "a.dcm")
        (one,) = outcome.failed
        assert outcome.made == [] and one.startswith(repr(str(tmp_path / "a.dcm")))
        told.add(one.partition(": ")[2])
    assert not [one for one in told if "not foreseen" in one]
    assert any("or no DICOM file at all" in one for one in told) and len(told) >= 4


def test_cut_off_pixel_data_say_how_much_is_missing(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp())
    path.write_bytes(path.read_bytes()[:-1000])
    assert "cut off: 3096 bytes of the 4096" in only_fault(tmp_path, path)


@pytest.mark.parametrize("syntax", [JPEGBaseline8Bit, JPEG2000Lossless, RLELossless])
def test_cut_off_compressed_pictures(tmp_path: Path, syntax: str) -> None:
    kind = {JPEGBaseline8Bit: "JPEG", JPEG2000Lossless: "JPEG2000"}.get(syntax)
    stream = jpeg(GREY, kind) if kind else b"\x01\0\0\0\x40\0\0\0" + bytes(56) + bytes([255, 3] * 9)
    options = {"no_jp2": True} if kind == "JPEG2000" else {}
    if kind:
        stream = jpeg(GREY, kind, **options)
    path = encoded(tmp_path / "a.dcm", GREY, [stream[: len(stream) // 2]], syntax)
    assert "cut off" in only_fault(tmp_path, path)
    whole = encoded(tmp_path / "b.dcm", GREY, [stream], syntax).read_bytes()
    (tmp_path / "b.dcm").write_bytes(whole[:-20])
    assert "cut off" in only_fault(tmp_path, tmp_path / "b.dcm")


def test_a_picture_of_another_size_than_the_tags_say(tmp_path: Path) -> None:
    huge = bytearray(jpeg(GREY, "JPEG2000", no_jp2=True))
    huge[8:16] = struct.pack(">II", 60000, 60000)
    path = encoded(tmp_path / "a.dcm", GREY, [bytes(huge)], JPEG2000Lossless)
    assert "60000x60000, its tags say 16x16" in only_fault(tmp_path, path)
    larger = jpeg(np.zeros((900, 800), np.uint8))
    path = encoded(tmp_path / "b.dcm", GREY, [larger], JPEGBaseline8Bit)
    assert "800x900, its tags say 16x16" in only_fault(tmp_path, path)


@pytest.mark.parametrize(
    ("tags", "word"),
    [
        ({"Rows": 60000, "Columns": 60000}, "more than 100000000"),
        ({"NumberOfFrames": 2_000_000_000}, "2e+09 frames"),
        ({"NumberOfFrames": 0}, "0 frames"),
        ({"NumberOfFrames": 20_000}, "cut off"),
        ({"Rows": 0}, "no size"),
        ({"PhotometricInterpretation": "CMYK"}, "photometric interpretation"),
        ({"BitsAllocated": 24}, "BitsAllocated"),
    ],
)
def test_sizes_that_cannot_be(tmp_path: Path, tags: dict[str, object], word: str) -> None:
    assert word in only_fault(tmp_path, dicom(tmp_path / "a.dcm", GREY, **tags))


def test_no_pixel_data(tmp_path: Path) -> None:
    made = dataset(GREY)
    del made.PixelData
    assert "holds no pixel data" in only_fault(tmp_path, save(tmp_path / "a.dcm", made))


def test_a_bomb_of_deflated_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dicom_files, "MAX_INFLATED", 1 << 20)
    made = dataset(GREY)
    made.add_new(0x00204000, "UT", "A" * (3 << 20))
    path = save(tmp_path / "a.dcm", made, DeflatedExplicitVRLittleEndian)
    meta = pydicom.filereader.read_file_meta_info(path)
    assert meta.TransferSyntaxUID == DeflatedExplicitVRLittleEndian and path.stat().st_size < 50_000
    told = only_fault(tmp_path, path)
    assert "inflates to more than" in told


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a PNG image"),
        (b"PK\x03\x04" + bytes(100), "a ZIP archive"),
        (b"hello", "neither DICOM nor NIfTI"),
        (bytes(2000), "neither DICOM nor NIfTI"),
        (gzip.compress(b"hello", mtime=0), "what is in it is no NIfTI"),
    ],
)
@pytest.mark.parametrize("name", ["a.dcm", "a.nii.gz", "a.txt"])
def test_mislabelled_files(tmp_path: Path, data: bytes, word: str, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert word in only_fault(tmp_path, tmp_path / name)


def test_files_are_what_their_bytes_say(tmp_path: Path) -> None:
    dicom(tmp_path / "in" / "a.nii", ramp()[1])
    nifti(tmp_path / "b.nii", np.zeros((4, 4, 4), np.int16)).rename(tmp_path / "in" / "b.dcm")
    (tmp_path / "in" / "notes.txt").write_text("x", encoding="utf-8")
    outcome = convert(tmp_path / "out", tmp_path / "in", window="full")
    assert (len(outcome.made), outcome.failed, outcome.passed_over) == (2, [], 1)


def header(shape: tuple[int, ...], kind: int = 4, bits: int = 16) -> bytearray:
    made = bytearray(352)
    made[0:4] = struct.pack("<i", 348)
    made[40:56] = struct.pack("<8h", len(shape), *shape, *[1] * (7 - len(shape)))
    made[70:74] = struct.pack("<hh", kind, bits)
    made[76:108] = struct.pack("<8f", *[1.0] * 8)
    made[108:112] = struct.pack("<f", 352)
    made[344:348] = b"n+1\0"
    return made


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("shape", "word"),
    [
        ((32767, 32767, 32767), "too large"),
        ((8000, 8000, 200, 4), "more than"),
        ((4, 4, 4), "cut off"),
        ((4, 0, 4), "no size"),
        ((4, -4, 4), "no size"),
    ],
)
def test_nifti_headers_that_cannot_be(
    tmp_path: Path, shape: tuple[int, ...], word: str, packed: bool
) -> None:
    data = bytes(header(shape)) + bytes(100)
    path = tmp_path / ("a.nii.gz" if packed else "a.nii")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert word in only_fault(tmp_path, path)


def test_nifti_files_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "c.nii").write_bytes(bytes(header((4, 4, 4), kind=32, bits=64)) + bytes(1000))
    assert "complex" in only_fault(tmp_path, tmp_path / "c.nii")
    (tmp_path / "d.nii").write_bytes(bytes(header((4, 4, 4), kind=77)) + bytes(1000))
    assert "no kind of values" in only_fault(tmp_path, tmp_path / "d.nii")
    pair = header((4, 4, 4))
    pair[344:348] = b"ni1\0"
    (tmp_path / "e.nii").write_bytes(bytes(pair) + bytes(1000))
    assert "one of a pair" in only_fault(tmp_path, tmp_path / "e.nii")
    packed = gzip.compress(bytes(header((40, 40, 40))) + os.urandom(128000))
    (tmp_path / "f.nii.gz").write_bytes(packed[:-5000])
    assert "cut off or damaged" in only_fault(tmp_path, tmp_path / "f.nii.gz")


def test_a_gzip_bomb_is_unpacked_no_further_than_its_header_says(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    data = packer.compress(bytes(header((20, 20, 20))))
    data += b"".join(packer.compress(bytes(1 << 20)) for _ in range(50)) + packer.flush()
    (tmp_path / "a.nii.gz").write_bytes(data)
    read: list[int] = []
    original = gzip.GzipFile.read
    try:
        gzip.GzipFile.read = lambda self, size=-1: read.append(size) or original(self, size)  # type: ignore
        outcome = convert(tmp_path / "out", tmp_path / "a.nii.gz", window="full")
    finally:
        gzip.GzipFile.read = original  # type: ignore[method-assign]
    assert len(outcome.made) == 1 and 0 < sum(read) < 50_000 and min(read) >= 0


def test_a_broken_slice_ends_its_series_and_no_other(tmp_path: Path) -> None:
    series(tmp_path / "in" / "b", ramp(4), SeriesInstanceUID="1.2")
    for index in range(4):
        stream = b"\xff\xd8\xff\xd9" if index == 2 else jpeg(GREY)
        encoded(tmp_path / "in" / "a" / f"{index}.dcm", GREY, [stream],
                JPEGBaseline8Bit, SeriesInstanceUID="1.1", ImagePositionPatient=[0, 0, index],
                ImageOrientationPatient=[1, 0, 0, 0, 1, 0])  # fmt: skip
    outcome = convert(tmp_path / "out", tmp_path / "in")
    assert len(outcome.made) == 1
    (told,) = outcome.failed
    assert repr(str(tmp_path / "in" / "a" / "2.dcm")) in told and "cannot be decoded" in told


def test_an_unreadable_slice_is_told_of_its_series(tmp_path: Path) -> None:
    paths = series(tmp_path / "in", ramp(4))
    paths[3].write_bytes(paths[3].read_bytes()[:400])
    outcome = convert(tmp_path / "out", tmp_path / "in")
    assert len(outcome.made) == 1 and len(outcome.failed) == 1
    assert any("could not be read: slices may be missing" in one for one in outcome.warnings)


def test_a_path_that_is_not_there_stops_before_anything_is_made(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", GREY)
    with pytest.raises(ConfigError, match="there is no file or folder"):
        convert(tmp_path / "out", path, tmp_path / "gone")
    assert not (tmp_path / "out").exists()


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    dicom(tmp_path / "in" / "a.dcm", GREY)
    os.mkfifo(tmp_path / "in" / "b.dcm")
    assert len(convert(tmp_path / "out", tmp_path / "in").made) == 1
    with pytest.raises(ConfigError, match="neither a file nor a folder"):
        convert(tmp_path / "out", tmp_path / "in" / "b.dcm")

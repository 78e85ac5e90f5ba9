"""From stored values to grey: rescale, windows, tables, inversion, held against pydicom and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from dicom_examples import convert, dataset, dicom, image, ramp, save, series
from numpy.typing import NDArray
from PIL import Image
from pydicom import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut

from harness.conversion import grey, windowing

VALUES = (np.arange(64 * 64).reshape(64, 64) % 4096).astype(np.uint16)


def expected(path: Path, index: int = 0) -> NDArray[np.uint8]:
    """Return what pydicom's own functions make of a file, scaled to 8 bits by its possible range."""
    found = pydicom.dcmread(path)
    values = apply_modality_lut(found.pixel_array, found)
    shown = apply_voi_lut(values, found, index).astype(np.float64)
    if "VOILUTSequence" in found:
        low, high = 0.0, 2.0 ** found.VOILUTSequence[0].LUTDescriptor[2] - 1
    else:
        least = -(2 ** (found.BitsStored - 1)) * found.PixelRepresentation
        ends = np.array([least, least + 2**found.BitsStored - 1])
        low, high = (float(one) for one in apply_modality_lut(ends, found))
    levels = np.floor((shown - low) / (high - low) * 255 + 0.5).astype(np.uint8)
    return 255 - levels if found.PhotometricInterpretation == "MONOCHROME1" else levels


@pytest.mark.parametrize("kind", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize(
    "tags",
    [
        {"WindowCenter": 2000, "WindowWidth": 1000},
        {"WindowCenter": 2000, "WindowWidth": 1000, "VOILUTFunction": "LINEAR_EXACT"},
        {"WindowCenter": 2000, "WindowWidth": 1000, "VOILUTFunction": "SIGMOID"},
        {"WindowCenter": 2000, "WindowWidth": 1},
        {"WindowCenter": 40, "WindowWidth": 400, "RescaleSlope": 1, "RescaleIntercept": -1024},
        {"WindowCenter": 3.5, "WindowWidth": 4.25, "RescaleSlope": 0.01, "RescaleIntercept": -8},
    ],
)  # fmt: skip
def test_the_files_own_window_is_that_of_pydicom(tmp_path: Path, tags: dict[str, Any], kind: str) -> None:
    more = {"PhotometricInterpretation": kind, "BitsStored": 12, "HighBit": 11}
    path = dicom(tmp_path / "a.dcm", VALUES, **more, **tags)
    found = image(tmp_path / "out", path)
    wanted = expected(path)
    assert np.abs(found.astype(int) - wanted).max() <= 1
    assert (found == wanted).mean() > 0.99
    assert len(np.unique(found)) > 1


def test_a_window_by_hand(tmp_path: Path) -> None:
    # PS3.3 C.11.2.1.2.1: x <= c - 0.5 - (w-1)/2 is black, x > c - 0.5 + (w-1)/2 white.
    values = np.array([[0, 1, 127, 128, 254, 255]], np.uint8)
    path = dicom(tmp_path / "a.dcm", values, WindowCenter=128, WindowWidth=256)
    assert image(tmp_path / "a", path).tolist() == [[0, 1, 127, 128, 254, 255]]
    assert image(tmp_path / "b", tmp_path / "a.dcm", window="128/3").tolist() == [[0, 0, 64, 191, 255, 255]]


@pytest.mark.parametrize(("wish", "centre"), [("tag", 100), ("tag:0", 100), ("tag:1", 200), (None, 100)])
def test_one_of_several_windows(tmp_path: Path, wish: str | None, centre: int) -> None:
    path = dicom(tmp_path / "a.dcm", VALUES, WindowCenter=[100, 200], WindowWidth=[50, 80])
    found = image(tmp_path / "out", path, window=wish)
    again = image(tmp_path / "again", path, window=f"{centre}/{50 if centre == 100 else 80}")
    assert np.array_equal(found, again)
    assert len(np.unique(found)) > 10


def test_a_window_that_is_not_there_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", VALUES, WindowCenter=100, WindowWidth=50)
    outcome = convert(tmp_path / "out", path, window="tag:1")
    assert outcome.made == []
    assert "1 windows (tag:0 ...)" in outcome.failed[0] and "--window tag:1 names none" in outcome.failed[0]
    assert [one.name for one in (tmp_path / "out").iterdir()] == []


def table(first: int, entries: list[int], bits: int) -> Dataset:
    made = Dataset()
    made.LUTDescriptor, made.LUTData = [len(entries), first, bits], entries
    made["LUTDescriptor"].VR, made["LUTData"].VR = "US", "US"
    return made


def test_a_voi_table_comes_before_the_window(tmp_path: Path) -> None:
    entries = [int(one) for one in (np.arange(256) ** 2 // 16)]
    tags = {"WindowCenter": 10, "WindowWidth": 20, "VOILUTSequence": [table(1000, entries, 12)]}
    path = dicom(tmp_path / "a.dcm", VALUES, BitsStored=12, HighBit=11, **tags)
    found = image(tmp_path / "out", path)
    assert np.abs(found.astype(int) - expected(path)).max() <= 1
    assert (found.min(), found.max()) == (0, 253)  # 255 ** 2 // 16 of 4095
    second = image(tmp_path / "w", path, window="tag:1")
    assert np.array_equal(second, image(tmp_path / "g", path, window="10/20"))


def test_a_voi_table_of_8_bits_takes_values_above_255(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", VALUES, VOILUTSequence=[table(0, list(range(256)), 8)])
    found = image(tmp_path / "out", path)
    assert np.array_equal(found, np.minimum(VALUES, 255))


def test_a_modality_table(tmp_path: Path) -> None:
    entries = [4095 - one for one in range(4096)]
    path = dicom(tmp_path / "a.dcm", VALUES, ModalityLUTSequence=[table(0, entries, 12)],
                 WindowCenter=2048, WindowWidth=4096)  # fmt: skip
    wanted = np.rint((4095 - VALUES) / 4095 * 255)
    assert np.abs(image(tmp_path / "out", path).astype(int) - wanted).max() <= 1


def test_the_full_range_and_percentiles_leave_padding_out(tmp_path: Path) -> None:
    values = np.full((100, 100), 1000, np.int16)
    values[:50] = 2000
    values[0] = -2000
    path = dicom(tmp_path / "a.dcm", values, PixelPaddingValue=-2000)
    found = image(tmp_path / "full", path, window="full")
    assert (found[0, 0], found[1, 0], found[99, 0]) == (0, 255, 0)
    values[0, 0] = 3000
    path = dicom(tmp_path / "b.dcm", values, PixelPaddingValue=-2000)
    assert image(tmp_path / "b", path, window="percentile")[1, 0] == 255
    assert image(tmp_path / "c", path, window="full")[1, 0] == 128  # 1000 to 3000


def test_without_a_window_percentiles_are_taken_and_told(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", VALUES)
    outcome = convert(tmp_path / "out", path)
    assert "the file names no window" in outcome.warnings[0]
    assert "percentile 0.5-99.5" in (tmp_path / "out" / "conversion.jsonl").read_text(encoding="utf-8")


def test_one_value_all_over_is_black_and_told(tmp_path: Path) -> None:
    outcome = convert(tmp_path / "out", dicom(tmp_path / "a.dcm", VALUES * 0 + 7), window="full")
    assert any("the picture is black" in one for one in outcome.warnings)


def test_all_slices_share_one_measured_window_that_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(
        windowing, "measured", lambda *args, **named: calls.append(1) or grey.measured(*args, **named)
    )
    series(tmp_path / "in", ramp(6))
    outcome = convert(tmp_path / "out", tmp_path / "in", window="full", kind="image", picks="all", size=None)
    shades = [int(np.asarray(Image.open(tmp_path / "out" / name))[-1, -1]) for name in outcome.made]
    assert shades == [10 * index for index in range(6)]  # from 0 to 255 in all of them
    assert len(calls) == 1


@pytest.mark.parametrize("bad", ["RescaleSlope", "WindowCenter"])
def test_a_number_that_is_none_ends_the_file_without_its_words(tmp_path: Path, bad: str) -> None:
    made = dataset(VALUES, RescaleIntercept=0, WindowWidth=5)
    made[bad] = pydicom.DataElement(bad, "LO", "secret name")
    outcome = convert(tmp_path / "out", save(tmp_path / "a.dcm", made))
    assert bad in outcome.failed[0] and "secret" not in str(outcome)

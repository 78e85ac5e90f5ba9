"""Clips and images as files: codec, size, rate, grey levels, and the same bytes each time."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from dicom_examples import clip, convert, dicom, image, nifti, ramp, series
from numpy.typing import NDArray
from PIL import Image

from harness.conversion.writing import write_clip


def smooth(count: int = 12, size: int = 128) -> NDArray[np.uint8]:
    """Return pictures with every grey level, soft and sharp edges, that move."""
    places = np.arange(size)
    base = (np.add.outer(places, places) * 255 // (2 * size - 2)).astype(np.uint8)
    pictures = np.stack([np.roll(base, 5 * index, axis=1) for index in range(count)])
    pictures[:, 20:40, 20:40], pictures[:, 60:80, 60:80] = 0, 255
    return pictures


def test_a_clip_is_h264_high_of_512_pixels_at_10_a_second(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(12))
    (name,) = convert(tmp_path / "out", tmp_path / "in", window="127.5/255").made
    with av.open(str(tmp_path / "out" / name)) as container:
        stream = container.streams.video[0]
        assert "mp4" in container.format.name
        assert (stream.codec_context.name, stream.codec_context.profile) == ("h264", "High")
        assert (stream.width, stream.height, stream.pix_fmt) == (512, 512, "yuv420p")
        assert stream.average_rate == 10 and stream.frames == 12
        times = [frame.time for frame in container.decode(stream)]
        assert times == pytest.approx([index / 10 for index in range(12)])
        assert float(stream.duration * (stream.time_base or Fraction(1))) == pytest.approx(1.2)


def test_grey_levels_survive(tmp_path: Path) -> None:
    pictures = smooth()
    write_clip(tmp_path / "a.mp4", iter(pictures), 10)
    found = clip(tmp_path / "a.mp4").astype(int)
    assert np.array_equal(found[..., 0], found[..., 1]) and np.array_equal(found[..., 0], found[..., 2])
    difference = np.abs(found[..., 0] - pictures)
    assert difference.mean() < 0.6 and difference.max() <= 12
    assert found[:, 25:35, 25:35].max() <= 2 and found[:, 65:75, 65:75].min() >= 253


def test_colours_survive(tmp_path: Path) -> None:
    grey = smooth()
    pictures = np.stack([grey, 255 - grey, np.full_like(grey, 80)], axis=-1)
    pictures[:, :10, :10] = (255, 0, 0)
    write_clip(tmp_path / "a.mp4", iter(pictures), 10)
    found = clip(tmp_path / "a.mp4").astype(int)
    assert np.abs(found - pictures).mean() < 3
    assert np.abs(found[:, 2:8, 2:8] - (255, 0, 0)).max() <= 6


@pytest.mark.slow
def test_the_same_input_becomes_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(12))
    dicom(tmp_path / "in" / "one.dcm", ramp()[3], SeriesInstanceUID="9.9")
    made = convert(tmp_path / "out", tmp_path / "in", window="127.5/255").made
    command = [sys.executable, "-m", "harness", "data", "convert", str(tmp_path / "in")]
    again = ["--window", "127.5/255", "--out", str(tmp_path / "again")]
    subprocess.run([*command, *again], check=True, capture_output=True)
    assert len(made) == 2
    for name in [*made, "conversion.jsonl"]:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_other_rates_and_sizes(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(4))
    (name,) = convert(tmp_path / "out", tmp_path / "in", window="127.5/255", fps=25, size=64).made
    with av.open(str(tmp_path / "out" / name)) as container:
        assert container.streams.video[0].average_rate == 25
        assert container.streams.video[0].width == 64


def test_native_pixels_get_even_sides_in_clips_only(tmp_path: Path) -> None:
    values = np.full((7, 9, 3), 5, np.int16)
    path = nifti(tmp_path / "a.nii", values)
    (name,) = convert(tmp_path / "out", path, window="0/2", size=None).made
    found = clip(tmp_path / "out" / name)
    assert found.shape == (3, 10, 8, 3) and found[0, :9, :7].min() > 240 and found[0, 9, :].max() < 15
    assert image(tmp_path / "image", path, window="0/2").shape == (9, 7)


@pytest.mark.parametrize(
    ("tags", "size"),
    [
        ({"PixelSpacing": [1, 0.5]}, (256, 512)),  # rows are 1 apart, columns 0.5: twice as high as wide
        ({"ImagerPixelSpacing": [0.5, 1]}, (512, 256)),
        ({"PixelAspectRatio": [4, 1]}, (128, 512)),
        ({"PixelSpacing": [1, 1], "PixelAspectRatio": [4, 1]}, (512, 512)),
        ({}, (512, 512)),
    ],
)
def test_pixels_that_are_not_square_are_stretched(
    tmp_path: Path, tags: dict[str, list[float]], size: tuple[int, int]
) -> None:
    path = dicom(tmp_path / "a.dcm", np.full((32, 32), 9, np.uint16), **tags)
    (name,) = convert(tmp_path / "out", path, window="0/2").made
    found = np.asarray(Image.open(tmp_path / "out" / name))
    rows, columns = np.nonzero(found)
    assert found.shape == (512, 512)
    assert (np.ptp(columns) + 1, np.ptp(rows) + 1) == size


def test_a_spacing_that_cannot_be_true_is_told(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3], PixelSpacing=[0, 1])
    assert any("cannot be true" in one for one in convert(tmp_path / "out", path, window="full").warnings)


def test_a_scaled_picture_is_that_of_pillow(tmp_path: Path) -> None:
    values = smooth()[0].astype(np.uint16)[:, :100]
    path = dicom(tmp_path / "a.dcm", values)
    (name,) = convert(tmp_path / "out", path, window="128/256").made
    scaled = np.asarray(Image.fromarray(values.astype(np.uint8)).resize((400, 512), Image.Resampling.LANCZOS))
    found = np.asarray(Image.open(tmp_path / "out" / name))
    assert np.array_equal(found[:, 56:456], scaled) and not found[:, :56].any() and not found[:, 456:].any()

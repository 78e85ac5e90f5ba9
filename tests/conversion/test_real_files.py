"""Files of real devices, where they are at hand: sizes, values, orientation, warnings."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pydicom
import pytest
from dicom_examples import clip, convert, image
from numpy.typing import NDArray
from PIL import Image

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real files")


def raw(name: str) -> tuple[pydicom.Dataset, NDArray[np.float64]]:
    found = pydicom.dcmread(DATA / name)
    return found, found.pixel_array.astype(np.float64)


def test_a_ct_slice_in_hounsfield_units(tmp_path: Path) -> None:
    _, values = raw("ct-CT_small.dcm")
    found = image(tmp_path / "out", DATA / "ct-CT_small.dcm", window="40/400")
    wanted = np.clip((values - 1024 - 39.5) / 399 + 0.5, 0, 1) * 255
    assert found.shape == (128, 128) and np.abs(found - wanted).max() <= 0.51
    assert found.std() > 30


def test_an_mr_slice_by_its_own_window(tmp_path: Path) -> None:
    _, values = raw("mr-MR_small.dcm")
    found = image(tmp_path / "out", DATA / "mr-MR_small.dcm")
    assert np.abs(found - np.clip((values - 599.5) / 1599 + 0.5, 0, 1) * 255).max() <= 0.51


@pytest.mark.slow
def test_a_radiograph_of_jpeg_2000_is_inverted(tmp_path: Path) -> None:
    tags, _ = raw("cr-RG3_J2KI.dcm")
    assert tags.PhotometricInterpretation == "MONOCHROME1"
    found = image(tmp_path / "out", DATA / "cr-RG3_J2KI.dcm")
    tags.pixel_array_options(decoding_plugin="pillow")
    values = tags.pixel_array.astype(np.float64)
    wanted = 255 - np.clip((values - 549.5) / 1023 + 0.5, 0, 1) * 255
    assert found.shape == (1760, 1760)
    assert np.abs(found - wanted).mean() < 0.6 and np.abs(found - wanted).max() < 3
    small = convert(tmp_path / "small", DATA / "cr-RG3_J2KI.dcm").made[0]
    assert Image.open(tmp_path / "small" / small).convert("L").size == (512, 512)
    bone, air = found[1200, 880], found[1000, 500]
    assert bone > air


def test_an_ultrasound_in_colour_warns_of_burned_in_text(tmp_path: Path) -> None:
    path = DATA / "us-examples_rgb_color.dcm"
    outcome = convert(tmp_path / "out", path, size=None)
    found = np.asarray(Image.open(tmp_path / "out" / outcome.made[0]).convert("RGB"))
    assert np.array_equal(found, pydicom.dcmread(path).pixel_array)
    (told,) = outcome.warnings
    assert repr(str(path)) in told and "burned in" in told and "look at the output" in told


def test_ten_frames_of_a_head_become_a_clip(tmp_path: Path) -> None:
    path = DATA / "mr-emri_small-10frames.dcm"
    (name,) = convert(tmp_path / "out", path, window="full", size=64).made
    found = clip(tmp_path / "out" / name).astype(float)
    values = pydicom.dcmread(path).pixel_array.astype(float)
    wanted = (values - values.min()) / (values.max() - values.min()) * 255
    assert found.shape == (10, 64, 64, 3)
    assert np.abs(found[..., 0] - wanted).mean() < 1.5


@pytest.mark.parametrize("phase", [0, 1])
def test_a_brain_in_two_phases(tmp_path: Path, phase: int) -> None:
    path = DATA / "mr-example4d.nii.gz"
    made = convert(tmp_path / "out", path, size=None).made
    assert len(made) == 2
    found = clip(tmp_path / "out" / made[phase]).astype(float)
    canonical = nib.as_closest_canonical(nib.load(path))  # type: ignore
    assert nib.aff2axcodes(canonical.affine) == ("R", "A", "S")  # type: ignore
    values = np.asarray(canonical.dataobj)[..., phase].astype(float)
    wanted = np.clip(values / 1162, 0, 1)[::-1, ::-1].transpose(2, 1, 0) * 255
    assert found.shape == (24, 96, 128, 3)
    assert np.abs(found[..., 0] - wanted).mean() < 1
    assert np.abs(found[..., 0] - wanted[..., ::-1]).mean() > 3  # left is not right


@pytest.mark.slow
def test_all_files_at_once(tmp_path: Path) -> None:
    outcome = convert(tmp_path / "out", DATA)
    assert (len(outcome.made), outcome.failed) == (7, [])
    assert sum(name.endswith(".mp4") for name in outcome.made) == 3

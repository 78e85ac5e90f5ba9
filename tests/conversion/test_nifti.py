"""NIfTI volumes: orientation by the affine, axes, phases, scale, proportions."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from dicom_examples import clip, convert, image, nifti
from PIL import Image

SHAPE = (6, 8, 10)  # right, anterior, superior
WORLD = np.arange(480, dtype=np.int16).reshape(SHAPE) % 251


def plane(axis: str, index: int, world: np.ndarray[Any, Any] = WORLD) -> np.ndarray[Any, Any]:
    """Return the picture of a slice by hand from values (right, anterior, superior)."""
    match axis:
        case "axial":  # feet to head; patient's right on the left, anterior at the top
            return world[::-1, ::-1, index].T
        case "coronal":  # anterior to posterior; patient's right on the left, superior at the top
            return world[::-1, world.shape[1] - 1 - index, ::-1].T
        case _:  # left to right; anterior on the left, superior at the top
            return world[index, ::-1, ::-1].T


@pytest.mark.parametrize("axis", ["axial", "coronal", "sagittal"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_any_stored_orientation_is_shown_alike(tmp_path: Path, axis: Any, order: tuple[int, ...]) -> None:
    for number, ways in enumerate([(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)]):
        stored = WORLD.transpose(order)[:: ways[0], :: ways[1], :: ways[2]]
        affine = np.zeros((4, 4))
        affine[3, 3] = 1
        for place, (world, way) in enumerate(zip(order, ways, strict=True)):
            affine[world, place] = way
        path = nifti(tmp_path / f"{number}.nii", np.ascontiguousarray(stored), affine)
        found = image(tmp_path / f"o{number}", path, axis=axis, picks=1, window="125/250")
        assert np.abs(found - plane(axis, 1) / 250 * 255).max() <= 0.51, ways


def test_the_slice_of_the_file_is_recorded(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", WORLD, np.diag([1, 1, -1, 1]))
    convert(tmp_path / "out", path, kind="image", picks=1, window="full")
    assert '"pictures": [[0, 8]]' in (tmp_path / "out" / "conversion.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
@pytest.mark.parametrize("kind", [nib.Nifti1Image, nib.Nifti2Image])
def test_phases_of_a_file_are_clips_of_their_own(tmp_path: Path, suffix: str, kind: Any) -> None:
    values = np.stack([WORLD, 250 - WORLD], axis=-1)
    nib.save(kind(values, np.eye(4)), tmp_path / f"a{suffix}")  # type: ignore[attr-defined]
    outcome = convert(tmp_path / "out", tmp_path / f"a{suffix}", window="125/250", size=None)
    assert [name[12:] for name in outcome.made] == ["-t00.mp4", "-t01.mp4"]
    for name, world in zip(outcome.made, (WORLD, 250 - WORLD), strict=True):
        found = clip(tmp_path / "out" / name)
        assert found.shape == (10, 8, 6, 3)
        assert np.abs(found[3, ..., 0] - plane("axial", 3, world) / 250 * 255).mean() < 3
    one = convert(tmp_path / "one", tmp_path / f"a{suffix}", window="125/250", phase=1)
    assert [name[12:] for name in one.made] == ["-t01.mp4"]
    gone = convert(tmp_path / "gone", tmp_path / f"a{suffix}", window="125/250", phase=2)
    assert "--phase 2 is not there; it has 2" in gone.failed[0]


def test_slope_and_intercept_and_big_endian(tmp_path: Path) -> None:
    made = nib.Nifti1Image(WORLD.astype(">i2"), np.eye(4), nib.Nifti1Header(endianness=">"))  # type: ignore
    made.header.set_slope_inter(0.5, -20)  # type: ignore
    made.to_filename(tmp_path / "a.nii")  # type: ignore
    stored = np.asarray(nib.load(tmp_path / "a.nii").dataobj.get_unscaled())  # type: ignore[attr-defined]
    slope = nib.load(tmp_path / "a.nii").dataobj.slope, nib.load(tmp_path / "a.nii").dataobj.inter  # type: ignore
    assert slope == (0.5, -20)
    found = image(tmp_path / "out", tmp_path / "a.nii", picks=2, window="40/120")
    wanted = np.clip((plane("axial", 2, stored * 0.5 - 20.0) - 40) / 120 + 0.5, 0, 1) * 255
    assert np.abs(found - wanted).max() <= 0.51 and len(np.unique(found)) > 10


def test_floats_with_what_is_no_number(tmp_path: Path) -> None:
    values = WORLD.astype(np.float32)
    values[0, 0, 0], values[1, 0, 0], values[2, 0, 0] = np.nan, np.inf, -np.inf
    found = image(tmp_path / "out", nifti(tmp_path / "a.nii", values), picks=0, window="full")
    assert found[-1, -1] == 0 and found[-1, -2] == 255 and found[-1, -3] == 0


def test_cal_min_and_cal_max_are_the_files_window(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", WORLD, cal_min=50, cal_max=150)
    found = image(tmp_path / "out", path, picks=2, window="tag")
    assert np.abs(found - np.clip((plane("axial", 2) - 50) / 100, 0, 1) * 255).max() <= 0.51


def test_colour(tmp_path: Path) -> None:
    values = np.zeros(SHAPE, [("R", "u1"), ("G", "u1"), ("B", "u1")])
    values["R"], values["B"] = WORLD, 200
    found = image(tmp_path / "out", nifti(tmp_path / "a.nii", values), picks=4)
    assert np.array_equal(found[..., 0], plane("axial", 4)) and (found[..., 2] == 200).all()


def test_a_grid_that_says_nothing_or_is_tilted_is_told(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", WORLD)
    made = nib.load(path)  # type: ignore[attr-defined]
    made.set_sform(None, 0)
    made.set_qform(None, 0)
    nib.save(made, tmp_path / "b.nii")  # type: ignore[attr-defined]
    outcome = convert(tmp_path / "out", tmp_path / "b.nii", window="full")
    assert "how it lies; right, anterior, superior are assumed" in outcome.warnings[0]
    flat = nifti(tmp_path / "f.nii", WORLD)
    data = bytearray(flat.read_bytes())
    data[280:328] = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0], np.float32).tobytes()
    flat.write_bytes(data)
    assert "how it lies" in convert(tmp_path / "flat", flat, window="full").warnings[0]
    turn = np.eye(4)
    turn[:2, :2] = [[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]]
    outcome = convert(tmp_path / "out", nifti(tmp_path / "c.nii", WORLD, turn), window="full")
    assert "tilted by 29 degrees" in outcome.warnings[0]


def test_voxels_that_are_not_square_keep_their_proportions(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", np.full((20, 20, 10), 9, np.int16), np.diag([1, 1, 3, 1]))
    made = convert(tmp_path / "out", path, kind="image", axis="coronal", window="0/2", size=400).made
    found = np.asarray(Image.open(tmp_path / "out" / made[0]))
    rows, columns = np.nonzero(found)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert (found.shape, height, width) == ((400, 400), 400, 267)
    assert columns.min() == 66  # centred


def test_a_size_that_is_unlike_the_grid_is_told(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", WORLD)
    made = nib.load(path)  # type: ignore[attr-defined]
    data = bytearray(path.read_bytes())
    data[80:84] = np.float32(4).tobytes()
    path.write_bytes(data)
    assert made.shape == SHAPE
    assert any("disagree" in one for one in convert(tmp_path / "out", path, window="full").warnings)

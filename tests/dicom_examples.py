"""DICOM and NIfTI files made for tests: as plain as can be, each tag that matters given by the test."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydicom import Dataset
from pydicom.dataset import FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from harness.conversion.converting import Converter, Job, Outcome
from harness.conversion.libraries import silenced
from harness.conversion.recipe import Recipe, parse_window

AXIAL = [1, 0, 0, 0, 1, 0]
CT = "1.2.840.10008.5.1.4.1.1.2"


def dataset(pixels: NDArray[Any], **tags: Any) -> Dataset:
    """Return a data set of pixels (rows, columns), (frames, rows, columns) or (rows, columns, 3)."""
    made = Dataset()
    made.SOPClassUID, made.SOPInstanceUID = CT, generate_uid()
    made.SeriesInstanceUID, made.Modality = "1.2.3", "CT"
    colour = pixels.ndim >= 3 and pixels.shape[-1] == 3
    shape = pixels.shape[:-1] if colour else pixels.shape
    made.Rows, made.Columns = shape[-2:]
    if len(shape) == 3:
        made.NumberOfFrames = shape[0]
    made.SamplesPerPixel = 3 if colour else 1
    made.PhotometricInterpretation = "RGB" if colour else "MONOCHROME2"
    if colour:
        made.PlanarConfiguration = 0
    bits = pixels.dtype.itemsize * 8
    made.BitsAllocated, made.BitsStored, made.HighBit = bits, bits, bits - 1
    made.PixelRepresentation = int(pixels.dtype.kind == "i")
    for name, value in tags.items():
        setattr(made, name, value)
    if "PixelData" not in made:
        data = pixels.tobytes()
        made.PixelData = data + b"\0" * (len(data) % 2)
        made["PixelData"].VR = "OW" if bits > 8 else "OB"
    return made


def save(path: Path, made: Dataset, syntax: str = ExplicitVRLittleEndian, preamble: bytes = b"") -> Path:
    """Write a data set as a DICOM file."""
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = syntax
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID
    made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID
    made.preamble = preamble.ljust(128, b"\0")
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save_as(path, enforce_file_format=True)
    return path


def dicom(path: Path, pixels: NDArray[Any], **tags: Any) -> Path:
    """Write pixels as an uncompressed DICOM file."""
    return save(path, dataset(pixels, **tags))


def encoded(
    path: Path, pixels: NDArray[Any], pictures: list[bytes], syntax: str, **tags: Any
) -> Path:
    """Write pictures that are encoded already."""
    made = dataset(pixels, PixelData=encapsulate(pictures), **tags)
    made["PixelData"].VR = "OB"
    made["PixelData"].is_undefined_length = True
    return save(path, made, syntax)


def jpeg(pixels: NDArray[np.uint8], kind: str = "JPEG", **options: Any) -> bytes:
    """Return pixels as a JPEG file."""
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, kind, **options)
    return made.getvalue()


def series(folder: Path, volume: NDArray[Any], **tags: Any) -> list[Path]:
    """Write a volume (slices, rows, columns), a file a slice, 2 mm apart; names do not follow the order."""
    paths = []
    for index, pixels in enumerate(volume):
        name = f"im{(index * 7) % 1000:04}.dcm"
        more = {"ImagePositionPatient": [0, 0, 2 * index], "ImageOrientationPatient": AXIAL}
        paths.append(
            dicom(folder / name, pixels, **(more | {"InstanceNumber": index + 1, "SliceThickness": 2} | tags))
        )
    return paths


def nifti(path: Path, values: NDArray[Any], affine: NDArray[Any] | None = None, **header: Any) -> Path:
    """Write values (x, y, z[, phase]); by default x goes to the right, y to anterior, z up."""
    image = nib.Nifti1Image(values, np.eye(4) if affine is None else affine)  # type: ignore[no-untyped-call]
    for name, value in header.items():
        image.header[name] = value
    nib.save(image, path)  # type: ignore[attr-defined]
    return path


def ramp(count: int = 8, size: int = 16, step: int = 10) -> NDArray[np.uint16]:
    """Return a volume whose slice `k` is `step * k` all over but for a corner that tells up from down."""
    volume = np.zeros((count, size, size), np.uint16)
    volume += (np.arange(count, dtype=np.uint16) * step)[:, None, None]
    volume[:, : size // 4, : size // 4] = 255
    return volume


def convert(out: Path, *inputs: Path, window: str | None = None, **wishes: Any) -> Outcome:
    """Convert files as the command does. `wishes`: fields of `Recipe` and of `Job`."""
    of_job = {name: wishes.pop(name) for name in ("keep_names", "overwrite") if name in wishes}
    recipe = Recipe(window=parse_window(window), **wishes)
    with silenced():
        return Converter(Job(inputs, out, recipe, **of_job), lambda event, text: None).run()


def image(out: Path, *inputs: Path, **wishes: Any) -> NDArray[np.uint8]:
    """Convert to one image, pixels as they are, and return it."""
    outcome = convert(out, *inputs, **({"kind": "image", "size": None} | wishes))
    assert outcome.failed == []
    (name,) = outcome.made
    return np.asarray(Image.open(out / name))


def clip(path: Path) -> NDArray[np.uint8]:
    """Return the decoded pictures of a clip, shape (pictures, height, width, 3)."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])

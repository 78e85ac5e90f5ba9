"""Pixels as they are stored: bits, signs, colours, compressions, against PIL and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from dicom_examples import convert, dataset, dicom, encoded, image, jpeg, save
from numpy.typing import NDArray
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLosslessSV1,
    JPEGLSLossless,
    RLELossless,
)

GREY = np.add.outer(np.arange(48), np.arange(64)).astype(np.uint8) * 2
COLOUR = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], axis=-1)


@pytest.mark.parametrize(
    ("dtype", "stored"), [("u1", 8), ("u2", 10), ("u2", 12), ("u2", 16), ("i2", 12), ("i2", 16), ("u4", 32)]
)  # fmt: skip
def test_bits_and_signs(tmp_path: Path, dtype: str, stored: int) -> None:
    low = -(2 ** (stored - 1)) if dtype[0] == "i" else 0
    values = np.linspace(low, low + 2**stored - 1, 48 * 64).reshape(48, 64)
    pixels = np.floor(values).astype(dtype)
    found = image(tmp_path / "out", dicom(tmp_path / "a.dcm", pixels, BitsStored=stored, HighBit=stored - 1),
                  window="full")  # fmt: skip
    wanted = (pixels.astype(float) - low) / (2.0**stored - 1) * 255
    assert np.abs(found - wanted).max() <= 0.51


@pytest.mark.parametrize("signed", [False, True])
def test_bits_that_are_not_of_the_picture_are_left_out(tmp_path: Path, signed: bool) -> None:
    values = np.arange(-100, 100).reshape(10, 20) if signed else np.arange(200).reshape(10, 20)
    twelve = (values & 0xFFF).astype(np.uint16)
    overlaid = (twelve | 0xA000).view(np.int16 if signed else np.uint16)
    tags = {"BitsStored": 12, "HighBit": 11}
    shifted = ((twelve << 4) | 0x5).view(np.int16 if signed else np.uint16)
    found = [
        image(tmp_path / "a", dicom(tmp_path / "a.dcm", overlaid, **tags), window="full"),
        image(tmp_path / "b", dicom(tmp_path / "b.dcm", shifted, BitsStored=12, HighBit=15), window="full"),
    ]
    wanted = np.floor((values - values.min()) / 199 * 255 + 0.5)
    assert all(np.array_equal(one, wanted) for one in found)


@pytest.mark.parametrize(
    "syntax", [ImplicitVRLittleEndian, DeflatedExplicitVRLittleEndian, RLELossless], ids=lambda one: one.name
)  # fmt: skip
def test_uncompressed_and_lossless_syntaxes(tmp_path: Path, syntax: Any) -> None:
    values = GREY.astype(np.uint16) * 3
    made = dataset(values, WindowCenter=300, WindowWidth=600)
    if syntax == RLELossless:
        made.file_meta = pydicom.dataset.FileMetaDataset()
        made.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
        made.compress(RLELossless, generate_instance_uid=False)
    found = image(tmp_path / "out", save(tmp_path / "a.dcm", made, syntax))
    plain = image(tmp_path / "plain", dicom(tmp_path / "p.dcm", values, WindowCenter=300, WindowWidth=600))
    assert np.array_equal(found, plain) and len(np.unique(found)) > 50


def test_big_endian(tmp_path: Path) -> None:
    values = GREY.astype(np.uint16) * 3
    made = dataset(values, WindowCenter=300, WindowWidth=600)
    made.PixelData = values.astype(">u2").tobytes()
    found = image(tmp_path / "out", save(tmp_path / "a.dcm", made, ExplicitVRBigEndian))
    plain = image(tmp_path / "plain", dicom(tmp_path / "p.dcm", values, WindowCenter=300, WindowWidth=600))
    assert np.array_equal(found, plain)


def test_a_file_without_preamble(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", GREY, WindowCenter=128, WindowWidth=256)
    made = pydicom.dcmread(path)
    (tmp_path / "bare").mkdir()
    del made.file_meta
    bare = tmp_path / "bare" / "a"
    pydicom.dcmwrite(bare, made, implicit_vr=True, little_endian=True, enforce_file_format=False)
    assert np.array_equal(image(tmp_path / "out", tmp_path / "bare"), GREY)


def test_jpeg_and_jpeg_2000(tmp_path: Path) -> None:
    window = {"WindowCenter": 128, "WindowWidth": 256}
    lossy = encoded(tmp_path / "j.dcm", GREY, [jpeg(GREY, quality=95)], JPEGBaseline8Bit, **window)
    assert np.abs(image(tmp_path / "j", lossy).astype(int) - GREY).mean() < 1
    stream = jpeg(GREY, "JPEG2000", irreversible=False, no_jp2=True)
    lossless = encoded(tmp_path / "k.dcm", GREY, [stream], JPEG2000Lossless, **window)
    assert np.array_equal(image(tmp_path / "k", lossless), GREY)


@pytest.mark.parametrize("planar", [0, 1])
def test_rgb_by_pixel_and_by_plane(tmp_path: Path, planar: int) -> None:
    data = COLOUR if planar == 0 else np.ascontiguousarray(COLOUR.transpose(2, 0, 1))
    path = dicom(tmp_path / "a.dcm", COLOUR, PlanarConfiguration=planar, PixelData=data.tobytes())
    assert np.array_equal(image(tmp_path / "out", path), COLOUR)


def test_ybr_becomes_rgb(tmp_path: Path) -> None:
    from PIL import Image

    ybr = np.asarray(Image.fromarray(COLOUR).convert("YCbCr"))
    full = dicom(tmp_path / "a.dcm", ybr, PhotometricInterpretation="YBR_FULL")
    assert np.abs(image(tmp_path / "a", full).astype(int) - COLOUR).max() <= 3
    smooth = np.ascontiguousarray(np.repeat(ybr[:, ::2], 2, axis=1))
    pairs = np.stack([smooth[:, ::2, 0], smooth[:, 1::2, 0], smooth[:, ::2, 1], smooth[:, ::2, 2]], axis=-1)
    sub = dicom(tmp_path / "b.dcm", ybr, PhotometricInterpretation="YBR_FULL_422", PixelData=pairs.tobytes())
    assert np.abs(image(tmp_path / "b", sub).astype(int) - COLOUR[:, ::2].repeat(2, axis=1)).max() <= 3
    lossy = encoded(tmp_path / "c.dcm", COLOUR, [jpeg(COLOUR, quality=95)], JPEGBaseline8Bit,
                    PhotometricInterpretation="YBR_FULL_422")  # fmt: skip
    assert np.abs(image(tmp_path / "c", lossy).astype(int) - COLOUR).mean() < 5


@pytest.mark.parametrize("bits", [8, 16])
def test_palette_colour(tmp_path: Path, bits: int) -> None:
    tags: dict[str, Any] = {"PhotometricInterpretation": "PALETTE COLOR"}
    ramps = {"Red": np.arange(256), "Green": np.arange(256)[::-1], "Blue": np.full(256, 9)}
    for name, values in ramps.items():
        tags[f"{name}PaletteColorLookupTableDescriptor"] = [256, 0, bits]
        wide = (values * 256 + 17).astype("<u2") if bits == 16 else values.astype("u1")
        tags[f"{name}PaletteColorLookupTableData"] = wide.tobytes()
    made = dataset(GREY, **tags)
    for name in ramps:
        made[f"{name}PaletteColorLookupTableDescriptor"].VR = "US"
    found = image(tmp_path / "out", save(tmp_path / "a.dcm", made))
    assert np.array_equal(found, np.stack([GREY, 255 - GREY, np.full_like(GREY, 9)], axis=-1))


@pytest.mark.parametrize(
    ("syntax", "word"), [(JPEGLosslessSV1, "pylibjpeg-libjpeg (GPL"), (JPEGLSLossless, "pyjpegls")]
)
def test_a_syntax_without_a_decoder_names_the_way_out(tmp_path: Path, syntax: Any, word: str) -> None:
    path = encoded(tmp_path / "a.dcm", GREY, [b"\xff\xd8\xff\xd9"], syntax)
    (told,) = convert(tmp_path / "out", path).failed
    assert repr(str(path)) in told and word in told and syntax.name in told


def frames(folder: Path, **tags: Any) -> NDArray[np.uint8]:
    stack = np.stack([GREY.astype(np.uint16) + 100 * index for index in range(3)])
    return image(folder / "out", dicom(folder / "m.dcm", stack, **tags), picks=2, window="tag")


def test_each_frame_has_its_own_rescale_and_window(tmp_path: Path) -> None:
    per_frame = []
    for index in range(3):
        values, window, item = pydicom.Dataset(), pydicom.Dataset(), pydicom.Dataset()
        values.RescaleSlope, values.RescaleIntercept = index + 1, -50 * index
        window.WindowCenter, window.WindowWidth = 250 * (index + 1), 400
        item.PixelValueTransformationSequence, item.FrameVOILUTSequence = [values], [window]
        per_frame.append(item)
    found = frames(tmp_path, PerFrameFunctionalGroupsSequence=per_frame, WindowCenter=1, WindowWidth=1)
    quantity = (GREY.astype(float) + 200) * 3 - 100
    wanted = np.clip((quantity - 749.5) / 399 + 0.5, 0, 1) * 255
    assert np.abs(found - wanted).max() <= 0.51
    assert len(np.unique(wanted)) > 3


def test_what_all_frames_share_holds_where_they_say_nothing(tmp_path: Path) -> None:
    shared, window = pydicom.Dataset(), pydicom.Dataset()
    window.WindowCenter, window.WindowWidth = 300, 200
    shared.FrameVOILUTSequence = [window]
    found = frames(tmp_path, SharedFunctionalGroupsSequence=[shared])
    assert np.abs(found - np.clip((GREY + 200.0 - 299.5) / 199 + 0.5, 0, 1) * 255).max() <= 0.51

"""Redraw the bundled RadM sample: 20 made-up cases in two languages, phantom slices and short clips.

Usage: python tools/draw_radm_sample.py [OUT]   (default: the sample folder of the package)

Everything is a function of `radm_sample_cases.jsonl` and fixed seeds. Histories and diagnoses are made up,
the pictures only look like slices, and SYNTHETIC stands in each. The clips need PyAV (extra `video`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from radm_phantom import SIDE, draw_slice, draw_stack  # noqa: E402
from sample_files import write_sample  # noqa: E402

CASES_FILE: Final = Path(__file__).resolve().parent / "radm_sample_cases.jsonl"
SAMPLE: Final = ROOT / "harness" / "benchmarks" / "radm" / "sample"
JPEG_QUALITY: Final = 72
FPS: Final = 10
"""Frames per second of clips, as the paper exported them."""
KEY_DEPTHS: Final = (0.0, -0.15, 0.15, -0.25, 0.25, 0.05)
"""Where key images are taken from: all show the finding."""


def main(out: Path = SAMPLE) -> None:
    """Write the whole sample folder."""
    cases = read_cases()
    write_texts(out, cases)
    for number in range(len(cases)):
        write_media(out, cases, number)


def read_cases() -> list[dict[str, Any]]:
    """Return the made-up cases, each with what its pictures show as `draw`."""
    return [json.loads(line) for line in CASES_FILE.read_text(encoding="utf-8").splitlines()]


def write_texts(out: Path, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write the cases and the mark that all of it is synthetic."""
    write_sample(out, map(_line, cases), "made-up histories, diagnoses and drawings")


def write_media(out: Path, cases: Sequence[Mapping[str, Any]], number: int) -> None:
    """Draw the key images and clips of one case, counted from 0."""
    case, seed = cases[number], 7000 + 100 * number
    for folder in ("images", "clips"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(_images(case)):
        picture = Image.fromarray(draw_slice(case["draw"], KEY_DEPTHS[place], seed=seed + place))
        if name.endswith(".png"):
            picture.save(out / name, format="PNG", optimize=True)
        else:
            picture.save(out / name, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    for place, name in enumerate(_clips(case)):
        slices = 24 + 3 * (number % 3)
        gain = 1.0 + 0.25 * place  # the second is a later phase, or another sequence
        write_clip(out / name, draw_stack(case["draw"], slices, seed=seed + 50 * place, gain=gain))


def write_clip(path: Path, frames: Sequence[NDArray[np.uint8]]) -> None:
    """Write a clip as the paper's were: H.264 High Profile in MP4, 10 frames per second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        # Several threads, and x264's assembly, make other bits from one time to the next.
        stream.codec_context.thread_count = 1
        stream.options = {"profile": "high", "crf": "26", "preset": "slow", "x264-params": "asm=0"}
        no_colour = np.full((SIDE // 2, SIDE), 128, dtype=np.uint8)
        for place, frame in enumerate(frames):
            planes = np.concatenate([16 + np.rint(frame * (219 / 255)).astype(np.uint8), no_colour])
            picture = av.VideoFrame.from_ndarray(planes, format="yuv420p")
            picture.pts = place
            container.mux(stream.encode(picture))
        container.mux(stream.encode())


def _line(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of one case, in the order of the documentation."""
    clips = _clips(case)
    return {
        **{name: case[name] for name in ("id", "subset", "language", "subspecialty", "rare", "history")},
        **({"history_en": case["history_en"]} if "history_en" in case else {}),
        "images": _images(case),
        **({"videos": clips} if clips else {}),
        "diagnosis": case["diagnosis"],
        "tags": case["tags"],
    }


def _images(case: Mapping[str, Any]) -> list[str]:
    """Return the paths of key images; the last of several MR images is a PNG."""
    count = case["draw"]["images"]
    kinds = ["png" if "MR" in case["tags"] and place == count > 1 else "jpg" for place in range(1, count + 1)]
    return [f"images/{case['id']}-{place}.{kind}" for place, kind in enumerate(kinds, start=1)]


def _clips(case: Mapping[str, Any]) -> list[str]:
    return [f"clips/{case['id']}-{place}.mp4" for place in range(1, case["draw"].get("clips", 0) + 1)]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

"""What the tests of bundled samples share: the tool that draws one, and its files compared."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

TOOLS = Path(__file__).resolve().parents[1] / "tools"


def load_tool(name: str) -> ModuleType:
    """Return a module of `tools/`; without a checkout the test is skipped."""
    path = TOOLS / f"{name}.py"
    if not path.exists():
        pytest.skip("the drawing tool is only in a checkout")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made, before = importlib.util.module_from_spec(spec), list(sys.path)
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path[:] = before
    return made


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_same(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
    """Assert that each new file is there and the same; a picture by another encoder, to the eye."""
    for name in new:
        if name.endswith(".jpg") and old[name] != new[name]:
            first, second = (
                np.asarray(Image.open(io.BytesIO(data[name])), dtype=float) for data in (old, new)
            )
            assert np.abs(first - second).mean() < 1.0, name
        else:
            assert old[name] == new[name], name

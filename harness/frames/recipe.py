"""The recipe of frames that are sent in a video's place: `frame:index=0,5,10`, not one of an image."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from harness.recipes import ORIGINAL

_FORM: Final = re.compile(r"frame:index=([0-9]{1,12}(?:,[0-9]{1,12})*)")


def frames_recipe(indices: Iterable[int]) -> str:
    """Return the recipe of these frames, in order; of one, that of an image of it."""
    return f"frame:index={','.join(map(str, indices))}"


@lru_cache(maxsize=1024)
def frames_of(recipe: str) -> tuple[int, ...] | None:
    """Return the frames that a recipe sends in a video's place; None where the file itself is sent.

    Raises ValueError for a recipe by which no video is sent.
    """
    found = _FORM.fullmatch(recipe)
    if found is not None:
        return tuple(map(int, found[1].split(",")))
    if recipe != ORIGINAL:
        raise ValueError(f"no video can be sent by the recipe {recipe!r}")
    return None

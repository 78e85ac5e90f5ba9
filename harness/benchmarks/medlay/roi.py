"""The image of a case as it is shown: with a green box around its region of interest."""

from __future__ import annotations

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.cases import ROLE, region_of
from harness.errors import MediaError
from harness.messages import ImagePart
from harness.recipes import roi_recipe


def image_part(case: Case) -> ImagePart:
    """Return the image of a case, or of a step's case, by the recipe that draws its box.

    One whose box is drawn already is sent as it is. Raises MediaError for a case without a usable image.
    """
    images = case.media.get(ROLE, ())
    if not images:
        raise MediaError(f"case {case.id!r} has no usable image: {case.problem or 'none was loaded'}")
    region = region_of(case)
    return ImagePart(images[0]) if region is None else ImagePart(images[0], roi_recipe(region))

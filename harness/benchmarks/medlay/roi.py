"""The image of a case as it is shown: with a green box around its region of interest."""

from __future__ import annotations

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.cases import ROI, ROLE, region_of
from harness.errors import MediaError
from harness.messages import ImagePart
from harness.recipes import roi_recipe


def image_part(case: Case) -> ImagePart:
    """Return the image of a case, or of a step's case, by the recipe that draws its box.

    One whose box is drawn already is sent as it is. Raises MediaError for a case without a usable image, and
    where its region cannot be read: without the box the image would be another question.
    """
    images = case.media.get(ROLE, ())
    if not images:
        raise MediaError(f"case {case.id!r} has no usable image: {case.problem or 'none was loaded'}")
    region = region_of(case)
    if region is None and case.fields[ROI]:
        raise MediaError(f"the region of case {case.id!r} is not four whole numbers: {case.fields[ROI]!r}")
    return ImagePart(images[0]) if region is None else ImagePart(images[0], roi_recipe(region))

"""What a request asks for beside its messages, checked against what the model takes."""

from __future__ import annotations

from collections.abc import Collection

from harness.errors import UnsupportedInputError
from harness.media import RECIPE_VERSIONS, mime_as_sent
from harness.messages import ImagePart, Request
from harness.settings import Model


def check_request(request: Request, model: Model, reserved: Collection[str]) -> None:
    """Raise UnsupportedInputError for what the model's settings rule out, so that nothing is dropped.

    `reserved` are body fields that no parameter may set: they would replace the question, or ask for
    answers that nobody reads.
    """
    for name in request.params:
        if name in model.unsupported_params:
            raise UnsupportedInputError(f"model {model.name!r} does not take {name!r}; leave it out")
        if name in reserved or name.startswith("$"):
            raise UnsupportedInputError(f"the parameter {name!r} is set by the program; leave it out")
    if request.structured != "off" and request.structured not in model.structured:
        known = ", ".join(model.structured) or "none"
        raise UnsupportedInputError(
            f"model {model.name!r} is not known to take structured output {request.structured!r} "
            f"(known: {known}); use --structured off"
        )
    if request.structured == "schema" and request.schema is None:
        raise UnsupportedInputError("structured output 'schema' needs a schema; use --structured off")
    _check_images(request, model)


def image_mime(part: ImagePart, model: Model) -> str:
    """Return the MIME type under which an image is sent. Raises UnsupportedInputError on a new recipe."""
    if part.recipe not in RECIPE_VERSIONS:
        known = ", ".join(RECIPE_VERSIONS)
        raise UnsupportedInputError(
            f"cannot send an image by the recipe {part.recipe!r} to {model.name!r}; known: {known}"
        )
    return mime_as_sent(part.media, part.recipe)


def _check_images(request: Request, model: Model) -> None:
    images = sum(isinstance(part, ImagePart) for message in request.messages for part in message.parts)
    if images and "image" not in model.inputs:
        raise UnsupportedInputError(f"model {model.name!r} takes no images; leave it out of this condition")
    if model.max_images is not None and images > model.max_images:
        raise UnsupportedInputError(
            f"model {model.name!r} takes {model.max_images} images, the request has {images}; leave it "
            "out of this condition, or correct its max_images"
        )

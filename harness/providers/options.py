"""What a request asks for beside its messages, checked against what the model takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from harness.errors import MediaError, UnsupportedInputError
from harness.messages import ImagePart, MediaPart, Request, Schema, media_parts
from harness.recipes import read_recipe
from harness.schema_names import aliased
from harness.settings import MediaLimits, Model, limits_of


def check_request(request: Request, model: Model, reserved: Collection[str]) -> None:
    """Raise UnsupportedInputError for what the model's settings rule out, so that nothing is dropped.

    `reserved` are body fields that no parameter may set: they would replace the question, or ask for
    answers that nobody reads.
    """
    for name in request.params:
        if name in model.not_taken:
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
    _check_media(request, model)


def schema_to_send(
    request: Request, model: Model, allowed: str | None = None
) -> tuple[Schema | None, Mapping[str, str]]:
    """Return the schema of a request in schema mode, and alias -> name of what it calls otherwise.

    `allowed` is the wire format's own rule for names of properties, a pattern; the provider's settings go
    before it. None: every name is taken. Raises UnsupportedInputError where there are no such names.
    """
    if request.structured != "schema" or request.schema is None:
        return None, {}
    stated = model.provider.schema_names
    body, names = aliased(request.schema.body, allowed if stated is None else stated)
    return replace(request.schema, body=body), names


def image_mime(part: ImagePart, model: Model) -> str:
    """Return the MIME type under which an image is sent. Raises UnsupportedInputError on a new recipe."""
    try:
        recipe = read_recipe(part.recipe)
    except MediaError as error:
        raise UnsupportedInputError(f"cannot send an image to {model.name!r}: {error}") from error
    return recipe.mime(part.media.mime)


def _check_media(request: Request, model: Model) -> None:
    parts = list(media_parts(request.messages))
    if not parts:
        return
    limits = limits_of(model)
    images = sum(isinstance(part, ImagePart) for part in parts)
    _check_count("image", images, limits, model)
    _check_count("video", len(parts) - images, limits, model)
    for part in parts:
        if part.media.kind != _kind_wanted(part):
            raise UnsupportedInputError(f"a {part.media.mime} stands in the place of another kind of medium")


def _kind_wanted(part: MediaPart) -> str:
    """Return what a medium has to be to stand in this part: an image may be a frame of a video."""
    is_image = isinstance(part, ImagePart) and not part.recipe.startswith("frame:")
    return "image" if is_image else "video"


def _check_count(kind: str, count: int, limits: MediaLimits, model: Model) -> None:
    if count and kind not in model.inputs:
        raise UnsupportedInputError(
            f"model {model.name!r} takes no {kind}s; leave it out of this condition", limit="inputs"
        )
    most = limits.max_images if kind == "image" else limits.max_videos
    if most is not None and count > most:
        raise UnsupportedInputError(
            f"model {model.name!r} takes {most} {kind}s, the request has {count}; leave it "
            f"out of this condition, or correct its max_{kind}s",
            limit=f"max_{kind}s",
        )

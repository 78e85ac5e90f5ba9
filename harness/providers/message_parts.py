"""What formats do alike with messages and their parts, where one has no place for what another has."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import UnsupportedInputError
from harness.messages import ImagePart, Message, Part, VideoPart
from harness.settings import Model


def system_apart(messages: Iterable[Message], model: Model) -> tuple[list[Part], list[Message]]:
    """Return the parts of the system messages and the turns after them, for formats that part the two.

    Raises UnsupportedInputError for a system message behind a turn: it would be moved before it.
    """
    system: list[Part] = []
    turns: list[Message] = []
    for message in messages:
        if message.role != "system":
            turns.append(message)
        elif turns:
            raise UnsupportedInputError(
                f"the format {model.provider.adapter!r} takes system text before all turns only"
            )
        else:
            system.extend(message.parts)
    return system, turns


def check_user_turn(part: Part, message: Message) -> None:
    """Raise UnsupportedInputError for a medium that stands in anybody's words but the user's."""
    if message.role != "user":
        raise misplaced(part, message)


def misplaced(part: Part, message: Message) -> UnsupportedInputError:
    """Return the error for a medium in anybody's words but the user's."""
    return UnsupportedInputError(
        f"{_called(part)} can only stand in a user message, and this one is of {message.role!r}"
    )


def no_place_for(part: Part, model: Model) -> UnsupportedInputError:
    """Return the error for a part that a format cannot carry."""
    return UnsupportedInputError(
        f"the format {model.provider.adapter!r} has no place for {_called(part)}; leave model "
        f"{model.name!r} out of this condition, or correct its inputs"
    )


def _called(part: Part) -> str:
    match part:
        case ImagePart():
            return "an image"
        case VideoPart():
            return "a video"
        case _:
            return "a text"

"""What may be said of an error that nobody foresaw: its kind and place, and never its text.

Its text, and the values in its traceback, may quote a case.
"""

from __future__ import annotations

import logging
import os
import traceback
from pathlib import Path
from typing import Final

import harness

_CODE: Final = Path(harness.__file__).parent


def kind_and_place(error: BaseException) -> str:
    """Return the type of an error that was raised, and where in this program, for whoever reports it."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next(
        (frame for frame in reversed(frames) if Path(frame.filename).is_relative_to(_CODE)), frames[-1]
    )
    return (
        f"{type(error).__name__} in {last.name} ({Path(last.filename).name}:{last.lineno}); please report it"
    )


def code_lines(error: BaseException, log: logging.Logger) -> str:
    """Return the lines of code that an error came through, for whoever debugs; else "".

    They are wanted with HARNESS_DEBUG, or where `log` takes debugging messages.
    """
    if not (os.environ.get("HARNESS_DEBUG") or log.isEnabledFor(logging.DEBUG)):
        return ""
    return "\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip()

"""Warnings of the engine on the terminal: each said once, and never through the middle of a bar."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from harness.cli.options import fitted, printable

MOST = 200
"""Different warnings that are shown; a storm of errors is counted in the progress instead."""


class _Once(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning that was not shown before."""
        text = record.getMessage()
        if text in self._said or len(self._said) >= MOST:
            return
        self._said.add(text)
        tqdm.write(fitted(printable(f"warning: {text}")), file=sys.stderr)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show what the program logs as warnings while a command runs."""
    handler = _Once()
    logger = logging.getLogger("harness")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)

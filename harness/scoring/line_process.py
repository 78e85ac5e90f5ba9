"""A program of others that answers each line with one line, and is never waited for longer than agreed."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from harness.errors import MetricUnavailableError

AHEAD: Final = 32
"""Lines that are sent before their answers are read.

The program always has the next one at hand, and we hold little. Neither side can lock the other: we read and
write whatever is possible first.
"""
MAX_ANSWER_BYTES: Final = 65_536
LAST_WORDS_BYTES: Final = 2_000
LAST_WORDS_SHOWN: Final = 200
LAST_BREATH_S: Final = 1.0
END_S: Final = 5.0


class LineProcess:
    """A running program; a context manager that always ends it, with all that it started.

    It stands in a process group of its own, so that Ctrl-C reaches only us, who then end it. `timeout_s`
    bounds each wait for an answer; the first one includes the time in which the program loads its data.
    `name` is what messages call it. Raises MetricUnavailableError where it cannot be started.
    """

    def __init__(self, command: Sequence[str], *, name: str, folder: Path, timeout_s: float) -> None:
        self._name = name
        self._timeout_s = timeout_s
        self._unread = b""
        self._over = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                process_group=0,
            )
        except OSError as error:
            self._errors.close()
            why = error.strerror or type(error).__name__
            raise MetricUnavailableError(f"{name} cannot be started: {why}") from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._into, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._into.fileno(), False)
        os.set_blocking(self._out.fileno(), False)

    def __enter__(self) -> LineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def ask(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the answer to each line, in their order, without its line end; the lines hold none either.

        Raises MetricUnavailableError, naming the line by its position from 1, where the program gives no
        answer in time, ends, or says more than it was asked. It is ended then, and where the caller stops
        early.
        """
        complete = False
        try:
            yield from self._exchange(lines)
            complete = True
        finally:
            if not complete:
                self.end()

    def end(self) -> None:
        """Kill the program and what it started, and wait until it is gone; a second call does nothing."""
        if self._over:
            return
        self._over = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._into.close()
        self._out.close()
        self._errors.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def _exchange(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        if self._over:
            raise MetricUnavailableError(f"{self._name} was ended before")
        unsent, sent, answered = b"", 0, 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            deadline = time.monotonic() + self._timeout_s
            while answered < len(lines):
                if not unsent and sent < min(len(lines), answered + AHEAD):
                    unsent, sent = lines[sent] + b"\n", sent + 1
                self._wait(selector, deadline, writing=bool(unsent), at=answered + 1)
                if unsent:
                    unsent = self._write(unsent)
                answers = self._read(at=answered + 1)
                if len(answers) > sent - answered - bool(unsent):
                    raise MetricUnavailableError(
                        f"{self._name} said more than it was asked: {_shown(answers[-1])}"
                    )
                for answer in answers:
                    yield answer
                    answered += 1
                    deadline = time.monotonic() + self._timeout_s

    def _wait(self, selector: selectors.BaseSelector, deadline: float, *, writing: bool, at: int) -> None:
        """Return when there is something to read, or room to write if anything is to be written."""
        if writing and self._into not in selector.get_map():
            selector.register(self._into, selectors.EVENT_WRITE)
        elif not writing and self._into in selector.get_map():
            selector.unregister(self._into)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            raise MetricUnavailableError(
                f"{self._name} gave no answer to line {at} within {self._timeout_s:g} s and was ended"
            )

    def _write(self, unsent: bytes) -> bytes:
        """Send what the pipe takes; return the rest. Whether a program is gone is for `_read` to say."""
        try:
            return unsent[os.write(self._into.fileno(), unsent) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            return b""

    def _read(self, *, at: int) -> list[bytes]:
        """Return the whole lines that can be read now."""
        try:
            chunk = os.read(self._out.fileno(), MAX_ANSWER_BYTES)
        except BlockingIOError:
            return []
        if not chunk:
            raise self._gone(at)
        *answers, self._unread = (self._unread + chunk).split(b"\n")
        if len(self._unread) > MAX_ANSWER_BYTES:
            raise MetricUnavailableError(
                f"{self._name} answers line {at} without an end: {_shown(self._unread)}"
            )
        return [answer.removesuffix(b"\r") for answer in answers]

    def _gone(self, at: int) -> MetricUnavailableError:
        """Say how the program ended, by its status and the last that it said."""
        try:
            status = str(self._process.wait(LAST_BREATH_S))
        except subprocess.TimeoutExpired:
            status = "unknown"
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - LAST_WORDS_BYTES))
        words = self._errors.read(LAST_WORDS_BYTES)
        said = f" and said {_shown(words)}" if words.strip() else ""
        return MetricUnavailableError(
            f"{self._name} ended (status {status}) before it answered line {at}{said}"
        )


def _shown(words: bytes) -> str:
    """Return the beginning of what a program said, in one line."""
    text = " ".join(words.decode("utf-8", "replace").split())
    return repr(text if len(text) <= LAST_WORDS_SHOWN else text[:LAST_WORDS_SHOWN] + "...")

"""Plays scenarios in several processes at once, since most of what they do is waiting."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("play.py")


@contextmanager
def played(names: Sequence[str], *, players: int, limit_s: float) -> Iterator[Players]:
    """Play scenarios of the table, or seeds, and give the results as they come; stop at the end."""
    found = Players(names, players, limit_s)
    try:
        yield found
    finally:
        found.stop()


class Players:
    """Processes that play scenarios, each its share, one after the other."""

    def __init__(self, names: Sequence[str], players: int, limit_s: float) -> None:
        self._limit_s = limit_s
        self._results: dict[str, dict[str, Any]] = {}
        self._news = threading.Condition()
        shares = [names[first::players] for first in range(players)]
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-W", "error", str(PROGRAM), *share],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for share in shares
            if share
        ]
        self._readers = [
            threading.Thread(target=self._read, args=(process,), daemon=True) for process in self._processes
        ]
        for reader in self._readers:
            reader.start()

    def result(self, name: str) -> dict[str, Any]:
        """Wait for a scenario's line: `name`, `seconds`, `failure`. Raises AssertionError if none comes."""
        with self._news:
            self._news.wait_for(lambda: name in self._results or not self._at_work(), self._limit_s)
        assert name in self._results, f"{name!r} was not played to its end: {self._last_words()}"
        return self._results[name]

    def stop(self) -> None:
        """End what is still at work."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for reader in self._readers:
            reader.join(20)
        for process in self._processes:
            process.kill()
            process.communicate()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            result = json.loads(line)
            with self._news:
                self._results[result["name"]] = result
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _at_work(self) -> bool:
        return any(reader.is_alive() for reader in self._readers)

    def _last_words(self) -> str:
        ended = [process for process in self._processes if process.poll() is not None and process.stderr]
        return "\n".join(process.stderr.read()[-2000:] for process in ended if process.stderr)

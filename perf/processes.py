"""The processes of a measurement: the loopback server, our command, the bare client."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.material import answer_body, write_cases, write_config

TIMEOUT_S = 3600.0
"""Longest that one process may take."""


class MeasurementError(Exception):
    """A command did not do what was to be measured."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """A running server at `url`."""

    url: str

    def reset(self, *, delay_s: float = 0.0, hold: int = 0) -> None:
        """Start anew: answers come after `delay_s`, the first `hold` only once so many wait."""
        self._get(f"/reset?delay_s={delay_s}&hold={hold}")

    def stats(self) -> dict[str, int]:
        """Return what it has seen since the reset."""
        found: dict[str, int] = json.loads(self._get("/stats"))
        return found

    def _get(self, target: str) -> bytes:
        with urllib.request.urlopen(self.url + target, timeout=60) as answer:
            data: bytes = answer.read()
        return data


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Run a server in a process of its own."""
    command = [sys.executable, "-m", "perf.loopback"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(answer_body())
        process.stdin.close()
        yield Loopback(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@dataclass(frozen=True, slots=True)
class Folder:
    """Cases, configuration and store of one measured run."""

    path: Path

    @property
    def store(self) -> Path:
        """Where its answers are kept."""
        return self.path / "store.sqlite3"

    @property
    def images(self) -> list[str]:
        """The image files of its cases."""
        return [str(path) for path in sorted((self.path / "data" / "images").iterdir())]

    def run_args(self, *more: str, models: str = "m", condition: str = "complaint") -> list[str]:
        """Return the arguments of `harness run` on these cases."""
        return [
            "run", "--benchmark", "triage", "--models", models, "--conditions", condition,
            "--data", str(self.path / "data"), "--reformatter", "none",
            "--config", str(self.path / "harness.toml"), "--store", str(self.store), *more,
        ]  # fmt: skip


@contextmanager
def folder(
    server: Loopback, count: int, *, image_bytes: int = 300, images: int = 1, models: Sequence[str] = ("m",)
) -> Iterator[Folder]:
    """Give a temporary folder with `count` cases that are asked at a server; it is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="harness-perf-") as name:
        path = Path(name)
        write_cases(path / "data", count, image_bytes=image_bytes, images=images)
        write_config(path, server.url, models)
        yield Folder(path)


def ours(args: Sequence[str], *, lag: bool = False, codes: Sequence[int] = (0,)) -> dict[str, Any]:
    """Run a `harness` command in a process of its own; return what `perf.ours` says of it.

    Raises MeasurementError where it ends with another code than those expected.
    """
    result = _child("perf.ours", {"args": list(args), "lag": lag})
    if result["code"] not in codes:
        raise MeasurementError(f"harness {args[0]} ended with {result['code']}: {result['err'].strip()}")
    return result


def bare_cpu_s(
    server: Loopback, count: int, in_flight: int, client: str, images: Sequence[str] = ()
) -> float:
    """Return the CPU seconds that a bare client needs for `count` exchanges."""
    wanted = {
        "url": f"{server.url}/v1/chat/completions", "count": count, "in_flight": in_flight,
        "client": client, "images": list(images),
    }  # fmt: skip
    return float(_child("perf.bare", wanted)["cpu_s"])


def _child(module: str, wanted: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", module]
    done = subprocess.run(
        command, input=json.dumps(wanted), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise MeasurementError(f"{module} failed: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result

"""A triage sweep against a scripted server: case files, configuration, answers, and the command itself."""

from __future__ import annotations

import io
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from scripted_replies import Arrival, Reply, chat_reply

from harness.benchmarks.triage.taxonomy import LABELS, answer_of

EXODONTIA, IMPLANT = "Exodontia", "Implants (Single tooth)"


def answer_text(labels: Sequence[str] = (EXODONTIA,), reasoning: str = "because") -> str:
    """Return a schema-valid triage answer."""
    value = json.loads(json.dumps(answer_of(labels)))
    value["reasoning"] = reasoning
    return json.dumps(value)


def labels_of(case_number: int) -> list[str]:
    """Return labels that depend on a case's number, so that a swapped answer is noticed."""
    chance = random.Random(case_number)
    return sorted(chance.sample(sorted(LABELS), 1 + case_number % 4))


def write_image(path: Path, shade: int) -> None:
    """Write a small grey PNG whose bytes depend on `shade`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (16, 8), color=shade % 256).save(path)
    if shade >= 256:
        Image.new("L", (16, 8 + shade // 256), color=shade % 256).save(path)


def write_cases(folder: Path, count: int, **changes: Any) -> Path:
    """Write `count` cases c000, c001 ...; the complaint holds the case's id and its own marker."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        write_image(folder / "images" / f"{number:03}.png", number)
        case = {
            "id": f"c{number:03}",
            "chief_complaint": f"CASE<{number:03}> my tooth hurts",
            "image": f"images/{number:03}.png",
            "labels": labels_of(number),
            "rationale": "made up",
        }
        lines.append(json.dumps(case | changes))
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def case_number(arrival: Arrival) -> int:
    """Return which case a request is about."""
    return int(arrival.text.split("CASE<", 1)[1][:3])


def right_answer(arrival: Arrival) -> Reply:
    """Answer each case with its own labels: a perfect model."""
    return chat_reply(answer_text(labels_of(case_number(arrival))), model=arrival.json["model"])


def write_config(folder: Path, url: str, models: Sequence[str] = ("m",), **settings: Any) -> Path:
    """Write a harness.toml with models at a loopback server, asked without waiting for retries."""
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"', ""]
    for name in models:
        lines += [
            f"[models.{name}]",
            'provider = "lab"',
            f'model = "{name}"',
            'structured = ["json", "schema"]',
        ]
        lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()] + [""]
    path = folder / "harness.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as JSON."""
        return json.loads(self.out)


def harness(*args: str | Path) -> Done:
    """Run a command in this process."""
    from harness.cli.main import cli

    out, err = _capture(), _capture()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main([str(one) for one in args])
            code = 0
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
    return Done(code, _captured(out), _captured(err))


def _capture() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)


def _captured(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def spawn(
    *args: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    code: str | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[str]:
    """Start a command as a process of its own; `before` runs in it first, `prefix` runs it.

    `code` is run instead of the program.
    """
    start = ["-m", "harness"] if code is None else ["-c", code]
    return subprocess.Popen(
        [*prefix, sys.executable, *start, *map(str, args)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def finish(process: subprocess.Popen[str], timeout: float = 150) -> Done:
    """Wait for a process and return what it came to."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the command hangs; it said:\n{err}") from None
    return Done(process.returncode, out, err)


def wait_until(true: Callable[[], bool], timeout: float = 30) -> None:
    """Wait for another process or thread to come to a state. Fails after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def wait_said(process: subprocess.Popen[str], words: str, timeout: float = 30) -> None:
    """Wait until a process has said some words on stderr. Fails after `timeout` seconds, or when it ends."""
    assert process.stderr is not None
    end, said = time.monotonic() + timeout, b""
    while words.encode() not in said:
        ready, _, _ = select.select([process.stderr], [], [], max(end - time.monotonic(), 0))
        piece = os.read(process.stderr.fileno(), 1 << 16) if ready else b""
        assert piece, f"it never said {words!r} but:\n{said.decode()}"
        said += piece


def run_args(
    folder: Path,
    *more: str | Path,
    models: str = "m",
    reformatter: str = "none",
    store: str | Path | None = None,
) -> list[str | Path]:
    """Return the arguments of a run on the cases of `folder`, with its store beside them, or elsewhere."""
    return [
        "run",
        "--benchmark",
        "triage",
        "--models",
        models,
        "--data",
        folder / "data",
        "--reformatter",
        reformatter,
        "--config",
        folder / "harness.toml",
        "--store",
        store or folder / "store.sqlite3",
        *more,
    ]


def records(
    folder: Path, run: str = "latest", *, raw: bool = False, store: str | Path | None = None
) -> list[dict[str, Any]]:
    """Return the exported records of a run, with `raw` headers and bodies too."""
    place = store or folder / "store.sqlite3"
    done = harness("export", run, "--store", place, *(["--raw"] if raw else []))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def outcomes(folder: Path, run: str = "latest", *, store: str | Path | None = None) -> dict[str, int]:
    """Return how many units of a run ended how."""
    counts: dict[str, int] = {}
    for record in records(folder, run, store=store):
        counts[record["outcome"]] = counts.get(record["outcome"], 0) + 1
    return counts

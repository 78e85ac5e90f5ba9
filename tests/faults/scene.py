"""One scenario at work: a server that misbehaves, processes that are disturbed, and all that was seen."""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from faults.misbehaviours import IDLE_S, MAX_SENDS, TOTAL_S, Misbehaviour
from scripted_replies import Arrival, Behaviour, Reply, delayed
from scripted_server import ScriptedServer
from sweep_kit import Done, case_number, finish, harness, right_answer, run_args, spawn

KEY = "sk-faults-3f9c2b7e5d1a4860"
INSIDE = Path(__file__).with_name("inside")
PATIENCE_S = 240.0
"""How long any process may take to end, on a machine with much else to do; nothing comes near."""


@dataclass(frozen=True)
class Treatment:
    """What the server does with the sends of one case: the first `times` are treated so, the others well."""

    misbehaviour: Misbehaviour
    times: int = 1


@dataclass
class Scene:
    """A folder, a server, the processes so far. Of one thread, apart from what the server notes."""

    folder: Path
    data: Path
    cases: int
    in_flight: int = 4
    models: tuple[str, ...] = ("m",)
    treatments: Mapping[int, Treatment] = field(default_factory=dict)
    chance: random.Random = field(default_factory=random.Random)
    slowest_s: float = 0.04
    options: tuple[str, ...] = ()
    treated: dict[int, Misbehaviour] = field(default_factory=dict)
    """Number of an arrival -> what was done to it, where it was not answered well."""
    elsewhere: ScriptedServer = field(default_factory=ScriptedServer)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    kind: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.server = ScriptedServer(self._script)

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.folder / "store.sqlite3"

    @property
    def arrivals(self) -> list[Arrival]:
        """All that has arrived so far."""
        return self.server.arrivals

    @property
    def all_arrived(self) -> bool:
        """Whether every case has arrived, from every model."""
        return len(set(map(self.case_of, self.arrivals))) == self.cases * len(self.models)

    def configure(self, base_url: str | None = None, model: Mapping[str, Any] | None = None) -> None:
        """Write harness.toml for the server, or for another address of the same endpoint."""
        account = {
            "adapter": "openai",
            "base_url": f"{base_url or self.server.url}/v1",
            "endpoint": "lab",
            "api_key_env": "LAB_API_KEY",
        }
        settings = {
            "provider": "lab",
            "connect_timeout_s": 5.0,
            "idle_timeout_s": IDLE_S,
            "total_timeout_s": TOTAL_S,
            "max_sends": MAX_SENDS,
            **(model or {}),
        }
        tables = {"providers.lab": account}
        tables |= {f"models.{name}": {**settings, "model": name} for name in self.models}
        lines = [
            line
            for table, values in tables.items()
            for line in (f"[{table}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()))
        ]
        (self.folder / "harness.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def start(
        self, *more: str, trap: Mapping[str, object] | None = None, prefix: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """Start a run as a process, with a trap of `inside/sitecustomize.py` in it."""
        path = os.pathsep.join(filter(None, (str(INSIDE), os.environ.get("PYTHONPATH"))))
        env = {"LAB_API_KEY": KEY, "PYTHONPATH": path, "FAULTS_TRAP": json.dumps(dict(trap or {}))}
        process = spawn(*self._words(*more), cwd=self.folder, env=env, prefix=prefix)
        # Nobody reads its scores while requests are awaited, and they are more than a pipe holds.
        if process.stdout is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.processes.append(process)
        return process

    def _words(self, *more: str) -> list[str | Path]:
        given = run_args(
            self.folder,
            "--max-in-flight",
            str(self.in_flight),
            "--json",
            *self.options,
            *more,
            models=",".join(self.models),
        )
        given[given.index(self.folder / "data")] = self.data
        return given

    def finish(self, process: subprocess.Popen[str]) -> Done:
        """Wait for a process to end, and keep what it said."""
        done = finish(process, PATIENCE_S)
        self.done.append(done)
        return done

    def command(self, *words: str) -> Done:
        """Run another command on the store."""
        process = spawn(*words, "--store", self.store, cwd=self.folder, env={"LAB_API_KEY": KEY})
        return self.finish(process)

    def run_here(self, *more: str) -> Done:
        """Run in this process, which is quicker; only in a main thread, for the sake of the signals."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAB_API_KEY", KEY)
            done = harness(*self._words(*more))
        self.done.append(done)
        return done

    def export(self) -> Done:
        """Export the records in this process, with everything that is in them."""
        return harness("export", "--store", self.store, "--raw")

    def wait_for(self, count: int, process: subprocess.Popen[str]) -> None:
        """Wait until so many requests have arrived, or the process has ended by itself."""
        end = time.monotonic() + PATIENCE_S
        while len(self.arrivals) < count and process.poll() is None:
            assert time.monotonic() < end, f"{len(self.arrivals)} of {count} requests arrived"
            time.sleep(0.002)

    def __enter__(self) -> Scene:
        self.elsewhere.start()
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.server.stop()
        self.elsewhere.stop()

    def case_of(self, arrival: Arrival) -> tuple[str, int]:
        """Return the model and the case of a request."""
        return arrival.json["model"], case_number(arrival)

    def _script(self, arrival: Arrival) -> Behaviour:
        right = right_answer(arrival)
        treatment = None if self.kind else self.treatments.get(case_number(arrival))
        with self._lock:
            wait_s = 0.0 if self.kind else self.chance.uniform(0.0, self.slowest_s)
        if treatment is None or arrival.nth > treatment.times:
            return delayed(right, wait_s)
        self.treated[arrival.number] = treatment.misbehaviour
        behaviour = treatment.misbehaviour.treat(right, self.elsewhere.url)
        if not isinstance(behaviour, Reply):
            return behaviour
        return with_key(replace(behaviour, delay_s=behaviour.delay_s + wait_s), arrival)


def with_key(reply: Reply, arrival: Arrival) -> Reply:
    """Put the key that an arrival carried where a reply says ECHO, as careless servers do."""
    if not any("ECHO" in value for value in reply.headers.values()):
        return reply
    key = arrival.headers["authorization"].removeprefix("Bearer ")
    headers = {name: value.replace("ECHO", key) for name, value in reply.headers.items()}
    return replace(reply, headers=headers, pieces=(reply.body.replace(b"ECHO", key.encode("ascii")),))


def leaked_in(folder: Path) -> list[str]:
    """Return the files of a folder that hold the key."""
    return [
        str(path.name)
        for path in sorted(folder.iterdir())
        if path.is_file() and os.access(path, os.R_OK) and KEY.encode("ascii") in path.read_bytes()
    ]

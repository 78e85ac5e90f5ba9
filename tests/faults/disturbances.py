"""Everything that can happen to our processes and their store, as a table.

Each is a function that works through the disturbed part of a scenario: it starts the processes, strikes when
`at` requests have arrived, waits until all have ended, checks how they ended, and mends what it broke. It
returns how many requests may have been lost by it (DESIGN 5: what was in flight at a hard stop).
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from faults.scene import PATIENCE_S, Scene
from sweep_kit import Done, wait_said

ENDED = {0, 3}
"""Exit codes of a run that came to its end: every unit answered, or some not."""

SETPRIV = shutil.which("setpriv")


@dataclass(frozen=True)
class Aftermath:
    """What a disturbance may have cost: requests that are not in the store, and answers paid for twice."""

    may_lose: int = 0
    may_pay_twice: int = 0


Disturb: TypeAlias = Callable[[Scene, int], Aftermath]


def nothing(scene: Scene, at: int) -> Aftermath:
    """The server's misbehaviour alone."""
    _check_ended(scene.finish(scene.start()))
    return Aftermath()


def _struck(scene: Scene, at: int, number: int) -> Done:
    process = scene.start()
    scene.wait_for(at, process)
    process.send_signal(number)
    return scene.finish(process)


def _heard(process: subprocess.Popen[str], words: str) -> bool:
    """Wait until a process has said some words; False where it ended without."""
    try:
        wait_said(process, words, PATIENCE_S)
    except AssertionError:
        assert process.wait(PATIENCE_S) in {*ENDED, 130}, "it neither obeyed nor ended"
        return False
    return True


def kill_9(scene: Scene, at: int) -> Aftermath:
    """Killed with requests in flight."""  # F23
    done = _struck(scene, at, signal.SIGKILL)
    return Aftermath(may_lose=0 if done.code in ENDED else scene.in_flight * len(scene.models))


def kill_9_three_times(scene: Scene, at: int) -> Aftermath:
    """Killed, started again, killed again."""
    killed = [_struck(scene, len(scene.arrivals) + max(at // 2, 1), signal.SIGKILL) for _ in range(3)]
    times = sum(done.code not in ENDED for done in killed)
    return Aftermath(may_lose=times * scene.in_flight * len(scene.models))


def ctrl_c(scene: Scene, at: int) -> Aftermath:
    """Asked to stop: what is in flight is finished and kept."""  # F47
    return _stopped_gently(scene, at, signal.SIGINT)


def sigterm(scene: Scene, at: int) -> Aftermath:
    """Asked to stop by a batch system."""
    return _stopped_gently(scene, at, signal.SIGTERM)


def _stopped_gently(scene: Scene, at: int, number: int) -> Aftermath:
    done = _struck(scene, at, number)
    if "interrupted: finishing" in done.err:
        assert done.code == 130 and "harness resume" in done.err and done.out == "", done.err
    elif scene.all_arrived:  # it came too late: while the scores were reckoned, or after them
        assert done.code in {130, -number, *ENDED}, done.err
    else:
        raise AssertionError(f"exit {done.code}, and the signal was not obeyed: {done.err}")
    return Aftermath()


def ctrl_c_twice(scene: Scene, at: int) -> Aftermath:
    """Told to stop at once: what is in flight is given up."""
    process = scene.start()
    scene.wait_for(at, process)
    process.send_signal(signal.SIGINT)
    heard = _heard(process, "interrupted: finishing")
    struck = time.monotonic()
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    done = scene.finish(process)
    assert done.code == 130 if heard else done.code in {130, *ENDED}, done.err
    assert time.monotonic() - struck < 20, "the second Ctrl-C did not stop it"
    return Aftermath(may_lose=scene.in_flight * len(scene.models))


def disk_full(scene: Scene, at: int) -> Aftermath:
    """The store's files cannot grow beyond a size that a few answers fill."""  # F23
    done = scene.finish(scene.start(trap={"fsize": 250_000 + 8_000 * at}))
    if done.code not in ENDED:
        _check_store_error(done, "run the same command again", "what was committed is kept")
    return Aftermath(may_lose=scene.in_flight * len(scene.models))


def read_only(scene: Scene, at: int) -> Aftermath:
    """A store that may only be read is met by a run that would have to write: nothing is sent."""
    _stopped_gently(scene, at, signal.SIGINT)
    before = len(scene.arrivals)
    scene.store.chmod(0o400)
    scene.folder.chmod(0o500)
    try:
        done = scene.finish(scene.start(prefix=unprivileged()))
    finally:
        scene.folder.chmod(0o700)
        scene.store.chmod(0o600)
    if done.code not in ENDED or len(scene.arrivals) > before:  # else nothing was left to ask
        _check_store_error(done, "make its file and folder writable")
        assert len(scene.arrivals) == before, "it sent what it could not have kept"
    return Aftermath()


def unprivileged() -> Sequence[str]:
    """Return the words before a command that let file modes count for root too."""
    if os.geteuid() != 0:
        return ()
    if SETPRIV is None:
        pytest.skip("root may write everything here, and there is no setpriv to give that up")
    return (SETPRIV, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--")


def moved_away(scene: Scene, at: int) -> Aftermath:
    """The store is moved to another folder under us, and put back later."""
    away = scene.folder / "away"
    away.mkdir()

    def strike() -> None:
        for file in scene.folder.glob("store.sqlite3*"):
            file.rename(away / file.name)

    done, was_over = _with_store_struck(scene, at, strike)
    for file in away.iterdir():
        (scene.folder / file.name).unlink(missing_ok=True)
        file.rename(scene.folder / file.name)
    if not (was_over and done.code in ENDED):
        _check_store_error(done, "deleted, moved or replaced", "put it back")
    return Aftermath(may_lose=scene.in_flight * len(scene.models))


def deleted(scene: Scene, at: int) -> Aftermath:
    """The store is deleted under us: what it held is gone, and the run says so and stops spending."""

    def strike() -> None:
        for file in scene.folder.glob("store.sqlite3*"):
            file.unlink()

    done, was_over = _with_store_struck(scene, at, strike)
    if was_over and done.code in ENDED:
        return Aftermath(may_lose=len(scene.arrivals))
    _check_store_error(done, "deleted, moved or replaced")
    spent = len(scene.arrivals) - at
    # Until the next commit, and the group that gathers meanwhile, nobody can know.
    assert spent <= 4 * scene.in_flight * len(scene.models), f"{spent} more were sent"
    for left in scene.folder.glob("store.sqlite3*"):
        left.unlink()
    return Aftermath(may_lose=len(scene.arrivals))


def corrupted(scene: Scene, at: int) -> Aftermath:
    """Pages of the store are overwritten under us; a backup is put back."""
    _stopped_gently(scene, at, signal.SIGINT)
    kept = len(scene.arrivals)
    shutil.copy(scene.store, scene.folder / "backup")

    def strike() -> None:
        overwrite_pages(scene.store, scene.chance.random)

    process = scene.start()
    scene.wait_for(kept + max(at // 2, 1), process)
    strike()
    done = scene.finish(process)
    if done.code not in {*ENDED}:
        _check_store_error(done, "is damaged")
    verified = scene.command("store", "verify")
    assert verified.code == 1, "the damage went unnoticed"
    assert (verified.out + verified.err).strip()
    for file in scene.folder.glob("store.sqlite3*"):
        file.unlink()
    (scene.folder / "backup").rename(scene.store)
    return Aftermath(may_lose=len(scene.arrivals) - kept)


def overwrite_pages(path: Path, chance: Callable[[], float], share: float = 0.5) -> None:
    """Overwrite a share of a database's pages, the first apart, as a dying disk would."""
    with path.open("r+b") as file:
        pages = path.stat().st_size // 4096
        for page in range(1, pages):
            if chance() < share or page == pages // 2:
                file.seek(page * 4096)
                file.write(b"\xde\xad\xbe\xef" * 1024)


def _with_store_struck(scene: Scene, at: int, strike: Callable[[], None]) -> tuple[Done, bool]:
    """Return how the run ended, and whether all its requests had arrived when the store was struck."""
    process = scene.start()
    scene.wait_for(at, process)
    strike()
    was_over = scene.all_arrived
    return scene.finish(process), was_over


def _check_ended(done: Done) -> None:
    assert done.code in ENDED, f"exit {done.code}: {done.err}"


def _check_store_error(done: Done, *words: str) -> None:
    assert done.code == 1, f"exit {done.code}: {done.err}"
    (error,) = [line for line in done.err.splitlines() if line.startswith("error:")]
    assert "store.sqlite3" in error and all(word in error for word in words), error


def clock_forward(scene: Scene, at: int) -> Aftermath:
    """The time of day jumps five hours ahead."""
    return _clock(scene, at, 18_000)


def clock_back(scene: Scene, at: int) -> Aftermath:
    """The time of day jumps five hours back."""
    return _clock(scene, at, -18_000)


def _clock(scene: Scene, at: int, off_s: int) -> Aftermath:
    clock = scene.folder / "clock"
    process = scene.start(trap={"clock": str(clock)})
    scene.wait_for(at, process)
    clock.write_text(str(off_s), encoding="ascii")
    _check_ended(scene.finish(process))
    return Aftermath()


def two_processes(scene: Scene, at: int) -> Aftermath:
    """Two runs on one store."""  # F44
    return _together(scene, 2)


def four_processes(scene: Scene, at: int) -> Aftermath:
    """Four runs on one store."""
    return _together(scene, 4)


def _together(scene: Scene, count: int) -> Aftermath:
    for process in [scene.start() for _ in range(count)]:
        _check_ended(scene.finish(process))
    return Aftermath()


def one_of_two_killed(scene: Scene, at: int) -> Aftermath:
    """Of two runs on one store, one is killed: the other takes its requests over."""
    victim, other = scene.start(), scene.start()
    scene.wait_for(at, victim)
    victim.kill()
    killed = scene.finish(victim)
    _check_ended(scene.finish(other))
    return Aftermath(may_lose=0 if killed.code in ENDED else scene.in_flight * len(scene.models))


def suspended(scene: Scene, at: int) -> Aftermath:
    """Suspended for longer than a lease, while another run takes its requests over; then it goes on."""
    clock = scene.folder / "clock"
    sleeper = scene.start(trap={"clock": str(clock)})
    scene.wait_for(at, sleeper)
    sleeper.send_signal(signal.SIGSTOP)
    clock.write_text("7200", encoding="ascii")
    try:
        other = scene.finish(scene.start(trap={"clock": str(clock), "busy_s": 0.5}))
    finally:
        sleeper.send_signal(signal.SIGCONT)
    if other.code not in ENDED:  # it was suspended in the middle of a commit
        _check_store_error(other, "held by another process", "stop that process")
        assert "waiting" in other.err
    _check_ended(scene.finish(sleeper))
    return Aftermath(may_pay_twice=scene.in_flight * len(scene.models))


def lock_held(scene: Scene, at: int) -> Aftermath:
    """Another program holds the store's write lock and does not let go."""  # F44
    process = scene.start(trap={"busy_s": 0.2})
    scene.wait_for(at, process)
    began = time.monotonic()
    with sqlite3.connect(scene.store, isolation_level=None, timeout=20) as other:
        other.execute("BEGIN IMMEDIATE")
        done = scene.finish(process)
        other.execute("ROLLBACK")
    other.close()
    if done.code not in ENDED:
        _check_store_error(done, "held by another process", "stop that process")
        assert "the store is held by another process; waiting" in done.err
    assert time.monotonic() - began < 30
    return Aftermath(may_lose=scene.in_flight * len(scene.models))


def server_restarts(scene: Scene, at: int) -> Aftermath:
    """The server goes away with requests in flight, refuses connections for a while, and comes back."""
    process = scene.start()
    scene.wait_for(at, process)
    scene.server.refuse()
    time.sleep(0.3)  # the outage itself
    scene.server.accept()
    _check_ended(scene.finish(process))
    return Aftermath()


DISTURBANCES: tuple[Disturb, ...] = (
    nothing,
    kill_9,
    kill_9_three_times,
    ctrl_c,
    ctrl_c_twice,
    sigterm,
    disk_full,
    read_only,
    moved_away,
    deleted,
    corrupted,
    clock_forward,
    clock_back,
    two_processes,
    four_processes,
    one_of_two_killed,
    suspended,
    lock_held,
    server_restarts,
)

BY_NAME = {disturb.__name__: disturb for disturb in DISTURBANCES}

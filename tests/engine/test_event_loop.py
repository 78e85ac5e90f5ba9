"""A session's loop ends by itself: no thread is started for that, and none is waited for without end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from harness import event_loop
from harness.event_loop import THREADS, run_session


def test_nothing_is_started_to_end_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_begins(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread.name} would be waited for, for ever, on a machine without memory")

    async def work() -> str:
        name = await asyncio.to_thread(lambda: threading.current_thread().name)
        monkeypatch.setattr(threading.Thread, "start", never_begins)
        return name

    assert run_session(work()).startswith(THREADS)
    assert not [one for one in threading.enumerate() if one.name.startswith(THREADS)]


def test_work_in_threads_is_waited_for_at_the_end_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, done = threading.Event(), threading.Event()

    async def begin(work: threading.Event, then: threading.Event) -> None:
        loop, started = asyncio.get_running_loop(), asyncio.Event()

        def wait() -> None:
            loop.call_soon_threadsafe(started.set)
            work.wait(60)
            then.set()

        pending = loop.run_in_executor(None, wait)
        await started.wait()
        pending.cancel()

    timer = threading.Timer(0.05, go_on.set)
    timer.start()
    run_session(begin(go_on, done))
    assert done.is_set(), "it was not waited for"
    timer.join()
    stuck, freed = threading.Event(), threading.Event()
    monkeypatch.setattr(event_loop, "LAST_WORK_S", 0.05)
    began = time.monotonic()
    run_session(begin(stuck, freed))
    assert time.monotonic() - began < 30 and not freed.is_set()
    stuck.set()
    assert freed.wait(60)


def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run_session(work())

"""Whether a session is at work, ended, or was killed: by its end, its process, and when it last told."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from harness.cache.live_sessions import LiveSession
from harness.cache.rows import Session
from harness.live_state import LiveState

SILENT_AFTER_S: Final = 30.0
"""A session tells of itself every 2 s; another process may keep the store from it for 20 s and more."""


class Standing(StrEnum):
    """How a session stands; all but the last two may go on."""

    AT_WORK = "at work"
    STOPPING = "stopping"
    """It was interrupted, and finishes what is in flight."""
    PAUSED = "paused"
    """Its process was stopped (Ctrl-Z), and can go on."""
    SILENT = "silent"
    """It has told nothing for long, and nobody can say from here why."""
    ENDED = "ended"
    KILLED = "killed"
    """Its process is gone, without an end."""

    @property
    def over(self) -> bool:
        """True where the session does nothing any more."""
        return self in {Standing.ENDED, Standing.KILLED}


def any_open(sessions: Iterable[Session]) -> bool:
    """Tell whether any of these sessions has not ended: it is at work, or was killed."""
    return any(session.ended_at_us is None for session in sessions)


def standing(session: Session, told: LiveState | None, told_s_ago: float) -> Standing:
    """Return how a session stands that told of itself, or began, so many seconds ago.

    Killed only where it is certain: its process was on this machine, and is gone.
    """
    if session.ended_at_us is not None:
        return Standing.ENDED
    owner = None if told is None else told.owned_by()
    if owner is not None and owner.is_dead():
        return Standing.KILLED
    if owner is not None and owner.is_paused():
        return Standing.PAUSED
    if told_s_ago > SILENT_AFTER_S:
        return Standing.SILENT
    return Standing.STOPPING if told is not None and told.stopping else Standing.AT_WORK


def told_s_ago(session: Session, live: LiveSession | None, now_us: int) -> float:
    """Return how long ago a session told of itself, by the clocks of two processes; never negative."""
    at_us = session.started_at_us if live is None else live.at_us
    return max(now_us - at_us, 0) / 1_000_000

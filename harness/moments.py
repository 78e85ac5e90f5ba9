"""Moments as the store keeps them, integer microseconds since 1970 UTC, and as people read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_us() -> int:
    """Return the time as integer microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def shown_moment(microseconds: int) -> str:
    """Return a moment as date and time of day, UTC: 2026-01-31 12:00:00 UTC."""
    return f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"

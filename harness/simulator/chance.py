"""Chance that repeats: numbers drawn from what they are for, never from a clock or an order of arrival."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def draw(*purpose: object) -> float:
    """Return a number in [0, 1) that depends on `purpose` alone."""
    text = "\x1f".join(str(part) for part in purpose)
    data = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(data, "big") / (1 << 56)


def pick(options: Sequence[T], *purpose: object) -> T:
    """Return one of the options, all equally likely."""
    return options[int(draw(*purpose) * len(options))]


def whole(low: int, high: int, *purpose: object) -> int:
    """Return a whole number from `low` to `high`, both included."""
    return low + int(draw(*purpose) * (high - low + 1))

"""How wrong token estimates are, learned from the answers, so that pacing need not wait for them.

A request's tokens are known only when it is answered. Until then its estimate stands in the window; with an
answer every half minute, half a window is estimates. So what is reserved is the estimate times what the
last answers were of theirs, and room is left for how much that varies.
"""

from __future__ import annotations

import math

MEMORY = 0.98
"""What each answer leaves of the weight of those before it: about the last 50 count."""
TRUSTED = 5.0
"""Answers (by weight) after which estimates are believed to be too high; too low is believed at once."""
MOST = 100.0
"""Bound on a factor and on its inverse."""


class Factor:
    """True tokens per estimated token, of one kind of tokens of one pool."""

    __slots__ = ("_count", "_estimated", "_squares", "_true", "spread", "value")

    def __init__(self) -> None:
        self._count = self._estimated = self._true = self._squares = 0.0
        self.value = 1.0
        self.spread = 0.0
        """Standard deviation of the true tokens, as a share of what is reserved."""

    def learn(self, estimated: int, true: int | None) -> None:
        """Take note of one answer; unknown counts and empty estimates teach nothing."""
        if true is None or estimated <= 0:
            return
        ratio = true / estimated
        self._count = self._count * MEMORY + 1.0
        self._estimated = self._estimated * MEMORY + estimated
        self._true = self._true * MEMORY + true
        self._squares = self._squares * MEMORY + ratio * ratio
        value = min(max(self._true / self._estimated, 1.0 / MOST), MOST)
        if value < 1.0 and self._count < TRUSTED:
            return
        self.value = value
        mean_square = self._squares / self._count - 2.0 * value * self._true / self._estimated + value * value
        self.spread = min(math.sqrt(max(mean_square, 0.0)) / value, 1.0)


class Estimates:
    """The factors of a pool."""

    __slots__ = ("input", "output")

    def __init__(self) -> None:
        self.input = Factor()
        self.output = Factor()

    def amount(self, kind: str, input_tokens: int, output_tokens: int) -> tuple[float, float]:
        """Return what to reserve of a limit, and by how much it is usually wrong; both in its unit."""
        if kind == "requests":
            return 1.0, 0.0
        read = input_tokens * self.input.value if kind != "output_tokens" else 0.0
        written = output_tokens * self.output.value if kind != "input_tokens" else 0.0
        return read + written, math.hypot(read * self.input.spread, written * self.output.spread)

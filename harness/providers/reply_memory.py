"""How much memory the answers that are being read may take together: what is beyond it is refused in time.

Left to itself, memory runs out wherever somebody next asks for some: in the store, in another request, in a
thread that then never starts. So long answers give up first, and each unit but theirs goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from harness import address_space

MOST_BYTES: Final = 512 * 1024 * 1024
"""Held at once by all answers under way, beyond `FREE_BYTES` of each: no sweep of real models comes near."""

FREE_BYTES: Final = 1024 * 1024
"""What every answer may take: no long one keeps another's usual answer from being read."""


@dataclass(slots=True)
class ReplyMemory:
    """What the long answers of one transport hold together, `most` bytes at once."""

    most: int
    held: int = 0

    def take(self, before: int, size: int) -> bool:
        """Take `size` bytes more for an answer that has `before` already; False where there is no room."""
        more = _counted(before + size) - _counted(before)
        if self.held + more > self.most:
            return False
        self.held += more
        return True

    def give_back(self, size: int) -> None:
        """Give back all that an answer of `size` bytes took."""
        self.held -= _counted(size)


def _counted(size: int) -> int:
    return max(size - FREE_BYTES, 0)


def reply_memory() -> ReplyMemory:
    """Return the room for answers on this machine: half of what is left below `ulimit -v`, where that is set.

    The other half is for putting their pieces together, reading and compressing them.
    """
    left = address_space.left()
    return ReplyMemory(MOST_BYTES if left is None else min(MOST_BYTES, left // 2))

"""`--shard I/N`: which cases of a run one session works on, so that several machines share the work."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from harness.errors import ConfigError

MOST_SHARDS: Final = 10_000

_FORM = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """The `index`-th (from 1) of `count` shares."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, case_id: str) -> bool:
        """Tell whether a case belongs to this share.

        The first 8 bytes of the SHA-256 of the id (UTF-8), as a big-endian number, modulo `count`: what
        other cases there are does not matter, so an inserted case moves no other.
        """
        digest = hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def read_shard(text: str) -> Shard:
    """Return what `--shard I/N` names. Raises ConfigError."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"--shard {text!r} is no share; write I/N, as in --shard 1/4 for the first of four")
    index, count = int(found[1]), int(found[2])
    if not 1 <= count <= MOST_SHARDS:
        raise ConfigError(f"--shard {text!r}: there can be 1 to {MOST_SHARDS} shares")
    if not 1 <= index <= count:
        raise ConfigError(f"--shard {text!r}: the shares of {count} are 1/{count} to {count}/{count}")
    return Shard(index, count)

"""Which code made a number: digests of our own source files."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_READS_ANSWERS = (
    "attempts.py",
    "extraction.py",
    "providers",
    "readings.py",
    "refusals.py",
    "replay.py",
    "strict_json.py",
    "thinking.py",
    "validation.py",
)
_SCORES = ("score.py", "score_json.py", "score_ranking.py", "score_rows.py", "scoring")


@lru_cache
def parser_digest(benchmark: str) -> str:
    """Return the digest of the code that reads answers, the benchmark's own included."""
    return code_digest((*_READS_ANSWERS, f"benchmarks/{benchmark}"))


@lru_cache
def scorer_digest(benchmark: str) -> str:
    """Return the digest of the code that scores what was read."""
    return code_digest((*_SCORES, f"benchmarks/{benchmark}"))


def code_digest(names: tuple[str, ...]) -> str:
    """Return the SHA-256 over files of this package; a folder stands for its own Python files.

    Names that do not exist count as absent. Comments count too: equal digests mean equal code, different
    ones do not say that any number differs.
    """
    found = hashlib.sha256()
    for name in sorted(names):
        place = files("harness").joinpath(*name.split("/"))
        for path, file in _python_files(name, place):
            found.update(f"{path}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def _python_files(name: str, place: Traversable) -> list[tuple[str, Traversable]]:
    if place.is_file():
        return [(name, place)]
    if not place.is_dir():
        return []
    inside = sorted((one for one in place.iterdir() if one.name.endswith(".py")), key=lambda one: one.name)
    return [(f"{name}/{one.name}", one) for one in inside]

"""Coverage-guided fuzzing of one target with atheris (`pip install '.[fuzz]'`, or `make fuzz`).

    python tests/fuzz/run_atheris.py extraction --seconds 60 [--keep]

Starts from the target's corpus. A finding ends the run with exit code 1, its traceback, and its bytes;
`--keep` adds the inputs that reached new code to the corpus, smallest first and few.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeAlias

Step: TypeAlias = tuple[str, int, int]
"""File, line before, line: a step of the program's way."""

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

MOST_BYTES = 2_048
INSIDE = "inside"
"""First argument of the process in which libFuzzer runs: it ends its process by itself."""
SLOWEST_S = 10
"""What one input may take at most; libFuzzer ends with a finding beyond."""


def main() -> int:
    """Fuzz, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="add what is new to the corpus")
    wanted = parser.parse_args()
    return _supervise(wanted.target, wanted.seconds, wanted.seed, keep=wanted.keep)


def fuzz(target: str, arguments: list[str]) -> None:
    """Run libFuzzer, which never returns."""
    import atheris

    with atheris.instrument_imports(include=["harness"]):
        import fuzz_targets
        from fuzz_mutations import mutated

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        changed = mutated(data, chance) if chance.random() < 0.5 else None
        return changed if changed is not None and len(changed) <= most else atheris.Mutate(data, most)

    atheris.Setup([sys.argv[0], *arguments], fuzz_targets.TARGETS[target], custom_mutator=mutate)
    atheris.Fuzz()


def _supervise(target: str, seconds: int, seed: int, *, keep: bool) -> int:
    from fuzz_corpus import read_corpus, write_corpus

    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        found, seeds = (Path(scratch) / name for name in ("found", "seeds"))
        found.mkdir()
        seeds.mkdir()
        kept = read_corpus(target)
        for data in kept:
            (seeds / hashlib.sha256(data).hexdigest()).write_bytes(data)
        common = [f"-max_len={MOST_BYTES}", f"-timeout={SLOWEST_S}", "-rss_limit_mb=4096"]
        code = _inside(
            target, scratch, f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1", *common,
            str(found), str(seeds),
        )  # fmt: skip
        findings = [path for kind in ("crash", "timeout", "oom") for path in Path(scratch).glob(f"{kind}-*")]
        for path in findings:
            _tell(f"finding: {path.name}: {path.read_bytes()!r}")
        if keep and not findings:
            new = sorted((path.read_bytes() for path in found.iterdir()), key=lambda data: (len(data), data))
            write_corpus(target, [*kept, *reaching_new_code(target, kept, new)])
            _tell(f"{target}: {len(kept)} inputs kept before, {len(read_corpus(target))} now")
        return 1 if code or findings else 0


def reaching_new_code(target: str, kept: list[bytes], new: list[bytes]) -> list[bytes]:
    """Return those of `new` that take a step from line to line that nothing before them takes."""
    from fuzz_targets import TARGETS

    seen: set[Step] = set()
    chosen = []
    for number, data in enumerate([*kept, *new]):
        steps = _steps(lambda data=data: TARGETS[target](data))
        if number >= len(kept) and not steps <= seen:
            chosen.append(data)
        seen |= steps
    return chosen


def _steps(call: Callable[[], None]) -> set[Step]:
    steps: set[Step] = set()

    def enter(frame: FrameType, event: str, _argument: object) -> object:
        name = frame.f_code.co_filename
        if f"{os.sep}harness{os.sep}" not in name:
            return None
        last = 0

        def line(frame: FrameType, event: str, _argument: object) -> object:
            nonlocal last
            steps.add((name, last, frame.f_lineno))
            last = frame.f_lineno
            return line

        return line

    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(None)
    return steps


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _inside(target: str, scratch: str, *arguments: str) -> int:
    command = [sys.executable, str(Path(__file__).resolve()), INSIDE, target, *arguments]
    return subprocess.run(command, cwd=scratch, check=False).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main())

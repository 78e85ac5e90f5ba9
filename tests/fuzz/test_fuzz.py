"""Whatever bytes come in, nothing crashes, hangs, or is accepted against its schema.

The corpora hold what hand and fuzzers found worth keeping; hypothesis starts from them. For more, see
`run_atheris.py` beside this file.
"""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_corpus import FOLDER, read_corpus
from fuzz_mutations import mutated
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

EVERY_TARGET = pytest.mark.parametrize("target", sorted(TARGETS))
RUNNER = Path(__file__).parent / "run_atheris.py"
EXAMPLES = 150
MANY_EXAMPLES = 3_000


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(TARGETS)


@EVERY_TARGET
def test_every_kept_input_is_read(target: str) -> None:
    corpus = read_corpus(target)

    assert len(corpus) == len(set(corpus)) > 0
    for data in corpus:
        TARGETS[target](data)


@EVERY_TARGET
def test_changed_inputs_are_read(target: str) -> None:
    _fuzz(target, EXAMPLES)


@pytest.mark.slow
@EVERY_TARGET
def test_many_changed_inputs_are_read(target: str) -> None:
    _fuzz(target, MANY_EXAMPLES)


def _fuzz(target: str, examples: int) -> None:
    corpus = read_corpus(target)
    changed = st.builds(
        lambda seed, rounds: _changed(corpus[seed % len(corpus)], rounds, random.Random(seed)),
        st.integers(0, 10**9),
        st.integers(1, 4),
    )

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.one_of(changed, changed, st.binary(max_size=300)))
    @example(b"")
    def read(data: bytes) -> None:
        TARGETS[target](data)

    read()


def _changed(data: bytes, rounds: int, chance: random.Random) -> bytes:
    for _ in range(rounds):
        data = (mutated(data, chance) if chance.random() < 0.7 else None) or _bytes_changed(data, chance)
    return data[:4_096]


def _bytes_changed(data: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(data))
    end = min(len(data), start + chance.choice((0, 1, 1, 2, 8, 50)))
    new = (b"", data[start:end] * 2, chance.randbytes(1), b"\x00", b"\xff\xfe", b'"', b"\\", b"{")
    middle = chance.choice(new)
    return data[:start] + middle + data[end:]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@EVERY_TARGET
def test_guided_by_coverage_nothing_is_found(target: str) -> None:
    done = subprocess.run(
        [sys.executable, str(RUNNER), target, "--seconds", "10"], capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "DONE" in done.stderr

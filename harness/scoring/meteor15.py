"""METEOR 1.5 as pycocoevalcap 1.2 runs it, from counts of each pair that can be summed.

The score of a corpus is no mean over its pairs: METEOR sums what it counted, and scores the sums. All but one
of its counts add up plainly. Chunks do not: a pair in which every word is matched, in one chunk, has no
fragmentation and adds no chunk to a corpus. With 0 chunks stored for such a pair, the score of one pair, of a
corpus and of any resample is one and the same function of sums, and gives what METEOR's program gives.

That function (Denkowski and Lavie 2014, "Meteor Universal", section 2), with the program's parameters for
English (alpha .85, beta .2, gamma .6, delta .75; exact, stem, synonym and paraphrase matches weigh 1, .6, .8
and .6): P = weighted matches / weighted length of the candidate, R likewise of the reference, where a content
word weighs delta and a function word 1 - delta; Fmean = 1 / ((1 - alpha) / P + alpha / R);
score = Fmean (1 - gamma (chunks / matches)^beta), where matches is the mean of both texts' matched words.

This is the reading that fits PanDent's tables; the formula that its text prints is in `meteor2005`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.errors import MetricUnavailableError
from harness.scoring.line_process import LineProcess
from harness.scoring.meteor_jar import TIMEOUT_S, score_line, start_meteor

Tokens: TypeAlias = Sequence[str]
Pair: TypeAlias = tuple[Tokens, Tokens]
"""Candidate, reference."""
Sums: TypeAlias = NDArray[np.int64]

FIELDS: Final = (
    "candidate_matched",
    "reference_matched",
    "candidate_length",
    "reference_length",
    "chunks",
    "matches",
)
"""What is kept of a pair, in this order; all are whole numbers, so that sums are exact in any order.

The first four are weighted, in twentieths; `matches` counts the matched words of both texts, so twice their
mean.
"""
ALPHA, BETA, GAMMA = 0.85, 0.2, 0.6
_CONTENT: Final = 15
_FUNCTION: Final = 5
"""delta .75 and 1 - delta, in twentieths."""
_CONTENT_MATCH: Final = np.array([15, 9, 12, 9])
_FUNCTION_MATCH: Final = np.array([5, 3, 4, 3])
"""The same times the weight of each stage, in twentieths."""
_COUNTS: Final = 23


class Meteor15:
    """METEOR's program, kept for many rows of pairs; a context manager that ends it.

    It is started by the first pair. Equal pairs are asked once. `start` is how to start it.
    """

    def __init__(
        self, *, start: Callable[[], LineProcess] | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._start = start or (lambda: start_meteor(timeout_s=timeout_s))
        self._process: LineProcess | None = None
        self._known: dict[bytes, tuple[int, ...]] = {}
        self._failure: str | None = None

    def __enter__(self) -> Meteor15:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end()

    def statistics(self, pairs: Sequence[Pair], *, on_pair: Callable[[], object] | None = None) -> Sums:
        """Return what is kept of each pair: (pairs, fields), in the order of `FIELDS`.

        Texts are lists of PTB tokens; empty ones are fine. `on_pair` is called for each pair that the program
        has answered. Raises MetricUnavailableError where the program is missing, silent or broken; once it
        was, at once for all later pairs.
        """
        lines = [score_line(*pair) for pair in pairs]
        digests = [hashlib.sha256(line).digest() for line in lines]
        if self._failure is not None:
            raise MetricUnavailableError(self._failure)
        wanted = {key: line for key, line in zip(digests, lines, strict=True) if key not in self._known}
        try:
            self._ask(wanted, on_pair)
        except MetricUnavailableError as error:
            self._failure = str(error)
            raise
        found = [self._known[digest] for digest in digests]
        return np.array(found, dtype=np.int64).reshape(len(found), len(FIELDS))

    def _ask(self, wanted: dict[bytes, bytes], on_pair: Callable[[], object] | None) -> None:
        if not wanted:
            return
        if self._process is None:
            self._process = self._start()
        answers = self._process.ask(list(wanted.values()))
        for digest, answer in zip(wanted, answers, strict=True):
            self._known[digest] = read_statistics(answer)
            if on_pair is not None:
                on_pair()


def read_statistics(answer: bytes) -> tuple[int, ...]:
    """Return what is kept of one pair, from the program's line of 23 counts.

    These are, candidate and reference alternating: words; function words; for each stage matched content
    words and matched function words; then chunks; then matched words. Raises MetricUnavailableError for any
    other line.
    """
    counts = _counts(answer)
    lengths, functions = counts[0:2], counts[2:4]
    content, function = counts[4:20].reshape(4, 2, 2).transpose(1, 2, 0)
    matched = content.sum(axis=1) + function.sum(axis=1)
    if not ((counts >= 0).all() and (matched == counts[21:23]).all() and (matched <= lengths).all()):
        raise _no_counts(answer)
    whole = bool((matched == lengths).all()) and counts[20] == 1
    kept = (
        *(content @ _CONTENT_MATCH + function @ _FUNCTION_MATCH),
        *((lengths - functions) * _CONTENT + functions * _FUNCTION),
        0 if whole else counts[20],
        matched.sum(),
    )
    return tuple(int(number) for number in kept)


def meteor15_from_sums(sums: NDArray[np.integer] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of sums over pairs: (..., fields) in the order of `FIELDS` -> (...), each in 0..1.

    The sum over one pair is that pair. Where nothing matched, as in sums over nothing, the score is 0.
    """
    numbers = np.asarray(sums, dtype=np.float64)
    candidate_matched, reference_matched, candidate_length, reference_length, chunks, matches = (
        numbers[..., at] for at in range(len(FIELDS))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = candidate_matched / candidate_length
        recall = reference_matched / reference_length
        mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
        score = mean * (1.0 - GAMMA * (chunks / (matches / 2.0)) ** BETA)
    return np.where(np.isnan(score), 0.0, np.maximum(score, 0.0))


def _counts(answer: bytes) -> NDArray[np.int64]:
    try:
        numbers = np.array([float(word) for word in answer.split()])
    except ValueError:
        raise _no_counts(answer) from None
    if numbers.shape != (_COUNTS,) or not (np.isfinite(numbers).all() and (numbers % 1 == 0).all()):
        raise _no_counts(answer)
    return numbers.astype(np.int64)


def _no_counts(answer: bytes) -> MetricUnavailableError:
    words = answer[:200].decode("utf-8", "replace")
    return MetricUnavailableError(f"METEOR 1.5 (java) gave {words!r} instead of the counts of a pair")

"""What scoring clinical reports takes beside code: METEOR's program and WordNet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final

from harness.errors import MetricUnavailableError

if TYPE_CHECKING:
    from harness.scoring.meteor15 import Meteor15
    from harness.scoring.meteor2005 import Meteor2005

REPORT_CONVENTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"meteor15": ("if-installed", "off"), "meteor2005": ("if-installed", "off")}
)
"""Each METEOR may be left out; one that cannot be computed here is null and says what to install."""

LOST_PAIRS: Final = 3
"""Pairs that METEOR's program may fail at, having scored others, before no more are given to it.

An answer that repeats itself for tens of thousands of words exhausts its memory: that is no reason to leave
the reports of other models unscored. Each costs one start, or one wait of `meteor_jar.TIMEOUT_S`, at most.
"""
_OFF: Final = "off"
_KEPT_TEXTS: Final = 10_000
_KEPT_LENGTH: Final = 5_000
"""Texts whose tokens are kept, and the longest of them: some 10 kB each, of clinical reports."""


class ReportTools:
    """A context manager that ends METEOR's program; nothing is started or loaded before it is needed.

    `why` says metric -> reason of those that could not be computed, once one was wanted; `lost`, why single
    pairs have no value where others have one.
    """

    def __init__(
        self,
        conventions: Mapping[str, str],
        *,
        meteor15: Callable[[], Meteor15] | None = None,
        meteor2005: Callable[[], Meteor2005] | None = None,
    ) -> None:
        self.why: dict[str, str] = {
            name: f"switched off by the convention {name}=off"
            for name in REPORT_CONVENTIONS
            if conventions[name] == _OFF
        }
        self.lost: dict[str, str] = {}
        self._start15, self._open2005 = meteor15 or _meteor15, meteor2005 or _meteor2005
        self._tokens: dict[str, list[str]] = {}
        self._lost_pairs = 0
        self._scored_one = False
        self._meteor15: Meteor15 | None = None
        self._meteor2005: Meteor2005 | None = None

    def __enter__(self) -> ReportTools:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._meteor15 is not None:
            self._meteor15.__exit__(kind, error, trace)

    def tokens(self, text: str) -> list[str]:
        """Return the PTB tokens of a text, which are kept: a reference is compared with many answers."""
        found = self._tokens.get(text)
        if found is None:
            from harness.scoring.ptb_tokens import ptb_tokenize

            found = ptb_tokenize(text)
            if len(text) <= _KEPT_LENGTH and len(self._tokens) < _KEPT_TEXTS:
                self._tokens[text] = found
        return found

    def meteor15(self, candidate: list[str], reference: list[str]) -> tuple[float, ...]:
        """Return `meteor15.FIELDS` of a pair; NaN where they cannot be computed."""
        from harness.scoring.meteor15 import FIELDS

        if "meteor15" not in self.why:
            try:
                if self._meteor15 is None:
                    self._meteor15 = self._start15()
                found = tuple(map(float, self._meteor15.statistics([(candidate, reference)])[0]))
                self._scored_one = True
                return found
            except MetricUnavailableError as error:
                self._lose(str(error))
        return (math.nan,) * len(FIELDS)

    def reason(self, metric: str) -> str | None:
        """Return why a metric has no value for some pair, None where nothing failed here."""
        return self.why.get(metric) or self.lost.get(metric)

    def _lose(self, reason: str) -> None:
        """Note that METEOR's program failed at a pair; if it had worked, the next gets another."""
        self._lost_pairs += 1
        if self._meteor15 is None or not self._scored_one or self._lost_pairs > LOST_PAIRS:
            self.why["meteor15"] = self.lost.get("meteor15", reason)
            return
        self.lost.setdefault("meteor15", reason)
        self._meteor15.__exit__(None, None, None)
        self._meteor15, self._scored_one = None, False

    def meteor2005(self, candidate: list[str], reference: list[str]) -> float:
        """Return the value of a pair; NaN where it cannot be computed."""
        if "meteor2005" not in self.why:
            try:
                if self._meteor2005 is None:
                    self._meteor2005 = self._open2005()
                return self._meteor2005.value(candidate, reference)
            except MetricUnavailableError as error:
                self.why["meteor2005"] = str(error)
        return math.nan


def open_tools(conventions: Mapping[str, str]) -> ReportTools:
    """Return the tools, to be used as a context manager; `conventions` has those of `REPORT_CONVENTIONS`."""
    return ReportTools(conventions)


def tools_here(conventions: Mapping[str, str]) -> dict[str, bool]:
    """Return metric -> whether what it takes is on this machine; without those that are switched off."""
    from harness.scoring.meteor2005 import has_meteor2005
    from harness.scoring.meteor_jar import has_meteor15

    looks = {"meteor15": has_meteor15, "meteor2005": has_meteor2005}
    return {name: look() for name, look in looks.items() if conventions[name] != _OFF}


def _meteor15() -> Meteor15:
    from harness.scoring.meteor15 import Meteor15

    return Meteor15()


def _meteor2005() -> Meteor2005:
    from harness.scoring.meteor2005 import open_meteor2005

    return open_meteor2005()

"""One rule by which an error body is recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import ErrorBody

ANY: Final[frozenset[int]] = frozenset()
CLIENT: Final = frozenset({0, 400, 401, 402, 403, 404, 409, 412, 413, 415, 422, 424, 429, 451})
REJECTED: Final = frozenset({0, 400, 403, 404, 413, 415, 422, 451})


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of error.

    `codes` match whole, `codes_like` is searched in each code and `words` in what was said; `statuses` must
    hold too (empty: any; 0 is an error within an answer of status 200 that names no status itself).
    """

    outcome: Outcome
    statuses: frozenset[int] = ANY
    codes: frozenset[str] = frozenset()
    codes_like: re.Pattern[str] | None = None
    words: re.Pattern[str] | None = None

    def matches(self, error: ErrorBody, said: str) -> bool:
        """Return True if the error has one of the codes or words (none given: any) and the status."""
        if self.statuses and error.status not in self.statuses:
            return False
        if not self.codes and self.codes_like is None and self.words is None:
            return True
        if self.codes & error.codes or (self.words is not None and self.words.search(said)):
            return True
        return self.codes_like is not None and any(self.codes_like.search(code) for code in error.codes)


def rule(
    outcome: Outcome, statuses: frozenset[int], codes: str = "", *words: str, codes_like: str | None = None
) -> Rule:
    """Return a rule from codes parted by blanks and from patterns of lower-case words."""
    return Rule(
        outcome,
        statuses,
        frozenset(codes.split()),
        re.compile(codes_like) if codes_like else None,
        re.compile("|".join(words)) if words else None,
    )

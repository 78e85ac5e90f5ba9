"""Sums over units and their sends: counts, tokens, US dollars and seconds, which add up over rows."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeAlias

import numpy as np

from harness.costs import total_usd
from harness.moments import shown_moment
from harness.offline.replay import ReplayedUnit
from harness.offline.sends import Send
from harness.outcomes import UnitOutcome

Json: TypeAlias = dict[str, Any]

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
TOKENS: Final = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
_NEVER: Final = 2**63
_SMALLEST_BITS: Final = 1074
"""The smallest positive float is 2 to the power of minus this."""
_WHOLE: Final = 1 << _SMALLEST_BITS


class Dollars:
    """US dollars of many sends or units: what is evidence and what this run spent, without a rounding error.

    A sum is what `math.fsum` gives; `unknown`, `spent_unknown` count those whose cost nobody knows.
    """

    def __init__(self) -> None:
        self._evidence = self._spent = 0  # in units of the smallest number that a float holds
        self.unknown = self.spent_unknown = 0

    def add(self, evidence: float | None, spent: float | None) -> None:
        """Add one send or unit; None: nobody knows it."""
        whole = _whole(evidence)
        self._evidence += whole
        self.unknown += evidence is None
        # Mostly the same number: only what others paid for differs.
        self._spent += whole if spent is evidence else _whole(spent)
        self.spent_unknown += spent is None

    def merge(self, other: Dollars) -> None:
        """Add all of another."""
        self._evidence += other._evidence
        self._spent += other._spent
        self.unknown += other.unknown
        self.spent_unknown += other.spent_unknown

    @property
    def known(self) -> tuple[float, float]:
        """Return evidence and spent dollars as far as they are known."""
        return self._evidence / _WHOLE, self._spent / _WHOLE

    @property
    def total(self) -> tuple[float | None, float | None]:
        """Return evidence and spent dollars, None where a part is unknown: as a record has them."""
        evidence, spent = self.known
        return None if self.unknown else evidence, None if self.spent_unknown else spent


def _whole(usd: float | None) -> int:
    if not usd:
        return 0
    numerator, denominator = usd.as_integer_ratio()
    return numerator << (_SMALLEST_BITS + 1 - denominator.bit_length())


class SendSums:
    """What the sends of one purpose come to: the model's own answers, or the reformatter's."""

    def __init__(self) -> None:
        self.asks = self.sends = self.answered = self.cached = self.tokens_unknown = 0
        self.dollars = Dollars()
        self.latencies = array("d")
        self.faults: Counter[str] = Counter()
        self.served: Counter[str | None] = Counter()
        self.tokens, self.told = [0, 0, 0, 0], [0, 0, 0, 0]
        self.first_us, self.last_us = _NEVER, -1

    def add(self, send: Send) -> None:
        """Add one send."""
        self.sends += 1
        self.asks += send.send == 1
        cost = send.cost_usd
        if send.paid_here:
            self.dollars.add(cost, cost)
        else:
            self.dollars.add(cost, 0.0)
            self.cached += 1
        usage, outcome = send.usage, send.reading.outcome
        counts = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_tokens
        for place, count in enumerate(counts):
            if count is not None:
                self.tokens[place] += count
                self.told[place] += 1
        if outcome.serves:
            self.answered += 1
            self.tokens_unknown += counts[0] is None or counts[1] is None
            self.served[send.exchange.data.served_model] += 1
            if send.latency_s is not None:
                self.latencies.append(send.latency_s)
        else:
            self.faults[outcome.value] += 1
        asked = send.asked_at_us
        if asked is not None:
            self.first_us, self.last_us = min(self.first_us, asked), max(self.last_us, asked)

    def merge(self, other: SendSums) -> None:
        """Add all of another's sends."""
        self.asks += other.asks
        self.sends += other.sends
        self.answered += other.answered
        self.cached += other.cached
        self.tokens_unknown += other.tokens_unknown
        self.dollars.merge(other.dollars)
        self.latencies.extend(other.latencies)
        self.faults.update(other.faults)
        self.served.update(other.served)
        for place in range(len(TOKENS)):
            self.tokens[place] += other.tokens[place]
            self.told[place] += other.told[place]
        self.first_us, self.last_us = min(self.first_us, other.first_us), max(self.last_us, other.last_us)

    def to_json(self) -> Json:
        """Return the sums as `harness.offline.effort` documents them."""
        told = dict(zip(TOKENS, self.told, strict=True))
        evidence, spent = self.dollars.total
        known_evidence, known_spent = self.dollars.known
        return {
            "asks": self.asks,
            "sends": self.sends,
            "answered": self.answered,
            "cached_sends": self.cached,
            "faults": dict(sorted(self.faults.items())),
            **{
                kind: None if self.answered and not told[kind] else count
                for kind, count in zip(TOKENS, self.tokens, strict=True)
            },
            "tokens_told": told,
            "tokens_unknown": self.tokens_unknown,
            "evidence_cost_usd": evidence,
            "spent_usd": spent,
            "cost_unknown": self.dollars.unknown,
            "spent_unknown": self.dollars.spent_unknown,
            "known_evidence_usd": known_evidence,
            "known_spent_usd": known_spent,
            "latency_s": latency_json(self.latencies),
            "served_models": [
                {"model": name, "answers": n}
                for name, n in sorted(self.served.items(), key=lambda one: (-one[1], one[0] or ""))
            ],
            "asked": period_json(self.first_us, self.last_us),
        }


class UnitSums:
    """What the units of one row come to, with their sends by purpose."""

    def __init__(self) -> None:
        self.units = self.cached = 0
        self.dollars = Dollars()
        self.outcomes: Counter[UnitOutcome] = Counter()
        self.stages: Counter[str | None] = Counter()
        self.errors: Counter[str] = Counter()
        self.attempts: Counter[int] = Counter()
        self.filled: Counter[str] = Counter()
        self.unsupported: Counter[str] = Counter()
        self.purposes = {"answer": SendSums(), "reformat": SendSums()}

    def add(self, replayed: ReplayedUnit, sends: Sequence[Send], *, imported: bool) -> None:
        """Add one unit with all its sends."""
        result, attempts, n_paid = replayed.result, 0, 0
        for send in sends:
            purpose = send.link.purpose
            self.purposes[purpose].add(send)
            attempts += purpose == "answer" and send.send == 1
            n_paid += send.paid_here
        self.units += 1
        self.cached += bool(sends) and not n_paid and not imported
        self.outcomes[result.outcome] += 1
        self.stages[result.stage] += 1
        self.attempts[attempts] += 1
        cost = sends[0].cost_usd if len(sends) == 1 else total_usd(send.cost_usd for send in sends)
        if n_paid == len(sends):
            self.dollars.add(cost, cost)
        else:
            self.dollars.add(cost, total_usd(send.cost_usd for send in sends if send.paid_here))
        if result.error is not None:
            self.errors[result.error.kind] += 1
        for key in result.filled_keys:
            self.filled[key] += 1
        for key in result.unsupported:
            self.unsupported[key] += 1

    def merge(self, other: UnitSums) -> None:
        """Add all of another row's units."""
        self.units += other.units
        self.cached += other.cached
        self.dollars.merge(other.dollars)
        self.outcomes.update(other.outcomes)
        self.stages.update(other.stages)
        self.errors.update(other.errors)
        self.attempts.update(other.attempts)
        self.filled.update(other.filled)
        self.unsupported.update(other.unsupported)
        for purpose, sums in self.purposes.items():
            sums.merge(other.purposes[purpose])

    def to_json(self, stages: Iterable[str]) -> Json:
        """Return the sums as `harness.offline.effort` documents them; `stages` are named even at 0."""
        answers, reformatter = self.purposes["answer"], self.purposes["reformat"]
        evidence, spent = self.dollars.total
        both = SendSums()
        both.merge(answers)
        both.merge(reformatter)
        return {
            "units": self.units,
            "outcomes": dict(sorted((one.value, n) for one, n in self.outcomes.items())),
            "stages": {name: self.stages[name] for name in _all_stages(stages, self.stages)},
            "errors": dict(sorted(self.errors.items())),
            "attempts": {str(asked): n for asked, n in sorted(self.attempts.items())},
            "cached_units": self.cached,
            **both.to_json(),
            # As the sum over records has it: each unit's dollars are added up first.
            "evidence_cost_usd": evidence,
            "spent_usd": spent,
            "latency_s": latency_json(answers.latencies),
            "filled_keys": dict(sorted(self.filled.items())),
            "unsupported": dict(sorted(self.unsupported.items())),
            "answers": answers.to_json(),
            "reformatter": reformatter.to_json() if reformatter.sends else None,
        }

    @classmethod
    def of(cls, rows: Iterable[Self]) -> Self:
        """Return what several rows come to together."""
        found = cls()
        for row in rows:
            found.merge(row)
        return found


def _all_stages(named: Iterable[str], counted: Mapping[str | None, int]) -> Iterable[str]:
    """Return stages in order: attempts by their numbers, then the reformatter."""
    found = {*named, *(stage for stage in counted if stage is not None)}
    return sorted(found, key=lambda name: (not name.startswith("attempt-"), len(name), name))


def latency_json(seconds: array[float]) -> Json:
    """Return n, mean, quantiles and the longest, in seconds; None where there is none.

    Quantiles are NumPy's "linear": between the two neighbours in proportion, method 7 of Hyndman and Fan.
    """
    if not seconds:
        return {"n": 0, "mean": None, **dict.fromkeys(QUANTILES), "max": None}
    values = np.frombuffer(seconds)
    quantiles = np.quantile(values, list(QUANTILES.values()), method="linear").tolist()
    return {
        "n": len(seconds),
        "mean": math.fsum(seconds) / len(seconds),
        **dict(zip(QUANTILES, quantiles, strict=True)),
        "max": float(values.max()),
    }


def period_json(first_us: int, last_us: int) -> Json:
    """Return the first and the last moment; None where nothing says when."""
    if last_us < 0:
        return {"first": None, "last": None}
    return {"first": shown_moment(first_us), "last": shown_moment(last_us)}

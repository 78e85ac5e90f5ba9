"""How far each unit of a run has come, in one byte a unit."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.asked_cases import AskedCases
from harness.cache.rows import UnitId
from harness.cache.unit_marks import Mark
from harness.outcomes import UnitOutcome
from harness.shards import Shard

Totals: TypeAlias = "Mapping[str, Counter[UnitOutcome]]"
"""How the units of each model stand."""

_OUTCOMES: Final = tuple(UnitOutcome)
_NEVER: Final = 0
"""Not begun."""
_BEGUN: Final = 1
"""Begun or marked to be asked again, and not ended since."""
_ELSEWHERE: Final = 255
"""Of another shard."""
_NO_UNIT: Final = 254
"""The condition is not asked of the case."""
_CODES: Final[dict[str | None, int]] = {
    None: _BEGUN, **{outcome.value: code for code, outcome in enumerate(_OUTCOMES, start=2)}
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The units of a run, by what they are made of; `shard` None: all of them are this session's.

    `asked`: of which cases a condition is asked (see `asked_cases`).
    """

    case_ids: Sequence[str]
    models: Sequence[str]
    conditions: Sequence[str]
    repeats: int
    shard: Shard | None = None
    asked: AskedCases = field(default_factory=dict)

    def n_block(self, condition: str) -> int:
        """Return the units of one model in a condition, those of other shards included."""
        asked = self.asked.get(condition)
        return (len(self.case_ids) if asked is None else asked.count(1)) * self.repeats

    @property
    def n_units(self) -> int:
        """Units of the run, those of other shards included."""
        return self.n_model * len(self.models)

    @property
    def n_model(self) -> int:
        """Units of one model, those of other shards included."""
        return sum(map(self.n_block, self.conditions))


class _Block:
    """The units of one model and condition: index = position of the case x repeats + repeat - 1."""

    __slots__ = ("after", "codes")

    def __init__(self, codes: bytearray) -> None:
        self.codes = codes
        self.after: array[int] | None = None
        """`again_after` of each unit; None: 0 for all."""

    def set_after(self, index: int, exchange_id: int) -> None:
        if self.after is None:
            self.after = array("q", bytes(8 * len(self.codes)))
        self.after[index] = exchange_id


class UnitStates:
    """The states of this session's units.

    A block (model and condition) all of whose units are settled may be known by its counts alone.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._new = {condition: _new_codes(wanted, condition) for condition in wanted.conditions}
        self._blocks: dict[tuple[str, str], _Block] = {}
        self._settled: dict[tuple[str, str], Counter[UnitOutcome]] = {}

    @property
    def n_elsewhere(self) -> int:
        """Units of the run that belong to other shards."""
        elsewhere = sum(codes.count(_ELSEWHERE) for codes in self._new.values())
        return elsewhere * len(self.wanted.models)

    def n_units(self, model: str) -> int:
        """This session's units of a model, whatever their state."""
        assert model in self.wanted.models
        return sum(codes.count(_NEVER) for codes in self._new.values())

    def outcomes(self, model: str) -> Counter[UnitOutcome]:
        """Return how a model's units stand; one that never ended is `not_attempted`."""
        counts: Counter[UnitOutcome] = Counter()
        for condition in self.wanted.conditions:
            settled = self._settled.get((model, condition))
            if settled is not None:
                counts += settled
                continue
            codes = self._codes(model, condition)
            counts[UnitOutcome.NOT_ATTEMPTED] += codes.count(_NEVER) + codes.count(_BEGUN)
            for code, outcome in enumerate(_OUTCOMES, start=2):
                counts[outcome] += codes.count(code)
        return +counts

    def open_indexes(self, model: str, condition: str, again: Collection[UnitOutcome]) -> Iterator[int]:
        """Give the units of a block that are to be asked, in order: not ended, or ended as one of `again`."""
        if (model, condition) in self._settled:
            return
        is_open = self._codes(model, condition).translate(_table(again))
        index = is_open.find(1)
        while index >= 0:
            yield index
            index = is_open.find(1, index + 1)

    def count_open(self, model: str, again: Collection[UnitOutcome]) -> int:
        """Return how many units of a model are to be asked."""
        table = _table(again)
        return sum(
            self._codes(model, condition).translate(table).count(1)
            for condition in self.wanted.conditions
            if (model, condition) not in self._settled
        )

    def again_after(self, model: str, condition: str, index: int) -> int:
        """Return the exchange up to which stored answers do not serve a unit."""
        block = self._blocks.get((model, condition))
        return 0 if block is None or block.after is None else block.after[index]

    def list_counts(self, exchange_id: int) -> Counter[UnitOutcome | None]:
        """Return how the units stand that were marked to be asked again after an exchange."""
        counts: Counter[UnitOutcome | None] = Counter()
        for block in self._blocks.values():
            for index, after in enumerate(block.after or ()):
                code = block.codes[index]
                if after == exchange_id and code != _ELSEWHERE:
                    counts[None if code <= _BEGUN else _OUTCOMES[code - 2]] += 1
        return counts

    def units(self, outcomes: Collection[UnitOutcome]) -> UnitList:
        """Return the units that ended so; needs the whole states (see `read_states`)."""
        assert not self._settled, "counts do not tell which units they are of"
        chosen = bytes(code >= 2 and _outcome(code) in outcomes for code in range(256))
        flags = {key: block.codes.translate(chosen) for key, block in self._blocks.items()}
        return UnitList(self.wanted, flags)

    def mark(self, units: UnitList, exchange_id: int) -> None:
        """Note that units are marked to be asked again after an exchange."""
        for key, index in units.indexes():
            block = self._blocks[key]
            block.codes[index] = _BEGUN
            block.set_after(index, exchange_id)

    def add_settled(self, model: str, condition: str, outcomes: Counter[UnitOutcome]) -> None:
        """Note how the units of a block stand, none of which is to be asked."""
        self._settled[model, condition] = outcomes

    def add_block(self, model: str, condition: str) -> None:
        """Begin a block whose units are told by `add_marks`."""
        self._blocks[model, condition] = _Block(bytearray(self._new[condition]))

    def add_marks(self, model: str, condition: str, marks: Sequence[Mark], places: dict[str, int]) -> None:
        """Note the states of units; `places`: case id -> position. Those the run does not want are left."""
        block, repeats = self._blocks[model, condition], self.wanted.repeats
        codes = block.codes
        for case_id, repeat, outcome, after in marks:
            position = places.get(case_id)
            if position is None or not 1 <= repeat <= repeats:
                continue
            index = position * repeats + repeat - 1
            if codes[index] < _NO_UNIT:
                codes[index] = _CODES[outcome]
                if after:
                    block.set_after(index, after)

    def _codes(self, model: str, condition: str) -> bytearray | bytes:
        block = self._blocks.get((model, condition))
        return self._new[condition] if block is None else block.codes


class UnitList(Collection[UnitId]):
    """Some units of a run, named only when they are asked for; iterating again gives the same."""

    def __init__(self, wanted: Wanted, chosen: dict[tuple[str, str], bytearray]) -> None:
        self._wanted = wanted
        self._chosen = chosen

    def __len__(self) -> int:
        return sum(flags.count(1) for flags in self._chosen.values())

    def __contains__(self, unit: object) -> bool:
        return any(unit == one for one in self)

    def __iter__(self) -> Iterator[UnitId]:
        for (model, condition), index in self.indexes():
            position, repeat = divmod(index, self._wanted.repeats)
            yield UnitId(model, condition, self._wanted.case_ids[position], repeat + 1)

    def indexes(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Give the units as model and condition, and index."""
        for key, flags in self._chosen.items():
            index = flags.find(1)
            while index >= 0:
                yield key, index
                index = flags.find(1, index + 1)


def _new_codes(wanted: Wanted, condition: str) -> bytes:
    """Return the codes of a block in which nothing was begun."""
    asked, shard = wanted.asked.get(condition), wanted.shard
    if shard is None and asked is None:
        return bytes(len(wanted.case_ids) * wanted.repeats)
    own, other, none = (bytes([code]) * wanted.repeats for code in (_NEVER, _ELSEWHERE, _NO_UNIT))
    flags = b"\1" * len(wanted.case_ids) if asked is None else asked
    return b"".join(
        none if not flag else own if shard is None or shard.holds(case_id) else other
        for flag, case_id in zip(flags, wanted.case_ids, strict=True)
    )


def _outcome(code: int) -> UnitOutcome | None:
    return _OUTCOMES[code - 2] if 2 <= code < 2 + len(_OUTCOMES) else None


def _table(again: Collection[UnitOutcome]) -> bytes:
    """Return a table for `translate`: 1 for the codes of units that are to be asked."""
    return bytes(code in (_NEVER, _BEGUN) or _outcome(code) in again for code in range(256))

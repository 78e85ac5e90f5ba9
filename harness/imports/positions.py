"""Whether cases that were found by position are the cases that their rows name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from harness.imports.documents import Document

MOST_PATHS = 100
"""Most places of a row in which ids are counted."""


@dataclass(slots=True)
class _Other:
    """One place in the rows that names another case: how often, which cases, and the first such row."""

    where: str
    position: int
    case_id: str
    named: str
    rows: int = 0
    names: set[str] = field(default_factory=set)


class PositionCheck:
    """Compares each row's case by position with the case ids that stand in the row itself."""

    def __init__(self, case_ids: Collection[str]) -> None:
        self._ids = frozenset(case_ids)
        self._rows = 0
        self._cases: set[str] = set()
        self._others: dict[str, _Other] = {}
        self.pairs: list[tuple[int, str]] = []
        """The two lowest positions and the highest, with their cases."""

    def note(self, where: str, position: int, case_id: str, document: Document) -> None:
        """Look at a row that was matched by its position; `where` names it in messages."""
        self._rows += 1
        self._cases.add(case_id)
        pairs = sorted({*self.pairs, (position, case_id)})
        self.pairs = pairs if len(pairs) <= 3 else [*pairs[:2], pairs[-1]]
        named = [(path, text) for path, text in _texts(document) if text in self._ids]
        if any(text == case_id for _, text in named):
            return
        for path, text in named:
            if path not in self._others and len(self._others) >= MOST_PATHS:
                continue
            other = self._others.setdefault(path, _Other(where, position, case_id, text))
            other.rows += 1
            other.names.add(text)

    def contradiction(self) -> str | None:
        """Return in words that more than half of the rows name another case than their position's.

        A label with the name of a case does not count: an id tells rows apart, so the place must name more
        than half as many cases as were matched.
        """
        for path, other in self._others.items():
            if other.rows * 2 > self._rows and len(other.names) * 2 > len(self._cases):
                return (
                    f"{other.where}: position {other.position} is the case {other.case_id!r} by --ids, and "
                    f"{path!r} of the row names the case {other.named!r}; so it is in {other.rows} of "
                    f"{self._rows} rows: the list is in another order than the data set; leave --ids out and "
                    f"give --map id={path}"
                )
        return None


def _texts(document: Document) -> Iterator[tuple[str, str]]:
    """Yield every text in a row with its dotted path, without recursion."""
    waiting: list[tuple[str, object]] = [(name, value) for name, value in document.items()]
    while waiting:
        path, value = waiting.pop()
        match value:
            case str():
                yield path, value
            case dict():
                waiting.extend((f"{path}.{name}", item) for name, item in value.items())
            case list():
                waiting.extend((f"{path}.{index}", item) for index, item in enumerate(value))
            case _:
                pass

"""Cases on disk instead of in memory: canonical lines in a temporary file, decoded when asked for.

Memory holds the ids and an offset, about 100 bytes a case, whatever the cases hold.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, overload

from harness.benchmarks.base import Case, CaseSet
from harness.line_spool import LineSpool
from harness.media import Media
from harness.media_reading import Note, Stamp
from harness.snapshot import decode_case, encode_case, encode_head

_Facts: TypeAlias = "dict[str, list[list[Any]]]"
_BETWEEN: Final = b"\t"
"""Ends the canonical line, which is ASCII without control characters; what it leaves out comes after."""


class SpooledCases(Sequence[Case]):
    """Cases in a spool, in order. `ids` are theirs, `broken` the indexes of those with a problem."""

    def __init__(
        self, spool: LineSpool, positions: Sequence[int], ids: Sequence[str], broken: Sequence[int]
    ) -> None:
        self._spool = spool
        self._positions = positions
        self.ids = ids
        self.broken = broken

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> SpooledCases: ...

    def __getitem__(self, index: int | slice) -> Case | SpooledCases:
        """Return a case, made anew each time, or some of the cases."""
        if isinstance(index, slice):
            return self.select(range(len(self))[index])
        return _decoded(*self._parts(index))

    def select(self, indexes: Sequence[int]) -> SpooledCases:
        """Return some of the cases, in the order of `indexes`."""
        positions = array("I", (self._positions[index] for index in indexes))
        broken = set(self.broken)
        return SpooledCases(
            self._spool,
            positions,
            [self.ids[index] for index in indexes],
            array("I", (new for new, index in enumerate(indexes) if index in broken)),
        )

    def lines(self) -> Iterator[bytes]:
        """Give the canonical lines, as `snapshot.encode_case` makes them."""
        for index in range(len(self)):
            yield self._parts(index)[0]

    def notes(self) -> Iterator[Note]:
        """Give what is worth noting of the media: those that were read, not known before."""
        for index in range(len(self)):
            line, facts = self._parts(index)
            if any(stamp is not None for of_role in facts.values() for *_, stamp in of_role):
                yield from _notes(_decoded(line, facts), facts)

    def _parts(self, index: int) -> tuple[bytes, _Facts]:
        line, _, facts = self._spool.line(self._positions[index]).partition(_BETWEEN)
        return line, json.loads(facts)


class SpoolWriter:
    """Takes cases one by one, and gives them as a sequence at the end. Raises SpoolError."""

    def __init__(self) -> None:
        self._spool = LineSpool()
        self._ids: list[str] = []
        self._broken = array("I")

    def append(self, case: Case, notes: Sequence[Note] = ()) -> None:
        """Keep a case; `notes` are about those of its media that were read just now."""
        if case.problem is not None:
            self._broken.append(len(self._ids))
        self._ids.append(case.id)
        facts = json.dumps(_facts(case, notes), separators=(",", ":")).encode("ascii")
        self._spool.append(encode_case(case) + _BETWEEN + facts)

    def finish(self) -> SpooledCases:
        """Return the cases; nothing more may be appended."""
        self._spool.flush()
        return SpooledCases(self._spool, range(len(self._ids)), self._ids, self._broken)


def _facts(case: Case, notes: Sequence[Note]) -> _Facts:
    """Return what the canonical line leaves out of each medium: path, `plain`, `duration_s`, any note."""
    noted = {note.media.path: note for note in notes}

    def facts(media: Media) -> list[Any]:
        path = None if media.path is None else str(media.path)
        note = noted.get(media.path)
        if note is None:
            return [path, media.plain, media.duration_s, None]
        stamp = note.stamp
        return [
            path, media.plain, media.duration_s,
            [stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode, note.read_at_us],
        ]

    return {role: [facts(one) for one in media] for role, media in case.media.items()}


def _decoded(line: bytes, facts: _Facts) -> Case:
    places = {
        role: [
            (None if path is None else Path(path), plain, duration_s)
            for path, plain, duration_s, _ in of_role
        ]
        for role, of_role in facts.items()
    }
    return decode_case(line, places)


def _notes(case: Case, facts: _Facts) -> Iterator[Note]:
    for role, media in case.media.items():
        for one, (*_, stamp) in zip(media, facts[role], strict=True):
            if stamp is not None:
                *parts, read_at_us = stamp
                yield Note(one, Stamp(*parts), read_at_us)


def case_ids(cases: Sequence[Case]) -> Sequence[str]:
    """Return the ids of cases, without decoding what is spooled."""
    return cases.ids if isinstance(cases, SpooledCases) else [case.id for case in cases]


def broken_cases(cases: Sequence[Case]) -> tuple[int, str | None]:
    """Return how many cases cannot be asked, and what is wrong with the first of them."""
    if isinstance(cases, SpooledCases):
        return len(cases.broken), cases[cases.broken[0]].problem if cases.broken else None
    problems = [case.problem for case in cases if case.problem is not None]
    return len(problems), problems[0] if problems else None


def chosen_cases(cases: Sequence[Case], indexes: Sequence[int]) -> Sequence[Case]:
    """Return some of the cases, in the order of `indexes`."""
    if isinstance(cases, SpooledCases):
        return cases if indexes == range(len(cases)) else cases.select(indexes)
    return tuple(cases[index] for index in indexes)


def snapshot_pieces(cases: CaseSet) -> Iterator[bytes]:
    """Give what `snapshot.encode_cases` returns, a case at a time."""
    yield encode_head(cases)
    each = cases.cases
    for line in each.lines() if isinstance(each, SpooledCases) else map(encode_case, each):
        yield b"\n"
        yield line


def snapshot_digest(cases: CaseSet) -> str:
    """Return the SHA-256 of the snapshot, as 64 hexadecimal digits."""
    found = hashlib.sha256()
    for piece in snapshot_pieces(cases):
        found.update(piece)
    return found.hexdigest()


def media_notes(cases: Sequence[Case]) -> Iterator[Note]:
    """Give what is worth noting of the cases' media."""
    if isinstance(cases, SpooledCases):
        yield from cases.notes()

"""Which case an answer belongs to, and whether it was given twice; never silently by position."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError
from harness.imports.documents import BadRowError, parse_any
from harness.imports.format import Format
from harness.imports.hints import Hints
from harness.imports.source import SourceFile


@dataclass(frozen=True, slots=True)
class IdFile:
    """What `--ids` says: case ids in the order of a tool's positions, or a tool's id -> case id."""

    by_position: tuple[str, ...] = ()
    by_name: Mapping[str, str] | None = None


def read_id_file(path: Path) -> IdFile:
    """Read a JSON list or object, or one case id a line. Raises ConfigError."""
    source = SourceFile(path)
    data = source.whole()
    if data.lstrip()[:1] in (b"[", b"{"):
        try:
            found = parse_any(data)
        except BadRowError as error:
            raise ConfigError(f"--ids {source.name!r}: {error}") from error
        if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
            return IdFile(by_name=found)
        ids = found if isinstance(found, list) else None
    else:
        ids = data.decode("utf-8", "replace").splitlines()
        while ids and not ids[-1]:
            ids.pop()
    if not ids or not all(isinstance(one, str) and one for one in ids):
        raise ConfigError(
            f"--ids {source.name!r} is no list of case ids (one a line, or as JSON) and no JSON object with "
            "their id -> case id; all of them texts"
        )
    if len(set(ids)) != len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise ConfigError(
            f"--ids {source.name!r} names the case {twice!r} twice; each position has its own case"
        )
    return IdFile(by_position=tuple(ids))


class CaseFinder:
    """From a tool's id to the place of a case in its case set."""

    def __init__(self, case_ids: Sequence[str], listed: IdFile | None = None) -> None:
        self._places = {case_id: place for place, case_id in enumerate(case_ids)}
        self._listed = listed

    def check(self, form: Format, hints: Hints) -> None:
        """Raise ConfigError where ids cannot be told from positions, or `--ids` or `--map` cannot be used."""
        for name in sorted(hints.paths.keys() - form.mapped):
            raise ConfigError(
                f"--map {name}= cannot be used with {form.name} files, where only these can: "
                f"{', '.join(sorted(form.mapped))}"
            )
        mapped = "id" in hints.paths
        if self._listed is None:
            if form.positions_only and not mapped:
                raise ConfigError(
                    f"{form.name} files know cases only by their position (doc_id); give --ids FILE with the "
                    "case ids in the order of the data set, or --map id=PATH where a line holds them"
                )
        elif self._listed.by_name is None and (mapped or form.first_position is None):
            why = "--map id= is given" if mapped else f"{form.name} files do not number their cases"
            raise ConfigError(
                f"--ids is a list of positions, and {why}; make it a JSON object with their id -> case id"
            )

    def find(self, id: str | int, form: Format) -> int | None:
        """Return the place of the case with a tool's id; None where there is none. Exact, but 1 is "1"."""
        if self._listed is None:
            return self._places.get(str(id))
        if self._listed.by_name is not None:
            return self._places.get(self._listed.by_name.get(str(id), ""))
        position = self._position(id) - (form.first_position or 0)
        inside = 0 <= position < len(self._listed.by_position)
        return self._places.get(self._listed.by_position[position]) if inside else None

    def position(self, id: str | int) -> int | None:
        """Return the position that a found id stands for; None where ids are no positions."""
        listed = self._listed is not None and self._listed.by_name is None
        return self._position(id) if listed else None

    @staticmethod
    def _position(id: str | int) -> int:
        if isinstance(id, int):
            return id
        if id.isascii() and id.isdecimal() and len(id) < 19:
            return int(id)
        raise BadRowError(f"its id {id[:60]!r} is no position, and --ids is a list of positions")


@dataclass(frozen=True, slots=True)
class SeenBefore:
    """Where the same ask was answered before; `same`: by the same answer."""

    file: int
    row: int
    same: bool


class SeenAnswers:
    """Remembers which asks were answered, 17 bytes a case: a million lines fit easily."""

    def __init__(self, n_cases: int) -> None:
        self._n = n_cases
        self._digests: dict[tuple[int, int], array[int]] = {}
        self._rows: dict[tuple[int, int], array[int]] = {}
        self._kinds = bytearray(n_cases)

    def note(
        self, case: int, repeat: int, attempt: int, *, digest: bytes, file: int, row: int
    ) -> SeenBefore | None:
        """Remember an answer; return the earlier one to the same ask, if there is one."""
        digests = self._digests.setdefault((repeat, attempt), array("Q", bytes(8 * self._n)))
        rows = self._rows.setdefault((repeat, attempt), array("Q", bytes(8 * self._n)))
        value = int.from_bytes(digest[:8], "big") | 1  # 0 is an ask without an answer
        if digests[case]:
            return SeenBefore(rows[case] >> 48, rows[case] & (1 << 48) - 1, digests[case] == value)
        digests[case] = value
        rows[case] = file << 48 | row
        return None

    def other_kind(self, case: int, id: str | int) -> bool:
        """Tell whether a case was named by a number before and is by a text now, or the other way round."""
        kind = 1 if isinstance(id, int) else 2
        other = self._kinds[case] not in (0, kind)
        self._kinds[case] = self._kinds[case] or kind
        return other

    @property
    def repeats(self) -> int:
        """The highest repeat that has an answer; 1 where there is none."""
        return max((repeat for repeat, _ in self._digests), default=1)

    def missing(self, repeats: int) -> Iterator[tuple[int, int]]:
        """Yield case and repeat of every ask without an answer."""
        for repeat in range(1, repeats + 1):
            known = [digests for (of, _), digests in self._digests.items() if of == repeat]
            for case in range(self._n):
                if not any(digests[case] for digests in known):
                    yield case, repeat

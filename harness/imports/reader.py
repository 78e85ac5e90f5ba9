"""Reads all files of an import, row by row, and counts what is in them; nothing is stored here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.errors import ImportFileError
from harness.imports.documents import BadRowError, parse
from harness.imports.failures import suspicion
from harness.imports.format import Format, Place, Row
from harness.imports.hints import Hints
from harness.imports.matching import CaseFinder, SeenAnswers
from harness.imports.positions import PositionCheck
from harness.imports.source import SourceFile
from harness.imports.stated import Stated, meaning
from harness.messages import Fault, RawReply, Reply
from harness.providers.encoding import mask_secrets
from harness.settings import Provider

LISTED = 20
"""Most ids that are named of each kind."""
MOST_MODELS = 5


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file with its format, and how its rows are read."""

    source: SourceFile
    form: Format
    hints: Hints

    def where(self, number: int) -> str:
        """Return the name of a row for messages."""
        return f"{self.source.name!r} {self.form.noun} {number}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that belongs to a case: `case` is its place in the case set."""

    file: int
    number: int
    case: int
    repeat: int
    attempt: int
    raw: RawReply
    stated: Stated
    reading: Reply | Fault
    masked: bool = False


@dataclass(slots=True)
class Named:
    """How many of a kind there were, and the first of them by name."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count one."""
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(name)


@dataclass(slots=True)
class Tally:
    """What the files hold. `failures` and `suspicious` by why; `numbered`: ids that were numbers."""

    rows: int = 0
    answers: int = 0
    unmatched: Named = field(default_factory=Named)
    repeated: Named = field(default_factory=Named)
    bad: Named = field(default_factory=Named)
    failures: dict[str, Named] = field(default_factory=dict)
    suspicious: dict[str, Named] = field(default_factory=dict)
    numbered: int = 0
    served_models: Counter[str] = field(default_factory=Counter)


class AnswerReader:
    """Goes through the files once. Raises ImportFileError at the first row that cannot be used."""

    def __init__(
        self,
        files: Sequence[ImportFile],
        case_ids: Sequence[str],
        finder: CaseFinder,
        provider: Provider,
        *,
        repeat: int | None = None,
        skip_bad: bool = False,
        secrets: Collection[str] = (),
    ) -> None:
        """`secrets`: API keys, which are masked where a row holds one."""
        self._files = files
        self._case_ids = case_ids
        self._finder = finder
        self._provider = provider
        self._repeat = repeat
        self._skip_bad = skip_bad
        self._secrets = secrets
        self.seen = SeenAnswers(len(case_ids))
        self.tally = Tally()
        self.positions = PositionCheck(case_ids)

    def answers(self) -> Iterator[Answer]:
        """Yield every answer that belongs to a case, once."""
        for index, file in enumerate(self._files):
            for row in file.form.rows(file.source):
                self.tally.rows += 1
                try:
                    found = list(self._of_row(index, file, row))
                except BadRowError as error:
                    if not self._skip_bad:
                        raise ImportFileError(f"{file.where(row.number)}: {error}") from error
                    self.tally.bad.add(file.where(row.number))
                    continue
                yield from found
        contradiction = self.positions.contradiction()
        if contradiction is not None:
            raise ImportFileError(contradiction)

    def _of_row(self, index: int, file: ImportFile, row: Row) -> Iterator[Answer]:
        if row.problem is not None:
            raise BadRowError(row.problem)
        body, masked = mask_secrets(row.body, self._secrets)
        document = parse(body)
        for place in file.form.places(document, file.hints):
            # Read before it is matched: what cannot be read is told of unmatched rows too.
            stated = file.form.state(document, replace(file.hints, choice=place.choice))
            hints = file.hints.for_answer(place.choice, stated.text)
            case = self._finder.find(place.id, file.form)
            if case is None:
                self.tally.unmatched.add(str(place.id))
                continue
            position = self._finder.position(place.id)
            if position is not None and place.choice == 0:
                where = file.where(row.number)
                self.positions.note(where, position, self._case_ids[case], document)
            raw = RawReply(200, hints.header(), body)
            reading = meaning(stated, hints.failure_texts, self._provider)
            repeat = self._repeat_of(place)
            attempt = place.attempt or 1
            answer = Answer(index, row.number, case, repeat, attempt, raw, stated, reading, masked)
            if self._is_new(answer, place.id):
                self._count(answer, place.id)
                yield answer

    def _repeat_of(self, place: Place) -> int:
        if self._repeat is None:
            return place.repeat or 1
        if place.repeat not in (None, 1, self._repeat):
            raise BadRowError(
                f"it is repeat {place.repeat}, and --repeat {self._repeat} is given; leave it out"
            )
        return self._repeat

    def _is_new(self, answer: Answer, id: str | int) -> bool:
        """Tell whether an ask has its first answer. Raises ImportFileError for two different ones."""
        file, case_id = self._files[answer.file], self._case_ids[answer.case]
        if self.seen.other_kind(answer.case, id):
            raise ImportFileError(
                f"{file.where(answer.number)}: the case {case_id!r} is called {id!r} here and {_other(id)} "
                "elsewhere; ids that differ only in being a number may mean two cases: write them alike"
            )
        before = self.seen.note(
            answer.case,
            answer.repeat,
            answer.attempt,
            digest=_digest(answer.reading),
            file=answer.file,
            row=answer.number,
        )
        if before is None:
            return True
        if not before.same:
            raise ImportFileError(
                f"{file.where(answer.number)}: another answer for case {case_id!r}, repeat {answer.repeat}, "
                f"attempt {answer.attempt} stands in {self._files[before.file].where(before.row)}; keep one, "
                "or say with `repeat` or `attempt` what they are"
            )
        self.tally.repeated.add(case_id)
        return False

    def _count(self, answer: Answer, id: str | int) -> None:
        tally, name = self.tally, self._case_ids[answer.case]
        tally.answers += 1
        tally.numbered += isinstance(id, int)
        if isinstance(answer.reading, Fault):
            why = answer.reading.message.split(": ")[0]
            tally.failures.setdefault(why, Named()).add(name)
            return
        strange = suspicion(answer.reading.text)
        if strange is not None:
            tally.suspicious.setdefault(strange, Named()).add(name)
        served = answer.stated.served_model
        if served is not None and (served in tally.served_models or len(tally.served_models) < MOST_MODELS):
            tally.served_models[served] += 1


def _other(id: str | int) -> str:
    return repr(str(id)) if isinstance(id, int) else "by a number"


def _digest(reading: Reply | Fault) -> bytes:
    told = reading.message if isinstance(reading, Fault) else reading.text
    return hashlib.sha256(repr((reading.outcome.value, told)).encode("ascii", "backslashreplace")).digest()

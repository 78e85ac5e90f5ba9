"""Sample logs of lm-evaluation-harness and lmms-eval: one line a document, the answers in `resps`.

Both write a line per document with `doc_id` (its position in the data set), `target`, `resps` and
`filtered_resps`, each with one element a request (`save_results_samples` in their
`loggers/evaluation_tracker.py`); a request asked several times has one element a repeat. lm-eval adds `doc`
and `arguments`; with several filters it writes a line for each, equal but for `filtered_resps`. lmms-eval
keeps `input`, and leaves `resps` out where the filters changed nothing; newer versions add `token_counts`.
Both write texts by `str`, so that a missing answer stands as "None": it is named as suspicious.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.imports.documents import MISSING, BadRowError, Document
from harness.imports.format import Format, Head, Place, Row
from harness.imports.hints import Hints
from harness.imports.json_lines import first_document, line_rows, read_id, text_digest
from harness.imports.source import SourceFile
from harness.imports.stated import Stated
from harness.messages import Usage
from harness.providers.bodies import as_count


class SampleLog:
    """The sample log of one of the two."""

    noun = "line"
    first_position: int | None = 0
    positions_only = True
    mapped = frozenset({"id"})

    def __init__(self, name: str) -> None:
        self.name = name

    def fits(self, source: SourceFile) -> bool:
        """Tell by the first line; lm-eval's has `arguments`, any other such log counts as lmms-eval's."""
        if source.suffix not in {".jsonl", ".json"}:
            return False
        first = first_document(source)
        if first is None:
            # A first line beyond what is looked at: its beginning tells.
            return self.name == "lm-eval" and source.start.startswith(b'{"doc_id"')
        if "doc_id" not in first or not {"resps", "filtered_resps"} & first.keys():
            return False
        return ("arguments" in first) == (self.name == "lm-eval")

    def head(self, source: SourceFile) -> Head:
        """Return nothing: model and version stand in another file, the one of the results."""
        return Head()

    def rows(self, source: SourceFile) -> Iterator[Row]:
        """Yield the lines."""
        return line_rows(source)

    def places(self, document: Document, hints: Hints) -> Sequence[Place]:
        """Return one ask a repeat."""
        id = read_id(hints.find(document, "id", "doc_id"), hints.paths.get("id", "doc_id"))
        repeats = _repeats(document)
        if len(repeats) == 1:
            return (Place(id),)
        return tuple(Place(id, choice, repeat=choice + 1) for choice in range(len(repeats)))

    def state(self, document: Document, hints: Hints) -> Stated:
        """Return what one repeat states: the raw answer, never what the tool's filters made of it."""
        repeats = _repeats(document)
        if hints.choice >= len(repeats):
            raise BadRowError(f"it holds {len(repeats)} answers, and number {hints.choice + 1} is wanted")
        usage = _usage(document) if len(repeats) == 1 else Usage()
        asked = document.get("arguments", document.get("input"))
        return Stated(
            text=repeats[hints.choice],
            usage=usage,
            prompt_sha256=text_digest(asked),
        )


def _repeats(document: Document) -> list[str | None]:
    """Return the answers of a document's one request, one a repeat."""
    name = "resps" if document.get("resps", MISSING) is not MISSING else "filtered_resps"
    found = document.get(name, MISSING)
    if found is MISSING:
        raise BadRowError("it has neither 'resps' nor 'filtered_resps'")
    if isinstance(found, str) or found is None:
        return [found]
    if not isinstance(found, list) or len(found) != 1:
        count = f"{len(found)} requests" if isinstance(found, list) else "an object"
        raise BadRowError(f"its {name!r} holds {count}; what is imported is one question with one text")
    [request] = found
    answers = request if isinstance(request, list) else [request]
    if not answers:
        return [None]
    if not all(answer is None or isinstance(answer, str) for answer in answers):
        raise BadRowError(
            f"its {name!r} holds no texts, but log-likelihoods; only generated text can be scored"
        )
    return answers


def _usage(document: Document) -> Usage:
    counts = document.get("token_counts")
    first = counts[0] if isinstance(counts, list) and len(counts) == 1 else None
    if not isinstance(first, dict):
        return Usage()
    return Usage(
        *(as_count(first.get(name)) for name in ("input_tokens", "output_tokens", "reasoning_tokens"))
    )


formats: tuple[Format, ...] = (SampleLog("lm-eval"), SampleLog("lmms-eval"))

"""One object a line with an id and a text: the form that anyone can write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from harness.canonical import canonical_json, sha256_hex
from harness.imports.documents import MISSING, BadRowError, Document, as_number, kind_of
from harness.imports.format import Format, Head, Place, Row
from harness.imports.hints import FIELDS, Hints
from harness.imports.source import MAX_LINE_BYTES, SourceFile
from harness.imports.stated import Stated
from harness.messages import Usage
from harness.providers.bodies import as_count
from harness.providers.openai_replies import read_usage

IDS = ("id", "case_id")
TEXTS = ("answer", "text", "response", "prediction", "output", "completion")
MOST = 1_000
"""Highest repeat or attempt that is believed."""


class JsonLines:
    """`{"id": case, "answer": text}`, with more where it is known; `--map` names other fields."""

    name = "jsonl"
    noun = "line"
    first_position: int | None = None
    positions_only = False
    mapped = frozenset(FIELDS)

    def fits(self, source: SourceFile) -> bool:
        """Tell whether the file is named as one of JSON lines; other formats are tried before."""
        return source.suffix in {".jsonl", ".ndjson"}

    def head(self, source: SourceFile) -> Head:
        """Return nothing: such a file says nothing of itself."""
        return Head()

    def rows(self, source: SourceFile) -> Iterator[Row]:
        """Yield the lines."""
        return line_rows(source)

    def places(self, document: Document, hints: Hints) -> Sequence[Place]:
        """Return the one ask of a line."""
        id = read_id(hints.find(document, "id", *IDS), "id")
        repeat = _counted(document, hints, "repeat")
        return (Place(id, repeat=repeat, attempt=_counted(document, hints, "attempt")),)

    def state(self, document: Document, hints: Hints) -> Stated:
        """Return what a line states. An object as answer counts as its JSON."""
        error = read_error(hints.find(document, "error", "error"))
        # What failed need not have a field for the text.
        text = None if error is not None and not _has_text(document, hints) else _text(document, hints)
        prompt = document.get("prompt")
        return Stated(
            text=text,
            reasoning=hints.text(document, "reasoning", "reasoning", "reasoning_content"),
            finish_reason=hints.text(document, "finish_reason", "finish_reason", "stop_reason"),
            usage=read_counts(document, hints),
            served_model=hints.text(document, "served_model", "served_model"),
            cost_usd=_number(document, hints, "cost_usd"),
            total_s=_number(document, hints, "total_s", "latency_s"),
            prompt_sha256=text_digest(prompt),
            error=error,
        )


def line_rows(source: SourceFile) -> Iterator[Row]:
    """Yield the lines of a file as rows."""
    for number, line in source.lines():
        problem = None if line else f"it is longer than {MAX_LINE_BYTES} bytes"
        yield Row(number, line, problem)


def first_document(source: SourceFile) -> Document | None:
    """Return the object in the first line, None where there is none or only a part of it was looked at."""
    line = source.start.split(b"\n", 1)[0]
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_id(value: object, looked_for: str) -> str | int:
    """Return a tool's id: a text that is not empty, or a whole number. Raises BadRowError."""
    match value:
        case bool():
            pass
        case str() if value:
            return value
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case _:
            pass
    if value is MISSING:
        raise BadRowError(f"it has no {looked_for!r}; --map id=PATH says where the case id stands")
    what = "an empty text" if value == "" else kind_of(value)
    raise BadRowError(f"its {looked_for!r} is {what}, and neither a text nor a whole number")


def read_error(value: object) -> str | None:
    """Return the words of an error field; None where it says that there was no error."""
    if value is MISSING or value is None or value is False or value in ("", 0, [], {}):
        return None
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return str(value["message"])
    return value if isinstance(value, str) else json.dumps(value)


def text_digest(value: object) -> str | None:
    """Return the digest of a prompt: of its UTF-8 where it is a text, of its canonical JSON else."""
    if value is None or value is MISSING:
        return None
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else canonical_json(value)
    return sha256_hex(data)


def read_counts(document: Document, hints: Hints) -> Usage:
    """Return token counts from `usage`, in our names or a chat completion's, or from where `--map` says."""
    given = document.get("usage")
    usage = given if isinstance(given, dict) else {}
    known = read_usage(document)

    def count(name: str, other: int | None) -> int | None:
        if name in hints.paths:
            return as_count(hints.find(document, name))
        own = as_count(usage.get(name))
        return other if own is None else own

    return Usage(
        count("input_tokens", known.input_tokens),
        count("output_tokens", known.output_tokens),
        count("reasoning_tokens", known.reasoning_tokens),
        count("cached_tokens", known.cached_tokens),
    )


def _has_text(document: Document, hints: Hints) -> bool:
    return "answer" in hints.paths or any(name in document for name in TEXTS)


def _text(document: Document, hints: Hints) -> str | None:
    present = [name for name in TEXTS if name in document]
    if "answer" in hints.paths:
        value = hints.find(document, "answer")
    elif len(present) > 1:
        listed = " and ".join(map(repr, present))
        raise BadRowError(f"it has {listed}; --map answer=NAME says which is the model's answer")
    elif not present:
        raise BadRowError(
            f"it has none of {', '.join(TEXTS)}; --map answer=PATH says where the answer stands"
        )
    else:
        value = document[present[0]]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    raise BadRowError(f"its answer is {kind_of(value)}, and no text")


def _counted(document: Document, hints: Hints, name: str) -> int | None:
    value = hints.find(document, name, name)
    if value is MISSING or value is None:
        return None
    number = as_count(value)
    if number is None or not 1 <= number <= MOST:
        raise BadRowError(f"its {name} is no whole number from 1 to {MOST}")
    return number


def _number(document: Document, hints: Hints, name: str, *usual: str) -> float | None:
    value = hints.find(document, name, name, *usual)
    return None if value is MISSING else as_number(value)


formats: tuple[Format, ...] = (JsonLines(),)

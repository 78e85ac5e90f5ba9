"""Logs of Inspect: `.eval` archives and `.json` files with one sample a case and epoch.

An archive holds `header.json` (or `_journal/start.json`, or `start.json` in old versions) and
`samples/ID_epoch_N.json`; a name that stands twice counts with its last member, which Inspect's own reader
takes too (log/_recorders/eval.py). The answer is `output.choices[0].message.content`, a text or a list of
parts; epochs are repeats. An archive may be unfinished: a sample that is not in it was never answered.
Kept of a sample is what its answer and its end say; messages, events and the case's own files are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zipfile import BadZipFile

from harness.canonical import canonical_json
from harness.imports.documents import BadRowError, Document, as_number, parse, parse_any
from harness.imports.format import Format, Head, Place, Row
from harness.imports.hints import Hints
from harness.imports.json_lines import read_error, read_id, text_digest
from harness.imports.source import SourceFile
from harness.imports.stated import Stated
from harness.messages import Usage
from harness.providers.bodies import as_count, as_object, as_text

_KEPT = (
    "id",
    "epoch",
    "uuid",
    "output",
    "model_usage",
    "limit",
    "invalidation",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
)
_ATTACHMENT = "attachment://"
_HEADERS = ("header.json", "_journal/start.json", "start.json")
_OF_LENGTH = frozenset({"context", "token", "message"})
"""Kinds of `EvalSampleLimit` that cut an answer; at the others (time, cost ...) somebody stopped asking."""


class InspectLog:
    """One log, in either of its two kinds."""

    name = "inspect"
    noun = "sample"
    first_position: int | None = 1
    positions_only = False
    mapped = frozenset({"id"})

    def fits(self, source: SourceFile) -> bool:
        """Tell by the name, for JSON by an `eval` among the first fields."""
        if source.suffix == ".eval":
            return True
        return (
            source.suffix == ".json" and source.start.lstrip().startswith(b"{") and b'"eval"' in source.start
        )

    def head(self, source: SourceFile) -> Head:
        """Return what the log says of model, version and its own end."""
        header = _archive_header(source) if source.is_zip else _whole(source)
        about = as_object(header.get("eval"))
        status = as_text(header.get("status"))
        notes = []
        if status and status != "success":
            notes.append(f"the log ended with status {status!r}: samples may be missing")
        facts = {"task": as_text(about.get("task")), "created": as_text(about.get("created"))}
        return Head(
            model=as_text(about.get("model")) or None,
            tool_version=as_text(as_object(about.get("packages")).get("inspect_ai")) or None,
            facts={name: value for name, value in facts.items() if value},
            notes=tuple(notes),
        )

    def rows(self, source: SourceFile) -> Iterator[Row]:
        """Yield the samples, cut down to what is kept."""
        if source.is_zip:
            yield from _archive_rows(source)
            return
        samples = _whole(source).get("samples")
        if not isinstance(samples, list):
            raise source.error("it holds no list 'samples'; a log without samples cannot be imported")
        for number, sample in enumerate(samples, start=1):
            yield _sample_row(number, sample)

    def places(self, document: Document, hints: Hints) -> Sequence[Place]:
        """Return the one ask of a sample."""
        epoch = as_count(document.get("epoch", 1))
        if epoch is None or epoch < 1:
            raise BadRowError("its 'epoch' is no whole number from 1 on")
        return (Place(read_id(hints.find(document, "id", "id"), hints.paths.get("id", "id")), repeat=epoch),)

    def state(self, document: Document, hints: Hints) -> Stated:
        """Return what a sample states."""
        output = as_object(document.get("output"))
        choices = output.get("choices")
        choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
        content = as_object(choice.get("message")).get("content")
        text, reasoning, refused = _parts(content, as_object(document.get("attachments")))
        finish = as_text(choice.get("stop_reason")) or None
        limit = as_text(as_object(document.get("limit")).get("type"))
        detail = as_text(output.get("error"))
        return Stated(
            text=text,
            reasoning=reasoning,
            finish_reason=None if finish == "unknown" else finish,
            refusal=(detail or text or "refused") if refused else None,
            usage=_usage(output, document),
            served_model=as_text(output.get("model")) or None,
            cost_usd=as_number(as_object(output.get("usage")).get("total_cost")),
            total_s=as_number(output.get("time")),
            started_at_us=_moment_us(document.get("started_at")),
            prompt_sha256=as_text(document.get("prompt_sha256")) or None,
            error=_failure(document, limit, detail if finish != "content_filter" else ""),
            stopped=limit in _OF_LENGTH,
        )


def _failure(document: Document, limit: str, output_error: str) -> str | None:
    error = read_error(document.get("error"))
    if error is not None:
        return error
    if document.get("invalidation") is not None:
        return "the sample was marked as invalid in the log"
    if limit and limit not in _OF_LENGTH:
        return f"the sample was stopped at its limit of {limit!r}"
    return output_error or None


def _parts(content: object, attachments: Mapping[str, Any]) -> tuple[str | None, str | None, bool]:
    """Return text, reasoning, and whether a part is marked as a refusal."""
    if isinstance(content, str):
        return _resolved(content, attachments), None, False
    if not isinstance(content, list):
        return None, None, False
    parts = [as_object(part) for part in content]
    texts = [
        _resolved(as_text(part.get("text")), attachments) for part in parts if part.get("type") == "text"
    ]
    thoughts = [
        as_text(part.get("summary")) if part.get("redacted") is True else as_text(part.get("reasoning"))
        for part in parts
        if part.get("type") == "reasoning"
    ]
    refused = any(part.get("refusal") is True for part in parts)
    return "".join(texts) if texts else None, "".join(thoughts) or None, refused


def _resolved(text: str, attachments: Mapping[str, Any]) -> str:
    if not text.startswith(_ATTACHMENT):
        return text
    found = attachments.get(text.removeprefix(_ATTACHMENT))
    if not isinstance(found, str):
        raise BadRowError("its answer is an attachment that the sample does not hold")
    return found


def _usage(output: Mapping[str, Any], document: Document) -> Usage:
    """Return token counts. Input that came from a cache is counted beside the rest by some providers: the
    total tells."""
    of_models = as_object(document.get("model_usage"))
    given = as_object(output.get("usage"))
    if not given and len(of_models) == 1:
        given = as_object(next(iter(of_models.values())))
    fresh, output_tokens = as_count(given.get("input_tokens")), as_count(given.get("output_tokens"))
    read = as_count(given.get("input_tokens_cache_read"))
    beside = (read or 0) + (as_count(given.get("input_tokens_cache_write")) or 0)
    total = as_count(given.get("total_tokens"))
    if beside and fresh is not None and total == fresh + beside + (output_tokens or 0):
        fresh += beside
    return Usage(fresh, output_tokens, as_count(given.get("reasoning_tokens")), read)


def _moment_us(value: object) -> int | None:
    try:
        moment = datetime.fromisoformat(as_text(value))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _archive_rows(source: SourceFile) -> Iterator[Row]:
    number = 0
    with source.archive() as archive:
        for name in archive.NameToInfo:
            if not name.startswith("samples/") or not name.endswith(".json"):
                continue
            if ".." in name.split("/"):
                raise source.error(f"it holds the name {name[:80]!r}, which no log of Inspect does")
            number += 1
            try:
                yield _sample_row(number, parse(source.member(archive, name)))
            except BadRowError as error:
                yield Row(number, b"", str(error))
            except (BadZipFile, EOFError):
                yield Row(number, b"", f"its member {name[:80]!r} is damaged")
    if not number:
        raise source.error("it holds no 'samples/*.json'; a log without samples cannot be imported")


def _archive_header(source: SourceFile) -> Document:
    with source.archive() as archive:
        for name in _HEADERS:
            if name in archive.NameToInfo:
                try:
                    return parse(source.member(archive, name))
                except BadRowError as error:
                    raise source.error(f"its {name!r}: {error}") from error
    raise source.error(f"it holds none of {', '.join(_HEADERS)}: it is no log of Inspect")


def _whole(source: SourceFile) -> Document:
    try:
        found = parse_any(source.whole())
    except BadRowError as error:
        raise source.error(f"{error}; a log of Inspect was looked for") from error
    if not isinstance(found, dict):
        raise source.error("it is no object with 'eval' and 'samples'; a log of Inspect was looked for")
    return found


def _sample_row(number: int, sample: object) -> Row:
    if not isinstance(sample, dict):
        return Row(number, b"", "it is no object")
    try:
        kept: dict[str, object] = {name: sample[name] for name in _KEPT if sample.get(name) is not None}
        error = read_error(sample.get("error"))
        if error is not None:
            kept["error"] = error
        if sample.get("input") is not None:
            kept["prompt_sha256"] = text_digest(sample["input"])
        attachments = _used(sample)
        if attachments:
            kept["attachments"] = attachments
        return Row(number, canonical_json(kept))
    except (TypeError, ValueError, RecursionError) as problem:
        return Row(number, b"", f"it cannot be kept as JSON ({type(problem).__name__})")


def _used(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attachments that the answer points to."""
    attachments = as_object(sample.get("attachments"))
    output = json.dumps(sample.get("output")) if attachments else ""
    return {name: text for name, text in attachments.items() if f"{_ATTACHMENT}{name}" in output}


formats: tuple[Format, ...] = (InspectLog(),)

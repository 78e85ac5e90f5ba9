"""What the fuzzers call: each target reads any bytes and asserts what must hold whatever they are.

The same functions serve hypothesis, atheris (`tests/fuzz/run_atheris.py`) and the replay of the corpora.
A target returns normally or raises; what it raises is a finding.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator
from PIL import Image
from wire_doubles import provider

from harness.answers.extraction import extract, unchanged
from harness.answers.readings import read_answer
from harness.answers.validation import Validator
from harness.attempts import attempt_policy, read_reply
from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.pandent.answers.parsing import parse_answer
from harness.benchmarks.pandent.cases import check_cases, load_cases
from harness.benchmarks.pandent.clinical_reports import compose
from harness.benchmarks.pandent.finding_values import answer_code, value_faults, value_of
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS, UNIVERSE
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.taxonomy import LABELS
from harness.canonical import JSON, canonical_json
from harness.case_import.cells import value_of as value_of_cell
from harness.case_import.describing import shape
from harness.case_import.fields import Kind
from harness.case_import.opening import open_source
from harness.case_import.row import CellError
from harness.config import load_config
from harness.conversion.finding import kind_of
from harness.conversion.libraries import silenced
from harness.conversion.nifti import stacks_of_volume
from harness.conversion.nifti_files import open_volume
from harness.conversion.pictures import Source, Stack
from harness.conversion.series import stacks_of
from harness.conversion.slices import read_slices
from harness.errors import CaseFileError, ConfigError, ConversionError, ImportFileError, MediaError
from harness.frames.iso_times import iso_timeline
from harness.frames.sampling import sampled
from harness.image_structure import read_structure
from harness.media import load, probe
from harness.messages import Fault, RawReply, Reply
from harness.outcomes import USABLE, ExchangeOutcome
from harness.providers.base import ADAPTERS, get_adapter
from harness.providers.limit_headers import Dialect, limits_from_headers
from harness.providers.waits import duration_s, wait_in_headers, wait_in_message, wait_until_reset
from harness.snapshot import decode_cases, encode_cases
from harness.video_structure import BadVideoError, read_video

# Imported here, not when first used: a coverage-guided fuzzer watches what is imported with this module.
# Their order is the corpora's: append a new one.
_KINDS = ("gemini", "openai", "openai-responses", "simulator", "anthropic", "litellm")
assert set(_KINDS) == set(ADAPTERS), "name every adapter"
_ADAPTERS = {kind: get_adapter(kind) for kind in _KINDS}
_TRIAGE = get_benchmark("triage")

NOW_S = 1_800_000_000.0
STATUSES = (200, 201, 204, 302, 400, 401, 403, 404, 413, 422, 429, 500, 503, 529)
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "azure", "groq", "mistral", "none")


# --- answers of providers ---


def reply(data: bytes) -> None:
    """The first byte chooses the adapter; the rest is the body of a 200."""
    kind, rest = _chosen(_KINDS, data)
    adapter = _ADAPTERS[kind]
    raw = RawReply(200, {"content-type": "application/json"}, rest)
    meaning = adapter.read_reply(raw, provider(kind))
    assert meaning == adapter.read_reply(raw, provider(kind)), "read differently the second time"
    _check_meaning(meaning)


def error(data: bytes) -> None:
    """The first two bytes choose adapter and status; the rest is the body."""
    kind, rest = _chosen(_KINDS, data)
    status, body = _chosen(STATUSES, rest)
    adapter = get_adapter(kind)
    raw = RawReply(status, {}, body)
    meaning = adapter.read_error(raw, provider(kind))
    assert meaning == adapter.read_error(raw, provider(kind)), "read differently the second time"
    _check_meaning(meaning)
    # What no body may bring about: a failure that serves as an answer of the model's own.
    if status >= 401 and isinstance(meaning, Reply):
        assert meaning.outcome in {ExchangeOutcome.FILTERED, ExchangeOutcome.REFUSED}, meaning.outcome


def _check_meaning(meaning: Reply | Fault) -> None:
    assert meaning.outcome.serves is isinstance(meaning, Reply)
    counts = (
        meaning.usage.input_tokens,
        meaning.usage.output_tokens,
        meaning.usage.reasoning_tokens,
        meaning.usage.cached_tokens,
    )
    assert all(count is None or (type(count) is int and count >= 0) for count in counts), counts
    if isinstance(meaning, Fault):
        _check_wait(meaning.wait_s)
        assert isinstance(meaning.message, str)
        return
    if meaning.outcome is ExchangeOutcome.ANSWERED:
        assert meaning.text.strip(), "an answer without text"
    reading = read_answer(meaning, None)
    assert reading.outcome in USABLE or not isinstance(reading.prediction, str)


# --- answers of models ---

_SMALL: dict[str, JSON] = {
    "type": "object",
    "properties": {"sign": {"enum": ["left", "right"]}, "count": {"type": "integer", "minimum": 0}},
    "required": ["sign"],
    "additionalProperties": False,
}
_LIST: dict[str, JSON] = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}


@dataclass(frozen=True)
class _Wanted:
    """A schema with our validator and, beside it, jsonschema's own."""

    ours: Validator
    theirs: Draft202012Validator
    aliases: Callable[[JSON], JSON] = unchanged


@cache
def _wanted() -> tuple[_Wanted, ...]:
    schema = _TRIAGE.schema("both")
    assert schema is not None
    body = dict(schema.body)
    return (
        _Wanted(Validator(_SMALL), Draft202012Validator(_SMALL)),
        _Wanted(Validator(_LIST), Draft202012Validator(_LIST)),
        _Wanted(Validator(body), Draft202012Validator(body), _TRIAGE.aliases),
    )


def extraction(data: bytes) -> None:
    """The first byte chooses a schema; the rest is a model's text.

    Whatever is taken fits the schema by jsonschema itself and stands in the text as it was taken: it is
    the value of one of the text's own spans, or of a string inside one.
    """
    wanted, rest = _chosen(_wanted(), data)
    text = rest.decode("utf-8", "surrogatepass") if _is_text(rest) else rest.decode("latin-1")
    found = extract(text, wanted.ours, wanted.aliases)
    assert found == extract(text, wanted.ours, wanted.aliases), "extracted differently the second time"
    assert (found.how is None) == (found.problem is not None)
    if found.how is None:
        assert found.value is None
        return
    assert wanted.theirs.is_valid(found.value), f"accepted what the schema refuses: {found.value!r}"
    if found.how == "whole":
        assert _same(_strict(text), found.value)
    elif found.how == "cut" and len(text) <= 2_000:
        wanted_bytes = canonical_json(found.value)
        assert any(canonical_json(value) == wanted_bytes for value in _values_in(text)), found.value


def attribute(data: bytes) -> None:
    """The first byte chooses one of PanDent's findings; the rest is an answer about it.

    A value and a reason exclude each other, and no tooth comes of a text without numbers or names of teeth.
    """
    finding, rest = _chosen(FINDINGS, data)
    text = rest.decode("utf-8", "surrogatepass") if _is_text(rest) else rest.decode("latin-1")
    found = parse_answer(text, finding)
    assert found == parse_answer(text, finding), "read differently the second time"
    assert (found.value is None) == (found.reason is not None)
    assert found.value is None or isinstance(found.value, bool) == (finding.answer == "binary")
    if isinstance(found.value, frozenset):
        assert found.value <= set(UNIVERSE)
        kinds = ("molar", "cuspid", "incisor", "canine", "wisdom")
        named = any(kind in text.lower() for kind in kinds)
        assert named or not found.value or any(sign.isdigit() for sign in text)


def _values_in(text: str, depth: int = 0) -> Iterator[JSON]:
    """Yield every strict value from one bracket of the text to another, and those in its strings."""
    with suppress(ValueError):
        for inner in _texts_in(_strict(text.strip().strip("\ufeff").strip())):
            yield from _values_in(inner, depth + 1)
    ends = [index + 1 for index, character in enumerate(text) if character in "}]"]
    for start in (index for index, character in enumerate(text) if character in "{["):
        for end in ends:
            if end <= start:
                continue
            try:
                value = _strict(text[start:end])
            except ValueError:
                continue
            yield value
            for inner in _texts_in(value) if depth < 4 else ():
                yield from _values_in(inner, depth + 1)


def _strict(text: str) -> JSON:
    """Return what the standard's JSON has in a text, by other code than ours. Raises ValueError."""

    def once(pairs: list[tuple[str, JSON]]) -> JSON:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a key is repeated")
        return dict(pairs)

    def refused(name: str) -> JSON:
        raise ValueError(name)

    try:
        value: JSON = json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def _texts_in(value: JSON) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts_in(item)
        case list():
            for item in value:
                yield from _texts_in(item)


@cache
def _triage_policy():  # type: ignore[no-untyped-def]  # AttemptPolicy, only for the next function
    schema, reformat_schema = _TRIAGE.schema("both"), _TRIAGE.reformat_schema("both")
    assert schema is not None and reformat_schema is not None
    return attempt_policy(
        _TRIAGE, "both", schema.body, reformat_schema.body, max_attempts=3, reask="same", reformat=True,
        prompt=_TRIAGE.prompt("both"),
    )  # fmt: skip


def reading(data: bytes) -> None:
    """A triage answer from raw text to prediction, and what the reformatter's filling makes of it."""
    text = data.decode("utf-8", "replace")
    policy = _triage_policy()
    read = read_reply(Reply(ExchangeOutcome.ANSWERED, text), policy)
    body = _TRIAGE.schema("both")
    assert body is not None
    if read.usable:
        assert Draft202012Validator(dict(body.body)).is_valid(read.prediction)
    else:
        assert read.prediction is None and read.error is not None
    with suppress(ValueError):
        value = _strict(text)
        if policy.reformat_validator.fits(value):
            filled = _TRIAGE.fill(value, text)
            assert filled.value is None or policy.validator.fits(filled.value)


# --- headers ---


def headers(data: bytes) -> None:
    """Lines `name: value`, as a server's headers, in every dialect; each line as a text that names a wait."""
    lines = data.decode("latin-1").split("\n")
    pairs = (line.partition(":") for line in lines)
    given = {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}
    for dialect in DIALECTS:
        limits = limits_from_headers(dialect, given)
        for limit in (
            limits.requests_per_minute,
            limits.tokens_per_minute,
            limits.input_tokens_per_minute,
            limits.output_tokens_per_minute,
        ):
            assert limit is None or (limit > 0 and math.isfinite(limit)), (dialect, limit)
    _check_wait(wait_in_headers(given, NOW_S))
    _check_wait(wait_until_reset(given, NOW_S))
    for line in lines:
        _check_wait(duration_s(line))
        _check_wait(wait_in_message(line))


def _check_wait(wait_s: float | None) -> None:
    assert wait_s is None or (wait_s >= 0 and math.isfinite(wait_s)), wait_s


# --- files that users write ---


@cache
def _folder() -> Path:
    """Return a folder for the targets that read files, with one image and a small catalogue."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    Image.new("L", (4, 4)).save(folder / "a.png")
    (folder / "catalogue").mkdir()
    (folder / "catalogue" / "p.toml").write_text(
        '[providers.p]\nadapter = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
        '[models.m]\nprovider = "p"\nmodel = "m-1"\n',
        encoding="utf-8",
    )
    return folder


def cases(data: bytes) -> None:
    """The bytes as triage's `cases.jsonl`: refused with a sentence, or sound and the same in a snapshot."""
    _cases(data, _TRIAGE.check, _TRIAGE.load)


def pandent_cases(data: bytes) -> None:
    """The same of PanDent; a clinical report can be made of whatever findings are taken."""
    for case in _cases(data, check_cases, load_cases):
        stated = case.reference["findings"]
        assert isinstance(stated, dict) and set(stated) == set(BY_ID)
        for name, value in stated.items():
            assert not list(value_faults(BY_ID[name], value)), "the one form of a value is no sound value"
            assert value_of(BY_ID[name], value) == value
            code = answer_code(BY_ID[name], value)
            assert (code is None) == (value is None)
            assert code is None or 0 <= code < (2 if BY_ID[name].answer == "binary" else 2**32)
        assert "{teeth}" not in compose(stated)


def _cases(
    data: bytes, check: Callable[[Path], list[str]], load: Callable[[Path], CaseSet]
) -> Sequence[Case]:
    folder = _folder()
    (folder / "cases.jsonl").write_bytes(data)
    problems = check(folder)
    try:
        loaded = load(folder)
    except CaseFileError as refused:
        assert problems and str(refused), "refused, and the check finds nothing"
        return ()
    ids = [case.id for case in loaded.cases]
    assert ids and len(set(ids)) == len(ids)
    assert all(isinstance(id, str) and id for id in ids)
    for case in loaded.cases:
        assert case.problem is not None or all(case.media.values())
        assert case.reference
    assert not problems or all(case.problem for case in loaded.cases if case.id in " ".join(problems))
    kept = encode_cases(loaded)
    assert encode_cases(decode_cases(kept)) == kept, "a snapshot changes the cases"
    assert [case.reference for case in decode_cases(kept).cases] == [case.reference for case in loaded.cases]
    return loaded.cases


def config(data: bytes) -> None:
    """The bytes as `harness.toml`: refused with a sentence that names the file, or sound settings."""
    folder = _folder()
    path = folder / "harness.toml"
    path.write_bytes(data)
    try:
        loaded = load_config(path, catalogue_dir=folder / "catalogue")
    except ConfigError as refused:
        assert str(path) in str(refused), f"does not name the file: {refused}"
        return
    for model in loaded.models():
        limits = (
            model.requests_per_minute,
            model.tokens_per_minute,
            model.max_in_flight,
            model.connect_timeout_s,
            model.idle_timeout_s,
            model.total_timeout_s,
            model.max_sends,
        )
        assert all(limit is None or (limit > 0 and math.isfinite(limit)) for limit in limits), limits
        canonical_json(model.params)
        json.dumps(model.model_dump(mode="json"), allow_nan=False)


# --- media ---

_FEW_PIXELS = 100_000

def image(data: bytes) -> None:
    """Any bytes as an image file: refused with a sentence, or an image with a size that can be converted."""
    path = _folder() / "any"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the decoder's remarks on odd tags
        _check_image(path, data)


def _check_image(path: Path, data: bytes) -> None:
    try:
        media = probe(path, name="any")
    except MediaError as refused:
        assert "'any'" in str(refused), f"does not name the file: {refused}"
        return
    assert load(media, "original") == data
    if media.kind == "video":
        return
    assert media.width > 0 and media.height > 0
    if media.width * media.height <= _FEW_PIXELS:
        try:
            converted = load(media, "png")
        except MediaError as refused:
            assert str(refused)
            return
        assert read_structure(converted).mime == "image/png"


def video(data: bytes) -> None:
    """Any bytes as a video: refused with a sentence, or a size and a length (none, or more than zero)."""
    try:
        times = iso_timeline(data) if data[4:8] in (b"ftyp", b"moov") else None
        assert times is None or sampled(times, Fraction(2))[0] == 0
        found = read_video(data)
    except BadVideoError as refused:
        assert str(refused)
        return
    assert found.width >= 0 and found.height >= 0
    assert found.duration_s is None or 0 < found.duration_s < float("inf")


_TABLES = ("t.csv", "t.tsv", "t.jsonl", "t.json")
_CELLS: tuple[Kind, ...] = ("id", "text", "texts", "tags", "flag", "box", "numbers", "described", "json")


def table(data: bytes) -> None:
    """The first byte chooses a form; the rest is a table: refused with a sentence, or rows of JSON values."""
    name, rest = _chosen(_TABLES, data)
    path = _folder() / name
    path.write_bytes(rest)
    try:
        source = open_source(path)
        names = {column.name for column in source.columns(whole=True)}
        rows = list(source.rows())
    except ImportFileError as refused:
        assert str(refused).startswith(repr(path.name)) and "\n" not in str(refused)
        return
    assert [row.number for row in rows] == [*range(1, len(rows) + 1)]
    for row in rows:
        assert set(row.cells) <= names and (row.fault is None or not row.cells)
        for cell in row.cells.values():
            assert shape(cell)
            for kind in _CELLS if cell is not None else ():
                with suppress(CellError):
                    json.dumps(value_of_cell(kind, cell), allow_nan=False)


# --- DICOM and NIfTI ---


def conversion(data: bytes) -> None:
    """Any bytes as a file to convert: refused with a sentence that names it, or pictures of one shape."""
    path = _folder() / "any.dcm"
    path.write_bytes(data)
    source = Source(path, "any.dcm")
    with silenced():
        try:
            kind = kind_of(source, named=True)
            if kind == "dicom":
                for stack in stacks_of(read_slices(source)):
                    _check_pictures(stack)
                return
            volume = open_volume(source, packed=kind == "nifti.gz")
            try:
                for phase in stacks_of_volume(volume, "coronal")[:2]:
                    _check_pictures(phase)
            finally:
                volume.close()
        except ConversionError as refused:
            assert str(refused).startswith(repr(str(path)))


def _check_pictures(stack: Stack) -> None:
    indices = range(min(2, len(stack.frames)))
    shapes = {picture.values.shape for picture in stack.pictures(indices)}
    assert len(shapes) == 1
    assert max(len(shape) for shape in shapes) in {2, 3}


TARGETS: dict[str, Callable[[bytes], None]] = {
    "attribute": attribute,
    "cases": cases,
    "config": config,
    "conversion": conversion,
    "error": error,
    "extraction": extraction,
    "headers": headers,
    "image": image,
    "pandent_cases": pandent_cases,
    "reading": reading,
    "reply": reply,
    "table": table,
    "video": video,
}

assert len(LABELS) == 22  # the corpora's triage answers name them all


def _chosen(choices, data: bytes):  # type: ignore[no-untyped-def]  # one of any tuple, and the other bytes
    number = data[0] if data else 0
    return choices[number % len(choices)], data[1:]


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _same(one: JSON, other: JSON) -> bool:
    return canonical_json(one) == canonical_json(other)

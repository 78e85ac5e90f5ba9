"""The columns of a notebook's tables, and Arrow batches made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from harness.errors import ConfigError
from harness.offline.cells import escape_cell

Kind: TypeAlias = Literal["text", "texts", "integer", "number", "flag", "time"]
Row: TypeAlias = Mapping[str, Any]


class Column(NamedTuple):
    """A column: its name, what its cells are, and what they mean."""

    name: str
    kind: Kind
    about: str


_ESCAPED: Final = Column(
    "escaped",
    "texts",
    "names of this row's columns whose text Arrow cannot hold and that stand escaped: undo it with "
    "`harness.offline.cells.unescape_cell`; null: none",
)

RUNS: Final = (
    Column("run", "text", "its name"),
    Column("digest", "text", "its identity"),
    Column("benchmark", "text", "the benchmark, of a step with its kind: triage.judge"),
    Column("source", "text", "of a step: the digest of the run that it follows"),
    Column("models", "texts", "whom it asks"),
    Column("conditions", "texts", "in which conditions"),
    Column("n_cases", "integer", "cases"),
    Column("repeats", "integer", "repeats"),
    Column("n_units", "integer", "units that it wants of all models together"),
    Column("synthetic", "flag", "the cases are made up"),
    Column("simulated", "flag", "a model is simulated, or answers of one are looked at"),
    Column("imported", "flag", "the answers of a model were read from files"),
    Column("created", "time", "when it was first wanted"),
    Column("last_session", "time", "when its latest session began; null: none did"),
    Column("sessions", "integer", "sessions that worked on it"),
    _ESCAPED,
)
"""One row a run, the one that was worked on last first."""

RECORDS: Final = (
    Column("run", "text", "the run's name"),
    Column("benchmark", "text", "the benchmark"),
    Column("model", "text", "who was asked"),
    Column("condition", "text", "which inputs were given"),
    Column("case_id", "text", "the case; of a step over answers, whose answer it looks at is in `about_*`"),
    Column("repeat", "integer", "from 1"),
    Column("about_model", "text", "of a step over answers: whose answer it looks at"),
    Column("about_condition", "text", "likewise: in which condition"),
    Column("about_case_id", "text", "likewise: to which case"),
    Column("about_repeat", "integer", "likewise: in which repeat"),
    Column("imported", "flag", "the answer was read from a file"),
    Column("outcome", "text", "how the unit ended: valid, recovered, reformatted, unparsable, ..."),
    Column("stage", "text", "where the prediction comes from: attempt-1 .., reformatter; null: from nowhere"),
    Column("prediction", "text", "the prediction as JSON; null: there is none"),
    Column("text", "text", "the last answer that was looked at, as the model wrote it; null: no answer"),
    Column("error_kind", "text", "why there is no prediction, in a word"),
    Column("error", "text", "the same in a sentence"),
    Column("filled_keys", "texts", "what a reformatter left out and was filled"),
    Column("unsupported", "texts", "what a reformatter asserts without support in the answer"),
    Column("attempts", "integer", "attempts that were asked, earlier rounds included"),
    Column("sends", "integer", "exchanges, failed ones and the reformatter's included"),
    Column("cached", "flag", "no session of this run sent any of them (of imported ones too)"),
    Column("latency_s", "number", "seconds of the model's answer that counts; null: none, or not known"),
    Column("input_tokens", "integer", "of all sends, as far as they were told; null: never told"),
    Column("output_tokens", "integer", "likewise"),
    Column("reasoning_tokens", "integer", "likewise"),
    Column("cached_tokens", "integer", "likewise"),
    Column("evidence_cost_usd", "number", "US dollars of all sends; null: some of it nobody knows"),
    Column("spent_usd", "number", "the same of those that this run's sessions sent"),
    Column("served_model", "text", "which model the provider says answered; null: it does not say"),
    Column("exchanges", "text", "every exchange as JSON, as `harness export` has it; null: not asked for"),
    _ESCAPED,
)
"""One row a unit that the run wants, as `harness export` has them: models in order of their names."""

SCORES: Final = (
    Column("run", "text", "the run's name"),
    Column("kind", "text", "model, rater, or baseline"),
    Column("model", "text", "the row of the scores: a model's, rater's or baseline's name"),
    Column("condition", "text", "the condition; of a step over answers, that of the answers"),
    Column("case_id", "text", "the case"),
    Column("repeat", "integer", "from 1"),
    Column("outcome", "text", "how the unit ended"),
    Column("metric", "text", "the metric of a unit"),
    Column("value", "number", "its value; null with a reason"),
    Column("reason", "text", "why there is no value"),
    _ESCAPED,
)
"""One row a unit and metric, of the units that the reading `as_answered` is made of."""

METRICS: Final = (
    Column("run", "text", "the run's name"),
    Column("kind", "text", "model, rater, or baseline"),
    Column("model", "text", "a model's, rater's or baseline's name"),
    Column("condition", "text", "condition or union of conditions"),
    Column("reading", "text", "as_answered, valid_only, or without_reformatter (where one was asked)"),
    Column("metric", "text", "the metric's path"),
    Column("value", "number", "its value; null with a reason"),
    Column("n", "integer", "of how many it is made"),
    Column("ci_low", "number", "the 95 % interval's lower end; null: there is none"),
    Column("ci_high", "number", "its upper end"),
    Column("ci_method", "text", "how the interval was made"),
    Column("sd", "number", "over repeats, where there are several"),
    Column("reason", "text", "why there is no value, or no interval"),
    Column("rank", "integer", "the model's place among the condition's models; null: it has none"),
    Column("rank_reason", "text", "why it has none"),
    Column("incomplete", "flag", "units are still nobody's answer"),
    Column("to_complete", "integer", "how many"),
    Column("coverage", "number", "the share of units with a prediction"),
    Column("n_cases", "integer", "cases that are scored"),
    Column("n_units", "integer", "units that are wanted"),
    _ESCAPED,
)
"""One row a row of the scores, reading and metric."""


def arrow() -> Any:
    """Return pyarrow. Raises ConfigError where it is missing."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise ConfigError(
            "tables for notebooks need the package 'pyarrow', which is not installed; install it, "
            "or the extra: pip install 'mllm-harness[parquet]'"
        ) from error


def schema_of(columns: Sequence[Column]) -> Any:
    """Return the Arrow schema of columns; each field's metadata says what it means (`about`)."""
    pa = arrow()
    kinds = {
        "text": pa.large_string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema(
        [pa.field(one.name, kinds[one.kind], metadata={"about": one.about}) for one in columns]
    )


def batch_of(columns: Sequence[Column], schema: Any, rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow record batch; what UTF-8 cannot hold is escaped, and `escaped` says where."""
    pa = arrow()
    escaped: list[list[str] | None] = [None] * len(rows)
    made: list[Any] = []
    for column, field in zip(columns, schema, strict=True):
        values = escaped if column is _ESCAPED else [row.get(column.name) for row in rows]
        if column.kind in {"text", "texts"} and column is not _ESCAPED:
            values = _valid(column.name, values, escaped)
        made.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)


def table_of(columns: Sequence[Column], rows: Iterable[Row]) -> Any:
    """Return rows as an Arrow table."""
    schema = schema_of(columns)
    return arrow().Table.from_batches([batch_of(columns, schema, list(rows))], schema)


def _valid(name: str, values: list[Any], escaped: list[list[str] | None]) -> list[Any]:
    """Return texts, or lists of them, with those escaped that are no valid UTF-8."""
    found = list(values)
    for place, value in enumerate(values):
        if value is None or _fits(value):
            continue
        found[place] = escape_cell(value) if isinstance(value, str) else [escape_cell(one) for one in value]
        escaped[place] = [*(escaped[place] or ()), name]
    return found


def _fits(value: Any) -> bool:
    texts = (value,) if isinstance(value, str) else value
    try:
        for text in texts:
            text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

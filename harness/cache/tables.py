"""The tables of the store, in no dialect."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    TypeDecorator,
)

SCHEMA_VERSION: Final = 4

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"

_ODD = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


class AnyText(TypeDecorator[str]):
    """Text in which NUL and lone surrogates survive: they and the backslash are stored as escapes.

    Databases refuse surrogates, some refuse NUL. Everything else is stored as it is, so that the
    columns stay readable and searchable with any SQL tool.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text as it is stored."""
        return None if value is None else escape_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """Return the text as it was given."""
        if value is None or "\\" not in value:
            return value
        return _ESCAPED.sub(_unescape, value)


def escape_text(value: str) -> str:
    """Return a text as `AnyText` stores it."""
    return _ODD.sub(_escape, value) if _ODD.search(value) else value


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return "\\" if code == "\\" else chr(int(code[1:], 16))


METADATA = MetaData()


def _unit_columns(*, key: bool = True) -> list[Column[Any]]:
    return [
        Column("run_id", ForeignKey("run.id"), primary_key=key, nullable=False),
        Column("model", AnyText, primary_key=key, nullable=False),
        Column("condition", AnyText, primary_key=key, nullable=False),
        Column("case_id", AnyText, primary_key=key, nullable=False),
        Column("repeat", Integer, primary_key=key, nullable=False),
    ]


UNIT_KEY: Final = ("run_id", "model", "condition", "case_id", "repeat")

META = Table(
    "meta",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

RUN = Table(
    "run",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", AnyText, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("benchmark", AnyText, nullable=False),
    Column("manifest", LargeBinary, nullable=False),
    Column("created_at_us", BigInteger, nullable=False),
)

SESSION = Table(
    "session",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("run_id", ForeignKey("run.id"), nullable=False, index=True),
    Column("started_at_us", BigInteger, nullable=False),
    Column("ended_at_us", BigInteger),
    Column("exit_code", Integer),
    Column("info", LargeBinary, nullable=False),
)

SESSION_LIVE = Table(
    "session_live",
    METADATA,
    Column("session_id", ForeignKey("session.id"), primary_key=True, autoincrement=False),
    Column("at_us", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
)
"""What a session at work said of itself last: no evidence of anything, and never merged."""

EXCHANGE = Table(
    "exchange",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("session_id", ForeignKey("session.id"), nullable=False, index=True),
    Column("key", Text, nullable=False, index=True),
    # Equal for requests that differ only in endpoint or wire revision.
    Column("twin", Text, nullable=False, index=True),
    Column("pool", AnyText, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("provider", AnyText, nullable=False),
    Column("endpoint", AnyText, nullable=False),
    Column("model", AnyText, nullable=False),
    Column("served_model", AnyText),
    Column("adapter", AnyText, nullable=False),
    Column("wire_revision", Integer, nullable=False),
    Column("status", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("started_at_us", BigInteger, nullable=False),
    Column("first_byte_s", Double),
    Column("total_s", Double, nullable=False),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("maybe_billed", Boolean, nullable=False),
    Column("masked", Boolean, nullable=False),
    # Compressed. `request`, `headers`, `error` and `media_sent` are canonical JSON; `body` is the raw answer.
    Column("request", LargeBinary, nullable=False),
    Column("headers", LargeBinary, nullable=False),
    Column("error", LargeBinary),
    Column("media_sent", LargeBinary),
    Column("body", LargeBinary, nullable=False),
)

SERVED = Table(
    "served",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("exchange_id", ForeignKey("exchange.id"), nullable=False),
    sqlite_with_rowid=False,
)

CLAIM = Table(
    "claim",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("token", Text, nullable=False, index=True),
    Column("owner", LargeBinary, nullable=False),
    Column("expires_at_us", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

UNIT = Table(
    "unit",
    METADATA,
    *_unit_columns(),
    Column("outcome", Text),
    Column("again_after", BigInteger, nullable=False, default=0, server_default="0"),
    Column("error", LargeBinary),
    sqlite_with_rowid=False,
)

UNIT_EXCHANGE = Table(
    "unit_exchange",
    METADATA,
    *_unit_columns(),
    Column("exchange_id", ForeignKey("exchange.id"), primary_key=True, index=True),
    Column("position", BigInteger, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("used", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

RECORD = Table(
    "record",
    METADATA,
    *_unit_columns(),
    Column("outcome", Text, nullable=False),
    Column("stage", Text),
    Column("prediction", LargeBinary),
    Column("text", AnyText, nullable=False),
    Column("parser", Text, nullable=False),
    sqlite_with_rowid=False,
)

UNIT_SCORE = Table(
    "unit_score",
    METADATA,
    *_unit_columns(),
    Column("metric", Text, primary_key=True),
    Column("value", Double),
    Column("reason", AnyText),
    Column("scorer", Text, nullable=False),
    sqlite_with_rowid=False,
)

SCORED_RUN = Table(
    "scored_run",
    METADATA,
    Column("run_id", ForeignKey("run.id"), primary_key=True, autoincrement=False),
    # Which scoring the derived tables of the run are of.
    Column("scoring", Text, nullable=False),
    # Null until all of them are there. Compressed JSON; `clusters` are whole numbers, one a case.
    Column("depends", LargeBinary),
    Column("score", LargeBinary),
    Column("effort", LargeBinary),
    Column("clusters", LargeBinary),
)

ROW_UNITS = Table(
    "row_units",
    METADATA,
    Column("run_id", ForeignKey("run.id"), primary_key=True, nullable=False),
    Column("kind", Text, primary_key=True, nullable=False),
    Column("name", AnyText, primary_key=True, nullable=False),
    Column("condition", AnyText, primary_key=True, nullable=False),
    Column("position", Integer, nullable=False),
    Column("units", Integer, nullable=False),
    Column("width", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

DERIVED: Final = (ROW_UNITS, SCORED_RUN, RECORD, UNIT_SCORE)
"""What may be dropped, and is made anew by scoring: never merged, and no evidence of anything."""

BLOB = Table(
    "blob",
    METADATA,
    Column("sha256", Text, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

MEDIA = Table(
    "media",
    METADATA,
    Column("sha256", Text, primary_key=True),
    Column("mime", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("data", LargeBinary),
    # Samples that need no conversion; null: not looked at.
    Column("plain", Boolean),
)

MEDIA_PLACE = Table(
    "media_place",
    METADATA,
    Column("path", AnyText, primary_key=True),
    Column("sha256", ForeignKey("media.sha256"), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    # When reading began.
    Column("remembered_at_us", BigInteger, nullable=False),
    # 0: not known, the file is read again.
    Column("ctime_ns", BigInteger, nullable=False, default=0, server_default="0"),
    Column("inode", BigInteger, nullable=False, default=0, server_default="0"),
    Column("reader", Integer, nullable=False, default=0, server_default="0"),
)

GRADE = Table(
    "grade",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *_unit_columns(key=False),
    Column("rater", AnyText, nullable=False),
    Column("question", AnyText, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("graded_at_us", BigInteger, nullable=False),
)
Index("ix_grade_unit", *(GRADE.c[name] for name in UNIT_KEY))

GRADING = Table(
    "grading",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("run_id", ForeignKey("run.id"), nullable=False, index=True),
    Column("name", AnyText, nullable=False, unique=True),
    # Compressed canonical JSON: what was agreed before, and what changes while it goes on.
    Column("settings", LargeBinary, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at_us", BigInteger, nullable=False),
)

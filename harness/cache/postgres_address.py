"""The address of a Postgres store: what the driver is told, and what may be shown of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from harness.errors import ConfigError
from harness.nearest import nearest

SCHEMES: Final = ("postgresql+asyncpg", "postgresql", "postgres")
DEFAULT_SCHEMA: Final = "harness"

_OPTIONS: Final = (
    "schema", "host", "port", "dbname", "database", "user", "password", "passfile", "sslmode", "sslcert",
    "sslkey", "sslrootcert", "sslcrl", "sslpassword", "sslnegotiation", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "krbsrvname", "gsslib", "target_session_attrs", "service", "servicefile",
)
"""`schema` is ours; the others are libpq's that the driver knows. It takes all else for server settings."""

_SHOWN: Final = ("host", "port", "dbname", "database", "schema")
_PASSWORDS: Final = ("password", "sslpassword")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}\Z")
"""Leaves room, within Postgres' 63 characters, for what a copy of it is called."""


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a store is. `dsn` may hold a password: it is never shown."""

    dsn: str = field(repr=False)
    schema: str


def is_postgres(url: str) -> bool:
    """Tell whether a URL names a Postgres database."""
    return url.partition("://")[0].lower() in SCHEMES


def read_address(url: str) -> PostgresAddress:
    """Take a store's URL apart. Raises ConfigError, which repeats nothing that may be a password."""
    parts = _split(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    for name, _ in options:
        if name not in _OPTIONS:
            raise ConfigError(f"unknown option {name!r} in the store's URL{nearest(name, _OPTIONS)}")
    schema = dict(options).get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.match(schema) or schema.startswith("pg_"):
        raise ConfigError(
            f"schema {schema!r} in the store's URL cannot be used; give up to 48 small letters, digits and "
            "_, not beginning with a digit or pg_"
        )
    query = urlencode([(name, value) for name, value in options if name != "schema"])
    return PostgresAddress(parts._replace(scheme="postgresql", query=query).geturl(), schema)


def shown_address(url: str, *, user: bool = False) -> str:
    """Return a Postgres store's URL without password, for people; with `user`, as it may be given again.

    Given again, it keeps every option, with *** for a password: what it leaves out may be another database.
    """
    parts = _split(url)
    credentials, _, host = parts.netloc.rpartition("@")
    name, colon, _ = credentials.partition(":")
    who = f"{name}{':***' if colon else ''}@" if user and credentials else ""
    options = [
        (key, "***" if key in _PASSWORDS else value)
        for key, value in parse_qsl(parts.query)
        if user or key in _SHOWN
    ]
    query = f"?{urlencode(options, safe='/*')}" if options else ""
    return f"postgresql://{who}{host}{parts.path}{query}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port is None or parts.port > 0
    except ValueError:
        port_is_sound = False
    # A password with one of / ? # in it ends the address early, and its rest holds the @.
    if not port_is_sound or "@" in parts.path + parts.query + parts.fragment:
        raise ConfigError(
            "the store's URL cannot be read: it has the form postgresql://USER@HOST:PORT/DATABASE; special "
            "characters of a password are written as %XX, or leave it out and set PGPASSWORD or ~/.pgpass"
        )
    return parts

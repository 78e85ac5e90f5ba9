"""The built-in catalogue of providers and models: TOML files in the form of `harness.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.errors import ConfigError
from harness.settings_check import check_keys
from harness.toml_file import Table, read_toml

CATALOGUE_DIR = Path(__file__).parent / "providers" / "catalogue"


@dataclass(frozen=True, slots=True)
class Entry:
    """One table as written, and the file it was written in."""

    table: Table
    source: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Raw tables by name, in the order of the files."""

    providers: Mapping[str, Entry]
    models: Mapping[str, Entry]


@cache
def read_catalogue(folder: Path = CATALOGUE_DIR) -> Catalogue:
    """Return every provider and model of a folder. Raises ConfigError on a name given twice."""
    providers: dict[str, Entry] = {}
    models: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.toml")):
        tables = read_toml(path)
        check_keys(tables, ("providers", "models"), path.name)
        for kind, found in (("providers", providers), ("models", models)):
            for name, table in named_tables(tables, kind, path.name).items():
                if name in found:
                    first = found[name].source
                    raise ConfigError(f"{path.name}: [{kind}.{name}] is already in {first}; rename one")
                found[name] = Entry(table, path.name)
    return Catalogue(providers, models)


def named_tables(tables: Table, kind: str, source: str) -> dict[str, Table]:
    """Return the tables `[kind.NAME]` by name. Raises ConfigError where something else stands there."""
    group = tables.get(kind, {})
    if not isinstance(group, dict):
        raise ConfigError(f"{source}: {kind!r} must be written as tables [{kind}.NAME]")
    for name, table in group.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: {kind}.{name} must be a table; write [{kind}.{name}]")
    return group

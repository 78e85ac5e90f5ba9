"""Where the store is: found by option, environment, configuration, or upwards from here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.cache.postgres_address import is_postgres, read_address, shown_address
from harness.errors import ConfigError

SCHEME: Final = "sqlite+aiosqlite"
POSTGRES_SCHEME: Final = "postgresql+asyncpg"
FOLDER: Final = ".harness"
FILE: Final = "store.sqlite3"
CONFIG_FILE: Final = "harness.toml"
ENVIRONMENT_VARIABLE: Final = "HARNESS_STORE"

_HAS_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


def find_store(explicit: str | None, env: Mapping[str, str], config_store: str | None, cwd: Path) -> str:
    """Return the store's URL; nothing is created.

    The first of: `explicit` (`--store`), HARNESS_STORE, `config_store` (from harness.toml),
    `.harness/store.sqlite3` beside the nearest harness.toml or .harness/ from `cwd` upwards, or in `cwd`.
    Plain paths are taken as well as URLs. A relative path counts from `cwd`, one in `config_store` from
    the nearest harness.toml. Raises ConfigError for a URL that names no file.
    """
    if explicit:
        return store_url(explicit, base=cwd)
    if env.get(ENVIRONMENT_VARIABLE):
        return store_url(env[ENVIRONMENT_VARIABLE], base=cwd)
    if config_store:
        return store_url(config_store, base=_nearest(cwd, CONFIG_FILE) or cwd)
    home = _nearest(cwd, CONFIG_FILE, FOLDER) or cwd
    return store_url(str(home / FOLDER / FILE), base=cwd)


def store_url(place: str, *, base: Path) -> str:
    """Return the URL of a store given as URL or path, with an absolute path in it.

    The path stands in the URL as it is, without percent escapes. Raises ConfigError for an address that
    cannot be one, or of a database that this version does not open.
    """
    if not _HAS_SCHEME.match(place):
        return f"{SCHEME}:///{_absolute(place, base)}"
    if is_postgres(place):
        read_address(place)
        return f"{POSTGRES_SCHEME}://{place.partition('://')[2]}"
    if not place.startswith("sqlite"):
        raise ConfigError(
            f"store {display(place)!r} ({place.partition('://')[0]}) is of a kind that this version does not "
            f"open; give a path, {SCHEME}:///PATH, or postgresql://USER@HOST/DATABASE"
        )
    path = _path_text(place)
    if not path or path == ":memory:":
        raise ConfigError(f"store {place!r} names no file; give a path, or {SCHEME}:///PATH")
    return f"{SCHEME}:///{_absolute(path, base)}"


def sqlite_path(url: str) -> Path:
    """Return the file of an SQLite store. Raises ConfigError for any other database."""
    if not url.startswith("sqlite"):
        raise ConfigError(f"store {display(url)!r} is no file; give a path, or {SCHEME}:///PATH")
    return Path(_path_text(store_url(url, base=Path.cwd())))


def display(url: str) -> str:
    """Return a store's URL as it may be shown: a file as its path, else no credentials, and of its query
    only what tells where it is.
    """
    if url.startswith("sqlite"):
        return _path_text(url)
    if not _HAS_SCHEME.match(url):
        return url
    if is_postgres(url):
        with suppress(ConfigError):
            return shown_address(url)
    scheme, _, rest = url.partition("://")
    # Up to the last @, whatever a password is made of.
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def as_given_again(place: str) -> str:
    """Return a store's URL or path as a command that is printed may repeat it: with *** for a password."""
    if not is_postgres(place):
        return place if not _HAS_SCHEME.match(place) or place.startswith("sqlite") else display(place)
    try:
        return shown_address(place, user=True)
    except ConfigError:
        return display(place)


def _path_text(url: str) -> str:
    return url.partition("://")[2].removeprefix("/")


def _absolute(path: str, base: Path) -> Path:
    # Links are kept: a store may be a link to another disk.
    return Path.cwd() / base / Path(path).expanduser()


def _nearest(start: Path, *names: str) -> Path | None:
    """Return the nearest folder, from `start` upwards, that holds any of the names."""
    here = Path.cwd() / start
    for folder in (here, *here.parents):
        if any((folder / name).exists() for name in names):
            return folder
    return None

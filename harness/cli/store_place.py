"""Which store a sub-command of `harness store` works on."""

from __future__ import annotations

import os
from pathlib import Path

from harness.cache.location import display, find_store
from harness.config import load_config
from harness.errors import ConfigError


def store_place(store: str | None, config_path: Path | None) -> str:
    """Return the store's URL by option, environment and configuration."""
    return find_store(store, os.environ, load_config(config_path).store, Path.cwd())


def file_store(url: str, *, instead: str) -> str:
    """Return a store's URL. Raises ConfigError for a store that is no file, saying what to use instead."""
    if not url.startswith("sqlite"):
        raise ConfigError(f"{display(url)!r} is a database of its own, not a file; use {instead}")
    return url

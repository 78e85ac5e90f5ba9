"""Which store a sub-command of `harness store` works on."""

from __future__ import annotations

import os
from pathlib import Path

from harness.cache.location import find_store
from harness.config import load_config


def store_place(store: str | None, config_path: Path | None) -> str:
    """Return the store's URL by option, environment and configuration."""
    return find_store(store, os.environ, load_config(config_path).store, Path.cwd())

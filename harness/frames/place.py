"""Where frames are kept: by environment, configuration, or beside the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.cache.location import FOLDER, sqlite_path
from harness.cache.postgres_address import is_postgres

ENVIRONMENT_VARIABLE: Final = "HARNESS_FRAMES"


def frames_folder(store: str, configured: Path | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for frames of a session on a store (its URL); nothing is made.

    The first of: HARNESS_FRAMES; `configured` (from harness.toml); `.harness/frames` for a store in
    `.harness`, `STORE-frames` beside any other file; for a database `harness/frames` in the user's folder for
    caches.
    """
    if env.get(ENVIRONMENT_VARIABLE):
        return cwd / Path(env[ENVIRONMENT_VARIABLE]).expanduser()
    if configured is not None:
        return configured
    if is_postgres(store):
        caches = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".cache")
        return Path(caches) / "harness" / "frames"
    file = sqlite_path(store)
    return file.parent / ("frames" if file.parent.name == FOLDER else f"{file.name}-frames")

"""Ask many multimodal models the same cases, keep every raw answer, score offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from harness.notebook.notebook_store import NotebookStore

__version__ = "0.1.0"


def open_store(url: str | PathLike[str] | None = None) -> NotebookStore:
    """Open a store for reading, in notebooks and scripts: its runs, records and scores as Arrow tables.

    `url` is the store's path or URL; None: it is found as the command line finds it (`HARNESS_STORE`,
    `harness.toml`, `.harness/store.sqlite3` from here upwards). The store is neither made, migrated nor
    written. Works inside a running event loop. Needs pyarrow (the extra `parquet`).

    Raises StoreError where there is no store, NotAStoreError for anything else at its place,
    StoreVersionError for one of another version of the program, ConfigError for a wrong address.
    """
    from harness.notebook import notebook_store

    return notebook_store.open_store(url)

"""Parquet files and the Arrow streams of saved `datasets` folders as rows, a few at a time."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

from harness.case_import.class_labels import Features, named, names_of
from harness.case_import.row import Column, Row
from harness.errors import ConfigError, ImportFileError

TOGETHER: Final = 16
"""Rows that are in memory at once: images may stand in them."""

_END: Final = b"\xff\xff\xff\xff\0\0\0\0"
"""Ends an Arrow stream (Arrow columnar format, IPC streaming format: continuation mark and length 0)."""


@dataclass(frozen=True, slots=True)
class ArrowSource:
    """Files of one table, in order; `features` as a `datasets` folder describes its columns."""

    files: Sequence[Path]
    form: Literal["parquet", "arrow"]
    folder: Path
    kind: str
    features: Features = field(default_factory=dict)

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return the columns of the first file. Raises ImportFileError, ConfigError without pyarrow."""
        schema, labels = self._schema(self.files[0])
        return [
            Column(one.name, f"{one.type}{' (class names)' if one.name in labels else ''}") for one in schema
        ]

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield the rows of all files, with the columns that are wanted. Raises ImportFileError."""
        first, _ = self._schema(self.files[0])
        number = 0
        for path in self.files:
            schema, labels = self._schema(path)
            if schema.names != first.names:
                raise ImportFileError(
                    f"{path.name!r} has other columns than {self.files[0].name!r}; import them one by one"
                )
            chosen = [name for name in schema.names if wanted is None or name in wanted]
            for cells in self._cells(path, chosen):
                number += 1
                yield Row(number, {name: named(labels.get(name), cells[name]) for name in chosen})

    def _schema(self, path: Path) -> tuple[Any, Mapping[str, Any]]:
        with _opened(path):
            if self.form == "parquet":
                schema = _arrow("pyarrow.parquet").read_schema(path)
            else:
                with _stream(path) as reader:
                    schema = reader.schema
        for name in schema.names:
            if schema.names.count(name) > 1:
                raise ImportFileError(f"{path.name!r} has the column {name!r} twice; rename one")
        return schema, names_of(self.features or _features_in(schema.metadata))

    def _cells(self, path: Path, chosen: Sequence[str]) -> Iterator[Mapping[str, object]]:
        with _opened(path):
            if self.form == "parquet":
                parquet = _arrow("pyarrow.parquet")
                with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
                    for batch in file.iter_batches(TOGETHER, columns=list(chosen), use_threads=False):
                        yield from batch.to_pylist() if chosen else [{}] * batch.num_rows
                return
            with _stream(path) as reader:
                for whole in reader:
                    columns = whole.select(list(chosen))
                    for start in range(0, whole.num_rows, TOGETHER):
                        part = columns.slice(start, TOGETHER)
                        yield from (
                            part.to_pylist() if chosen else [{}] * min(TOGETHER, whole.num_rows - start)
                        )


def _features_in(metadata: Mapping[bytes, bytes] | None) -> Features:
    """Return what the `datasets` library wrote about the columns into a file itself."""
    try:
        found = json.loads((metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _stream(path: Path) -> Iterator[Any]:
    """Open an Arrow stream, or an Arrow file, mapped and not read into memory."""
    arrow, ipc = _arrow("pyarrow"), _arrow("pyarrow.ipc")
    with arrow.memory_map(str(path)) as mapped:
        start = mapped.read(6)
        mapped.seek(0)
        if start == b"ARROW1":
            file = ipc.open_file(mapped)
            yield _FileBatches(file.schema, file)
        else:
            _refuse_cut(path, mapped)
            with ipc.open_stream(mapped) as reader:
                yield reader


def _refuse_cut(path: Path, mapped: Any) -> None:
    """Refuse a stream without its end mark: cut between two batches, it would read as a shorter table."""
    size = mapped.size()
    mapped.seek(max(0, size - len(_END)))
    end = mapped.read(len(_END))
    mapped.seek(0)
    if end != _END:
        raise ImportFileError(
            f"{path.name!r} is damaged, or of another kind: its end mark is missing; get it again"
        )


@dataclass(frozen=True, slots=True)
class _FileBatches:
    """The batches of an Arrow file, as a stream gives them."""

    schema: Any
    file: Any

    def __iter__(self) -> Iterator[Any]:
        return (self.file.get_batch(index) for index in range(self.file.num_record_batches))


@contextmanager
def _opened(path: Path) -> Iterator[None]:
    error_class: type[Exception] = _arrow("pyarrow").ArrowException
    try:
        yield
    except error_class as error:
        raise ImportFileError(_damaged(path, error)) from error
    except OSError as error:
        if error.strerror is None:  # the library's own: what it read is no sound file
            raise ImportFileError(_damaged(path, error)) from error
        raise ImportFileError(f"{path.name!r} cannot be read: {error.strerror}") from error


def _damaged(path: Path, error: Exception) -> str:
    told = " ".join(str(error).split())[:200]
    return f"{path.name!r} is damaged, or of another kind: {told}; get it again"


def _arrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(
            "Parquet files and saved datasets need the package 'pyarrow': pip install 'mllm-harness[parquet]'"
        ) from error

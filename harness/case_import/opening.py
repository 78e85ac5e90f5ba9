"""Which kind of table a file or folder is, by its name and by what stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.benchmarks.case_files import CASES_FILE
from harness.case_import.arrow_rows import ArrowSource
from harness.case_import.delimited import DelimitedSource
from harness.case_import.json_rows import JsonLinesSource, json_source
from harness.case_import.row import Source
from harness.case_import.text_file import TextFile
from harness.errors import ImportFileError
from harness.nearest import nearest_or_known

KINDS: Final = ".csv, .tsv, .jsonl, .json, .parquet, .arrow"
_SHARD: Final = re.compile(r"(?P<split>.+?)-\d{5}-of-\d{5}(?:-[0-9a-f]{16})?\.parquet", re.ASCII)
_STATE, _INFO, _DICT = "state.json", "dataset_info.json", "dataset_dict.json"


def open_source(
    path: Path, *, split: str | None = None, encoding: str | None = None, delimiter: str | None = None
) -> Source:
    """Return the table at a path. Raises ImportFileError for what is none, or has splits to choose from."""
    if not path.exists():
        raise ImportFileError(f"there is no file or folder {str(path)!r}; correct --from")
    if path.is_dir():
        return _folder(path, split)
    if split is not None:
        raise ImportFileError(f"{path.name!r} is one file and has no splits; leave --split out")
    text = TextFile(path, encoding)
    match path.suffix.casefold():
        case ".csv":
            return DelimitedSource(text, _delimiter(delimiter, ","))
        case ".tsv" | ".tab":
            return DelimitedSource(text, _delimiter(delimiter, "\t"))
        case ".jsonl" | ".ndjson":
            return JsonLinesSource(text)
        case ".json":
            return json_source(text)
        case ".parquet":
            return ArrowSource([path], "parquet", path.parent, "Parquet")
        case ".arrow":
            return ArrowSource([path], "arrow", path.parent, "Arrow")
        case ".xlsx" | ".xls" | ".ods":
            raise ImportFileError(f"{path.name!r} is a spreadsheet; save its sheet as CSV in UTF-8")
        case _:
            raise ImportFileError(f"{path.name!r} is no table that is known ({KINDS}); unpack or convert it")


def _delimiter(given: str | None, default: str) -> str:
    return default if given is None else {"TAB": "\t", "\\t": "\t"}.get(given, given)


def _folder(path: Path, split: str | None) -> Source:
    if (path / _DICT).is_file():
        splits = _facts(path / _DICT).get("splits")
        known = [str(name) for name in splits] if isinstance(splits, list) else []
        if not known or any(name != Path(name).name for name in known):
            raise ImportFileError(f"{_DICT} in {str(path)!r} names no splits; save the data set again")
        return _saved(path / _chosen(known, split, path))
    if (path / _STATE).is_file():
        own = _facts(path / _STATE).get("_split")
        if split is not None and split != own:
            raise ImportFileError(f"{str(path)!r} is the split {own!r} alone; leave --split out")
        return _saved(path)
    return _parquet_folder(path, split)


def _saved(path: Path) -> Source:
    """Return a folder that `Dataset.save_to_disk` wrote."""
    state = _facts(path / _STATE)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise ImportFileError(
            f"{str(path)!r} keeps its rows in an order of their own; load it with a newer `datasets` and "
            "save it again"
        )
    files = state.get("_data_files")
    names = [one.get("filename") for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    if not names or not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise ImportFileError(f"{_STATE} in {str(path)!r} does not name its Arrow files; save it again")
    paths = [path / str(name) for name in names]
    for one in paths:
        if not one.is_file():
            raise ImportFileError(f"{str(path)!r} lacks {one.name!r}, which its {_STATE} names; get it again")
    info = _facts(path / _INFO) if (path / _INFO).is_file() else {}
    features = info.get("features")
    return ArrowSource(paths, "arrow", path, "saved dataset", features if isinstance(features, dict) else {})


def _parquet_folder(path: Path, split: str | None) -> Source:
    files = sorted(path.glob("*.parquet")) or sorted((path / "data").glob("*.parquet"))
    if not files and (path / CASES_FILE).is_file():
        raise ImportFileError(
            f"{str(path)!r} is a case folder already; look at it with `harness data check --data`"
        )
    if not files:
        raise ImportFileError(
            f"{str(path)!r} holds neither a saved dataset ({_STATE} or {_DICT}) nor Parquet files; name the "
            f"file itself ({KINDS})"
        )
    by_split: dict[str, list[Path]] = {}
    for file in files:
        found = _SHARD.fullmatch(file.name)
        by_split.setdefault(found["split"] if found else file.stem, []).append(file)
    chosen = by_split[_chosen(list(by_split), split, path)]
    return ArrowSource(
        chosen, "parquet", path, f"Parquet, {len(chosen)} files" if len(chosen) > 1 else "Parquet"
    )


def _chosen(known: list[str], split: str | None, path: Path) -> str:
    if split is None and len(known) == 1:
        return known[0]
    if split is None:
        raise ImportFileError(f"{str(path)!r} has splits: {', '.join(known)}; choose one with --split")
    if split not in known:
        raise ImportFileError(f"{str(path)!r} has no split {split!r}{nearest_or_known(split, known)}")
    return split


def _facts(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ImportFileError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ImportFileError(f"{str(path)!r} is no JSON: {error}; save the data set again") from error
    if not isinstance(found, dict):
        raise ImportFileError(f"{str(path)!r} must be a JSON object; save the data set again")
    return found

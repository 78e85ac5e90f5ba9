"""A case folder again with `history_en` filled in from translations, for the condition `text_translated`.

Nothing of the old folder is changed and nothing is overwritten: the new one is written beside its place, and
put there when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.benchmarks.case_files import CASES_FILE, DATASET_FILE, Reader, is_synthetic, line_of
from harness.benchmarks.case_loading import without_faults
from harness.benchmarks.radm.cases import FIELDS, line_faults, media_paths
from harness.canonical import JSON
from harness.errors import ConfigError
from harness.new_folder import new_folder


@dataclass(frozen=True, slots=True)
class Translator:
    """Who translated, in words, and whether it was a simulated model."""

    note: str
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Translation:
    """What was translated, and into what."""

    history: str
    english: str


@dataclass(frozen=True, slots=True)
class Report:
    """Ids of the cases by what came of them, in the order of the file; English cases are in none.

    `changed`: their history is not the one that was translated. `missing`: nobody translated them.
    """

    filled: tuple[str, ...]
    kept: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]


def write_translated(
    folder: Path, out: Path, translations: Mapping[str, Translation], by: Translator
) -> Report:
    """Write the cases of a folder with their translations, and their media, into a new or empty folder.

    A case that has `history_en` keeps it; one whose history is not the one that was translated gets none.
    `by` is noted in `dataset.json`; what a simulated model translated is synthetic. Media are hard links
    where the file system has them, else copies. Raises CaseFileError for case files with a fault,
    ConfigError where `out` is in use, where nothing can be filled in, and where a medium is missing,
    SpoolError where the disk fails.
    """
    lines = _sound_lines(folder)
    made = [_filled(value, translations) for value in lines]
    ids = {what: tuple(str(value["id"]) for value, came in made if came == what) for _, what in made}
    report = Report(*(ids.get(what, ()) for what in ("filled", "kept", "changed", "missing")))
    if not report.filled:
        raise ConfigError(
            f"no case of {str(folder)!r} has a history that was translated there ({len(report.changed)} have "
            f"changed, {len(report.missing)} were not translated, {len(report.kept)} have one already); name "
            "the folder that the run was asked with"
        )
    with new_folder(out) as draft:
        for value in lines:
            for name in media_paths(value):
                _put(folder / name, draft.path / name)
        facts = json.dumps(_facts(folder, by), indent=2, ensure_ascii=False)
        (draft.path / DATASET_FILE).write_bytes(f"{facts}\n".encode())
        with (draft.path / CASES_FILE).open("wb") as cases:
            cases.writelines(line_of(value) for value, _ in made)
        draft.keep()
    return report


def _sound_lines(folder: Path) -> list[Mapping[str, JSON]]:
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r}; give --data the folder of {CASES_FILE}")
    reader = Reader(folder)
    found = [line.value for line in without_faults(reader, reader.lines(CASES_FILE, FIELDS), line_faults)]
    reader.raise_first()
    is_synthetic(folder)  # so that a bad mark is refused as everywhere
    return found


def _filled(
    value: Mapping[str, JSON], translations: Mapping[str, Translation]
) -> tuple[Mapping[str, JSON], str]:
    """Return a line with its translation, if it gets one, and what came of it."""
    if value["language"] != "zh":
        return value, "english"
    if value.get("history_en") is not None:
        return value, "kept"
    found = translations.get(str(value["id"]))
    if found is None:
        return value, "missing"
    if found.history != value["history"]:
        return value, "changed"
    filled: dict[str, JSON] = {}
    for name, item in value.items():
        if name != "history_en":
            filled[name] = item
        if name == "history":
            filled["history_en"] = found.english
    return filled, "filled"


def _facts(folder: Path, by: Translator) -> dict[str, JSON]:
    path = folder / DATASET_FILE
    facts = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {"synthetic": False}
    before = facts.get("note")
    synthetic = facts["synthetic"] or by.simulated
    return {**facts, "synthetic": synthetic, "note": f"{before}; {by.note}" if before else by.note}


def _put(source: Path, target: Path) -> None:
    if target.exists():
        return  # two cases may show one file
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(strict=True), target)
    except FileNotFoundError as error:
        raise ConfigError(f"the file {str(source)!r} does not exist; add it or correct the case") from error
    except OSError:
        shutil.copyfile(source, target)

"""Which formats of result files are known, and which of them a file is."""

from __future__ import annotations

from harness.errors import ConfigError
from harness.imports import inspect_log, json_lines, lm_eval, vlmevalkit
from harness.imports.format import Format
from harness.imports.source import SourceFile
from harness.nearest import nearest_or_known

FORMATS: dict[str, Format] = {
    one.name: one for module in (lm_eval, inspect_log, vlmevalkit, json_lines) for one in module.formats
}
"""By name, in the order in which a file is tried; plain JSON lines come last."""

AUTO = "auto"


def get_format(name: str) -> Format:
    """Return a format by its name. Raises ConfigError."""
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}{nearest_or_known(name, sorted(FORMATS))}")
    return FORMATS[name]


def detect(source: SourceFile) -> Format:
    """Return the format of a file. Raises ImportFileError that says what was looked for."""
    refuse_pickle(source)
    if not source.start.strip():
        raise source.error("it is empty")
    for one in FORMATS.values():
        if one.fits(source):
            return one
    raise source.error(
        "it is of no known format: looked for lm-eval and lmms-eval samples (.jsonl with doc_id and resps)"
        ", logs of Inspect (.eval, or .json with eval and samples), tables of VLMEvalKit (.xlsx, .tsv, .csv, "
        "or .json with index and prediction) and .jsonl with id and answer; --format NAME says what it is"
    )


def refuse_pickle(source: SourceFile) -> None:
    """Raise ImportFileError for a pickle: reading one runs whatever program it holds."""
    if source.is_pickle:
        raise source.error(
            "it is a pickle, and reading one runs whatever program is in it; write it as .tsv or .json "
            "(VLMEvalKit does with PRED_FORMAT=tsv)"
        )

"""How the text answers about one finding become predictions: true or false, or a list of FDI numbers."""

from __future__ import annotations

from functools import partial

from harness.answers.readings import TextReader
from harness.benchmarks.pandent.answers.parsing import parse_answer
from harness.benchmarks.pandent.answers.unreadable import MEANINGS
from harness.canonical import JSON


def attribute_reader(finding: str) -> TextReader:
    """Return the reader of answers about a finding, by its id."""
    return partial(_read, finding)


def _read(finding: str, text: str) -> tuple[JSON, str | None]:
    """Return the value, or None and why the answer has none: that never stands for no, or for no tooth."""
    parsed = parse_answer(text, finding)
    if parsed.value is None:
        assert parsed.reason is not None
        where = "" if parsed.word is None else f": {parsed.word!r}"
        return None, f"{MEANINGS[parsed.reason]}{where}"
    return (parsed.value if isinstance(parsed.value, bool) else sorted(parsed.value)), None

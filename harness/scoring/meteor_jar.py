"""METEOR's own program for version 1.5, inside the installed package pycocoevalcap, as a running process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.errors import MetricUnavailableError
from harness.scoring.line_process import LineProcess

PACKAGE: Final = "pycocoevalcap"
VERSION: Final = "1.2"
"""The one release whose jar was compared with our sums; other builds of METEOR 1.5 exist."""
TIMEOUT_S: Final = 300.0
"""The longest wait for one answer.

The jar loads for 5 to 17 s and aligns two reports of 200 words in 20 ms; a looping answer of 3,000 words
takes it 1 to 3 s against such a report; two texts of 3,000 words 30 s, one word 1,000 times in both 70 s.
"""
HOW_TO_GET: Final = (
    "install the extra (pip install 'mllm-harness[meteor15]') "
    "and a Java runtime (apt-get install default-jre-headless, say)"
)
SEPARATOR: Final = "|||"
_LINE_ENDS: Final = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def start_meteor(*, timeout_s: float = TIMEOUT_S) -> LineProcess:
    """Start the jar as pycocoevalcap starts it: English, its task "ranking", texts normalised.

    Java's language is set as well, since in a Turkish one "I" has another small letter. Raises
    MetricUnavailableError, saying how to get it, where the package or Java is missing.
    """
    jar = _jar()
    command = [
        _java(), "-Duser.language=en", "-Dfile.encoding=UTF-8", "-Xmx2G", "-jar", str(jar),
        "-", "-", "-stdio", "-l", "en", "-norm",
    ]  # fmt: skip
    return LineProcess(command, name="METEOR 1.5 (java)", folder=jar.parent, timeout_s=timeout_s)


def has_meteor15() -> bool:
    """Tell whether there is all that `start_meteor` takes; nothing is started."""
    try:
        return bool(_jar() and _java())
    except MetricUnavailableError:
        return False


def score_line(candidate: Sequence[str], reference: Sequence[str]) -> bytes:
    """Return the request for the statistics of one pair, without a line end.

    METEOR's protocol separates texts by three bars: they are taken out of both texts, as pycocoevalcap takes
    them out of the candidate (in a reference they would make two of it). Line ends become spaces, a lone
    surrogate U+FFFD.
    """
    texts = (_one_line(tokens) for tokens in (reference, candidate))
    return f" {SEPARATOR} ".join(("SCORE", *texts)).encode()


def _one_line(tokens: Sequence[str]) -> str:
    if isinstance(tokens, str):
        raise TypeError("METEOR takes lists of tokens, not a text")
    line = _LINE_ENDS.sub(" ", " ".join(tokens)).replace(SEPARATOR, "")
    return line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _jar() -> Path:
    try:
        installed = importlib.metadata.version(PACKAGE)
        found = importlib.util.find_spec(PACKAGE)
    except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        raise MetricUnavailableError(f"METEOR 1.5 needs the package {PACKAGE}; {HOW_TO_GET}")
    if installed != VERSION:
        raise MetricUnavailableError(
            f"METEOR 1.5 is taken from {PACKAGE} {VERSION}, and {installed} is installed; {HOW_TO_GET}"
        )
    for folder in found.submodule_search_locations:
        jar = Path(folder) / "meteor" / "meteor-1.5.jar"
        if jar.is_file() and (jar.parent / "data" / "paraphrase-en.gz").is_file():
            return jar
    raise MetricUnavailableError(f"{PACKAGE} {VERSION} is installed without METEOR's files; install it again")


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java") or (home and shutil.which("java", path=str(Path(home) / "bin")))
    if not found:
        raise MetricUnavailableError(f"METEOR 1.5 needs Java, and there is no java here; {HOW_TO_GET}")
    return found

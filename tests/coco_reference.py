"""pycocoevalcap at work: its tokenizer needs Java, its BLEU and ROUGE-L do not."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_LINE_ENDS = re.compile("[\n\r\x0b\x0c\u2028\u2029]")
_DROPPED = [
    "''",
    "'",
    "``",
    "`",
    "-LRB-",
    "-RRB-",
    "-LCB-",
    "-RCB-",
    ".",
    "?",
    "!",
    ",",
    ":",
    "-",
    "--",
    "...",
    ";",
]

needs_java = pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pycocoevalcap") is None,
    reason="needs Java and pycocoevalcap",
)


def java_tokens(texts: list[str], folder: Path) -> list[list[str]]:
    """Return the tokens of each text by the tokenizer's own command, written here into a folder of the test.

    Between two texts stands a line of its own, so that no text sees the next one.
    """
    spec = importlib.util.find_spec("pycocoevalcap.tokenizer")
    assert spec is not None and spec.submodule_search_locations is not None
    jar = Path(spec.submodule_search_locations[0]) / "stanford-corenlp-3.4.1.jar"
    lines = [line for text in texts for line in (_LINE_ENDS.sub(" ", text), "x")]
    source = folder / "texts.txt"
    source.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    command = ["java", "-XX:+UseSerialGC", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer"]
    done = subprocess.run(
        [*command, "-preserveLines", "-lowerCase", str(source)], capture_output=True, check=True, timeout=300
    )
    found = done.stdout.decode("utf-8").split("\n")
    assert found[1 : len(lines) : 2] == ["x"] * len(texts)
    return [
        [w for w in line.rstrip().split(" ") if w and w not in _DROPPED] for line in found[: len(lines) : 2]
    ]

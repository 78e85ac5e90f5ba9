"""Prompt files in two languages: a system and a user part each, in sections of one file.

A line such as `=== zh user` alone begins the part of that name, which ends before the next one. A file
without such a line is one user part, in whatever language, and has no system part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from harness.benchmarks.base import Prompt
from harness.errors import ConfigError

PARTS: Final = ("en system", "en user", "zh system", "zh user")

_HEAD: Final = re.compile(r"^===[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)


@lru_cache(maxsize=64)
def parts_of(prompt: Prompt) -> Mapping[str, str]:
    """Return name -> text of the parts of a prompt file, blank lines around each removed.

    Of a file without sections the whole text is both user parts. Raises ConfigError for a name that is none
    of `PARTS`, for one given twice or blank, and for text before the first.
    """
    heads = list(_HEAD.finditer(prompt.text))
    if not heads:
        text = prompt.text.strip("\n")
        return {"en user": text, "zh user": text}
    _check_names(prompt, [head[1] for head in heads])
    if prompt.text[: heads[0].start()].strip():
        raise ConfigError(
            f"prompt {prompt.id!r} has text before its first section, '{heads[0][0]}'; move it into a section"
        )
    ends = [*(head.start() for head in heads[1:]), len(prompt.text)]
    found = {
        head[1]: prompt.text[head.end() : end].strip("\n") for head, end in zip(heads, ends, strict=True)
    }
    for name, text in found.items():
        if not text.strip():
            raise ConfigError(f"section '=== {name}' of prompt {prompt.id!r} is blank; fill or remove it")
    return found


def _check_names(prompt: Prompt, names: list[str]) -> None:
    for name in names:
        if name not in PARTS:
            known = ", ".join(f"'=== {part}'" for part in PARTS)
            raise ConfigError(f"prompt {prompt.id!r} has an unknown section '=== {name}'; known: {known}")
        if names.count(name) > 1:
            raise ConfigError(f"prompt {prompt.id!r} has section '=== {name}' twice; keep one")

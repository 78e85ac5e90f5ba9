"""Prompt and schema files: loading by id, the user's own prompts, and rendering of placeholders."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from harness.benchmarks.base import Prompt
from harness.canonical import sha256_hex
from harness.errors import ConfigError, UnknownNameError
from harness.messages import Schema

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_DOUBLE_IT: Final = "a brace of the text itself is written twice, as in {{ or }}"


@lru_cache
def load_prompt(prompt_id: str) -> Prompt:
    """Return one of our own prompts by its id. Raises UnknownNameError."""
    data = _packaged("prompts", f"{prompt_id}.txt")
    return Prompt(prompt_id, sha256_hex(data), data.decode("utf-8"))


@lru_cache
def load_schema(schema_id: str) -> Schema:
    """Return one of our schemas by its id. Raises UnknownNameError."""
    data = _packaged("schemas", f"{schema_id}.json")
    return Schema(schema_id, sha256_hex(data), json.loads(data))


def read_prompt_file(path: Path) -> Prompt:
    """Return the user's own prompt; its id is the file's name, its digest that of the text used.

    A byte order mark is dropped and line ends become LF. Raises ConfigError where the file cannot be
    read or is blank.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"cannot read the prompt file {str(path)!r}: {error.strerror}; check --prompt"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the prompt file {str(path)!r} is not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ConfigError(f"the prompt file {str(path)!r} is blank; write the question into it")
    return Prompt(path.name, sha256_hex(text.encode("utf-8")), text)


@lru_cache(maxsize=64)
def placeholders(prompt: Prompt) -> frozenset[str]:
    """Return the names of a prompt's placeholders. Raises ConfigError on a brace that stands alone."""
    return frozenset(name for _, name in _segments(prompt.id, prompt.text) if name is not None)


def check_placeholders(prompt: Prompt, known: Collection[str]) -> None:
    """Raise ConfigError for a placeholder that is not known, and name those that are."""
    for _, name in _segments(prompt.id, prompt.text):
        if name is not None and name not in known:
            listed = ", ".join(f"{{{one}}}" for one in sorted(known)) or "none"
            raise ConfigError(
                f"unknown placeholder {_short(name)} in prompt {prompt.id!r}; known: {listed}; {_DOUBLE_IT}"
            )


def render(prompt: Prompt, values: Mapping[str, str]) -> str:
    """Return a prompt with its placeholders filled in one pass: braces in values are plain text.

    Raises ConfigError for a placeholder that has no value.
    """
    check_placeholders(prompt, values.keys())
    return "".join(
        literal if name is None else literal + values[name]
        for literal, name in _segments(prompt.id, prompt.text)
    )


@lru_cache(maxsize=64)
def _segments(prompt_id: str, text: str) -> tuple[tuple[str, str | None], ...]:
    """Return literal texts, each with the placeholder that follows it (None: at the end)."""
    segments: list[tuple[str, str | None]] = []
    literal, position = "", 0
    for token in _TOKEN.finditer(text):
        literal += text[position : token.start()]
        position = token.end()
        if token[1] is not None:
            segments.append((literal, token[1]))
            literal = ""
        elif len(token[0]) == 2:
            literal += token[0][0]
        else:
            line = text.count("\n", 0, token.start()) + 1
            raise ConfigError(f"a single {token[0]!r} in line {line} of prompt {prompt_id!r}; {_DOUBLE_IT}")
    segments.append((literal + text[position:], None))
    return tuple(segments)


def _short(name: str) -> str:
    flat = " ".join(name.split())
    return repr(f"{{{flat}}}") if len(flat) <= 40 else repr(f"{{{flat[:37]}...}}")


def _packaged(kind: str, name: str) -> bytes:
    folder = files("harness") / kind
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError as error:
        known = sorted(Path(one.name).stem for one in folder.iterdir() if one.is_file())
        raise UnknownNameError(
            f"unknown {kind[:-1]} {Path(name).stem!r}; known: {', '.join(known)}"
        ) from error

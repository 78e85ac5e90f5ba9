"""Changes that keep an input's form: JSON stays JSON, and words are swapped for others of the same corpus."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import Any

from fuzz_corpus import FOLDER, read_corpus

_WORD = re.compile(rb'"[^"\n]{1,40}"|[A-Za-z_-]{3,40}|-?\d+(?:\.\d+)?')
_ODD = (None, True, False, 0, -1, 1e308, 10**30, "", " ", "\x00", "\ud800", "</think>", "a" * 300, [], {},
        [[]], "1", "NaN", [None], {"": None}, "é", "\ufeff", "{", '{"a":1}')  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes | None:
    """Return a changed input, None where the input has no form to keep."""
    for start in range(min(3, len(data) + 1)):
        try:
            value = json.loads(data[start:])
        except (ValueError, RecursionError):
            continue
        for _ in range(chance.randint(1, 3)):
            value = _changed(value, chance)
        return data[:start] + json.dumps(value, ensure_ascii=chance.random() < 0.9).encode(
            "utf-8", "surrogatepass"
        )
    return _words_swapped(data, chance)


def _changed(value: Any, chance: random.Random) -> Any:
    """Return the value with one node replaced, dropped, wrapped or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        changed = {name: item for name, item in value.items() if name != key}
        match chance.randrange(6):
            case 0:
                return changed
            case 1:
                return {**changed, chance.choice(_words()).decode("utf-8", "replace").strip('"'): value[key]}
            case _:
                return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        match chance.randrange(4):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case _:
                return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]
    return _leaf(value, chance)


def _leaf(value: Any, chance: random.Random) -> Any:
    match chance.randrange(5):
        case 0:
            return [value]
        case 1:
            return {"error": value}
        case 2:
            return json.dumps(value)
        case 3:
            return chance.choice(_words()).decode("utf-8", "replace").strip('"')
        case _:
            return chance.choice(_ODD)


def _words_swapped(data: bytes, chance: random.Random) -> bytes | None:
    found = list(_WORD.finditer(data))
    if not found:
        return None
    word = chance.choice(found)
    return data[: word.start()] + chance.choice(_words()) + data[word.end() :]


@cache
def _words() -> list[bytes]:
    """Return the words of all corpora."""
    corpora = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    return sorted({word for name in corpora for data in read_corpus(name) for word in _WORD.findall(data)})

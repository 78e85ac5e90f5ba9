"""The simulated reformatter: what a quoted answer asserts, in a schema; null where it asserts nothing."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.simulator.instances import Path, Schema, is_flag, kind_of, resolve

_QUOTATION: Final = re.compile(
    r"^(?P<mark>={3,} \S+ ={3,})\n(?P<answer>.*)\n(?P=mark)[ \t]*$", re.DOTALL | re.MULTILINE
)
_VALUE: Final = re.compile(
    r"[\s\"'`*:=|\]-]{0,12}?(?<![\w.])(1|0|yes|no|true|false|null|none)(?![\w.])", re.IGNORECASE
)
_YES: Final = frozenset({"1", "yes", "true"})
_NO: Final = frozenset({"0", "no", "false"})
_CHOOSING: Final = re.compile(
    r"\b(tick|choose|chose|select|refer|need|recommend|indicat|mark|appl(y|ies)|suggest|yes)", re.IGNORECASE
)
_DENYING: Final = re.compile(
    r"\b(no|not|never|without|neither|nor|none|rather than|instead of)\b|n't\b", re.IGNORECASE
)
_CLAUSE_END: Final = re.compile(r"[;:,\n]|\bbut\b")
_FIRST_MARK: Final = 0xE000
_MARK: Final = re.compile("[\ue000-\uf8ff]")
_LISTED: Final = re.compile("(?:[\ue000-\uf8ff]" r"[\s;,*\-]*(?:and|or|nor)?[\s*\-]*)+\Z")
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|$)|\n\s*\n")


def quoted_answer(prompt: str) -> str:
    """Return the answer that a reformatter's prompt quotes; empty where it quotes none."""
    found = _QUOTATION.search(prompt)
    return found["answer"] if found else ""


def has_quotation(prompt: str) -> bool:
    """Tell whether a prompt quotes anything between two equal marker lines."""
    return "===" in prompt and _QUOTATION.search(prompt) is not None


def without_quotation(prompt: str) -> str:
    """Return a prompt without what it quotes."""
    return _QUOTATION.sub("", prompt, count=1)


def restate(schema: Schema, answer: str) -> Any:
    """Return the answer's assertions in the form of a schema. Nothing is added, nothing completed."""
    names = Counter(name for name, _ in _leaves(schema, schema))
    marks = {name: chr(_FIRST_MARK + place) for place, name in enumerate(names) if names[name] == 1}
    return _Restater(schema, answer, lenient_json(answer), marks, _marked(answer, marks)).part(schema, ())


def lenient_json(text: str) -> Any:
    """Return the JSON object in a text, with the slips that leave its meaning plain undone; None without."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    body = re.sub(r",(\s*[}\]])", r"\1", text[start : end + 1])
    for read in (json.loads, ast.literal_eval):
        try:
            return read(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class _Restater:
    root: Schema
    answer: str
    parsed: Any
    marks: Mapping[str, str]
    marked: str

    def part(self, schema: object, path: Path) -> Any:
        """Return what the answer asserts of one part of the schema."""
        part = resolve(schema, self.root)
        if kind_of(part) == "object":
            inner = part.get("properties", {}).items()
            return {name: self.part(schema, (*path, name)) for name, schema in inner}
        value = self._parsed(path)
        if value is None and path and path[-1] in self.marks:
            value = self._said(part, path[-1])
        return value if _fits(part, value) else None

    def _parsed(self, path: Path) -> Any:
        value = self.parsed
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _said(self, part: Schema, name: str) -> Any:
        if kind_of(part) == "array" and (listed := _listed(self.answer)):
            return listed
        if _wants_flag(part):
            flag = _asserted(self.marks[name], self.marked)
            return flag if flag is None or kind_of(part) != "boolean" else bool(flag)
        found = re.search(rf'["\']?{re.escape(name)}["\']?\s*[:=]\s*', self.answer, re.IGNORECASE)
        return _scalar(self.answer[found.end() :], kind_of(part)) if found else None


def _marked(answer: str, marks: Mapping[str, str]) -> str:
    """Return the answer with each label as one character: labels hold full stops and semicolons."""
    plain = _MARK.sub(" ", answer)
    if not marks:
        return plain
    labels = {name.casefold(): mark for name, mark in marks.items()}
    either = "|".join(re.escape(name) for name in sorted(marks, key=len, reverse=True))
    return re.sub(either, lambda found: labels.get(found[0].casefold(), " "), plain, flags=re.IGNORECASE)


def _asserted(mark: str, text: str) -> int | None:
    """Return 1 or 0 where the answer says so of a label, None where it says nothing or contradicts itself."""
    flags = {_flag_at(text, place.start()) for place in re.finditer(mark, text)} - {None}
    return flags.pop() if len(flags) == 1 else None


def _flag_at(text: str, place: int) -> int | None:
    if told := _VALUE.match(text, place + 1):
        word = told[1].lower()
        return 1 if word in _YES else 0 if word in _NO else None
    ends = [end.end() for end in _SENTENCE_END.finditer(text, 0, place)]
    lead = _LISTED.sub("", text[ends[-1] if ends else 0 : place]).rstrip(" \t\n:*-")
    if _DENYING.search(_CLAUSE_END.split(lead)[-1]):
        return 0
    return 1 if _CHOOSING.search(lead) else None


def _listed(answer: str) -> list[str]:
    """Return what stands behind the numbers of a list of lines; nothing where they do not count from 1."""
    found = re.findall(r"^[ \t]*(\d+)[.)][ \t]+(\S[^\n]*?)[ \t]*$", answer, re.MULTILINE)
    counted = [int(number) for number, _ in found] == [*range(1, len(found) + 1)]
    return [text for _, text in found] if counted else []


def _scalar(text: str, kind: str) -> Any:
    if kind == "string":
        quoted = re.match(r'"((?:[^"\\]|\\.)*)"?', text)
        plain = quoted[1] if quoted else text.split("\n")[0].strip()
        return plain.replace('\\"', '"').replace("\\n", "\n") or None
    if kind == "array":
        end = text.find("]")
        try:
            return json.loads(text[: end + 1]) if text.startswith("[") and end > 0 else None
        except ValueError:
            return None
    number = re.match(r"[+-]?\d+(\.\d+)?(?![\w.])", text)
    if number is None:
        return None
    return float(number[0]) if "." in number[0] else int(number[0])


def _fits(part: Schema, value: Any) -> bool:
    if "enum" in part:
        return value in part["enum"] and not isinstance(value, bool | float)
    match kind_of(part):
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, str)


def _wants_flag(part: Schema) -> bool:
    options = [option for option in part.get("enum", ()) if option is not None]
    return kind_of(part) == "boolean" or is_flag(options)


def _leaves(schema: object, root: Schema, depth: int = 0) -> Iterator[tuple[str, Schema]]:
    part = resolve(schema, root)
    for name, inner in part.get("properties", {}).items():
        resolved = resolve(inner, root)
        if kind_of(resolved) == "object" and depth < 12:
            yield from _leaves(resolved, root, depth + 1)
        else:
            yield name, resolved

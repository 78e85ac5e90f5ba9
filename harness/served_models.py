"""Whether the model that answered is the one that was asked, by the name that the provider gives it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from harness.canonical import JSON
from harness.manifest import Manifest, ModelWanted
from harness.messages import Purpose

ServedCounts: TypeAlias = Mapping[tuple[Purpose, str | None], int]
"""Purpose and served model (None: the provider did not say) -> number of answers."""

ServedAs: TypeAlias = list[dict[str, JSON]]
"""What `served_as` returns, one object a served model."""

_DATED: Final = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{2,8})")
_VARIANT: Final = re.compile(r":(?:latest|free|nitro|floor|online|exacto)$")
_LISTED: Final = 3
_LONGEST: Final = 80


class Likeness(Enum):
    """How a served model's name stands to the asked one. `DATED`: a dated snapshot of it."""

    SAME = "same"
    DATED = "dated"
    ANOTHER = "another"


def likeness(served: str, asked: str, name: str | None = None) -> Likeness:
    """Compare a served model's name with the id that was asked.

    What routers and Google put before a name, letter case, and OpenRouter's and Ollama's marks of variants
    (`:free`, `:latest`) make no difference; an asked `x-latest` is any dated `x`, and a dated one may be told
    without its date. `name`: what the user calls the model; it counts too (Azure is asked for a deployment,
    and answers with the model's name), unless the id is a dated snapshot of it.
    """
    said, wanted = _plain(served), _plain(asked)
    found = _compared(said, wanted)
    if found is Likeness.ANOTHER and name is not None and not _is_dated(wanted, _plain(name)):
        return _compared(said, _plain(name))
    return found


def served_as(manifest: Manifest, model: str, counts: ServedCounts) -> ServedAs:
    """Return who answered for a model of a run and for its reformatter, as JSON, the most frequent first.

    `asked` is the run's name of the model that was asked, `model` the name under which it answered (null: not
    told), `as_asked` whether that is the model or a dated snapshot of it (null: not told), `dated` whether it
    is a snapshot of a model that was asked without a date. Simulated models and answers from files have none.
    """
    asked = {"answer": (model, manifest.models[model])}
    reformatter = manifest.models[model].reformatter
    if reformatter is not None and manifest.reformat is not None:
        asked["reformat"] = (reformatter, manifest.reformat.models[reformatter])
    found: ServedAs = []
    for purpose, (name, wanted) in asked.items():
        if wanted.simulated or wanted.imported:
            continue
        named = [(served, n) for (of, served), n in counts.items() if of == purpose]
        named.sort(key=lambda one: (-one[1], one[0] or ""))
        found += [_entry(name, wanted, served, n) for served, n in named]
    return found


def _entry(name: str, wanted: ModelWanted, served: str | None, answers: int) -> dict[str, JSON]:
    how = None if served is None else likeness(served, wanted.model, name)
    return {
        "asked": name,
        "model": served,
        "answers": answers,
        "as_asked": None if how is None else how is not Likeness.ANOTHER,
        "dated": how is Likeness.DATED,
    }


def together(lists: Iterable[Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return what several `served_as` come to: their answers added up, the most frequent first."""
    answers: Counter[tuple[str, str | None]] = Counter()
    kinds: dict[tuple[str, str | None], Mapping[str, Any]] = {}
    for one in (one for entries in lists for one in entries):
        key = one["asked"], one["model"]
        answers[key] += one["answers"]
        kinds[key] = one
    order = sorted(answers, key=lambda key: (key[0], -answers[key], key[1] or ""))
    return [{**kinds[key], "answers": answers[key]} for key in order]


def served_notes(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each asked model that another one answered for, or several snapshots in turn."""
    for asked in dict.fromkeys(one["asked"] for one in entries):
        of_model = [one for one in entries if one["asked"] == asked]
        total = sum(one["answers"] for one in of_model)
        others = [one for one in of_model if one["as_asked"] is False]
        dated = [one for one in of_model if one["dated"]]
        if others:
            count = sum(one["answers"] for one in others)
            answers = "answer" if total == 1 else "answers"
            yield f"{asked}: {count:,} of {total:,} {answers} came from {_listed(others)}"
        if len({_plain(one["model"]) for one in dated}) > 1:
            yield f"{asked}: several of its snapshots answered in turn: {_listed(dated)}"


def _listed(entries: Sequence[Mapping[str, Any]]) -> str:
    if len(entries) == 1:
        return _quoted(entries[0]["model"])
    told = ", ".join(f"{_quoted(one['model'])} ({one['answers']:,})" for one in entries[:_LISTED])
    more = len(entries) - _LISTED
    return f"{told} and {more} more" if more > 0 else told


def _quoted(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}...")


def _compared(served: str, asked: str) -> Likeness:
    bare = asked.removesuffix("-latest")
    if served in (asked, bare):
        return Likeness.SAME
    if _is_dated(served, bare):
        return Likeness.DATED
    return Likeness.SAME if _is_dated(asked, served) else Likeness.ANOTHER


def _is_dated(name: str, of: str) -> bool:
    return name.startswith(of) and _DATED.fullmatch(name, len(of)) is not None


def _plain(name: str) -> str:
    """Return a name without what routers and Google put before it, and marks of variants behind it."""
    return _VARIANT.sub("", name.rsplit("/", 1)[-1].casefold())

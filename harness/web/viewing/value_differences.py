"""Two JSON values compared place by place: what is left where nothing is known of their form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from harness.canonical import JSON, canonical_json
from harness.phrases import count
from harness.web.viewing.difference_parts import Change, Difference, Values

MOST_CHANGES: Final = 200
"""Places that are listed."""
_MOST_PLACES: Final = 20_000
"""Places of a value that are looked at."""


def value_difference(reference: JSON, prediction: JSON) -> Difference:
    """Return where two values differ, by paths as "findings.caries[2]"."""
    ours, theirs = _places(reference), _places(prediction) if prediction is not None else {}
    differing = [path for path in [*ours, *(path for path in theirs if path not in ours)]
                 if ours.get(path) != theirs.get(path)]  # fmt: skip
    same = sum(ours.get(path) == value for path, value in theirs.items())
    part = Values(
        title="reference and answer, place by place",
        changes=tuple(Change(path, ours.get(path), theirs.get(path)) for path in differing[:MOST_CHANGES]),
        same=same,
        left=max(0, len(differing) - MOST_CHANGES),
    )
    summary = f"{count(len(differing), 'place')} differ" if differing else "the answer is the reference"
    return Difference((part,), summary)


def _places(value: JSON) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, leaf in _leaves(value, ""):
        found[path] = leaf
        if len(found) >= _MOST_PLACES:
            break
    return found


def _leaves(value: JSON, path: str) -> Iterator[tuple[str, str]]:
    """Yield paths and what stands there: texts as they are, all else as JSON."""
    waiting: list[tuple[JSON, str]] = [(value, path)]
    while waiting:
        one, where = waiting.pop()
        if isinstance(one, Mapping) and one:
            inner = [(item, f"{where}.{name}" if where else name) for name, item in one.items()]
            waiting += reversed(inner)
        elif isinstance(one, list | tuple) and one:
            waiting += reversed([(item, f"{where}[{place}]") for place, item in enumerate(one)])
        else:
            yield where or "(the whole)", one if isinstance(one, str) else _written(one)


def _written(value: JSON) -> str:
    return canonical_json(value).decode("utf-8")

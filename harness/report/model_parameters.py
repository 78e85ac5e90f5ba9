"""How each model and reformatter of a run was asked: parameters sent and left out, who answered, prices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.canonical import digest
from harness.phrases import count, listed
from harness.report.cells import text_cell
from harness.report.document import Column, RowKind, Table, TableRow
from harness.report.score_view import Json

DIGITS: Final = 16
"""So much of a digest is shown; the JSON has all of it."""

LONGEST: Final = 80
"""A parameter of more characters (a schema) is told by its digest."""

_NOT_KNOWN: Final = "not known: answers from files"


def model_parameters(effort: Json, table_id: str) -> Table:
    """Return how each model and reformatter was asked, what was left out, and who answered."""
    served = _served_by(effort)
    sent = _sent_to(effort)
    return Table(
        table_id,
        "Models and parameters",
        [
            Column("asked", "asked as", "model id at its endpoint", numeric=False),
            Column("sent", "sent with", "parameters as they stand in the requests", numeric=False),
            Column("left_out", "left out", "benchmark defaults that the model does not take", numeric=False),
            Column("images", "images", "how images were made ready", numeric=False),
            Column("reformatter", "reformatter", numeric=False),
            Column("served", "answered as", "what the provider says answered", numeric=False),
            Column("prices", "price", "US dollars per million tokens, and who says so", numeric=False),
        ],
        [
            _model_row(name, one, sent.get(name, []), served.get(name, {}))
            for name, one in sorted(effort["params"].items(), key=lambda item: (item[1]["role"], item[0]))
        ],
    )


def _sent_to(effort: Json) -> Mapping[str, list[Json]]:
    """Return whom -> how requests went out to it: a reformatter's are kept with the models it restated."""
    found: dict[str, list[Json]] = {}
    for name, one in effort["params"].items():
        for sent in one["sent"]:
            whom = str(one["reformatter"] or name) if sent["purpose"] == "reformat" else name
            found.setdefault(whom, []).append(sent)
    return found


def _served_by(effort: Json) -> Mapping[str, Counter[str | None]]:
    """Return whom was asked -> who says that it answered -> how often, likewise."""
    found: dict[str, Counter[str | None]] = {}
    for row in effort["models"]:
        reformatter = (effort["params"].get(row["model"]) or {}).get("reformatter")
        for whom, sums in ((row["model"], row["answers"]), (reformatter, row["reformatter"])):
            for one in () if whom is None or sums is None else sums.get("served_models", ()):
                found.setdefault(str(whom), Counter())[one["model"]] += one["answers"]
    return found


def _model_row(name: str, one: Json, sent: Sequence[Json], served: Mapping[str | None, int]) -> TableRow:
    imported = one["imported"]
    simulated = " (SIMULATED)" if one["simulated"] else ""
    kind: RowKind = "model" if one["role"] == "model" else "other"
    return TableRow(
        name if kind == "model" else f"{name} ({one['role']})",
        [
            text_cell(f"{one['model']} at {one['endpoint']}, {one['adapter']}{simulated}"),
            text_cell(_NOT_KNOWN if imported else _sent(one, sent)),
            text_cell(", ".join(one["dropped_params"]) or "nothing"),
            text_cell(str(one["image_recipe"])),
            text_cell(one["reformatter"] or "none"),
            text_cell(_served(served) or "nobody told"),
            text_cell("not known" if imported else _prices(one["prices"])),
        ],
        kind,
    )


def _sent(one: Json, requests: Sequence[Json]) -> str:
    """Return the parameters of the requests; where they differ, with what each was for."""
    bodies: dict[str, set[str]] = {}
    for sent in requests:
        to_restate = sent["purpose"] == "reformat" and one["role"] == "model"
        uses = ["restating"] if to_restate else sent["conditions"]
        text = "not readable any more" if sent["body"] is None else _fields(sent["body"], sent)
        bodies.setdefault(text, set()).update(uses)
    if not bodies:
        return _fields(one["params"] or {}, {}) + " (as planned; nothing was sent)"
    if len(bodies) == 1:
        return next(iter(bodies))
    return "; ".join(f"{listed(sorted(uses))}: {text}" for text, uses in bodies.items())


def _fields(body: Mapping[str, Any], sent: Json) -> str:
    fields = [f"{name}={_short(value)}" for name, value in sorted(body.items()) if name != "model"]
    fields += [f"header {name}: {value}" for name, value in sorted((sent.get("headers") or {}).items())]
    return ", ".join(fields) or "no parameters"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST:
        return text
    return f"({len(text):,} characters of JSON, sha256 {digest(value)[:DIGITS]})"


def _served(served: Mapping[str | None, int]) -> str:
    named = [f"{model} ({answers:,})" for model, answers in served.items() if model is not None]
    silent = served.get(None, 0)
    return "; ".join([*named, *([f"not told ({silent:,})"] if silent else [])])


def _prices(prices: Sequence[Json]) -> str:
    return "; then ".join(map(_price, prices)) or "not known"


def _price(price: Json) -> str:
    kinds = (("input", "input"), ("output", "output"), ("cached_input", "cached input"))
    rates = [f"{name} {price[key]:g}" for key, name in kinds if price.get(key) is not None]
    source = f" ({price['source']})" if price.get("source") else ""
    tiers = f"; {count(len(price['tiers']), 'tier')} for long requests" if price.get("tiers") else ""
    return f"{', '.join(rates) or 'not known'}{tiers}{source}"

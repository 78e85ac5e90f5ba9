"""What was really sent to whom: a reformatter's requests are kept with the models that it restated."""

from __future__ import annotations

from typing import Any

from harness.report.document import Table
from harness.report.model_parameters import model_parameters


def wanted(role: str = "model", reformatter: str | None = None, sent: Any = ()) -> dict[str, Any]:
    return {
        "role": role,
        "adapter": "openai",
        "endpoint": "lab",
        "model": "id",
        "params": {"temperature": 1},
        "dropped_params": [],
        "reformatter": reformatter,
        "simulated": False,
        "imported": False,
        "image_recipe": "original",
        "prices": [],
        "sent": list(sent),
    }


def request(purpose: str, *conditions: str, **body: Any) -> dict[str, Any]:
    return {
        "purpose": purpose,
        "conditions": list(conditions),
        "body": {"model": "id", **body},
        "headers": {},
    }


def sums(*served: tuple[str | None, int]) -> dict[str, Any]:
    return {"served_models": [{"model": model, "answers": answers} for model, answers in served]}


def cells(table: Table, name: str) -> dict[str, str]:
    row = next(row for row in table.rows if row.name == name)
    return {column.id: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}


def shown(params: dict[str, Any], *models: dict[str, Any]) -> Table:
    return model_parameters({"params": params, "models": models}, "t")


def test_a_reformatter_shows_what_was_sent_to_it_and_who_answered() -> None:
    sent = [request("answer", "both", temperature=0), request("reformat", "both", seed=7)]
    params = {
        "a": wanted(reformatter="fixer", sent=sent),
        "b": wanted(reformatter="fixer", sent=[request("reformat", "both", seed=7)]),
        "fixer": wanted("reformatter"),
    }
    rows = [
        {"model": "a", "answers": sums(("a-1", 20)), "reformatter": sums(("fixer-1", 3), (None, 1))},
        {"model": "b", "answers": sums(("b-1", 20)), "reformatter": sums(("fixer-1", 4))},
    ]
    table = shown(params, *rows)
    fixer = cells(table, "fixer (reformatter)")
    assert (fixer["sent"], fixer["served"]) == ("seed=7", "fixer-1 (7); not told (1)")
    assert cells(table, "a")["sent"] == "temperature=0"
    assert cells(table, "b")["sent"] == "temperature=1 (as planned; nothing was sent)"


def test_a_reformatter_that_nobody_needed_says_that_nothing_was_sent() -> None:
    params = {"a": wanted(reformatter="fixer"), "fixer": wanted("reformatter")}
    table = shown(params, {"model": "a", "answers": sums(), "reformatter": None})
    fixer = cells(table, "fixer (reformatter)")
    assert (fixer["sent"], fixer["served"]) == ("temperature=1 (as planned; nothing was sent)", "nobody told")


def test_a_model_that_restates_too_shows_both_ways_of_asking_it() -> None:
    params = {
        "a": wanted(reformatter="b", sent=[request("reformat", "both", seed=7)]),
        "b": wanted(sent=[request("answer", "both", "opg", temperature=0)]),
    }
    assert cells(shown(params), "b")["sent"] == "restating: seed=7; both, opg: temperature=0"


def test_conditions_that_were_asked_differently_are_told_apart_and_the_unreadable_is_told() -> None:
    sent = [request("answer", "both", seed=1), request("answer", "opg", seed=2)]
    assert cells(shown({"a": wanted(sent=sent)}), "a")["sent"] == "both: seed=1; opg: seed=2"
    lost = request("answer", "both") | {"body": None}
    assert cells(shown({"a": wanted(sent=[lost])}), "a")["sent"] == "not readable any more"

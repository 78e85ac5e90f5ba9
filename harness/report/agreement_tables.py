"""How far a step's model agrees with people who graded the same answers: a table for each of them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.phrases import count
from harness.report.cells import empty_cell, metric_cell, text_cell
from harness.report.document import Cell, Column, Paragraph, Part, Table, TableRow
from harness.report.even_columns import even_decimals
from harness.report.part_ids import PartIds
from harness.report.score_view import Json


def agreement_title(score: Json) -> str:
    """Return the heading: a step is held against people, and people against each other."""
    with_people = "raters" in (score.get("agreement") or {})
    return "Agreement with people" if with_people else "Agreement of the people who graded"


def agreement_parts(score: Json, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield the agreement with each rater, and of raters with each other; nothing where nobody graded."""
    found = score.get("agreement")
    if found is None:
        return
    if found.get("of_other_answers"):
        why = ", so that people and step did not see the same ones" if "raters" in found else ""
        yield Paragraph(
            f"{count(found['of_other_answers'], 'grade')} of people are not compared: their answers were "
            f"asked again since{why}.",
            "note",
        )
    for rater, one in found.get("raters", {}).items():
        judged = one["n_graded"] - one["not_judged"]
        caption = f"{judged:,} of {count(one['n_graded'], 'answer')} that {rater} graded have a verdict"
        yield _table(one, f"Agreement with {rater}", caption, ids.make(prefix, "agreement", rater))
    for pair, one in found.get("between_people", {}).items():
        caption = f"{count(one['n_graded'], 'answer')} that both graded"
        yield _table(one, f"Agreement of {pair}", caption, ids.make(prefix, "agreement-people", pair))


def _table(found: Json, title: str, caption: str, table_id: str) -> Table:
    no_mean = empty_cell("a mean is made of accuracies only")
    of_rows = found["dimensions"].values()
    places = {key: even_decimals([_metric(one[key]) for one in of_rows]) for key in ("accuracy", "kappa")}
    mean = TableRow("mean", [_number(found["mean_accuracy"], places["accuracy"]), no_mean, no_mean], "other")
    rows = [
        TableRow(
            name,
            [*(_number(one[key], places[key]) for key in places), text_cell(_confusion(one))],
            "other",
            [one["note"]] if one.get("note") else [],
        )
        for name, one in found["dimensions"].items()
    ]
    return Table(
        table_id,
        title,
        [
            Column("accuracy", "accuracy", "share of the answers on which both agree"),
            Column("kappa", "kappa", "Cohen's: agreement beyond chance"),
            Column("confusion", "counts", numeric=False),
        ],
        [*rows, mean],
        names="dimension",
        caption=caption,
    )


def _metric(metric: Json) -> Json:
    return {"ci": None, "reason": None, "n": 0, **metric}


def _number(metric: Json, decimals: int) -> Cell:
    if not metric.get("n"):
        return empty_cell(metric.get("reason") or "nothing is compared")
    return metric_cell(_metric(metric), None, decimals)


def _confusion(one: Json) -> str:
    return ", ".join(f"{cell} {answers:,}" for cell, answers in one["confusion"].items())

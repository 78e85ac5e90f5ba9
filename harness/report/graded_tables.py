"""How far people have graded the answers that a run's numbers rest on: a table for each task of grading."""

from __future__ import annotations

from collections.abc import Iterator

from harness.graded_words import graded_told, of_all, of_none, of_some
from harness.report.cells import count_cell
from harness.report.document import Cell, Column, Part, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.score_view import Json


def graded_parts(score: Json, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield a table a task: whose answers, how many graded by how many raters, what is not settled."""
    for task in score.get("graded", ()):
        rows = [
            TableRow(f"{row['model']} / {row['condition']}", _cells(row), "model") for row in task["rows"]
        ]
        yield Table(
            ids.make(prefix, "graded", task["task"]),
            f"How far answers are graded: {task['task']}",
            [
                Column("usable", "usable", "usable answers"),
                Column("to_grade", "to grade", "of them are to be graded, or are graded"),
                Column("by_all", "by all", "graded by all of their raters"),
                Column("by_some", "by some", "graded by some of their raters"),
                Column("by_none", "by none", "graded by nobody yet"),
                Column("waiting", "waiting", "do not count until another rater has graded them"),
                Column("disputed", "in dispute", "raters differ, and there is no consensus"),
            ],
            [*rows, TableRow("all", _cells(task), "other")],
            names="model / condition",
            caption="Answers. " + ". ".join(text[:1].upper() + text[1:] for text in graded_told(task)),
        )


def _cells(counts: Json) -> list[Cell]:
    numbers = (
        counts["usable"], counts["to_grade"], of_all(counts), of_some(counts), of_none(counts),
        counts["waiting"], counts["disputed"],
    )  # fmt: skip
    return [count_cell(number) for number in numbers]

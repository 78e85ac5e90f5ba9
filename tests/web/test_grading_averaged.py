"""Pages of a task whose points are averaged: they ask for no consensus, and say that none is needed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from grading_examples import Rater, desk_of, graded_run, with_small_task

from harness.benchmarks.base import Question
from harness.benchmarks.triage.task import Triage
from harness.grading.desk import Desk
from harness.web.grading.site import grader
from harness.web.guard import Access

task = pytest.fixture(autouse=True)(with_small_task)


async def pages(desk: Desk) -> tuple[str, str]:
    """Return the first pages of the consensus and of the lead."""
    base = "http://127.0.0.1"
    transport = httpx.ASGITransport(grader([desk], Access(None, hosts=frozenset({"127.0.0.1"}))))
    tokens = {seat.name: seat.token for seat in desk.seats}
    async with httpx.AsyncClient(transport=transport, base_url=base) as client:
        answers = [await client.get(f"/g/{tokens[name]}/") for name in ("consensus", "lead")]
    assert [one.status_code for one in answers] == [200, 200]
    return answers[0].text, answers[1].text


async def test_nothing_is_said_to_be_settled_that_needs_no_consensus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    averaged = {
        "right": Question((0, 1), averaged=True),
        "reads": Question(low=1, high=5, averaged=True),
    }
    monkeypatch.setattr(Triage, "questions", averaged)
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)
        await Rater(desk, "alice").all_open(reads=1)
        await Rater(desk, "bob").all_open(reads=4)
        together, lead = await pages(desk)
    assert "nothing here needs a consensus" in together
    assert "On 4 answers they are 2 points or more apart" in together
    assert "settled" not in together and "✓" not in together and "<progress" not in together
    assert "no difference needs a consensus" in lead and "No difference so far" not in lead


async def test_where_raters_agree_that_is_said(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)
        for name in ("alice", "bob"):
            await Rater(desk, name).all_open()
        together, lead = await pages(desk)
    assert "differ on nothing that both graded" in together and "mean" not in together.split("<h2>")[1]
    assert "No difference so far" in lead

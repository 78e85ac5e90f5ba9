"""The numbers of one unit on its page are those that `harness score` stores of it, grades included."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event
from sweep_kit import harness
from web_viewing import Page, Viewing, looked_at, viewing

from harness.cache.derived import UnitScore
from harness.cache.grades import NewGrade
from harness.cache.rows import UnitId
from harness.cache.store import Store

BENCHMARKS = ("triage", "medlay", "radm", pytest.param("pandent", marks=pytest.mark.slow))


def _run(folder: Path, benchmark: str) -> None:
    args = ("--models", "sim/steady", "--limit", "3", "--reformatter", "none", "--name", benchmark)
    done = harness("run", "--benchmark", benchmark, *args, "--store", folder / "store.sqlite3")
    assert done.code in {0, 3}, done.err


def _scores(folder: Path, run: str) -> Mapping[UnitId, Sequence[UnitScore]]:
    assert harness("score", run, "--store", folder / "store.sqlite3").code == 0

    async def read() -> Mapping[UnitId, Sequence[UnitScore]]:
        async with await Store.open(str(folder / "store.sqlite3"), create=False, only_read=True) as store:
            found: dict[UnitId, list[UnitScore]] = {}
            async for one in store.unit_scores((await store.find_run(run)).id):
                found.setdefault(one.unit, []).append(one)
            return found

    return asyncio.run(read())


def _pages(folder: Path, run: str, units: Sequence[UnitId]) -> list[Page]:
    async def look(view: Viewing) -> list[Page]:
        return [
            await view.page("/unit", run=run, model=one.model, condition=one.condition, case=one.case_id)
            for one in units
        ]

    return looked_at(folder / "store.sqlite3", look)


def _values(page: Page) -> dict[str, str]:
    rows = re.search(r'<dl class="facts unit-values">(.*?)</dl>', page.html, re.DOTALL)
    assert rows is not None
    found = re.findall(r"<div[^>]*><dt>(.*?)</dt><dd>([^<]*)", rows.group(1))
    return {re.sub("<[^>]*>", "", path): value.strip() for path, value in found}


def _agree(page: Page, scores: Sequence[UnitScore]) -> None:
    """Compare to the four digits that are shown."""
    shown = _values(page)
    assert shown.keys() == {one.metric for one in scores}
    for one in scores:
        if one.value is None:
            assert shown[one.metric] == "no value", one.metric
        else:
            assert float(shown[one.metric].replace(",", "")) == pytest.approx(one.value, rel=1e-3), one.metric


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_page_shows_the_numbers_that_scoring_stores(tmp_path: Path, benchmark: str) -> None:
    _run(tmp_path, benchmark)
    scores = _scores(tmp_path, benchmark)
    assert len(scores) >= 3
    units = list(scores)[:4]
    for unit, page in zip(units, _pages(tmp_path, benchmark, units), strict=True):
        _agree(page, scores[unit])


def test_grades_enter_as_scoring_takes_them_disputed_ones_and_those_of_others_not(tmp_path: Path) -> None:
    _run(tmp_path, "radm")
    first, second, third = list(_scores(tmp_path, "radm"))[:3]
    tiers = {f"tier_{rank}": rank % 4 for rank in range(1, 6)}

    async def grade() -> None:
        async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
            both = [NewGrade(first, rater, name, tier) for name, tier in tiers.items() for rater in "ab"]
            apart = [
                NewGrade(second, rater, name, 3 if (rater, name) == ("b", "tier_1") else tier)
                for name, tier in tiers.items()
                for rater in "ab"
            ]
            await store.add_grades((await store.find_run("radm")).id, [*both, *apart])

    asyncio.run(grade())
    before = _pages(tmp_path, "radm", [first, second, third])
    scores = _scores(tmp_path, "radm")
    for unit, page in zip((first, second, third), before, strict=True):
        _agree(page, scores[unit])
    assert "with the grades of a, b" in before[0].text
    assert _values(before[0])["top1"] != "no value"
    assert "with the grades" not in before[2].text


@pytest.mark.slow
def test_what_takes_another_program_is_shown_as_it_was_stored_of_the_same_answer(tmp_path: Path) -> None:
    args = ("--models", "sim/steady", "--limit", "1", "--conditions", "report", "--name", "p")
    store = tmp_path / "store.sqlite3"
    assert harness("run", "--benchmark", "pandent", *args, "--store", store).code == 0
    (unit,) = _scores(tmp_path, "p")
    with closing(sqlite3.connect(store)) as raw, raw:
        raw.execute("UPDATE unit_score SET value = 0.125 WHERE metric LIKE 'meteor%'")
        rows = raw.execute("SELECT metric FROM unit_score WHERE metric LIKE 'meteor%'")
        metrics = [name for (name,) in rows]
    assert metrics
    (page,) = _pages(tmp_path, "p", [unit])
    assert {_values(page)[name] for name in metrics} == {"0.1250"}
    assert "as the last harness score stored it" in page.text
    with closing(sqlite3.connect(store)) as raw, raw:
        raw.execute("UPDATE record SET parser = 'another'")
    (page,) = _pages(tmp_path, "p", [unit])
    assert "0.1250" not in _values(page).values()


def test_a_damaged_record_of_a_unit_is_as_if_nobody_had_scored_it(tmp_path: Path) -> None:
    _run(tmp_path, "triage")
    unit = next(iter(_scores(tmp_path, "triage")))
    store = tmp_path / "store.sqlite3"
    (whole,) = _pages(tmp_path, "triage", [unit])
    for torn in ("prediction = x'00'", "outcome = 'odd'"):
        with closing(sqlite3.connect(store)) as raw, raw:
            raw.execute(f"UPDATE record SET {torn}")
        (page,) = _pages(tmp_path, "triage", [unit])
        assert _values(page) == _values(whole) != {}


def test_what_steps_say_is_read_at_once_for_all_columns(tmp_path: Path) -> None:
    names = ("sim/careful", "sim/eager", "sim/steady")
    store = ("--store", tmp_path / "store.sqlite3")
    run = ("run", "--benchmark", "radm", "--models", ",".join(names), "--limit", "2", "--name", "night")
    assert harness(*run, "--reformatter", "none", *store).code in {0, 3}
    step = ("step", "grade", "night", "--model", "sim/steady", "--name", "graded")
    assert harness(*step, *store).code in {0, 3}
    unit = next(iter(_scores(tmp_path, "night")))

    async def look() -> list[tuple[Page, int]]:
        async with await Store.open(str(store[1]), create=False, only_read=True) as opened:
            asked: list[str] = []
            event.listen(
                opened._database._reader.sync_engine, "before_cursor_execute",
                lambda _c, _cursor, statement, *_rest: asked.append(statement),
            )  # fmt: skip
            found = []
            async with viewing(opened) as view:
                for shown in (names[:1], names):
                    asked.clear()
                    page = await view.page(
                        "/case", run="night", case=unit.case_id, condition=unit.condition, show_model=shown
                    )
                    found.append((page, sum("FROM unit_exchange" in one for one in asked)))
            return found

    (one, few), (all_, many) = asyncio.run(look())
    assert few == many == 2, "of the run, and of the step"
    for page, shown in ((one, 1), (all_, 3)):
        columns = re.findall(r"<article.*?</article>", page.html, re.DOTALL)
        assert len(columns) == shown and all(re.search("tier [0-3], ", one) for one in columns)
    for name in names:
        (alone,) = _pages(tmp_path, "night", [replace(unit, model=name)])
        assert "with what sim/steady said in the step graded" in alone.text

"""The page of one unit: everything that is known of it, whatever became of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stored_run_builder import EXTRACTION, FILLING, SCALING, Plan, answer, body, built_run, case
from web_viewing import Page, Viewing, is_closed, viewing

from harness.benchmarks.triage.cases import ROLE
from harness.cache.grades import NewGrade
from harness.cache.rows import UnitId
from harness.explaining.asking import NextAsk, PlannedUnit, next_ask, snapshot_unit
from harness.media import Media
from harness.messages import RawReply
from harness.offline.stored_run import load_run
from harness.outcomes import ExchangeOutcome, UnitOutcome

UNIT = UnitId("alpha", "both", "c1")
HOSTILE = "<script>alert(1)</script></script>\x00\ud800\u202eabc\x1b[31m&amp;\"'\u2028end"


def with_image(id: str, *labels: str, **changes: Any) -> Any:
    found = case(id, *labels, **changes)
    return type(found)(
        id=found.id, fields=found.fields, media={ROLE: (Media("ab" * 32, "image/png", 100, 10, 10),)},
        reference=found.reference, group=found.group, tags=found.tags, problem=found.problem,
    )  # fmt: skip


def two(**changes: Any) -> Plan:
    return Plan([with_image("c1", FILLING, SCALING), with_image("c2", EXTRACTION)], **changes)


async def unit_page(view: Viewing, unit: UnitId = UNIT, run: str = "test-run", **more: Any) -> Page:
    return await view.page(
        "/unit", run=run, model=unit.model, condition=unit.condition, case=unit.case_id, repeat=unit.repeat,
        **more,
    )  # fmt: skip


async def test_a_unit_shows_its_case_its_answer_its_scores_and_its_exchange(tmp_path: Path) -> None:
    async with built_run(tmp_path, two(models=("alpha", "beta"))) as built:
        await built.valid(UNIT, FILLING, EXTRACTION)
        async with viewing(built.store) as view:
            page = await unit_page(view)
    for said in (
        "c1 · alpha · both",
        "outcome valid at attempt-1",
        "harness explain test-run --case c1 --model alpha --condition both",
        "the answer fits as it stands",
        "chief_complaint shown to the model It hurts.",
        "1 missing, 1 extra, 1 the same",
        "fine.exact_match 0",
        "case_f1 0.5000",
        "1. answer, attempt 1, send 1",
        "status 200 tokens 100 in, 10 out cost $0.000120 at $1 in, $2 out per million tokens",
        "asked alpha-id of lab at lab",
        "alpha: valid",
        "beta: open",
    ):
        assert said in page.text, said
    assert is_closed(page) == []


async def test_keys_lead_to_the_next_unit_the_list_and_the_models_side_by_side(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        for id in ("c1", "c2"):
            await built.valid(UnitId("alpha", "both", id), FILLING)
        async with viewing(built.store) as view:
            first = await unit_page(view)
            second = await view.page(first.key("j") or "")
            beside = await view.page(first.key("m") or "")
            among = await unit_page(view, among="outcome=refused")
    assert "case=c2" in (first.key("j") or "") and first.key("k") is None
    assert first.key("j") == first.key("ArrowRight")
    assert second.key("j") is None and "case=c1" in (second.key("k") or "")
    assert (first.key("u") or "").startswith("/units?run=test-run")
    assert first.key("1") == "#exchange-1"
    assert "side by side" in beside.text
    assert "outcome=refused" in (among.key("u") or "") and "not among the 0 of the list" in among.text


@pytest.mark.parametrize(
    ("outcome", "error", "said"),
    [
        (UnitOutcome.CASE_ERROR, "case_error: the image is gone", "the case itself cannot be sent"),
        (UnitOutcome.NOT_APPLICABLE, "context_length: too long", "beyond this model's inputs or limits"),
        (UnitOutcome.NOT_ATTEMPTED, "not_attempted: the pool is closed", "the pool is closed"),
    ],
)
async def test_a_unit_without_an_answer_says_why(
    tmp_path: Path, outcome: UnitOutcome, error: str, said: str
) -> None:
    async with built_run(tmp_path, two()) as built:
        await built.finish(UNIT, outcome, error=error)
        async with viewing(built.store) as view:
            page = await unit_page(view)
    assert said in page.text and f"outcome {outcome}" in page.text
    assert "nothing was sent for it" in page.text and "It enters no score" in page.text


async def test_a_case_that_cannot_be_used_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    plan = Plan([with_image("c1", problem="the image is cut off"), with_image("c2")])
    async with built_run(tmp_path, plan) as built:
        await built.finish(UNIT, UnitOutcome.CASE_ERROR, error="case_error: the image is cut off")
        async with viewing(built.store) as view:
            page = await unit_page(view)
    assert page.text.count("the case cannot be used: the image is cut off") == 1
    assert "nothing can be sent for this unit: the image is cut off" in page.text


async def test_a_unit_that_was_never_asked_says_so_and_one_in_flight_who_asks_it(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built, viewing(built.store) as view:
        before = await unit_page(view)
        stored = await load_run(built.store, built.run)
        planned = PlannedUnit(
            snapshot_unit(stored, UNIT, 0), stored.benchmark, stored.manifest.structured, "snapshot"
        )
        ask = await next_ask(built.store, planned)
        assert isinstance(ask, NextAsk)
        assert await built.store.claim(ask.built.key)
        during = await unit_page(view)
    assert "nothing is stored for this unit" in before.text and "never begun" in before.text
    assert "There is no answer yet" in before.text and "is being asked right now" not in before.text
    assert "it is being asked right now by process" in during.text
    assert "session 1 of this run began at" in before.text


async def test_a_unit_that_was_begun_and_not_ended_shows_what_was_sent(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        await built.exchange(UNIT, b"", status=503, outcome=ExchangeOutcome.UNAVAILABLE)
        async with viewing(built.store) as view:
            page = await unit_page(view)
    assert "outcome open" in page.text and "the unit is open" in page.text
    assert "unavailable not used" in page.text.replace("  ", " ") or "unavailablenot used" in page.text


async def test_a_unit_that_needs_an_ask_nobody_made_is_a_gap(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        await built.answers(UNIT, UnitOutcome.VALID, "no JSON at all")
        async with viewing(built.store) as view:
            page = await unit_page(view)
    assert "outcome gap" in page.text
    assert "the run itself had ended it as valid; today's code reads the same bytes as gap" in page.text


async def test_a_damaged_exchange_is_told_and_the_others_are_shown(tmp_path: Path) -> None:
    async with built_run(tmp_path, two(attempts=2)) as built:
        ids = await built.answers(UNIT, UnitOutcome.VALID, "nothing", answer(FILLING, SCALING))
        with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as raw, raw:
            raw.execute("UPDATE exchange SET body = x'00ff' WHERE id = ?", (ids[0],))
        async with viewing(built.store) as view:
            first = await unit_page(view)
    assert f"exchange {ids[0]} is damaged" in first.text
    assert "2. answer, attempt 2, send 1" in first.text
    assert "outcome valid" in first.text and "the outcome is the one that the run stored" in first.text
    assert "It enters no score" in first.text  # F5


async def test_a_damaged_send_that_nothing_rests_on_leaves_the_answer_and_its_scores(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        busy = await built.exchange(UNIT, b"", status=503, outcome=ExchangeOutcome.UNAVAILABLE)
        good = await built.exchange(UNIT, answer(FILLING, SCALING))
        links: list[Any] = [(busy, "answer", 1), (good, "answer", 1)]
        await built.finish(UNIT, UnitOutcome.VALID, links, used=[good])
        with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as raw, raw:
            raw.execute("UPDATE exchange SET body = x'00ff' WHERE id = ?", (busy,))
        async with viewing(built.store) as view:
            text = (await unit_page(view)).text
    assert text.index(f"exchange {busy} is damaged") < text.index("2. answer, attempt 1")
    assert "outcome valid at attempt-1" in text and "fine.exact_match 1" in text


async def test_grades_stand_with_their_history_and_scores_say_whose_they_use(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        await built.valid(UNIT, FILLING, SCALING)
        given = [
            NewGrade(UNIT, "alice", "comment", "first thought", 1_000_000),
            NewGrade(UNIT, "alice", "comment", HOSTILE, 2_000_000),
            NewGrade(UNIT, "bob", "comment", "fine"),
        ]
        await built.store.add_grades(built.run.id, given)
        async with viewing(built.store) as view:
            page = await unit_page(view)
    assert "comment alice <script>alert(1)" in page.text and "first thought" in page.text
    assert page.text.index("<script>alert(1)") < page.text.index("first thought")
    assert "bob fine" in page.text
    assert is_closed(page) == []


async def test_a_grade_of_an_answer_in_whose_place_another_stands_is_marked(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built:
        first = await built.exchange(UNIT, answer(EXTRACTION))
        await built.store.add_grades(built.run.id, [NewGrade(UNIT, "alice", "comment", "early", 2_000_000)])
        await built.store.add_grades(built.run.id, [NewGrade(UNIT, "bob", "comment", "late", 9_000_000)])
        again = await built.exchange(UNIT, answer(FILLING), key="2", twin="2", started_at_us=5_000_000)
        links: list[Any] = [(first, "answer", 1), (again, "answer", 1)]
        await built.finish(UNIT, UnitOutcome.VALID, links, used=[again], again_after=first)
        async with viewing(built.store) as view:
            text = (await unit_page(view)).text
    assert "early about an earlier answer" in text and "late about" not in text


async def test_where_a_case_cannot_be_rendered_the_prompt_tells_which_texts_it_shows(tmp_path: Path) -> None:
    plan = Plan([case("c1", complaint="")], conditions=("both", "opg"))
    async with built_run(tmp_path, plan) as built, viewing(built.store) as view:
        shown = await unit_page(view)
        hidden = await unit_page(view, UnitId("alpha", "opg", "c1"))
    assert "chief_complaint shown to the model" in shown.text
    assert "chief_complaint not shown in this condition" in hidden.text


async def test_hostile_texts_are_nothing_but_text_everywhere(tmp_path: Path) -> None:
    run, id = "night\u202e<b>", f"c{HOSTILE}"
    model = "m<script>alert(1)</script>\u202e\x1b[31m&\"'"
    plan = Plan(
        [with_image(id, FILLING, complaint=HOSTILE, tags=(HOSTILE,), group=HOSTILE), with_image("c2")],
        models=(model, "beta"),
    )
    unit = UnitId(model, "both", id)
    async with built_run(tmp_path, plan, name=run) as built:
        headers = {"x-odd": HOSTILE, "content-type": "text/html"}
        sent = {"messages": [{"role": HOSTILE, "content": [{"type": "text", "text": HOSTILE}]}], HOSTILE: 1}
        bad = await built.exchange(unit, b"\xff\xfe<script>", request=sent, key="1", twin="1")
        good = await built.exchange(
            unit, None, attempt=2, request=sent, key="2", twin="2",
            raw=RawReply(200, headers, body(answer(FILLING, reasoning=HOSTILE), reasoning_content=HOSTILE)),
        )  # fmt: skip
        links: list[Any] = [(bad, "answer", 1), (good, "answer", 2)]
        await built.finish(unit, UnitOutcome.VALID, links, used=[good], error=None)
        async with viewing(built.store) as view:
            pages = [await unit_page(view, unit, run)]
            pages.append(await view.page("/case", run=run, case=id, condition="both", model=model))
            at = {"run": run, "case": id, "model": model}
            pages += [await view.page("/exchange", id=one, **at) for one in (bad, good)]
            for part in ("request", "headers", "body", "text", "reasoning"):
                found = await view.get("/exchange", {"hx-request": "true"}, id=good, part=part)
                assert found.status_code == 200
                pages.append(Page(found.text))
            missing = await view.get("/unit", run=HOSTILE)
            no_case = await view.get("/unit", run=run, case=HOSTILE)
            field = await view.get(
                "/unit/text", run=run, model=model, condition="both", case=id, of="field:chief_complaint"
            )
    for page in pages:
        assert is_closed(page) == []
        assert "\x00" not in page.html and "\u202e" not in page.html and "\x1b" not in page.html
    assert (missing.status_code, no_case.status_code) == (404, 404)
    assert "<script>alert" not in missing.text + no_case.text
    assert field.content == HOSTILE.encode("utf-8", "surrogatepass")
    assert r"\xff\xfe<script>" in pages[2].text and "no valid UTF-8" in pages[2].text


async def test_a_very_long_answer_leaves_the_page_small_and_is_to_be_had_whole(tmp_path: Path) -> None:
    long = "word \x00" * 40_000
    whole = answer(FILLING, SCALING, reasoning=long)
    async with built_run(tmp_path, two(attempts=3)) as built:
        ids = await built.answers(UNIT, UnitOutcome.VALID, long, long, whole)
        async with viewing(built.store) as view:
            page = await unit_page(view)
            beside = await view.page("/case", run="test-run", case="c1", condition="both")
            text = await view.get("/exchange/body", id=ids[2], part="text")
            found = await view.get("/unit/text", run="test-run", case="c1", of="prediction")
    assert len(page.html) < 200_000 and len(beside.html) < 200_000
    assert f"text of the answer ({len(whole):,} characters)" in page.text
    assert "Some text here is very long: only its beginning is compared" in page.text
    assert text.text == whole
    assert len(found.text) > 240_000


async def test_a_name_that_the_run_does_not_have_is_refused_with_what_there_is(tmp_path: Path) -> None:
    async with built_run(tmp_path, two()) as built, viewing(built.store) as view:
        wrongs = ({"model": "alfa"}, {"condition": "x"}, {"case": "c9"}, {"repeat": "2"}, {"repeat": "x"})
        answers = [await view.get("/unit", run="test-run", **{"case": "c1", **wrong}) for wrong in wrongs]
    assert [one.status_code for one in answers] == [404] * 5
    assert "has no model" in answers[0].text and "alpha" in answers[0].text
    assert "has repeats 1 to 1" in answers[3].text
    assert all('href="/">to the first page</a>' in one.text for one in answers)

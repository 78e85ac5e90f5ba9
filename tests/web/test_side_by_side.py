"""Several answers to one case beside each other: by model, condition or repeat, and which are chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stored_run_builder import EXTRACTION, FILLING, SCALING, Plan, built_run
from web.test_unit_page import HOSTILE, with_image
from web_viewing import Page, is_closed, viewing

from harness.cache.rows import UnitId
from harness.outcomes import UnitOutcome
from harness.web.links import link

MANY = tuple(f"m{number:02}" for number in range(12))


def columns(page: Page) -> list[str]:
    return [values["aria-label"] or "" for tag, values in page.tags if tag == "article"]


async def test_each_column_says_how_it_ended_what_it_scores_and_what_differs(tmp_path: Path) -> None:
    cases = [with_image("c1", FILLING, SCALING), with_image("c2", EXTRACTION)]
    async with built_run(tmp_path, Plan(cases, models=("alpha", "beta", "gamma", "delta"))) as built:
        await built.valid(UnitId("alpha", "both", "c1"), FILLING, SCALING)
        await built.valid(UnitId("beta", "both", "c1"), FILLING)
        await built.answers(UnitId("gamma", "both", "c1"), UnitOutcome.UNPARSABLE, "no", "no", "no")
        async with viewing(built.store) as view:
            page = await view.page("/case", run="test-run", case="c1", condition="both")
    text = page.text[page.text.index("Answers") :]
    alpha, beta, delta, gamma = (text.index(name) for name in ("alpha valid", "beta valid", "delta", "gamma"))
    assert columns(page) == ["alpha", "beta", "delta", "gamma"]
    assert "1 fine.exact_match" in text[alpha:beta] and "0 missing" not in text[alpha:beta]
    assert "0 fine.exact_match" in text[beta:delta] and "1 missing" in text[beta:delta]
    assert "never begun" in text[delta:gamma]
    assert "unparsable" in text[gamma:] and "no attempt gave an answer that can be used" in text[gamma:]
    assert page.text.count("chief_complaint") == 1, "the case is shown once"
    assert is_closed(page) == []


async def test_the_reference_and_the_signs_stand_once_in_words(tmp_path: Path) -> None:
    case = with_image("c1", FILLING)
    case = replace(case, reference={**case.reference, "rationale": "A hole in 36."})
    async with built_run(tmp_path, Plan([case], models=("alpha", "beta", "gamma"))) as built:
        await built.valid(UnitId("alpha", "both", "c1"), FILLING, SCALING)
        await built.valid(UnitId("beta", "both", "c1"), FILLING)
        async with viewing(built.store) as view:
            page = await view.page("/case", run="test-run", case="c1", condition="both")
            none = await view.page("/case", run="test-run", case="c1", condition="both", show_model="gamma")
    assert page.text.count("missing: only in the reference") == page.text.count("same: in both") == 1
    assert page.text.count("the expert's rationale") == 1
    reference = page.text[page.text.index("Reference") : page.text.index("as it is stored")]
    assert f"Cariology {FILLING}" in reference and "A hole in 36." in reference and "{" not in reference
    assert "only in the reference" not in none.text, "there is nothing that the signs stand at"
    assert is_closed(page) == []


async def test_keys_lead_to_the_same_columns_of_the_next_case(tmp_path: Path) -> None:
    cases = [with_image(f"c{number}", FILLING) for number in range(3)]
    async with built_run(tmp_path, Plan(cases, models=MANY)) as built, viewing(built.store) as view:
        shown = ("m02", "m11")
        page = await view.page("/case", run="test-run", case="c1", model=shown, among="sort=worst")
        after, before = await view.page(page.key("j") or ""), await view.page(page.key("k") or "")
    assert columns(page) == columns(after) == columns(before) == ["m02", "m11"]
    assert "case=c2" in (page.key("j") or "") and "case=c0" in (page.key("k") or "")
    assert after.key("j") is None and before.key("k") is None
    assert (after.key("u") or "").endswith("sort=worst")
    assert (page.key("m") or "").startswith("/unit?")


async def test_from_a_search_keys_stay_within_it_and_its_words_are_marked(tmp_path: Path) -> None:
    cases = [with_image(f"{'seen' if number % 2 else 'other'}-{number}", FILLING) for number in range(6)]
    async with built_run(tmp_path, Plan(cases, models=("m1", "m2"))) as built, viewing(built.store) as view:
        among = "text=seen-&model=m2"
        page = await view.page("/case", run="test-run", case="seen-3", among=among)
        left_out = await view.page("/case", run="test-run", case="other-2", among=among)
        last = await view.page(page.key("j") or "")
    assert "case=seen-5" in (page.key("j") or "") and "case=seen-1" in (page.key("k") or "")
    assert last.key("j") is None and columns(last) == ["m1", "m2"]
    assert "case=seen-1" in (left_out.key("j") or "") and left_out.key("k") is None
    assert "<mark" in page.html and "<mark" not in left_out.html


async def test_of_many_models_some_are_shown_and_all_can_be_chosen(tmp_path: Path) -> None:
    plan = Plan([with_image("c1")], models=MANY)
    async with built_run(tmp_path, plan) as built, viewing(built.store) as view:
        first = await view.page("/case", run="test-run", case="c1", condition="both", model="m09")
        every = await view.page("/case", run="test-run", case="c1", condition="both", show_model=MANY)
        none = await view.page("/case", run="test-run", case="c1", condition="both", show_model="nobody")
    boxes = [values["value"] for tag, values in first.tags if values.get("name") == "show"]
    assert boxes == list(MANY)
    assert columns(first) == ["m09", "m00", "m01", "m02"]
    assert len(columns(every)) == 8, "no more than can be read"
    assert len(columns(none)) == 4


async def test_conditions_and_repeats_of_one_model_are_columns_too(tmp_path: Path) -> None:
    plan = Plan([with_image("c1", FILLING)], models=("a", "b"), conditions=("both", "opg"), repeats=2)
    async with built_run(tmp_path, plan) as built:
        await built.valid(UnitId("b", "opg", "c1", 2), FILLING)
        async with viewing(built.store) as view:
            by = {
                name: await view.page("/case", run="test-run", case="c1", model="b", repeat=2, by=name)
                for name in ("condition", "repeat")
            }
    assert columns(by["condition"]) == ["both", "opg"] and columns(by["repeat"]) == ["1", "2"]
    assert "opg valid attempt-1 1 fine.exact_match" in by["condition"].text


async def test_what_a_form_chooses_becomes_a_link_whatever_the_names_hold(tmp_path: Path) -> None:
    names = ("alpha", "b%41\u202e<b>&", "gamma")
    plan = Plan([with_image(f"c{HOSTILE}", FILLING)], models=names)
    async with built_run(tmp_path, plan) as built, viewing(built.store) as view:
        page = await view.page("/case", run="test-run", case=f"c{HOSTILE}", condition="both")
        given = {values.get("name"): values.get("value") for tag, values in page.tags if tag == "input"}
        packed = [values["value"] or "" for tag, values in page.tags if values.get("name") == "show"]
        answered = await view.get(link("/case", at=given["at"], by="model", show=(packed[1], packed[2])))
        chosen = await view.page(answered.headers["location"])
        other = await view.get(link("/case", at=given["at"], by="repeat", pick_model=packed[1]))
    assert answered.status_code == 303 and len(columns(chosen)) == 2
    assert "alpha" not in columns(chosen) and is_closed(chosen) == []
    assert "by=repeat" in other.headers["location"] and "show" not in other.headers["location"]


async def test_a_case_that_the_run_does_not_have_is_refused(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan([with_image("c1", FILLING)])) as built, viewing(built.store) as view:
        answers = [await view.get("/case", run="test-run", **wrong) for wrong in ({"case": "c7"}, {})]
        one = await view.page("/case", run="test-run", case="c1", by="nonsense")
    assert [found.status_code for found in answers] == [404, 404]
    assert columns(one) == ["alpha"]

"""What a prediction and its reference differ in, by benchmark, as data and as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from medlay_examples import LAY, verdict
from medlay_examples import case as lay_case
from pandent_examples import findings
from radm_graded import FIVE
from radm_graded import case as ranked_case

from harness.benchmarks.base import Case
from harness.benchmarks.radm.tiers import Tiers
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.taxonomy import answer_of
from harness.canonical import JSON
from harness.web.pages import environment
from harness.web.viewing.difference_parts import Difference, Labels, Ranked, Texts, Values, Verdicts
from harness.web.viewing.differences import HEADLINE, difference, headline

SCALING = "Gingivitis (BPE screening score 1 or 2) - Non-surgical periodontal treatment"
FILLING = "Simple operative (Class I to V)"
EXTRACTION = "Exodontia"
SURGERY = "Minor O.S."


def triage_case(*labels: str, rationale: str = "") -> Case:
    return Case("a", {"chief_complaint": "It hurts."}, {}, {"labels": list(labels), "rationale": rationale})


def html(found: Difference) -> str:
    return str(environment().get_template("viewing/templates/difference.html").module.difference(found))  # type: ignore[attr-defined]


def words(page: str) -> str:
    """Return the words of HTML as somebody hears them."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def compared(name: str, condition: str, case: Case, prediction: JSON, **more: Any) -> Difference:
    return difference(get_benchmark(name), condition, case, prediction, **more)


def labels_of(found: Difference) -> Labels:
    part = found.parts[0]
    assert isinstance(part, Labels)
    return part


def groups(found: Difference) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {one.name: (one.missing, one.extra, one.same) for one in labels_of(found).groups}


def test_triage_labels_stand_by_domain_missing_extra_and_the_same() -> None:
    case = triage_case(SCALING, EXTRACTION)
    found = compared("triage", "both", case, answer_of([SCALING, FILLING, SURGERY], "Because."))
    assert found.kind == "labels"
    assert groups(found) == {
        "Perio": ((), (), (SCALING,)),
        "Cariology": ((), (FILLING,), ()),
        "OMFS": ((EXTRACTION,), (SURGERY,), ()),
    }
    assert found.summary == "1 missing, 2 extra, 1 the same"
    assert labels_of(found).notes == ("domains (coarse): extra Cariology",)


def test_the_same_labels_are_exactly_the_reference_and_so_are_no_labels_twice() -> None:
    same = compared("triage", "both", triage_case(SCALING), answer_of([SCALING]))
    assert same.summary == "exactly the reference (1 label)"
    none = compared("triage", "both", triage_case(), answer_of([]))
    assert none.summary == "exactly the reference: both are empty"
    assert "Neither the reference nor the answer names any label." in words(html(none))


def test_without_a_prediction_the_outcome_is_said_and_nothing_is_called_missing() -> None:
    found = compared("triage", "both", triage_case(SCALING), None, outcome="refused")
    page = words(html(found))
    assert found.missing == "no usable answer (refused)"
    assert "no usable answer (refused): there is nothing to compare with the reference" in page
    assert SCALING in page
    assert "missing" not in page


EVERY: Mapping[str, tuple[str, Case]] = {
    "triage": ("both", triage_case(SCALING, rationale="Bleeding.")),
    "medlay": ("A", lay_case()),
    "radm": ("text", ranked_case("a")),
    "pandent": ("report", Case("a", {}, {}, {"findings": findings(), "report": "No caries."})),
    "triage.judge": ("judge", Case("a", {"gt_reasoning": "x", "model_reasoning": "y"}, {}, {})),
    "radm.grade": (
        "grade",
        Case("a", {"diagnosis": "x", **{f"candidate_{rank}": "c" for rank in range(1, 6)}}, {}, {}),
    ),
    "radm.translate": ("translate", Case("a", {"history": "\u5934\u75db"}, {}, {})),
    "medlay.verify": ("verify", Case("a", {"expert_caption": "x", "lay_caption": "y"}, {}, {})),
    "medlay.evaluate": ("evaluate", Case("a", {"expert_caption": "x", "lay_caption": "y"}, {}, {})),
    "pandent.normalise": ("normalise", Case("a", {"report": "x"}, {}, {"report": "y"})),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_benchmark_and_step_says_the_outcome_where_there_is_no_prediction(name: str) -> None:
    condition, case = EVERY[name]
    found = compared(name, condition, case, None, outcome="unparsable")
    assert found.missing == "no usable answer (unparsable)"
    assert not any(isinstance(part, Values) for part in found.parts)
    assert "no usable answer (unparsable)" in words(html(found))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "prediction", [{"other": ["form", 1]}, {"scores": [1]}, {"scores": "x"}, [3, None], "text", 7, True]
)
def test_a_prediction_of_any_other_form_is_compared_as_json_and_never_breaks_a_page(
    name: str, prediction: JSON
) -> None:
    condition, case = EVERY[name]
    assert html(compared(name, condition, case, prediction))


def test_teeth_stand_by_quadrant() -> None:
    case = Case("a", {}, {}, {"findings": findings(caries=[18, 36, 47]), "report": None})
    found = compared("pandent", "attribute:caries", case, [18, 21])
    assert groups(found) == {
        "upper right, 11-18": ((), (), ("18",)),
        "upper left, 21-28": ((), ("21",), ()),
        "lower left, 31-38": (("36",), (), ()),
        "lower right, 41-48": (("47",), (), ()),
    }
    assert labels_of(found).short


def test_bridges_are_compared_by_their_numbered_units_as_in_the_scores() -> None:
    case = Case("a", {}, {}, {"findings": findings(bridge=["16-X-14"]), "report": None})
    found = compared("pandent", "attribute:bridge", case, [14, 16])
    assert found.summary == "exactly the reference (2 teeth)"
    assert labels_of(found).notes == ("bridges of the reference: 16-X-14; their numbered units are compared",)


@pytest.mark.parametrize(
    ("value", "answer", "summary"),
    [
        (False, True, "the answer is yes, the reference no"),
        ({"flag": True, "description": "a cyst"}, False, "the answer is no, the reference yes"),
        ({"flag": True, "description": "a cyst"}, True, "exactly the reference (1 answer)"),
        (None, True, "nobody looked for this finding: the answer is in no score"),
    ],
)
def test_yes_and_no_are_compared_as_in_the_scores(value: JSON, answer: bool, summary: str) -> None:
    case = Case("a", {}, {}, {"findings": findings(sinus_left=value), "report": None})
    found = compared("pandent", "attribute:sinus_left", case, answer)
    assert found.summary == summary
    assert ("a cyst" in str(labels_of(found).notes)) is isinstance(value, dict)


def test_five_diagnoses_have_their_tiers_and_their_score_where_all_are_graded() -> None:
    tiers = {f"tier_{rank}": tier for rank, tier in enumerate((0, 2, 0, 3, 0), start=1)}
    found = compared("radm", "text", ranked_case("a"), FIVE, grades=tiers)
    assert found.summary == "score 1.6 of 3: rank 2 names the disease first"  # max(0.8 * 2, 0.4 * 3)
    (part,) = found.parts
    assert isinstance(part, Ranked)
    assert [rank.right for rank in part.ranks] == [False, True, False, True, False]
    for rank in part.ranks:
        asked = next(one for one in Tiers.questions[0].options if one.value == tiers[f"tier_{rank.rank}"])
        assert rank.grade is not None and asked.label in rank.grade and asked.help in rank.grade
    assert "tier 2, partial: the disease with its location or its cause, not both" in words(html(found))


def test_diagnoses_that_nobody_graded_are_neither_right_nor_wrong() -> None:
    found = compared("radm", "text", ranked_case("a"), FIVE)
    (part,) = found.parts
    assert isinstance(part, Ranked)
    assert {rank.right for rank in part.ranks} == {None}
    assert "not graded yet" in found.summary
    some = compared("radm", "text", ranked_case("a"), FIVE, grades={"tier_1": 3})
    assert some.summary == "1 of 5 diagnoses have a tier"


def test_a_lay_text_is_compared_with_the_lay_caption_and_with_the_experts() -> None:
    found = compared("medlay", "A", lay_case(), "This is a CT scan of the chest.")
    assert found.kind == "texts"
    assert [part.title for part in found.parts] == ["against the lay caption", "against the expert's caption"]
    assert compared("medlay", "A", lay_case(), LAY).summary == "the answer is the lay caption, to the letter"


def test_a_case_without_a_reference_report_says_so() -> None:
    case = Case("a", {}, {}, {"findings": findings(), "report": None})
    found = compared("pandent", "report", case, "No caries.")
    assert found.summary == "the case has no reference report"
    assert "No caries." in words(html(found))


def test_a_judges_verdict_stands_dimension_by_dimension_with_its_reasons() -> None:
    names = ["D1_Neglect", "D2_Omission", "D3_Misinterpretation", "D4_Protocol_Confusion", "D5_Hallucination"]
    said: Any = {name: {"score": int(name[1] == "5"), "reason": f"why {name[:2]}"} for name in names}
    case = Case("a", {"gt_reasoning": "expert words", "model_reasoning": "model words"}, {}, {})
    found = compared("triage.judge", "judge", case, said, grades={"D5_Hallucination": 0})
    part = found.parts[0]
    assert isinstance(part, Verdicts)
    assert found.summary == "the judge finds 1 failure of 5"
    assert part.rows[4].value == "1: failure (people: 0)"
    page = words(html(found))
    assert "why D5" in page
    assert "model words" in page


def test_a_grader_and_an_evaluator_are_shown_with_all_they_say() -> None:
    case = Case("a", {"diagnosis": "x", **{f"candidate_{rank}": f"c{rank}" for rank in range(1, 6)}}, {}, {})
    tiers: Any = {"tiers": [{"tier": 3 if rank == 1 else 0, "reason": f"r{rank}"} for rank in range(1, 6)]}
    graded = compared("radm.grade", "grade", case, tiers)
    assert graded.summary == "score 3 of 3: rank 1 names the disease first"
    assert "r5" in words(html(graded))
    lay = Case("a", {"expert_caption": "x", "lay_caption": "y"}, {}, {})
    scored = compared("medlay.verify", "verify", lay, verdict((2, 1, 2, 2, 2)))
    assert scored.summary == "verdict REVISE, 9 of 10"
    assert "something is missing" in words(html(scored))


def test_a_restated_report_stands_against_the_answer_and_against_the_reference() -> None:
    case = Case("a", {"report": "caries of 18"}, {}, {"report": "Caries is seen at 18."})
    found = compared("pandent.normalise", "normalise", case, "Caries is seen at 18.")
    assert [part.title for part in found.parts] == ["what restating changed", "against the reference"]


def test_json_is_compared_place_by_place() -> None:
    case = Case("a", {}, {}, {"a": {"b": [1, 2]}, "c": "x", "d": None})
    benchmark = get_benchmark("triage")
    found = difference(benchmark, "both", case, {"a": {"b": [1, 3]}, "c": "x", "e": []})
    (part,) = found.parts
    assert isinstance(part, Values)
    assert [(one.path, one.reference, one.answer) for one in part.changes] == [
        ("a.b[1]", "2", "3"), ("d", "null", None), ("e", None, "[]"),
    ]  # fmt: skip
    assert part.same == 2


HOSTILE = "<script>alert(1)</script>\"'<img src=x onerror=alert(1)> \u202egnp.exe\u202c \x00 \ud800 {{7*7}}"


@pytest.mark.parametrize(
    "name", ["medlay", "only in the reference", "pandent", "radm", "triage", "triage.judge", "other form"]
)
def test_texts_of_models_and_cases_are_text_on_the_page(name: str) -> None:
    judged = Case("a", {"gt_reasoning": HOSTILE, "model_reasoning": HOSTILE}, {}, {})
    at = {
        "medlay": ("medlay", "A", lay_case(lay=HOSTILE), HOSTILE + " more"),
        "only in the reference": ("medlay", "A", lay_case(lay=HOSTILE), "other words altogether"),
        "pandent": ("pandent", "report", Case("a", {}, {}, {"findings": {}, "report": "x"}), HOSTILE),
        "radm": ("radm", "text", ranked_case("a"), {"diagnoses": [HOSTILE] * 5}),
        "triage": ("triage", "both", triage_case(rationale=HOSTILE), answer_of([], HOSTILE)),
        "triage.judge": ("triage.judge", "judge", judged, None),
        "other form": ("triage", "both", Case("a", {}, {}, {HOSTILE: HOSTILE}), {HOSTILE: 1}),
    }[name]  # fmt: skip
    page = html(compared(*at))
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    page.encode("utf-8")
    assert "&lt;script&gt;" in page
    assert " style=" not in page


def test_signs_and_hidden_words_tell_what_colours_tell() -> None:
    labels = html(compared("triage", "both", triage_case(SCALING), answer_of([FILLING])))
    heard = words(labels)
    assert f"\u2212 {SCALING} missing" in heard
    assert f"+ {FILLING} extra" in heard
    texts = html(compared("medlay", "A", lay_case(lay="a dark spot there"), "a bright spot there"))
    assert re.search(r"<del[^>]*><span class=\"unsighted\">missing: </span>", texts)
    assert re.search(r"<ins[^>]*><span class=\"unsighted\">extra: </span>", texts)


def test_a_text_of_200_000_characters_makes_a_page_of_bounded_size() -> None:
    found = compared("medlay", "A", lay_case(), "word salad " * 18_182)
    part = found.parts[0]
    assert isinstance(part, Texts)
    assert part.difference is not None
    assert part.difference.left_answer > 100_000
    page = html(found)
    assert "Only the beginnings were compared" in page
    assert len(page) < 800_000


TIERS: Mapping[str, JSON] = {f"tier_{rank}": tier for rank, tier in enumerate((0, 3, 0, 0, 0), 1)}


@pytest.mark.parametrize(
    ("name", "prediction", "grades", "said"),
    [
        ("triage", answer_of([SCALING, FILLING], "Because."), {}, "0 missing, 1 extra, 1 the same"),
        ("radm", FIVE, {}, "1. a"),
        ("radm", FIVE, TIERS, "1. a; score 2.4 of 3: rank 2 names the disease first"),
        ("medlay", "A shadow\u2028 on the\rlung", {}, "A shadow on the lung"),
        ("medlay", "word " * 100_000, {}, ("word " * 40)[:HEADLINE]),
        ("medlay.verify", verdict(), {}, None),
        ("triage", {"of": "another form"}, {}, "3 places differ"),
    ],
)
def test_a_headline_says_in_a_few_words_what_an_answer_says(
    name: str, prediction: JSON, grades: Mapping[str, JSON], said: str | None
) -> None:
    condition, case = EVERY[name]
    found = headline(get_benchmark(name), condition, case, prediction, grades=grades)
    whole = compared(name, condition, case, prediction, grades=grades).summary if said is None else said
    assert found == whole and found
    assert headline(get_benchmark(name), condition, case, prediction, grades={}) and len(found) <= HEADLINE

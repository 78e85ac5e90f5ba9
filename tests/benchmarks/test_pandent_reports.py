"""Clinical reports made of findings, and those that are the same for every case."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from pandent_examples import PRINTED, findings

from harness.benchmarks.base import Case
from harness.benchmarks.pandent.clinical_reports import bridges_text, compose, drawn, first, teeth_text
from harness.benchmarks.pandent.constant_reports import fixed_template, typical_report, usual_findings
from harness.benchmarks.pandent.finding_values import value_of
from harness.benchmarks.pandent.findings import FINDINGS
from harness.benchmarks.pandent.templates import JAWS_NORMAL, NOTES, PAIRS, WORDINGS


def stated(**there: Any) -> dict[str, Any]:
    raw = findings(**there)
    return {finding.id: value_of(finding, raw[finding.id]) for finding in FINDINGS}


def case(name: str, report: str | None = "x", **there: Any) -> Case:
    return Case(name, {}, {}, {"findings": stated(**there), "report": report})


def sentences(**there: Any) -> list[str]:
    return re.findall(r"[^.]+\.", compose(stated(**there)))


def test_teeth_and_bridges_are_named_as_in_clinical_reports() -> None:
    assert teeth_text([18]) == "tooth #18"
    assert teeth_text([18, 28]) == "teeth #18 and #28"
    assert teeth_text([18, 28, 38]) == "teeth #18, #28, and #38"
    assert bridges_text(["25-26-X", "35-X-37"]) == "#25-#26-X; #35-X-#37"


def test_every_section_has_sentences_of_both_kinds_with_their_slots() -> None:
    pairs = [f"{pair}_{side}" for pair in PAIRS for side in ("left", "right")]
    assert [*WORDINGS, *pairs] == [finding.id for finding in FINDINGS]
    slot = {"tooth_set": ["{teeth}"], "bridge_patterns": ["{bridge_patterns}"]}
    for finding in FINDINGS:
        if finding.id in pairs:
            continue
        wording = WORDINGS[finding.id]
        for text in wording.positive:
            assert re.findall(r"\{\w+\}", text) == slot.get(finding.type, []), text
        assert all(re.findall(r"\{\w+\}", text) == ["{description}"] for text in wording.described)
        assert bool(wording.described) == (finding.type == "binary_with_description")
        assert all("{" not in text for text in wording.negative)
        assert min(len(wording.positive), len(wording.negative)) >= 2
    texts = [
        text
        for wording in (*WORDINGS.values(), *(w for pair in PAIRS.values() for w in (pair.one, pair.both)))
        for text in (*wording.positive, *wording.negative, *wording.described)
    ]
    texts += [*JAWS_NORMAL, *NOTES]
    assert all(text[0].isupper() or text[0] == "{" for text in texts)
    assert all(text.endswith(".") and text.count(".") == 1 for text in texts)
    assert [text for text, count in Counter(texts).items() if count > 1] == []


def test_a_report_has_one_sentence_a_section_in_the_papers_order() -> None:
    found = sentences(missing_teeth=[18, 28], bridge=["25-26-X"], gcbl_mandible=True, abl_maxilla=[16])
    assert len(found) == 21 - 3  # both jaws, both sinuses, both joints
    assert found[0] == "The dentition lacks teeth #18 and #28."
    assert found[2].strip() == WORDINGS["caries"].negative[0]
    assert found[9].strip() == "A fixed bridge is in place: #25-#26-X."
    assert found[11].strip() == WORDINGS["gcbl_maxilla"].negative[0]
    assert found[12].strip() == WORDINGS["gcbl_mandible"].positive[0]
    assert found[13].strip() == "Upper jaw: an angular bone defect lies at tooth #16."
    assert [text.strip() for text in found[15:]] == [
        JAWS_NORMAL[0], PAIRS["sinus"].both.negative[0], PAIRS["tmj"].both.negative[0],
    ]  # fmt: skip


def test_sides_share_a_sentence_only_where_they_say_the_same() -> None:
    both = compose(stated(sinus_left=True, sinus_right=True))
    assert "Neither maxillary sinus is clear." in both
    one = compose(stated(sinus_left={"flag": True, "description": "a thick lining."}))
    assert "The left maxillary sinus is not clear: a thick lining. The right maxillary sinus is clear." in one
    differ = compose(stated(tmj_left={"flag": True, "description": "flat"}, tmj_right=True))
    assert "The left jaw joint looks abnormal: flat. The right jaw joint looks abnormal." in differ


def test_jaws_share_a_sentence_only_where_both_are_normal() -> None:
    text = compose(stated(mandibular_abnormality={"flag": True, "description": "a cyst below #36"}))
    assert "The bone of the upper jaw looks normal. The bone of the lower jaw looks abnormal: a cyst" in text
    assert JAWS_NORMAL[0] not in text
    split = compose(stated(), lambda section, count: 1 if section == "jaws" else 0)
    assert "The bone of the upper jaw looks normal. The bone of the lower jaw looks normal." in split


def test_braces_in_a_description_stay_what_they_are() -> None:
    text = compose(stated(sinus_left={"flag": True, "description": "{teeth} {side}\n{description}"}))
    assert "The left maxillary sinus is not clear: {teeth} {side} {description}." in text


def test_what_nobody_looked_at_has_no_sentence_and_a_note_stands_last() -> None:
    text = compose({**stated(), "caries": None, "sinus_right": None, "maxillary_abnormality": None})
    assert WORDINGS["caries"].negative[0] not in text
    assert "The left maxillary sinus is clear. Both jaw joints" in text
    assert "The bone of the lower jaw looks normal." in text
    assert "upper jaw looks" not in text
    assert compose(stated(), first, "an earring.").endswith("Further note: an earring.")
    assert compose(stated(), first, "  ") == compose(stated())
    with pytest.raises(KeyError, match="tmj_right"):
        compose({name: value for name, value in stated().items() if name != "tmj_right"})


def test_a_drawn_choice_is_the_same_for_a_seed_and_uses_every_sentence() -> None:
    all_there = stated(**PRINTED["figure 4 case 2"])
    assert compose(all_there, drawn("a")) == compose(all_there, drawn("a"))
    texts = [compose(all_there, drawn(str(seed))) for seed in range(600)]
    assert len(set(texts)) > 590
    pool = [text.replace("{teeth}", "tooth #35") for text in WORDINGS["periapical_lesion"].positive]
    counts = [sum(sentence in text for text in texts) for sentence in pool]
    assert sum(counts) == 600
    assert min(counts) > 160  # 200 each are expected, with a standard deviation of 12


def test_the_usual_findings_are_those_of_more_than_half_of_the_cases() -> None:
    cases = [
        stated(missing_teeth=[18, 28], bridge=["11-X-13"], gcbl_maxilla=True, caries=[36]),
        stated(missing_teeth=[18, 48], bridge=["25-26-X"], gcbl_maxilla=True, caries=[47]),
        stated(bridge=["25-26-X"], sinus_left={"flag": True, "description": "d"}, caries=[37]),
        {**stated(sinus_left=True, missing_teeth=[18]), "caries": None},
    ]
    usual = usual_findings(cases)
    assert usual["missing_teeth"] == [18]
    assert usual["bridge"] == ["25-26-X"]
    assert usual["gcbl_maxilla"] is False  # half is not more than half
    assert usual["sinus_left"] == {"flag": False, "description": ""}
    assert usual["caries"] == [36]  # no tooth is usual: the lowest of the most frequent ones
    assert usual_findings(cases[:2])["gcbl_maxilla"] is True
    assert usual_findings(cases[2:3])["sinus_left"] == {"flag": True, "description": ""}
    assert usual_findings([]) == stated()


def test_the_fixed_template_says_what_is_usual_in_the_first_sentences() -> None:
    cases = [case("a", gcbl_maxilla=True), case("b", gcbl_maxilla=True, caries=[11]), case("c")]
    assert fixed_template(cases) == compose(stated(gcbl_maxilla=True))
    assert fixed_template(cases[::-1]) == fixed_template(cases)


def test_the_typical_report_is_that_of_the_most_usual_case() -> None:
    odd = case("a", "odd", caries=[11], gcbl_maxilla=True)
    usual, same, silent = case("c", "usual"), case("b", "same"), case("0", None)
    assert typical_report([odd, usual, same, silent]) == "same"  # the first id of several
    assert typical_report([odd, usual]) == "odd"
    assert typical_report([odd, usual, silent]) == "usual"
    assert typical_report([silent]) is None
    assert typical_report([]) is None

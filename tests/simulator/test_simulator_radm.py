"""Simulated ranked diagnoses, their tiers and translations, asked with the prompts of RadM-Bench."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import jsonschema
import pytest

from harness.benchmarks.base import Case
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.steps import Step
from harness.messages import Message, Schema, TextPart
from harness.reformatter import reformat_messages
from harness.simulator.behaviours import answer, tokens
from harness.simulator.diagnosing import HAN, in_chinese, wanted_list
from harness.simulator.differentials import REGIONS
from harness.simulator.questions import BadQuestionError, Question, read_question
from harness.simulator.tier_grading import tier_of, wanted_tiers
from harness.simulator.translating import MARK

RADM = get_benchmark("radm")
GRADE = cast(Step, get_benchmark("radm.grade"))
TRANSLATE = cast(Step, get_benchmark("radm.translate"))
CASES = {case.id: case for case in RADM.load(RADM.sample_dir()).cases}
TIDY = ("sim/steady", "sim/careful", "sim/eager", "sim/reader")
LIVER = "A 58-year-old man with hepatitis B and liver cirrhosis. Alpha-fetoprotein is raised."
LIVER_ZH = "患者，男，58岁。乙型肝炎肝硬化病史20年，甲胎蛋白升高3周，右上腹隐痛。"  # noqa: RUF001


def schema_of(schema: Schema | None) -> dict[str, Any]:
    assert schema is not None
    return dict(schema.body)


RANKING = schema_of(RADM.schema("text"))
TIERS = schema_of(GRADE.schema("text"))


def text_of(messages: tuple[Message, ...]) -> str:
    return "\n".join(part.text for one in messages for part in one.parts if isinstance(part, TextPart))


def asked(
    text: str, model: str = "sim/steady", schema: Mapping[str, Any] | None = RANKING, **headers: object
) -> Question:
    told: dict[str, Any] = {"seed": 0} if schema is None else {"seed": 0, "schema": schema}
    body = {"model": model, "messages": [{"role": "user", "content": text}], "simulator": told}
    return read_question(body, {f"X-Harness-{name.capitalize()}": str(one) for name, one in headers.items()})


def about(history: str, condition: str = "text", model: str = "sim/steady", **headers: object) -> Question:
    case = next(
        one for one in CASES.values() if one.reference["language"] == ("zh" if HAN.search(history) else "en")
    )
    made = replace(case, fields={**case.fields, "history": history})
    return asked(text_of(RADM.render(made, condition, RADM.prompt(condition))), model, **headers)


def said(question: Question) -> list[str]:
    value = json.loads(answer(question).text or "")
    jsonschema.validate(value, RANKING)
    diagnoses: list[str] = value["diagnoses"]
    return diagnoses


# --- ranked diagnoses ---


@pytest.mark.parametrize("model", TIDY)
def test_five_different_diagnoses_in_the_language_of_the_prompt(model: str) -> None:
    for case in CASES.values():
        diagnoses = said(about(case.fields["history"], model=model))
        assert len(set(diagnoses)) == 5
        chinese = case.reference["language"] == "zh"
        assert all(bool(HAN.search(one)) == chinese for one in diagnoses)
        assert not any("{" in one or "  " in one for one in diagnoses)


def test_a_translated_history_is_answered_in_english() -> None:
    case = next(case for case in CASES.values() if "history_en" in case.fields)
    question = asked(text_of(RADM.render(case, "text_translated", RADM.prompt("text_translated"))))
    assert not in_chinese(question.text)
    assert not HAN.search("".join(said(question)))


def test_an_english_prompt_with_a_chinese_history_is_answered_in_english_and_on_its_side() -> None:
    prompt = RADM.prompt("text")
    english = replace(prompt, text=prompt.text[: prompt.text.index("=== zh")])
    text = english.text.replace("{history}", "女。发现右乳肿物，质硬。")  # noqa: RUF001
    told = [one for n in range(20) for one in said(asked(text, repeat=n))]
    assert not HAN.search("".join(told))
    assert any("right breast" in one for one in told) and not any("left" in one for one in told)


@pytest.mark.parametrize("history", [LIVER, LIVER_ZH])
def test_the_words_of_the_history_speak_for_its_part_of_the_body(history: str) -> None:
    liver = {name for known in REGIONS[0].diagnoses for name in (known.english[0], known.chinese[0])}
    told = [said(about(history, repeat=number)) for number in range(30)]
    near = sum(any(name.lower() in one.lower() for name in liver) for five in told for one in five)
    first = Counter(five[0].lower() for five in told)
    assert near > 75
    assert sum(n for one, n in first.items() if "hepatocellular carcinoma" in one or "肝细胞癌" in one) > 12


def test_a_side_of_the_history_is_the_side_of_the_diagnoses() -> None:
    told = [one for n in range(20) for one in said(about("A lump in the left breast, hard.", repeat=n))]
    assert any("of the left breast" in one for one in told)
    assert not any("right" in one for one in told)
    chinese = [one for n in range(20) for one in said(about("患者，女。发现右乳肿物，质硬。", repeat=n))]  # noqa: RUF001
    assert any("右" in one for one in chinese)
    assert not any("左" in one for one in chinese)


def test_another_history_seed_repeat_model_or_image_is_another_ranking_and_an_attempt_is_not() -> None:
    plain = about(LIVER)
    assert answer(replace(plain, attempt=2)).text == answer(plain).text
    others = [
        about(LIVER + " She smokes."), replace(plain, seed=1), replace(plain, repeat=2),
        replace(plain, model="sim/careful"), replace(plain, content="another", images=1),
    ]  # fmt: skip
    assert len({answer(one).text for one in [plain, *others]}) == 6  # F10


def test_a_list_of_any_length_is_wanted_by_its_schema_alone() -> None:
    assert wanted_list(RANKING) == ("diagnoses", 5)
    assert wanted_list(TIERS) is None
    assert wanted_list({"properties": {"diagnoses": {"type": "array", "items": {"type": "string"}}}}) is None
    three = {"properties": {"Diagnosis_list": {"type": "array", "items": {"type": "string"}, "minItems": 3}}}
    assert wanted_list(three) == ("Diagnosis_list", 3)
    assert len(json.loads(answer(asked(LIVER, schema=three)).text or "")["Diagnosis_list"]) == 3


def forms(attempt: int) -> Iterator[str]:
    for number in range(200):
        question = about(f"{LIVER} He is patient {number}.", model="sim/messy", attempt=attempt)
        text = answer(question).text or ""
        try:
            count = len(json.loads(text)["diagnoses"])
        except (ValueError, TypeError, KeyError):
            fence, brace = text.startswith("```"), text.find("{")
            yield "fenced" if fence else "framed" if brace > 0 else "prose" if brace < 0 else "broken"
        else:
            yield {4: "four", 5: "five", 6: "six"}[count]


@pytest.mark.slow
def test_a_messy_model_gives_four_or_six_or_spoils_the_form_less_with_each_attempt() -> None:
    first, third = Counter(forms(1)), Counter(forms(3))
    assert set(first) == {"fenced", "framed", "prose", "broken", "four", "five", "six"}
    assert min(first.values()) >= 8

    def usable(counts: Counter[str]) -> int:
        return sum(counts[form] for form in ("five", "fenced", "framed"))

    assert 60 < usable(first) < usable(third)  # F12


def restated(text: str) -> Any:
    (message,) = reformat_messages(RADM.reformat_prompt("text"), text)
    question = asked(
        text_of((message,)), "sim/reformatter", schema_of(RADM.reformat_schema("text")), purpose="reformat"
    )
    value = json.loads(answer(question).text or "")
    return RADM.fill(value, text).value


def test_the_reformatter_restates_a_numbered_list_and_makes_up_nothing() -> None:
    listed = "My ranking:\n" + "\n".join(f"{n}. disease {n}" for n in range(1, 6))
    assert restated(listed) == {"diagnoses": [f"disease {n}" for n in range(1, 6)]}
    assert restated(listed.rsplit("\n", 1)[0]) is None  # F13
    assert restated("It may be anything.") is None
    assert restated('{"diagnoses": ["a", "b", "c", "d", "e",]}') == {"diagnoses": list("abcde")}


# --- media ---


def with_parts(*parts: object) -> Question:
    content = [{"type": "text", "text": about(LIVER).text}, *parts]
    body = {"model": "sim/steady", "messages": [{"role": "user", "content": content}]}
    return replace(read_question(body, {}), schema=RANKING)


def test_clips_and_many_frames_are_taken_and_only_change_the_chance() -> None:
    clip = {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}, "fps": 2}
    frames = [
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{n:04d}"}} for n in range(300)
    ]
    one, two, many = with_parts(clip), with_parts(clip, clip), with_parts(*frames)
    assert [one.videos, two.videos, many.videos, many.images] == [1, 2, 0, 300]
    assert len({one.content, two.content, many.content}) == 3
    assert all(len(said(question)) == 5 for question in (one, two, many))
    assert tokens("", 0, 1) > tokens("", 1)


def test_a_part_of_another_kind_is_refused() -> None:
    with pytest.raises(BadQuestionError, match="video_url"):
        with_parts({"type": "input_audio", "input_audio": {"data": "AAAA"}})


# --- tiers ---


def graded(diagnosis: str, candidates: list[str], model: str = "sim/careful") -> list[int]:
    fields = {f"candidate_{rank}": one for rank, one in enumerate(candidates, start=1)}
    case = Case("x", {"history": LIVER, "diagnosis": diagnosis, **fields}, {}, {})
    text = text_of(GRADE.render(case, "text", GRADE.prompt("text")))
    value = json.loads(answer(asked(text, model, TIERS)).text or "")
    jsonschema.validate(value, TIERS)
    return [entry["tier"] for entry in value["tiers"]]


@pytest.mark.parametrize(
    ("candidate", "final", "tier"),
    [
        ("Fibroadenoma of the left breast", "Fibroadenoma of the left breast", 3),
        ("Fibroadenoma", "Fibroadenoma of the left breast", 2),
        (
            "Cavernous hemangioma of the right hepatic lobe",
            "Cavernous haemangioma of the right hepatic lobe",
            3,
        ),
        ("Left breast abscess", "Fibroadenoma of the left breast", 0),
        ("Crohn's disease", "Fibroadenoma of the left breast", 0),
        ("右侧腮腺多形性腺瘤", "右侧腮腺多形性腺瘤", 3),
        ("甲状腺乳头状癌", "右侧腮腺多形性腺瘤", 0),
        ("Pleomorphic adenoma of the right parotid gland", "右侧腮腺多形性腺瘤", 3),
        ("肝右叶肝细胞癌", "肝右叶肝细胞癌（乙型肝炎后肝硬化背景）", 3),  # noqa: RUF001
        ("", "Fibroadenoma of the left breast", 0),
        ("Fibroadenoma", "", 0),
    ],
)
def test_tiers_go_by_shared_words_in_both_languages(candidate: str, final: str, tier: int) -> None:
    assert tier_of(candidate, final) == tier


def test_the_grader_gives_each_candidate_its_tier_in_order() -> None:
    candidates = [
        "Crohn's disease",
        "Fibroadenoma",
        "Mastitis",
        "Fibroadenoma of the left breast",
        "Lymphoma",
    ]
    assert graded("Fibroadenoma of the left breast", candidates) == [0, 2, 0, 3, 0]


@pytest.mark.slow
def test_a_grader_of_less_skill_is_now_and_then_one_tier_off() -> None:
    slips = Counter(
        graded("Fibroadenoma of the left breast", ["Fibroadenoma", "a", "b", "c", f"d {n}"], "sim/eager")[0]
        for n in range(120)
    )
    assert set(slips) == {1, 2, 3}
    assert slips[2] > 90


def test_tiers_are_wanted_by_the_schema_alone() -> None:
    assert wanted_tiers(TIERS) == ("tiers", 5)
    assert wanted_tiers(RANKING) is None


# --- translations ---


def translated(history: str, model: str = "sim/steady", **headers: object) -> str:
    case = Case("x", {"history": history}, {}, {})
    text = text_of(TRANSLATE.render(case, "case", TRANSLATE.prompt("case")))
    return answer(asked(text, model, None, **headers)).text or ""


def test_a_translation_is_marked_has_all_numbers_and_no_chinese() -> None:
    for case in CASES.values():
        if case.reference["language"] != "zh":
            continue
        history = case.fields["history"]
        text = translated(history)
        assert text.startswith(MARK)
        assert not HAN.search(text)
        assert re.findall(r"\d+", text) == re.findall(r"\d+", history)
        assert len(text.split()) > 15
    assert "hepatitis B" in translated(LIVER_ZH) and "alpha-fetoprotein raised 3 weeks" in translated(
        LIVER_ZH
    )


def test_a_messy_translator_leaves_chinese_or_nothing_at_times() -> None:
    texts = [translated(f"{LIVER_ZH}{n}", "sim/messy") for n in range(100)]
    assert 5 < sum(not text for text in texts) < 40
    assert 10 < sum(bool(HAN.search(text)) for text in texts) < 60

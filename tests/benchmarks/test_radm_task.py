"""RadM-Bench: what each condition shows of a case, in which words, and which answers are read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.answers.readings import Reading, read_answer
from harness.answers.validation import Validator
from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.prompts import load_prompt, load_schema
from harness.benchmarks.radm.answer_forms import in_our_form
from harness.benchmarks.radm.restating import fill_answer
from harness.benchmarks.radm.sections import parts_of
from harness.benchmarks.radm.task import RadM
from harness.canonical import JSON
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.media import Media
from harness.messages import ImagePart, Message, Reply, TextPart, VideoPart
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.schema_names import aliased

RADM = RadM()
IMAGES = tuple(Media(f"{number}" * 64, "image/png", 9, 4, 4) for number in range(3))
CLIPS = tuple(Media(f"{letter}" * 64, "video/mp4", 9, 4, 4, duration_s=2.4) for letter in "ab")
FIVE: list[JSON] = ["one", "two", "three", "four", "five"]
VALIDATOR = Validator(load_schema("radm-v1").body)
SECRET = "REFERENCE-SENTINEL"


def case(
    language: str = "zh", images: int = 3, clips: int = 2, translated: bool = True, problem: str | None = None
) -> Case:
    fields = {"history": "HIST {braces} 病史", **({"history_en": "TRANSLATED"} if translated else {})}
    media = {
        role: found
        for role, found in (("image", IMAGES[:images]), ("clip", CLIPS[:clips]))
        if found and problem is None
    }
    reference: dict[str, JSON] = {
        "diagnosis": SECRET, "rare": True, "subset": "RealClin", "subspecialty": "chest",
        "language": language, "images": images, "videos": clips,
    }  # fmt: skip
    return Case("c", fields, media, reference, problem=problem)


def shown(condition: str, of: Case | None = None, prompt: Prompt | None = None) -> tuple[Message, ...]:
    return RADM.render(of or case(), condition, prompt or RADM.prompt(condition))


def text_of(message: Message) -> str:
    part = message.parts[0]
    assert isinstance(part, TextPart)
    return part.text


# --- conditions ---


def test_a_condition_is_asked_of_the_cases_that_have_what_it_shows() -> None:
    def asked(of: Case) -> set[str]:
        return {name for name in RADM.conditions if RADM.asks(of, name)}

    every = {"text", "text_images", "text_volume_fps2", "text_volume_fps10", "text_translated"}
    assert set(RADM.conditions) == every
    assert asked(case()) == every
    assert asked(case("en", translated=False)) == every - {"text_translated"}
    assert asked(case(translated=False)) == every - {"text_translated"}
    assert asked(case("en")) == every - {"text_translated"}
    assert asked(case(clips=0)) == {"text", "text_images", "text_translated"}
    assert asked(case(images=0)) == every - {"text_images"}


def test_a_broken_case_is_asked_where_it_belongs_so_that_it_is_seen_to_be_broken() -> None:
    assert RADM.asks(case(problem="cut"), "text_images")
    assert RADM.asks(case(problem="cut"), "text_volume_fps2")
    assert not RADM.asks(case(clips=0, problem="cut"), "text_volume_fps2")


def test_every_condition_that_may_decline_a_case_says_so() -> None:
    nothing = case("en", images=0, clips=0, translated=False)
    declined = {name for name in RADM.conditions if not RADM.asks(nothing, name)}
    assert declined == RADM.partial_conditions


def test_an_unknown_condition_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown condition 'images' of radm; known: text_images"):
        RADM.prompt("images")


# --- what is shown ---


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_history_alone_is_shown_in_the_cases_language(language: str) -> None:
    system, user = shown("text", case(language))
    assert (system.role, user.role) == ("system", "user")
    assert len(user.parts) == 1
    assert "HIST {braces} 病史" in text_of(user)
    assert ("exactly 5 differential" in text_of(user)) == (language == "en")
    assert ("恰好5个鉴别诊断" in text_of(user)) == (language == "zh")
    assert ("radiologist" in text_of(system)) == (language == "en")
    assert '{"diagnoses": ["' in text_of(user)


def test_the_example_in_each_prompt_is_an_answer_that_fits() -> None:
    for name in RADM.conditions:
        for language in ("en", "zh"):
            text = text_of(shown(name, case(language))[1])
            (line,) = [line for line in text.splitlines() if line.startswith("{")]
            assert VALIDATOR.fits(json.loads(line)), name


def test_key_images_are_shown_in_order_and_counted() -> None:
    user = shown("text_images", case("en"))[1]
    assert list(user.parts[1:]) == [ImagePart(one) for one in IMAGES]
    assert "Number of images that follow: 3" in text_of(user)
    assert "图像数量：3" in text_of(shown("text_images")[1])  # noqa: RUF001


@pytest.mark.parametrize(("condition", "fps"), [("text_volume_fps2", 2), ("text_volume_fps10", 10)])
def test_clips_are_shown_in_order_each_announced_and_without_key_images(condition: str, fps: int) -> None:
    user = shown(condition, case("en"))[1]
    first, second = (VideoPart(one, fps=fps) for one in CLIPS)
    assert list(user.parts[1:]) == [TextPart("Clip 1 of 2:"), first, TextPart("Clip 2 of 2:"), second]
    assert f"sampled at {fps} frames per second. Number of clips that follow: 2" in text_of(user)
    chinese = shown(condition)[1]
    assert chinese.parts[1] == TextPart("第1段，共2段：")  # noqa: RUF001
    assert f"采样率为每秒{fps}帧。序列段数：2" in text_of(chinese)  # noqa: RUF001


def test_the_control_shows_the_translation_with_the_english_prompt_of_text() -> None:
    chinese = case()
    english = replace(
        chinese,
        fields={"history": chinese.fields["history_en"]},
        reference={**chinese.reference, "language": "en"},
    )
    assert shown("text_translated", chinese) == shown("text", english)
    assert "病史" not in str(shown("text_translated", chinese))


def test_no_request_holds_anything_of_the_reference() -> None:
    for name in RADM.conditions:
        assert SECRET not in str(shown(name))


@pytest.mark.parametrize("condition", ["text_images", "text_volume_fps2"])
def test_a_case_without_usable_media_is_never_asked_without_them(condition: str) -> None:
    with pytest.raises(MediaError, match=r"case 'c' has no usable (image|clip): cut\.mp4 is cut"):
        shown(condition, case(problem="cut.mp4 is cut"))


# --- prompt files ---


def own(text: str) -> Prompt:
    return Prompt("own.txt", "0" * 64, text)


def test_a_prompt_without_sections_is_the_user_turn_in_every_language() -> None:
    for language in ("en", "zh"):
        (user,) = shown("text_images", case(language), own("Five for {history}, from {images}:\n"))
        assert text_of(user) == "Five for HIST {braces} 病史, from 3:"


def test_a_prompt_may_have_no_system_part() -> None:
    prompt = own("=== en user\nE {history}\n\n=== zh user\nZ {history}\n")
    assert [text_of(one) for one in shown("text", case("zh"), prompt)] == ["Z HIST {braces} 病史"]
    assert [text_of(one) for one in shown("text", case("en"), prompt)] == ["E HIST {braces} 病史"]


def test_the_control_needs_no_chinese_part() -> None:
    prompt = own("=== en user\nE {history}")
    RADM.check_prompt(prompt, "text_translated")
    with pytest.raises(ConfigError, match="lacks the section '=== zh user', which condition 'text' shows"):
        RADM.check_prompt(prompt, "text")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("No history", "lacks {history}; put it where the clinical history goes"),
        ("=== en user\n{history}\n=== zh user\nx", "lacks {history} in section '=== zh user'"),
        ("=== en user\n{history}\n=== zh usr\n{history}", "unknown section '=== zh usr'; known: '=== en"),
        ("=== en user\n{history}\n=== en user\n{history}", "has section '=== en user' twice"),
        ("=== en user\n{history}\n=== zh user\n \n", "section '=== zh user' of prompt 'own.txt' is blank"),
        ("Hello\n=== en user\n{history}\n=== zh user\n{history}", "has text before its first section"),
        ("=== en system\n{history}\n=== en user\n{history}\n=== zh user\n{history}", "unknown placeholder"),
        ("{history} {images}", "unknown placeholder '{images}' in prompt 'own.txt'; known: {history}"),
        ("{history} {", "a single '{' in line 1"),
    ],
)
def test_a_prompt_that_cannot_serve_is_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RADM.check_prompt(own(text), "text")
    assert told in str(caught.value)


def test_our_own_prompts_serve_and_have_all_parts() -> None:
    for name in RADM.conditions:
        prompt = RADM.prompt(name)
        RADM.check_prompt(prompt, name)
        assert len(parts_of(prompt)) == 4
        assert prompt == load_prompt(prompt.id)


# --- answers ---


def read(text: str) -> Reading:
    return read_answer(Reply(ExchangeOutcome.ANSWERED, text), VALIDATOR, RADM.aliases)


def test_five_texts_in_strict_json_are_valid() -> None:
    reading = read(json.dumps({"diagnoses": FIVE}))
    assert (reading.outcome, reading.prediction) == (UnitOutcome.VALID, {"diagnoses": FIVE})
    twice = {"diagnoses": ["肺炎", "肺炎", "a", "b", "c"]}
    assert read(json.dumps(twice)).outcome is UnitOutcome.VALID
    assert read(f"```json\n{json.dumps(twice)}\n```").outcome is UnitOutcome.RECOVERED


NUMBERED = {f"diagnosis_{rank}": text for rank, text in enumerate(FIVE, start=1)}
RANKED = [{"rank": rank, "diagnosis": text} for rank, text in enumerate(FIVE, start=1)]


@pytest.mark.parametrize(
    "value",
    [
        {"diagnoses": FIVE, "explanation": "as I see it"},
        {"differential_diagnoses": FIVE},
        {"鉴别诊断": FIVE},
        {"diagnoses": RANKED},
        {"diagnoses": [{**one, "rank": str(one["rank"]), "reasoning": "so"} for one in RANKED]},
        {"diagnoses": [{"diagnosis": text} for text in FIVE]},
        {"diagnoses": [{"诊断": text, "理由": "x"} for text in FIVE]},
        NUMBERED,
        {"reasoning": "x", **NUMBERED},
        {f"诊断{rank}": text for rank, text in enumerate(FIVE, start=1)},
        {"diagnoses": {str(rank): text for rank, text in reversed(list(enumerate(FIVE, start=1)))}},
        {"result": {"diagnoses": FIVE}},
    ],
)
def test_other_forms_that_leave_nothing_open_are_recovered(value: dict[str, Any]) -> None:
    reading = read(json.dumps(value, ensure_ascii=False))
    assert reading.outcome is UnitOutcome.RECOVERED
    assert reading.prediction == {"diagnoses": FIVE}


@pytest.mark.parametrize(
    "value",
    [
        {"diagnoses": FIVE[:4]},
        {"diagnoses": [*FIVE, "six"]},
        {"diagnoses": [*FIVE[:4], " \u3000"]},
        {"diagnoses": [*FIVE[:4], None]},
        {"diagnoses": "one, two, three, four, five"},
        {"diagnoses": list(reversed(RANKED))},
        {"diagnoses": [{**one, "rank": 1} for one in RANKED]},
        {"diagnoses": [{**one, "rank": True} for one in RANKED]},
        {"diagnoses": [{**one, "probability": 0.5} for one in RANKED]},
        {"diagnoses": [{"diagnosis": "a", "name": "b"}] * 5},
        {"diagnoses": FIVE, "differential_diagnoses": FIVE},
        {"diagnoses": FIVE, "confidence": "high"},
        {"findings": FIVE},
        {"findings": {str(rank): text for rank, text in enumerate(FIVE, start=1)}},
        {**NUMBERED, "diagnosis_6": "six"},
        {name: text for name, text in NUMBERED.items() if name != "diagnosis_3"},
        FIVE,
    ],
)
def test_what_leaves_anything_open_is_not_read(value: JSON) -> None:
    reading = read(json.dumps(value, ensure_ascii=False))
    assert (reading.outcome, reading.prediction) == (UnitOutcome.UNPARSABLE, None)


def test_what_is_in_our_form_or_in_none_comes_back_as_the_same_object() -> None:
    values: list[JSON] = [{"diagnoses": FIVE}, {"diagnoses": FIVE[:2]}, FIVE, None, {"a": 1}, {}]
    for value in values:
        assert in_our_form(value) is value


def test_a_restated_answer_counts_with_five_diagnoses_and_no_other() -> None:
    answer = "1) ONE, 2) two; three / four - five"
    filled = fill_answer({"diagnoses": FIVE}, answer)
    assert (filled.value, filled.filled_keys, filled.unsupported) == ({"diagnoses": FIVE}, (), ())
    made_up: JSON = {"diagnoses": ["one", "two", "seven", "four", "肺炎"]}
    assert fill_answer(made_up, answer).unsupported == ("diagnoses/3", "diagnoses/5")
    for few in (FIVE[:4], [*FIVE, "six"], [*FIVE[:4], None], [*FIVE[:4], " "]):
        assert fill_answer({"diagnoses": few}, answer).value is None
    nothing: list[JSON] = [{}, None, {"diagnoses": None}, FIVE]
    for value in nothing:
        assert fill_answer(value, answer).value is None


def test_nobody_restates_answers_unless_the_user_names_a_model() -> None:
    assert RADM.reformatter is None
    schema = RADM.reformat_schema("text")
    assert schema is not None
    assert Validator(schema.body).fits({"diagnoses": [*FIVE[:3], None]})
    assert "{answer}" in RADM.reformat_prompt("text").text


def test_the_schema_goes_to_strict_modes_as_it_is() -> None:
    from harness.providers.openai_schema import fits_strict_mode

    schema = load_schema("radm-v1")
    assert fits_strict_mode(schema.body)
    assert aliased(schema.body, r"[a-zA-Z0-9_.-]{1,64}")[1] == {}

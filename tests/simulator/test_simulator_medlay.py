"""Simulated lay texts and their scores, asked with the prompts of MedLayXPlain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import jsonschema
import pytest

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.rubric import FLAGS, flags
from harness.benchmarks.medlay.three_parts import has_three_parts
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.steps import Step
from harness.messages import ImagePart, Message, Schema, TextPart
from harness.simulator.behaviours import answer
from harness.simulator.lay_scoring import wants_shares, wants_verdict
from harness.simulator.lay_terms import TERMS, kind_of_image
from harness.simulator.opinions import words
from harness.simulator.questions import Question, read_question

MEDLAY = get_benchmark("medlay")
VERIFY, EVALUATE = (cast(Step, get_benchmark(f"medlay.{kind}")) for kind in ("verify", "evaluate"))
CASES = tuple(MEDLAY.load(MEDLAY.sample_dir()).cases)
TIDY = ("sim/steady", "sim/careful", "sim/eager", "sim/reader")
LAY = "This is a CT scan. It shows a pocket of fluid in the liver. It is harmless."


def schema_of(schema: Schema | None) -> dict[str, Any]:
    assert schema is not None
    return dict(schema.body)


VERDICT, SHARES = schema_of(VERIFY.schema("A")), schema_of(EVALUATE.schema("A"))


def asked(
    messages: tuple[Message, ...], model: str, schema: Mapping[str, Any] | None = None, **headers: object
) -> Question:
    parts: list[object] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, TextPart):
            parts.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            parts.append({"type": "image_url", "image_url": {"url": f"data:,{part.media.sha256}"}})
    told: dict[str, Any] = {"seed": 0} if schema is None else {"seed": 0, "schema": schema}
    body = {"model": model, "messages": [{"role": "user", "content": parts}], "simulator": told}
    return read_question(body, {f"X-Harness-{name.capitalize()}": str(one) for name, one in headers.items()})


def about(case: Case, condition: str, model: str = "sim/steady", **headers: object) -> Question:
    return asked(MEDLAY.render(case, condition, MEDLAY.prompt(condition)), model, **headers)


def said(question: Question) -> str:
    return answer(question).text or ""


def kept(case: Case, text: str) -> float:
    own = set(words(case.fields["expert_caption"]))
    return len(own & set(words(text))) / len(own)


# --- lay texts ---


@pytest.mark.parametrize("model", TIDY)
@pytest.mark.parametrize("condition", ["A", "B", "C"])
def test_a_lay_text_has_three_numbered_parts_of_the_usual_length(model: str, condition: str) -> None:
    texts = [said(about(case, condition, model)) for case in CASES]
    for text in texts:
        assert has_three_parts(text)
        assert 25 <= len(text.split()) <= 130
    assert len(set(texts)) == len(texts)


def test_what_the_expert_wrote_comes_back_where_it_is_shown_and_only_there() -> None:
    shares = {
        condition: [kept(case, said(about(case, condition))) for case in CASES]
        for condition in ("A", "B", "C")
    }
    assert max(shares["A"]) < 0.4
    assert min(shares["B"] + shares["C"]) > 0.3
    assert sum(shares["B"]) > 3 * sum(shares["A"])


def test_an_eager_model_copies_terms_and_a_careful_one_puts_them_in_plain_words_or_defines_them() -> None:
    def bare(model: str) -> int:
        """Return how many terms stand without plain words behind them."""
        texts = [said(about(case, "C", model)).casefold() for case in CASES]
        return sum(f"{term}" in text and f"{term} (" not in text for text in texts for term in TERMS)

    assert bare("sim/careful") < bare("sim/eager") / 2
    assert any("(" in said(about(case, "C", "sim/careful")) for case in CASES)


def test_another_image_caption_seed_repeat_or_model_is_another_text_and_an_attempt_is_not() -> None:
    first, second = CASES[:2]
    plain = said(about(first, "A"))
    assert said(about(first, "A", attempt=2)) == plain
    others = [about(second, "A"), about(first, "A", repeat=2), about(first, "B"), about(second, "C")]
    assert len({plain, *map(said, others)}) == 5  # F10


def test_a_messy_model_leaves_the_form_and_at_times_refuses() -> None:
    texts = [said(about(case, "B", "sim/messy", repeat=n)) for case in CASES for n in range(6)]
    count = len(texts)
    assert 0.3 * count < sum(map(has_three_parts, texts)) < 0.8 * count
    assert 1 <= sum(text.startswith("I'm sorry") for text in texts) < 0.15 * count
    openings = Counter(text.split()[0] for text in texts)
    assert {"Certainly!", "**1.", "##", "This"} <= set(openings)


def test_a_flaky_model_is_at_times_cut_off_or_silent() -> None:
    finishes = Counter(
        (answer(question).finish, answer(question).text is None)
        for case in CASES
        for n in range(6)
        for question in [about(case, "C", "sim/flaky", repeat=n)]
    )
    assert {("length", False), ("stop", True)} <= set(finishes)
    assert finishes["stop", False] > 90


def test_without_image_and_caption_nothing_is_explained() -> None:
    text = MEDLAY.prompt("A").text
    question = asked((Message("user", (TextPart(text),)),), "sim/steady")
    assert "simulated" in said(question)


def test_kinds_of_images_are_told_from_expert_and_lay_words() -> None:
    kinds = {
        (kind_of_image(case.fields["expert_caption"]), kind_of_image(str(case.reference["lay_caption"])))
        for case in CASES
    }
    assert len(kinds) == len(MODALITIES)
    assert all(expert == lay is not None for expert, lay in kinds)


# --- scores of lay texts ---


def scored(step: Step, schema: Mapping[str, Any], lay: str, case: Case, model: str = "sim/careful") -> Any:
    fields = {**case.fields, "lay_caption": lay, "modality": str(case.reference["modality"])}
    shown = replace(case, fields=fields, reference={})
    text = said(asked(step.render(shown, "A", step.prompt("A")), model, schema))
    value = json.loads(text)
    jsonschema.validate(value, dict(schema))
    return value


@pytest.mark.slow
def test_verdicts_follow_from_the_scores_but_for_a_few() -> None:
    verdicts = [
        scored(VERIFY, VERDICT, f"{case.reference['lay_caption']} {n}", case)
        for case in CASES
        for n in range(8)
    ]
    counts = dict.fromkeys(FLAGS, 0.0)
    for verdict in verdicts:
        for name, value in zip(FLAGS, flags(verdict), strict=True):
            counts[name] += value
    share = {name: count / len(verdicts) for name, count in counts.items()}
    assert 0.03 < share["contradiction.verdict"] < 0.25
    assert 0.005 < share["contradiction.total"] < 0.15
    assert share["contradiction.revision"] == 0 == share["contradiction.expert_error"]
    assert min(share["verdict.pass"], share["verdict.revise"]) > 0.03
    assert {score for verdict in verdicts for score in verdict["scores"].values()} == {0, 1, 2}


@pytest.mark.parametrize(("step", "schema"), [(VERIFY, VERDICT), (EVALUATE, SHARES)])
def test_a_lay_text_of_its_own_case_scores_higher_than_another(step: Step, schema: dict[str, Any]) -> None:
    def mean(lays: list[str]) -> float:
        values = [scored(step, schema, lay, case) for lay, case in zip(lays, CASES, strict=True)]
        found = [value.get("scores", value) for value in values]
        return sum(sum(one.values()) / len(one) for one in found) / len(found)

    own = [str(case.reference["lay_caption"]) for case in CASES]
    assert mean(own) > mean(own[12:] + own[:12]) * 1.1


def test_the_evaluator_gives_five_numbers_that_differ() -> None:
    values = [scored(EVALUATE, SHARES, LAY, case) for case in CASES]
    assert all(0 <= number <= 1 for value in values for number in value.values())
    assert len({tuple(value.values()) for value in values}) == len(CASES)


def test_the_two_forms_are_known_by_their_schemas() -> None:
    assert wants_verdict(VERDICT) and not wants_verdict(SHARES)
    assert wants_shares(SHARES) and not wants_shares(VERDICT)
    triage = schema_of(get_benchmark("triage").schema("both"))
    assert not wants_verdict(triage) and not wants_shares(triage)
    assert not wants_shares({"properties": {"share": {"type": "number", "minimum": 0, "maximum": 1}}})

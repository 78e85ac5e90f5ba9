"""Simulated clinical reports, sentences about one finding, and restatements, by the marks of the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from harness.benchmarks.base import Prompt
from harness.reformatter import reformat_messages
from harness.simulator.behaviours import BEHAVIOURS, answer
from harness.simulator.clinical_reports import messy_report, read, report
from harness.simulator.free_text import Attribute, Report, Restating, asked
from harness.simulator.questions import Question, read_question
from harness.simulator.radiographs import TOPICS, seen, shown
from harness.simulator.report_wordings import PAIRS, SENTENCES, topics_of

MODELS = ("sim/steady", "sim/careful", "sim/eager", "sim/messy", "sim/flaky")
TIDY = MODELS[:3]
REPORT = "You are a dentist. Write the clinical report of the panoramic radiograph as one text.\n"
TEETH = (
    "Which teeth show a periapical lesion? Answer in exactly one English sentence with FDI numbers. "
    'If there is none, answer exactly: "No periapical lesion is evident."'
)
DENIED = "No generalized crestal bone loss is evident in the mandible."
BINARY = f'Is the bone level reduced? Answer in exactly one sentence. If not, answer exactly: "{DENIED}"'
RESTATE = Prompt(
    "restate-v1", "0" * 64, "Restate the following clinical report. Do not add findings.\n\n{answer}\n"
)


def ask(text: str, model: str = "sim/steady", image: object = 0, **headers: int) -> Question:
    """Return a question about an image; None: without any."""
    parts: list[object] = [{"type": "text", "text": text}]
    if image is not None:
        parts.append({"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{image}"}})
    body = {"model": model, "messages": [{"role": "user", "content": parts}], "simulator": {"seed": 0}}
    told = {f"X-Harness-{name.capitalize()}": str(value) for name, value in headers.items()}
    return read_question(body, told)


def restating(quoted: str, model: str, **headers: int) -> Question:
    (message,) = reformat_messages(RESTATE, quoted)
    text = "".join(part.text for part in message.parts if hasattr(part, "text"))
    return ask(text, model, None, **headers)


def said(question: Question) -> str:
    return answer(question).text or ""


def teeth(text: str) -> set[str]:
    return set(re.findall(r"\b[1-4][1-8]\b", text))


def opinion(question: Question, topic: str) -> Sequence[str]:
    return seen(question, BEHAVIOURS[question.model].skill)[topic]


# --- clinical reports ---


@pytest.mark.parametrize("model", TIDY)
def test_a_clinical_report_has_the_usual_length_and_goes_through_all_findings_in_order(model: str) -> None:
    for image in range(100):
        question = ask(REPORT, model, image)
        text = said(question)
        assert 150 <= len(text.split()) <= 220
        assert "\n" not in text
        assert read(text) == opinions(question)
        places = [text.index(sentence) for sentence in sentences_found(text)]
        assert places == sorted(places)
        assert len(places) >= 18


def opinions(question: Question) -> dict[str, tuple[str, ...]]:
    return dict(seen(question, BEHAVIOURS[question.model].skill))


def sentences_found(text: str) -> Iterator[str]:
    """Yield the beginnings of the sentences of a report in the order of the topics."""
    wordings = {(topic.name,): SENTENCES[topic.name] for topic in TOPICS} | {
        pair: PAIRS[pair] for pair in PAIRS
    }
    for names in sorted(wordings, key=lambda names: [topic.name for topic in TOPICS].index(names[0])):
        for sentence in (*wordings[names][0], *wordings[names][1]):
            start = sentence.split("{places}")[0]
            if start in text:
                yield start


def test_another_image_seed_repeat_or_model_is_another_report_and_an_attempt_is_not() -> None:
    first = said(ask(REPORT))
    assert said(ask(REPORT, attempt=2)) == first == said(ask(REPORT))
    others = [said(ask(REPORT, image=1)), said(ask(REPORT, repeat=2)), said(ask(REPORT, "sim/careful"))]
    assert len({first, *others}) == 4  # F10
    assert len({tuple(opinion(ask(REPORT, image=image), "missing")) for image in range(50)}) > 30


def test_models_agree_more_on_one_image_than_on_two() -> None:
    def shared(left: int, right: int) -> int:
        one, two = (
            opinions(ask(REPORT, model, image)) for model, image in zip(TIDY, (left, right), strict=False)
        )
        return sum(len({*one[name]} & {*two[name]}) for name in one)

    assert sum(shared(n, n) for n in range(50)) > 2 * sum(shared(n, n + 1) for n in range(50))


def test_an_eager_model_reports_more_than_a_careful_one() -> None:
    counts = {
        model: sum(len(places) for n in range(100) for places in opinions(ask(REPORT, model, n)).values())
        for model in ("sim/eager", "sim/careful")
    }
    assert counts["sim/eager"] > 1.1 * counts["sim/careful"]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_sees_as_much_of_what_is_shown_as_its_skill_says(model: str) -> None:
    kept = total = 0
    for image in range(300):
        question = ask(REPORT, model, image)
        there, found = shown(question.seed, question.view), opinions(question)
        for topic in ("metal_filling", "crest_upper", "crest_lower"):
            total += len(there[topic])
            kept += len({*there[topic]} & {*found[topic]})
    assert abs(kept / total - BEHAVIOURS[model].skill.weight) < 0.1


def test_sides_that_look_alike_share_one_sentence() -> None:
    for image in range(60):
        text, findings = said(ask(REPORT, image=image)), opinions(ask(REPORT, image=image))
        for pair, words in (("sinus", r"sinus|antr"), ("joint", r"temporomandibular|TMJ")):
            alike = findings[f"{pair}_left"] == findings[f"{pair}_right"]
            named = [sentence for sentence in text.split(". ") if re.search(words, sentence)]
            assert len(named) == (1 if alike else 2)


def test_messy_reports_come_in_every_form() -> None:
    texts = [said(ask(REPORT, "sim/messy", image)) for image in range(200)]
    kinds = Counter(
        "headings" if text.startswith("# ")
        else "list" if text.startswith("- ")
        else "preamble" if text.startswith("Certainly")
        else "refusal" if text.startswith("I'm sorry")
        else "short"
        for text in texts
    )  # fmt: skip
    assert set(kinds) == {"headings", "list", "preamble", "refusal", "short"}
    assert min(kinds.values()) >= 3


def test_flaky_reports_are_at_times_empty_refused_or_cut() -> None:
    answers = [answer(ask(REPORT, "sim/flaky", image)) for image in range(200)]
    assert {(one.text is None, one.finish, one.refusal is None) for one in answers} == {
        (False, "stop", True), (True, "stop", True), (False, "length", True),
        (True, "stop", False), (True, "content_filter", True),
    }  # fmt: skip


# --- one sentence about one finding ---


@pytest.mark.parametrize("model", TIDY)
def test_a_sentence_about_teeth_says_what_the_report_says(model: str) -> None:
    positive = 0
    for image in range(100):
        question = ask(TEETH, model, image)
        assert opinion(question, "apical") == opinion(ask(REPORT, model, image), "apical")
        text = said(question)
        if opinion(question, "apical"):
            positive += 1
            assert text.startswith("Periapical lesion is evident at ")
            assert text.endswith(".")
            assert not teeth(text) or teeth(text) == {*opinion(question, "apical")}
        else:
            assert text == "No periapical lesion is evident."
    assert 10 <= positive <= 80


def test_teeth_are_named_in_several_ways() -> None:
    texts = [said(ask(TEETH, "sim/careful", image)) for image in range(200)]
    ways = (
        r"teeth #\d\d and #\d\d\.",
        r"teeth \d\d, \d\d\.",
        r"at #\d\d",
        r"FDI t",
        r"(upper|lower) (left|right) ",
    )
    assert all(any(re.search(way, text) for text in texts) for way in ways)


@pytest.mark.parametrize("model", TIDY)
def test_yes_or_no_is_the_denial_as_quoted_or_its_opposite(model: str) -> None:
    texts = Counter(said(ask(BINARY, model, image)) for image in range(100))
    assert set(texts) == {DENIED, "Generalized crestal bone loss is evident in the mandible."}


def test_a_quoted_affirmation_is_used() -> None:
    text = f'{BINARY} Else say: "The bone of the lower jaw is reduced throughout."'
    texts = {said(ask(text, image=image)) for image in range(50)}
    assert texts == {DENIED, "The bone of the lower jaw is reduced throughout."}


def test_messy_sentences_get_readable_with_attempts_and_some_never_do() -> None:
    def readable(image: int, attempt: int) -> bool:
        text = said(ask(TEETH, "sim/messy", image, attempt=attempt))
        places = opinion(ask(TEETH, "sim/messy", image), "apical")
        plain = "No periapical lesion is evident." if not places else "Periapical lesion is evident at"
        vague = ("#36-38", "several", "tooth 19", "#75", "sorry", "possibly", "?", "evident. Peri")
        return plain in text and not any(mark in text for mark in vague)

    counts = [sum(readable(image, attempt) for image in range(300)) for attempt in (1, 2, 3)]
    assert 120 < counts[0] < counts[1] < counts[2] < 290
    texts = " ".join(said(ask(TEETH, "sim/messy", image)) for image in range(300))
    for mark in (
        "#36-38",
        "several molars",
        "tooth 19",
        "#75",
        "sorry",
        "possibly",
        "?",
        "<think>",
        "**",
        "Answer:",
    ):
        assert mark in texts


@pytest.mark.parametrize(
    ("denial", "affirmed"),
    [
        ("No tooth is missing.", r"(Tooth|Teeth|#|FDI|The) ?.* (is|are) missing\."),
        ("No missing tooth is evident.", r"(Tooth|Teeth|#|FDI|The) ?.* (is|are) missing\."),
        ("No permanent tooth is missing.", r"(Tooth|Teeth|#|FDI|The) ?.* (is|are) missing\."),
        (
            "No partially erupted or impacted tooth is evident.",
            r".+ (is|are) partially erupted or impacted\.",
        ),
        ("No tooth has caries.", r".+ (has|have) caries\."),
        ("There are no crowns.", r"There is crowns at .+\."),
        ("No bridge is evident.", r"Bridge is evident at #\d\d-X-#\d\d\."),
        ("No root-canal treatment.", r"Root-canal treatment is evident at .+\."),
        ("None of the teeth is impacted.", r"Yes, at .+\."),
        ("No abrasion is evident.", r"Abrasion is evident at .+\."),
    ],
)
def test_every_form_of_denial_has_an_opposite(denial: str, affirmed: str) -> None:
    text = f"Name the teeth by FDI numbers in one sentence. If none, answer exactly: '{denial}'"
    texts = {said(ask(text, image=image)) for image in range(60)}
    assert (denial in texts) is ("missing" not in denial)
    assert len(texts) > 1
    assert all(re.fullmatch(affirmed, one) for one in texts - {denial})


@pytest.mark.parametrize(
    "text",
    [
        'In one sentence, which teeth have caries (FDI)? If none: "No caries is evident."',
        "Use exactly one concise English\nsentence, FDI. Otherwise say “No caries is evident.”",
        "A single sentence with tooth numbers. If none, answer exactly `No caries is evident.`",
        "One short sentence; which of the teeth? If none, answer exactly: No caries is evident. No more.",
        "Exactly one sentence, FDI. If none, answer exactly:\nNo caries is evident.",
    ],
)
def test_a_question_about_teeth_is_known_by_its_marks(text: str) -> None:
    assert asked(ask(text)) == Attribute("No caries is evident.", None, True, ("caries",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REPORT, Report()),
        ("Report on this OPG.", Report()),
        (
            'Report on the panoramic image, one sentence per finding, such as "No caries is evident."',
            Report(),
        ),
        ("Describe the panoramic radiograph.", None),
        ("What does this report of an MRI mean?", None),
        ("Answer in one sentence: what is this?", None),
        ("Restate the report.\n=== 0a ===\nCaries at #36.\n=== 0a ===", Restating("Caries at #36.")),
        ("Normalise this report:\n=== 0a ===\n\n=== 0a ===", Restating("")),
        ("Judge the panoramic report.\n=== 0a ===\nRewrite me.\n=== 0a ===", None),
    ],
)
def test_other_questions_are_known_by_their_marks(text: str, expected: object) -> None:
    assert asked(ask(text)) == expected


def test_what_is_yes_or_no_stays_so_where_the_text_speaks_of_teeth() -> None:
    text = f"{BINARY} Give no tooth numbers (FDI)."
    assert asked(ask(text)) == Attribute(DENIED, None, False, ("crest_lower",))


def test_without_an_image_there_is_no_report_and_with_a_schema_nothing_is_drawn_by_the_image() -> None:
    assert asked(ask(REPORT, image=None)) is None
    parts = [{"type": "text", "text": REPORT}, {"type": "image_url", "image_url": {"url": "data:a"}}]
    told = {"schema": {"type": "object", "properties": {}}}
    body = {"model": "sim/steady", "messages": [{"role": "user", "content": parts}], "simulator": told}
    question = read_question(body, {})
    assert (asked(question), question.view) == (None, "")


def test_an_earlier_answer_in_the_conversation_changes_no_opinion() -> None:
    messages = [
        {"role": "user", "content": [
            {"type": "text", "text": TEETH},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,7"}},
        ]},
        {"role": "assistant", "content": 'Perhaps "No caries is evident."'},
        {"role": "user", "content": "Your last answer could not be used. Answer once more."},
    ]  # fmt: skip
    again = read_question({"model": "sim/steady", "messages": messages, "simulator": {"seed": 0}}, {})
    assert said(again) == said(ask(TEETH, image=7))


# --- restating ---


@pytest.mark.parametrize("model", ["sim/steady", "sim/careful", "sim/reformatter"])
def test_a_restated_report_keeps_every_finding_and_adds_none(model: str) -> None:
    for image in range(40):
        for writer in ("sim/messy", "sim/eager"):
            question = ask(REPORT, writer, image)
            skill = BEHAVIOURS[writer].skill
            for text in (report(question, skill), messy_report(question, skill)):
                told = said(restating(text, model))
                assert read(told) == read(text)
                assert "\n" not in told  # F13
    assert len(read(report(ask(REPORT), BEHAVIOURS["sim/steady"].skill))) == len(TOPICS)


def test_restated_reports_are_in_one_style_whoever_wrote_them() -> None:
    one, two = (
        "Caries: #36, #37.\nTMJ: normal",
        "* **Decay** is seen on 36 and 37\nBoth TMJs are unremarkable.",
    )
    told = said(restating(one, "sim/steady"))
    assert told == said(restating(two, "sim/steady"))
    assert teeth(told) == {"36", "37"}


def test_a_sentence_that_is_cut_off_says_nothing() -> None:
    assert read("No caries is seen. The crestal") == {"caries": ()}
    assert read("Caries: #36\nThe left") == {"caries": ("36",)}


@pytest.mark.parametrize("text", ["lorem ipsum 12", "", "I'm sorry, I can't help.", "36 teeth, 12.5 mm, 45%"])
def test_what_names_no_finding_is_repeated(text: str) -> None:
    assert read(text) == {}
    assert said(restating(text, "sim/steady")) == text


def test_an_eager_model_calls_normal_what_it_was_not_told() -> None:
    told = read(said(restating("Caries at #36.", "sim/eager")))
    assert list(told) == [topic.name for topic in TOPICS]
    assert "36" in told["caries"]
    assert sum(not places for places in told.values()) >= len(TOPICS) - 4


def test_an_eager_model_adds_teeth_to_what_it_restates() -> None:
    for image in range(20):
        text = report(ask(REPORT, image=image), BEHAVIOURS["sim/steady"].skill)
        had, told = read(text), read(said(restating(text, "sim/eager")))
        assert sum(len({*told[name]} - {*had[name]}) for name in had) >= 1
        assert all({*told[name]} >= {*had[name]} for name in had)


def test_a_messy_model_restates_nothing_at_times_and_some_reports_never() -> None:
    texts = [report(ask(REPORT, image=image), BEHAVIOURS["sim/steady"].skill) for image in range(150)]
    empty = [
        {text for text in texts if answer(restating(text, "sim/messy", attempt=attempt)).text is None}
        for attempt in (1, 2, 3)
    ]
    assert 15 < len(empty[0]) < 75
    assert 1 <= len(empty[0] & empty[1] & empty[2]) < len(empty[0])


def test_every_sentence_of_a_report_is_about_its_own_topics() -> None:
    for names, (there, gone) in [*((((name,), both) for name, both in SENTENCES.items())), *PAIRS.items()]:
        for sentence in (*there, *gone):
            assert topics_of(sentence.replace("{places}", "tooth #36")) == names

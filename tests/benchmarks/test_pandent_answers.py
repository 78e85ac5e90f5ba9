"""Sentences about one finding: each becomes the value that a careful reader gives it, or unparsable."""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.benchmarks.pandent.answers.finding_words import GROUPS, NAMINGS
from harness.benchmarks.pandent.answers.parsing import Parsed, parse_answer
from harness.benchmarks.pandent.answers.surroundings import MAX_CHARS
from harness.benchmarks.pandent.answers.unreadable import MEANINGS
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS, TABLE2, UNIVERSE, bridge_pattern
from harness.benchmarks.pandent.templates import WORDINGS

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "pandent_answers.jsonl")
    .read_text("utf-8")
    .split("\n")
    if line
]
RULES = sorted({row["rule"] for row in ROWS})
TOOTH_FINDINGS = [finding.id for finding in FINDINGS if finding.type == "tooth_set"]
NAMES = {
    "missing_teeth": "missing teeth",
    "partially_erupted_or_impacted": "partially erupted or impacted teeth",
    "caries": "dental caries",
    "periapical_lesion": "periapical lesions",
    "furcation_radiolucency": "furcation radiolucency",
    "metallic_restoration": "metallic restorations",
    "non_metal_restoration": "non-metal restorations",
    "root_canal_treatment": "root-canal treatment",
    "artificial_crown": "artificial crowns",
    "non_metal_post_core": "non-metal post-and-core structures",
    "abl_maxilla": "localized angular bone loss",
    "abl_mandible": "localized angular bone loss",
}


# --- the table ---


@pytest.mark.parametrize("rule", RULES)
def test_each_sentence_of_the_table_is_read_as_it_says(rule: str) -> None:  # F5 F12
    wrong = []
    for row in ROWS:
        if row["rule"] != rule:
            continue
        parsed = parse_answer(row["answer"], row["finding"])
        value = sorted(parsed.value) if isinstance(parsed.value, frozenset) else parsed.value
        if value is not row["value"] and (value != row["value"] or isinstance(value, bool)):
            wrong.append((row["finding"], row["answer"], row["value"], parsed))
        elif row.get("reason", parsed.reason) != parsed.reason:
            wrong.append((row["finding"], row["answer"], row["reason"], parsed))
    assert wrong == []


def test_the_table_covers_every_finding_and_every_reason() -> None:
    assert {row["finding"] for row in ROWS} == set(BY_ID)
    met = {parse_answer(row["answer"], row["finding"]).reason for row in ROWS} | {
        parse_answer("36 " * MAX_CHARS, "caries").reason
    }
    assert met == {*MEANINGS, None}


def test_the_documentation_reads_its_examples_as_the_parser_does(request: pytest.FixtureRequest) -> None:
    text = (request.config.rootpath / "docs" / "pandent-answers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 40
    for finding, answer, expected in rows:
        parsed = parse_answer(answer, finding)
        if parsed.reason is not None:
            shown = f"unparsable: {MEANINGS[parsed.reason]}"
        elif isinstance(parsed.value, frozenset):
            shown = " ".join(map(str, sorted(parsed.value))) or "{}"
        else:
            shown = "yes" if parsed.value else "no"
        assert (answer, shown) == (answer, expected)


def test_a_value_and_a_reason_exclude_each_other() -> None:
    for row in ROWS:
        parsed = parse_answer(row["answer"], row["finding"])
        assert (parsed.value is None) == (parsed.reason is not None)
        binary = BY_ID[row["finding"]].answer == "binary"
        assert parsed.value is None or isinstance(parsed.value, bool) == binary


def test_one_sentence_of_the_paper_reads_alike_for_the_finding_or_its_id() -> None:
    answer = "No periapical lesion is evident."
    assert parse_answer(answer, BY_ID["periapical_lesion"]) == parse_answer(answer, "periapical_lesion")
    assert parse_answer(answer, "periapical_lesion") == Parsed(frozenset())


def test_bridges_keep_their_patterns() -> None:
    parsed = parse_answer("Bridges are evident: #25-#26-X and 16-X-14.", "bridge")
    assert parsed == Parsed(frozenset({14, 16, 25, 26}), patterns=("16-X-14", "25-26-X"))


def test_an_answer_and_a_case_file_may_hold_the_same_bridges() -> None:
    units = ("14", "15", "16", "18", "X")
    written = ["-".join(some) for count in (2, 3, 4) for some in product(units, repeat=count)]
    sound = 0
    for text in written:
        try:
            pattern = bridge_pattern(text)
        except ValueError:
            assert parse_answer(f"A bridge is evident: {text}.", "bridge").value is None, text
            continue
        sound += 1
        assert parse_answer(f"A bridge is evident: {text}.", "bridge").patterns == (pattern,), text
    assert 20 < sound < len(written) / 2


def test_a_denial_of_one_finding_is_never_one_of_another() -> None:  # F12
    denials = {name: f"No {words} are evident." for name, words in NAMES.items()}
    same = {frozenset({"abl_maxilla", "abl_mandible"})}
    for said, answer in denials.items():
        for asked in BY_ID:
            parsed = parse_answer(answer, asked)
            if asked == said or frozenset({asked, said}) in same:
                assert parsed.value == frozenset(), (asked, answer)
            else:
                assert parsed.value is None, (asked, answer)


def test_every_group_of_words_belongs_to_a_finding_or_to_none_of_them() -> None:
    used = frozenset().union(*(naming.groups for naming in NAMINGS.values())) - {"region"}
    assert set(NAMINGS) == set(BY_ID)
    assert used | {"elsewhere"} == set(GROUPS)


def test_sentences_of_clinical_reports_that_others_worded_are_never_read_wrongly() -> None:
    read = 0
    for name, wording in WORDINGS.items():
        binary = BY_ID[name].answer == "binary"
        there = frozenset({25, 26} if name == "bridge" else {26, 27})
        for sentence in wording.positive:
            answer = sentence.format(teeth="teeth #26 and #27", bridge_patterns="#25-#26-X")
            value = parse_answer(answer, name).value
            assert value is None or value == (True if binary else there), answer
            read += value is not None
        for sentence in wording.negative:
            value = parse_answer(sentence, name).value
            assert value is None or value == (False if binary else frozenset()), sentence
            read += value is not None
    assert read >= 30


_AFFIRM = (
    "{} shows caries", "caries is evident on {}", "{} is carious", "caries on {}", "carious {}",
    "{} with caries", "{} is affected by caries", "there is caries on {}", "suspected caries on {}",
)  # fmt: skip
_MENTION = (
    "{} is visible", "{} is present", "{} visible", "visible {}", "the root of {} is visible",
    "{} intact",
)  # fmt: skip
_SPARE = (
    "{} shows no caries", "caries is absent on {}", "no caries on {}", "{} is free of caries", "not {}",
    "{} is not carious", "caries is not evident on {}", "{} without caries",
)  # fmt: skip
_DENY = (
    "no caries is evident", "the dentition is free of caries", "caries is not evident", "none",
)  # fmt: skip
_JOINTS = (
    ", ",
    " and ",
    " but ",
    "; ",
    " while ",
    ", and ",
    " with ",
    ", whereas ",
    ": ",
    " - ",
    ", with ",
    ". ",
)


def test_two_statements_in_any_words_are_read_as_both_say_or_not_at_all() -> None:  # F12
    says = {**dict.fromkeys(_AFFIRM, "affirm"), **dict.fromkeys(_MENTION, "mention")}
    says |= {**dict.fromkeys(_SPARE, "spare"), **dict.fromkeys(_DENY, "deny")}
    read = 0
    for (one, first), (other, second), joint in itertools.product(says.items(), says.items(), _JOINTS):
        answer = one.format("36") + joint + other.format("tooth 46")
        value = parse_answer(answer, "caries").value
        if value is None:
            continue
        read += 1
        there = {tooth for tooth, kind in ((36, first), (46, second)) if kind == "affirm"}
        assert value == there, answer
        assert there or {first, second} == {"deny"}, answer
        assert "deny" not in (first, second) or not there, answer
    assert read > 1000


_LOST = (
    "generalized bone loss is evident in the {}", "the {} shows generalized crestal bone loss",
    "generalized bone loss in the {}", "there is generalized bone loss of the {}",
)  # fmt: skip
_KEPT = (
    "no generalized bone loss is evident in the {}", "the {} is free of bone loss",
    "no bone loss in the {}", "bone loss is absent in the {}", "the {} has normal bone levels",
    "without bone loss in the {}",
)  # fmt: skip


def test_each_jaw_has_its_own_answer_or_none() -> None:  # F12
    says = {**dict.fromkeys(_LOST, True), **dict.fromkeys(_KEPT, False)}
    read = 0
    for (one, upper), (other, lower), joint in itertools.product(
        says.items(), says.items(), (*_JOINTS, " or ")
    ):
        answer = one.format("maxilla") + joint + other.format("mandible")
        for finding, expected in (("gcbl_maxilla", upper), ("gcbl_mandible", lower)):
            value = parse_answer(answer, finding).value
            assert value is None or value is expected, (finding, answer)
            read += value is not None
    assert read > 500


# --- teeth written in every supported way ---

_WORDS = {1: "central incisor", 2: "lateral incisor", 3: "canine", 4: "first premolar", 5: "second premolar",
          6: "first molar", 7: "second molar", 8: "third molar"}  # fmt: skip
_QUADRANTS = {
    1: ("upper right", "maxillary right", "right maxillary"),
    2: ("upper left", "maxillary left", "left upper"),
    3: ("lower left", "mandibular left", "left mandibular"),
    4: ("lower right", "mandibular right", "right lower"),
}


def _listed(parts: Sequence[str], style: int) -> str:
    if len(parts) == 1:
        return parts[0]
    last = (" and ", ", and ", " & ", ", ")[style % 4]
    return ", ".join(parts[:-1]) + last + parts[-1]


def _written(teeth: Sequence[int], style: str, lists: int) -> str:
    if style == "words":
        return _listed([f"{_QUADRANTS[one // 10][lists % 3]} {_WORDS[one % 10]}" for one in teeth], lists)
    forms = {"hash": "#{}", "plain": "{}", "fdi": "FDI {}", "tooth": "tooth {}", "tooth hash": "tooth #{}"}
    if style in forms:
        return _listed([forms[style].format(one) for one in teeth], lists)
    noun = "tooth" if len(teeth) == 1 else "teeth"
    if style == "dotted":
        return f"{noun} " + _listed([f"{one // 10}.{one % 10}" for one in teeth], lists)
    return f"{noun} " + _listed([f"#{one}" if style == "teeth hash" else str(one) for one in teeth], lists)


STYLES = ("hash", "plain", "fdi", "tooth", "tooth hash", "teeth", "teeth hash", "dotted", "words")
FRAMES = ("There is evidence of {name} on {teeth}.", "{name} on {teeth}", "Answer: {name} on {teeth}",
          "**{teeth}**", "Yes, {name} on {teeth}.", "{teeth}")  # fmt: skip
any_teeth = st.lists(st.sampled_from(UNIVERSE), min_size=1, max_size=32, unique=True)


@given(
    any_teeth,
    st.sampled_from(STYLES),
    st.integers(0, 14),
    st.sampled_from(FRAMES),
    st.sampled_from(TOOTH_FINDINGS),
)
@settings(max_examples=250, deadline=None)
def test_any_set_of_teeth_in_any_order_and_style_reads_back(
    teeth: list[int], style: str, lists: int, frame: str, finding: str
) -> None:
    answer = frame.format(teeth=_written(teeth, style, lists), name=NAMES[finding])
    parsed = parse_answer(answer, finding)
    assert parsed == Parsed(frozenset(teeth)), answer


@given(
    any_teeth,
    st.integers(0, 40),
    st.sampled_from(["19", "9", "49", "51", "85", "100", "3", "00", "29", "30"]),
)
@settings(max_examples=200, deadline=None)
def test_one_number_that_is_no_tooth_leaves_no_value(
    teeth: list[int], place: int, number: str
) -> None:  # F12
    parts = [str(one) for one in teeth]
    parts.insert(place % (len(parts) + 1), number)
    parsed = parse_answer("Caries is evident on teeth " + _listed(parts, 0), "caries")
    assert (parsed.value, parsed.reason) == (None, "number")


@given(
    st.integers(1, 4), st.integers(1, 8), st.integers(1, 8), st.sampled_from(["to", "through"]), st.booleans()
)
def test_ranges_in_words_hold_within_a_quadrant(
    quadrant: int, one: int, other: int, word: str, opened: bool
) -> None:
    answer = f"Caries {'from' if opened else 'on'} {quadrant}{one} {word} {quadrant}{other}."
    parsed = parse_answer(answer, "caries")
    low, high = sorted((one, other))
    expected = frozenset(10 * quadrant + place for place in range(low, high + 1))
    assert parsed == (Parsed(expected) if low < high else Parsed(None, "range", word=parsed.word))


@given(st.sampled_from(UNIVERSE), st.sampled_from(UNIVERSE), st.sampled_from(["to", "through"]))
def test_ranges_across_quadrants_are_none(one: int, other: int, word: str) -> None:
    parsed = parse_answer(f"Teeth {one} {word} {other} show caries.", "caries")
    assert (parsed.value is None) == (one // 10 != other // 10 or one == other)


# --- any text at all ---

_VOCABULARY = sorted(
    {word for row in ROWS for word in re.findall(r"[a-z']+|[#,.:;()&-]|\d+", row["answer"].lower())}
)
_SAYS = re.compile(
    r"\d|\b(?:no|not|none|neither|nor|without|free|absent|absence|lacks|lacking|lack|negative|yes|normal|unremarkable|"
    r"intact|healthy|preserved|maintained|aerated|clear|present|evident|visible|seen|n't|molars?|premolars?|"
    r"bicuspids?|incisors?|canines?|cuspids?|wisdom|limits|wnl|all|every|each|generalized|generalised|widespread|"
    r"diffuse)\b|n't"
)


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=14).map(" ".join), st.sampled_from(sorted(BY_ID)))
@settings(max_examples=500, deadline=None)
def test_words_in_any_order_never_raise_and_never_give_a_tooth_that_is_not_there(
    answer: str, finding: str
) -> None:
    parsed = parse_answer(answer, finding)
    if isinstance(parsed.value, frozenset) and "to" not in answer and "through" not in answer:
        there = {int(number) for number in re.findall(r"\d+", answer) if int(number) in UNIVERSE}
        spelled = re.search(r"molar|bicuspid|incisor|canine|cuspid|wisdom", answer) is not None
        assert spelled or parsed.value <= there
    if _SAYS.search(answer) is None and finding in TOOTH_FINDINGS:
        assert parsed.value is None


@given(st.text(max_size=80), st.sampled_from(sorted(BY_ID)))
@example("\ud800", "caries")
@example("\u2028", "caries")
@example("\x00" * 5, "gcbl_maxilla")
@settings(max_examples=250, deadline=None)
def test_no_text_raises(answer: str, finding: str) -> None:
    parsed = parse_answer(answer, finding)
    assert (parsed.value is None) == (parsed.reason is not None)


@given(st.sampled_from([row for row in ROWS if row["value"] not in (None, [])]), st.integers(0, 200))
@settings(max_examples=250, deadline=None)
def test_a_sentence_cut_off_never_denies(row: dict[str, str], end: int) -> None:  # F5
    whole = parse_answer(row["answer"], row["finding"]).value
    part = parse_answer(row["answer"][:end], row["finding"]).value
    # A cut that leaves the word "no" alone, of "Non-metal ..." say, leaves a whole denial.
    denials = (row["answer"].lower(), row["answer"][:end].lower())
    if isinstance(whole, frozenset) and not any(re.match(r"\W*(?:no|not)\b", one) for one in denials):
        assert part is None or part


@pytest.mark.parametrize("end", ["", "36"])
@pytest.mark.parametrize("finding", ["caries", "bridge"])
@pytest.mark.parametrize(
    "piece",
    ["36, ", "#", "1.6 ", "no ", "36-", "x-", "**", "<think>", "</think>", " ", "\u2028", "(", "and ",
     "first ", "upper right ", "a", "'", "No caries is evident. ", "\ufeff", "36 to ", "n't ", "-", "\ud800",
     "no tooth "],
)  # fmt: skip
def test_two_hundred_thousand_characters_take_no_more_than_linear_time(
    piece: str, finding: str, end: str
) -> None:
    def cpu_s(chars: int) -> float:
        text = piece * (chars // len(piece)) + end
        started = time.process_time()
        parse_answer(text, finding)
        return time.process_time() - started

    cpu_s(2_000)
    assert cpu_s(200_000) < 0.25
    assert min(cpu_s(MAX_CHARS - 20) for _ in range(2)) < 0.1


def test_all_teeth_spelled_out_are_not_too_long() -> None:
    answer = "Caries is evident on the " + _written(UNIVERSE, "words", 2)
    assert len(answer) < MAX_CHARS / 2
    assert parse_answer(answer, "caries").value == frozenset(UNIVERSE)


def test_forty_five_hundred_answers_are_read_in_a_few_seconds() -> None:
    answers = [(row["answer"], name) for row in ROWS for name in TABLE2][:4500]
    random.Random(5).shuffle(answers)
    started = time.process_time()
    for answer, name in answers:
        parse_answer(answer, name)
    assert len(answers) == 4500
    assert time.process_time() - started < 5

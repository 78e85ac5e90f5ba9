"""What a reformatter's answer may add, and what is flagged."""

from __future__ import annotations

from typing import Any

import pytest

from harness.benchmarks.triage.filling import fill_answer, is_supported, normalised
from harness.benchmarks.triage.taxonomy import DOMAINS, LABELS, answer_of

MOLAR = "Molar endodontics"
CONSULT = "Other OMSF Consult"


def test_absent_and_null_labels_become_zero_and_are_listed() -> None:
    value: Any = {
        "triage_output": {"Endo": {MOLAR: 1}, "OMFS": None, "Perio": {LABELS[0]: None}},
        "reasoning": "r",
    }
    filled = fill_answer(value, "Molar endodontics: 1")
    assert filled.value == answer_of([MOLAR], "r")
    assert len(filled.filled_keys) == 21
    assert "Endo/Molar endodontics" not in filled.filled_keys
    assert {"OMFS/Exodontia", f"Perio/{LABELS[0]}", f"OMFS/{CONSULT}"} <= set(filled.filled_keys)


def test_a_missing_explanation_becomes_empty_and_is_listed() -> None:
    filled = fill_answer({**answer_of([MOLAR]), "reasoning": None}, MOLAR)
    assert filled.value == answer_of([MOLAR], "")
    assert filled.filled_keys == ("reasoning",)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"triage_output": None, "reasoning": "the patient has pain"},
        {"triage_output": {domain: None for domain in DOMAINS}},
        {"triage_output": {d: dict.fromkeys(labels) for d, labels in DOMAINS.items()}, "reasoning": "x"},
    ],
)
def test_an_answer_that_settles_no_label_asserts_nothing(value: Any) -> None:  # F5
    assert fill_answer(value, "Molar endodontics: 1").value is None


def test_explicit_zeros_are_an_assertion() -> None:
    filled = fill_answer({"triage_output": {"OMFS": {"Exodontia": 0}}}, "nothing to be done")
    assert filled.value == answer_of([])
    assert "OMFS/Exodontia" not in filled.filled_keys


def test_what_the_answer_never_said_is_unsupported() -> None:  # F13
    answer = '{"Endo": {"Molar endodontics": 1}, "OMFS": {"Exodontia": 0}'
    filled = fill_answer(answer_of([MOLAR, "Exodontia", "Complete dentures"]), answer)
    assert filled.unsupported == ("Denture/Complete dentures", "OMFS/Exodontia")
    assert filled.value == answer_of([MOLAR, "Exodontia", "Complete dentures"])


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("Exodontia", '{"Exodontia": 1'),
        ("Exodontia", "tooth 24 is not restorable, so it should be extracted"),
        ("Exodontia", "OMFS: yes"),
        ("Minor O.S.", "{'Exodontia': 0, 'Minor O.S.': 1}"),
        ("Minor O.S.", "minor_os = 1"),
        (CONSULT, "Other OMFS Consult \u2013 yes"),
        (CONSULT, "a cyst of the mandible"),
        (LABELS[0], "Gingivitis (BPE screening score 1 or 2): 1"),
        (LABELS[1], "MODERATE periodontitis"),
        (LABELS[9], "Resin bonded bridges (Anterior; \u2264 2 missing teeth) | 1"),
        (LABELS[9], "Resin bonded bridges (Anterior; &lt;= 2 missing teeth)"),
        (MOLAR, "root canal treatment of the lower left first molar"),
        (MOLAR, '{\\"Molar endodontics\\": 1}'),
    ],
)
def test_support_is_found(label: str, answer: str) -> None:
    assert is_supported(label, normalised(answer))


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("Exodontia", '"Exodontia": 0'),
        ("Exodontia", "| Exodontia | No |"),
        ("Exodontia", "no extraction is needed"),
        ("Exodontia", "Exodontiaphobia"),
        ("Exodontia", "OMFS: {'Minor O.S.': 1}"),
        (CONSULT, "there are no tumours, cysts, or fractures"),
        (LABELS[0], "Gingivitis (BPE screening score 1 or 2): 0"),
        (LABELS[2], "there is no severe periodontitis"),
        (MOLAR, "Endo: no"),
        (MOLAR, ""),
    ],
)
def test_no_support_is_found(label: str, answer: str) -> None:
    assert not is_supported(label, normalised(answer))


@pytest.mark.parametrize("label", LABELS)
def test_every_label_supports_itself_and_no_other(label: str) -> None:
    text = normalised(f'"{label}": 1')
    assert [one for one in LABELS if is_supported(one, text)] == [label]


@pytest.mark.parametrize("label", LABELS)
def test_a_skeleton_of_zeros_supports_nothing(label: str) -> None:
    text = normalised(str(answer_of([])))
    assert not is_supported(label, text)


def test_long_answers_are_read_quickly() -> None:
    text = normalised("not " * 20_000 + "extraction " * 20_000 + "( " * 20_000)
    assert not is_supported(CONSULT, text)

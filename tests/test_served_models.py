"""Who answered: which names are the asked model's, and what is said of the others."""

from __future__ import annotations

import pytest

from harness.outcomes import ExchangeOutcome, is_answer
from harness.served_models import Likeness, likeness, served_notes, together

SAME, DATED, ANOTHER = Likeness.SAME, Likeness.DATED, Likeness.ANOTHER


@pytest.mark.parametrize(
    ("asked", "served", "found"),
    [
        ("gpt-4o", "gpt-4o", SAME),
        ("gpt-4o", "openai/gpt-4o", SAME),
        ("openai/gpt-4o", "gpt-4o", SAME),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b-instruct", SAME),
        ("gemini-2.5-flash", "models/gemini-2.5-flash", SAME),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", DATED),
        ("gemini-2.5-flash", "gemini-2.5-flash-001", DATED),
        ("gemini-2.5-pro-preview", "gemini-2.5-pro-preview-06-05", DATED),
        ("claude-opus-4", "claude-opus-4@20250514", DATED),
        ("mistral-large-latest", "mistral-large-2411", DATED),
        ("mistral-large-latest", "mistral-large", SAME),
        ("o3-2025-04-16", "o3", SAME),
        ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1", SAME),
        ("llava", "llava:latest", SAME),
        ("llava:7b", "llava:34b", ANOTHER),
        ("o3-2025-04-16", "o3-2024-12-17", ANOTHER),
        ("o3", "gpt-3.5-turbo-0125", ANOTHER),
        ("gemini-2.5-flash", "gemini-3.5-flash-lite", ANOTHER),
        ("gemini-2.5-flash", "gemini-2.5-flash-lite", ANOTHER),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash", ANOTHER),
        ("claude-opus-4", "claude-opus-4-1-20250805", ANOTHER),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", ANOTHER),
        ("any", "qwen3-vl", ANOTHER),
    ],
)
def test_only_prefixes_dates_and_variants_leave_a_model_the_same(
    asked: str, served: str, found: Likeness
) -> None:
    assert likeness(served, asked) is found


def test_a_deployment_answers_by_the_name_that_the_user_gave_the_model() -> None:
    assert likeness("gpt-4o-2024-08-06", "prod-vision", "gpt-4o") is DATED
    assert likeness("gpt-35-turbo", "prod-vision", "gpt-4o") is ANOTHER
    # The user's name must not hide another snapshot than the pinned one.
    assert likeness("o3-2024-12-17", "o3-2025-04-16", "o3") is ANOTHER


def test_what_a_filter_stopped_counts_only_where_it_names_a_model() -> None:
    assert is_answer(ExchangeOutcome.ANSWERED, None)
    assert not is_answer(ExchangeOutcome.FILTERED, None)
    assert is_answer(ExchangeOutcome.FILTERED, "m")
    assert not is_answer(ExchangeOutcome.TIMEOUT, "m")


def entry(
    asked: str, model: str | None, answers: int, *, as_asked: bool | None = False, dated: bool = False
) -> dict[str, object]:
    return {"asked": asked, "model": model, "answers": answers, "as_asked": as_asked, "dated": dated}


def test_others_are_named_with_their_counts_and_the_rest_is_silent() -> None:
    assert list(served_notes([entry("a", "x", 3)])) == ["a: 3 of 3 answers came from 'x'"]
    assert list(served_notes([entry("a", "x", 1)])) == ["a: 1 of 1 answer came from 'x'"]
    mixed = [entry("a", "a", 4, as_asked=True), entry("a", "x", 2), entry("a", None, 1, as_asked=None)]
    assert list(served_notes(mixed)) == ["a: 2 of 7 answers came from 'x'"]
    many = [entry("a", name, 5 - place) for place, name in enumerate("vwxyz")]
    assert list(served_notes(many)) == ["a: 15 of 15 answers came from 'v' (5), 'w' (4), 'x' (3) and 2 more"]
    assert list(served_notes([mixed[0], mixed[2]])) == []
    [long] = served_notes([entry("a", "x" * 10_000, 1)])
    assert len(long) < 200


def test_two_snapshots_in_turn_are_told_and_two_spellings_of_one_are_not() -> None:
    old, new = "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"
    entries = [entry("gpt-4o", one, 2, as_asked=True, dated=True) for one in (old, new)]
    assert list(served_notes(entries)) == [
        f"gpt-4o: several of its snapshots answered in turn: '{old}' (2), '{new}' (2)"
    ]
    entries[1]["model"] = f"openai/{old}"
    assert list(served_notes(entries)) == []


def test_conditions_are_added_up_by_model() -> None:
    found = together([[entry("a", "x", 2), entry("a", "y", 3)], [entry("a", "x", 4), entry("b", "x", 1)]])
    assert found == [entry("a", "x", 6), entry("a", "y", 3), entry("b", "x", 1)]

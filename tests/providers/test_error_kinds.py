"""Errors of every kind, as many providers word them, and the same in disguise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_errors import NOW_S, ErrorExample, error_kinds
from wire_doubles import provider

from harness.messages import Fault, RawReply, Reply
from harness.outcomes import ExchangeOutcome
from harness.providers.base import Adapter
from harness.providers.bodies import error_body
from harness.providers.faults import inner_status
from harness.providers.gemini import GeminiAdapter
from harness.providers.openai import OpenAIAdapter

ADAPTERS: dict[str, Adapter] = {
    "openai": OpenAIAdapter(now_s=lambda: NOW_S),
    "gemini": GeminiAdapter(now_s=lambda: NOW_S),
}
KINDS = error_kinds()
EXAMPLES = [example for kind in KINDS.values() for example in kind]
ERRORS = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.outcome}: {e.vendor}")
CODED = [e for e in EXAMPLES if isinstance(e.body, dict)]
HARMLESS = ["the", "patient", "shows", "no", "sign", "of", "caries", "at", "this", "tooth", "but", "answered"]
NAMES = st.text("bcdfghjklmnpqrvwxz_", min_size=3, max_size=12)


def meaning(example: ErrorExample, body: Any = None) -> Fault | Reply:
    return ADAPTERS[example.adapter].read_error(example.raw(body), provider(example.adapter))


@ERRORS
def test_an_error_means_what_its_kind_says(example: ErrorExample) -> None:  # F21, F22, F31
    found = meaning(example)
    assert found.outcome == example.outcome
    if isinstance(found, Fault):
        assert (found.wait_s, found.maybe_billed) == (example.wait_s, example.billed)
    else:
        assert found.text == "" and found.detail is not None  # F5


def test_each_kind_has_at_least_six_examples() -> None:
    assert len(KINDS) == 13
    assert {kind: len(examples) for kind, examples in KINDS.items() if len(examples) < 6} == {}


def shuffled(value: Any, turned: bool) -> Any:
    """The same JSON with its keys in another order."""
    if isinstance(value, dict):
        items = sorted(value.items(), reverse=turned)
        return {key: shuffled(item, turned) for key, item in items}
    return [shuffled(item, turned) for item in value] if isinstance(value, list) else value


def recased(value: Any, change: Any) -> Any:
    """The same JSON with its words, codes included, in another case."""
    if isinstance(value, dict):
        return {key: recased(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [recased(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def outcomes(change: Callable[[Any], Any], examples: list[ErrorExample]) -> dict[str, str]:
    """What each example means with its body changed, where that is not what it is said to mean."""
    found = [(e, str(meaning(e, change(e.body)).outcome)) for e in examples]
    return {f"{e.outcome}: {e.vendor}": outcome for e, outcome in found if outcome != e.outcome}


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_keys_changes_nothing(turned: bool) -> None:
    assert outcomes(lambda body: shuffled(body, turned), EXAMPLES) == {}


@pytest.mark.parametrize("change", [str.lower, str.upper], ids=["lower", "upper"])
def test_the_case_of_words_changes_nothing(change: Any) -> None:
    assert outcomes(lambda body: recased(body, change), EXAMPLES) == {}


def test_a_list_around_an_error_changes_nothing() -> None:
    assert outcomes(lambda body: [body], CODED) == {}


def test_blanks_and_a_byte_order_mark_change_nothing() -> None:
    marks = "\ufeff \r\n\n"
    assert outcomes(lambda body: marks + ErrorExample("", "", 0, body).raw().body.decode(), EXAMPLES) == {}


@given(example=st.sampled_from(CODED), extra=st.dictionaries(NAMES, st.text(max_size=20), max_size=3))
@settings(max_examples=150, deadline=None)
def test_fields_that_nobody_knows_change_nothing(example: ErrorExample, extra: dict[str, str]) -> None:
    inner = example.body.get("error")
    body = {**{f"x_{key}": text for key, text in extra.items()}, **example.body}
    if isinstance(inner, dict):
        body["error"] = {**{f"x_{key}": text for key, text in extra.items()}, **inner}
    assert meaning(example, body).outcome == example.outcome


IN_A_200 = [
    e for e in CODED
    if isinstance(e.body.get("error"), dict) and inner_status(error_body(0, e.raw().body)) == e.status
]  # fmt: skip


def test_an_error_within_a_200_means_the_same() -> None:  # F7
    assert len(IN_A_200) > 40
    for e in IN_A_200:
        bodies = [e.body, [e.body], {**e.body, "choices": None, "usage": None}]
        if e.adapter == "openai":
            bodies.append({"choices": [{"message": {"content": "half"}, "error": e.body["error"]}]})
        for body in bodies:
            raw = RawReply(200, e.headers, json.dumps(body).encode())
            found = ADAPTERS[e.adapter].read_reply(raw, provider(e.adapter))
            assert (e.vendor, found.outcome) == (e.vendor, e.outcome)


@given(
    status=st.integers(300, 599),
    words=st.lists(st.sampled_from(HARMLESS)),
    code=NAMES,
)
@settings(max_examples=150, deadline=None)
def test_an_error_that_is_not_typed_never_serves(status: int, words: list[str], code: str) -> None:  # F5
    body = json.dumps({"error": {"message": " ".join(words), "code": f"x_{code}"}}).encode()
    for kind, adapter in ADAPTERS.items():
        found = adapter.read_error(RawReply(status, {}, body), provider(kind))
        assert isinstance(found, Fault) and not found.outcome.serves


def test_only_blocks_serve_among_all_examples() -> None:
    serving = {e.outcome for e in EXAMPLES if ExchangeOutcome(e.outcome).serves}
    assert serving == {"filtered"}


@pytest.mark.parametrize("example", KINDS["unseen"], ids=lambda e: e.vendor)
def test_what_nobody_has_seen_before_is_shown_as_it_came(example: ErrorExample) -> None:
    found = meaning(example)
    assert isinstance(found, Fault) and found.message
    body = example.raw().body.decode()
    assert not body or body in found.message


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"error": {"message": "Unsupported parameter", "param": "max_tokens"}}, "max_tokens"),
        ({"detail": [{"loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}]}, "body.top_k"),
        ({"message": {"detail": [{"loc": ["body", "seed"], "msg": "not permitted"}]}}, "body.seed"),
    ],
)
def test_a_rejected_parameter_is_named(body: Any, named: str) -> None:
    found = meaning(ErrorExample("any", "bad_request", 422, body))
    assert isinstance(found, Fault) and named in found.message

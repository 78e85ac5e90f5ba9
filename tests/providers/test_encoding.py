"""Bodies as bytes, and keys out of bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.media import Media
from harness.messages import MediaSlot, WireRequest, WireValue
from harness.providers.encoding import encode_body, mask_headers, mask_secrets
from harness.providers.secret_forms import MASK

ONE = Media(sha256="1" * 64, mime="image/png", size=3, width=1, height=1)
TWO = Media(sha256="2" * 64, mime="image/png", size=3, width=1, height=1)


def test_each_medium_goes_into_its_own_slot() -> None:
    slots: list[WireValue] = [
        MediaSlot(ONE, "r", "data:image/png;base64,"),
        MediaSlot(TWO, "r"),
        MediaSlot(ONE, "r2"),
    ]
    wire = WireRequest("/x", {"b": slots, "a": "text"})
    body = json.loads(
        encode_body(
            wire, {(ONE.sha256, "r"): b"one", (TWO.sha256, "r"): b"two", (ONE.sha256, "r2"): b"small"}
        )
    )
    sent = [item.rpartition(",")[2] for item in body["b"]]
    assert [base64.b64decode(item) for item in sent] == [b"one", b"two", b"small"]
    assert body["b"][0].startswith("data:image/png;base64,")


def test_lone_surrogates_and_nul_survive_as_legal_json() -> None:
    data = encode_body(WireRequest("/x", {"t": "a\udc80\x00é😀"}), {})
    assert data.isascii()
    assert json.loads(data) == {"t": "a\udc80\x00é😀"}


def test_transport_fields_are_added_also_within_objects() -> None:
    wire = WireRequest("/x", {"a": {"b": 1}}, transport={"stream": True, "a": {"c": 2}})
    assert json.loads(encode_body(wire, {})) == {"a": {"b": 1, "c": 2}, "stream": True}


def test_a_transport_field_never_overwrites_what_is_asked() -> None:
    with pytest.raises(ValueError, match="'temperature'"):
        encode_body(WireRequest("/x", {"temperature": 0}, transport={"temperature": 1}), {})


def test_a_missing_medium_is_an_error_not_an_empty_image() -> None:
    with pytest.raises(KeyError):  # F16
        encode_body(WireRequest("/x", {"image": MediaSlot(ONE, "r")}), {})


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_body(WireRequest("/x", {"temperature": float("nan")}), {})


def test_an_echoed_key_is_masked_in_every_spelling() -> None:
    key = "sk/abc+12345"
    data = b'{"plain": "sk/abc+12345", "escaped": "sk\\/abc+12345", "url": "?k=sk%2Fabc%2B12345"}'
    masked, found = mask_secrets(data, [key])
    assert found
    assert b"12345" not in masked  # F46
    assert json.loads(masked)["plain"] == MASK


def test_a_body_without_the_key_is_the_same_bytes() -> None:
    data = b'{"a": "sk"}'
    assert mask_secrets(data, ["sk-something-long"]) == (data, False)


@pytest.mark.parametrize("word", ["", "EMPTY", "none", "local"])
def test_a_placeholder_key_does_not_change_answers_that_hold_the_word(word: str) -> None:
    data = b"the tooth is EMPTY, none is local"
    assert mask_secrets(data, [word]) == (data, False)


def test_keys_in_header_values_are_masked() -> None:
    assert mask_headers({"x-echo": "key=abcdefgh1", "x": "y"}, ["abcdefgh1"]) == (
        {"x-echo": f"key={MASK}", "x": "y"},
        True,
    )


KEY = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8x" * 2


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer ", "x-api-key: "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_is_masked_in_base64_of_whatever_it_stands_in(
    before: str, encode: Callable[[bytes], bytes]
) -> None:
    data = encode(f"{before}{KEY}\r\nhost: b".encode())
    masked, found = mask_secrets(data, [KEY])
    assert found and MASK.encode() in masked
    shown = base64.b64decode(masked.replace(MASK.encode(), b"")[: len(masked) // 4 * 4] + b"==")
    assert len(masked) < len(MASK) + len(before) * 2 + 24 and KEY.encode()[3:-3] not in shown  # F46


@pytest.mark.parametrize(
    ("shown", "masked"),
    [
        (KEY[:40] + "****", f"{MASK}****"),
        ("****" + KEY[30:], f"****{MASK}"),
        (f"a {KEY[10:55]} b", f"a {MASK} b"),
        (KEY.encode().hex(), MASK),
        (KEY.encode().hex().upper(), MASK),
        # what vendors show of a key says too little, and masking it would change what they say
        ("sk-ant-api03-...6vW8x", "sk-ant-api03-...6vW8x"),
        (f"{KEY[:20]} and {KEY[40:60]}", f"{KEY[:20]} and {KEY[40:60]}"),
    ],
)
def test_more_than_half_of_a_key_is_masked(shown: str, masked: str) -> None:  # F46
    assert mask_secrets(shown.encode(), [KEY]) == (masked.encode(), shown != masked)


@given(st.integers(0, len(KEY)), st.integers(0, len(KEY)), st.text("ask-pi03", max_size=9))
def test_no_run_of_more_than_half_a_key_is_left(start: int, length: int, before: str) -> None:
    part = KEY[start : start + length]
    masked, _ = mask_secrets(f"{before}{part}|{part}".encode(), [KEY])
    half = len(KEY) // 2 + 1
    left = [KEY[at : at + half].encode() for at in range(len(KEY) - half + 1)]
    assert not any(run in masked for run in left)
    assert len(part) < half or masked.count(MASK.encode()) == 2


def test_keys_in_the_names_of_headers_are_masked_though_they_lost_their_case() -> None:
    headers, found = mask_headers({f"x-{KEY.lower()}": "1"}, [KEY])
    assert (headers, found) == ({f"x-{MASK}": "1"}, True)

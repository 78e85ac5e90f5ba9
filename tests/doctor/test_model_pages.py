"""What providers' own pages tell of a model, in each format, and what is left open."""

from __future__ import annotations

from typing import Any

import pytest
from wire_doubles import answer, model

from harness.messages import RawReply, WireRequest
from harness.providers.base import ADAPTERS
from harness.providers.model_pages import Listing, model_pages, read_model_page

PAGE = WireRequest("/models/vendor-model-1", {})


def read(kind: str, body: Any, status: int = 200) -> Listing:
    return read_model_page(answer(body, status), PAGE, model(kind))


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_each_format_names_the_page_of_its_model_first(kind: str) -> None:
    pages = model_pages(model(kind))
    assert [page.path for page in pages[:1]] in ([], ["/models/vendor-model-1"])
    assert (pages == ()) == (kind == "litellm")


def test_anthropics_page_wants_the_version_and_gives_limits() -> None:
    (page,) = model_pages(model("anthropic"))
    assert page.transport_headers == {"anthropic-version": "2023-06-01"}
    told = {"id": "vendor-model-1", "type": "model", "max_input_tokens": 200_000, "max_tokens": 64_000}
    assert read("anthropic", told) == Listing(True, (), 200_000, 64_000)


def test_googles_page_gives_limits_and_methods() -> None:
    told = {
        "name": "models/vendor-model-1",
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["embedContent"],
    }
    assert read("gemini", told) == Listing(True, (), 1_048_576, 65_536, generates=False)


def test_a_name_with_google_s_own_prefix_is_asked_for_once() -> None:
    (page,) = model_pages(model("gemini").model_copy(update={"model": "models/x"}))
    assert page.path == "/models/x"


def test_a_list_may_be_bare_and_name_a_model_by_an_alias() -> None:
    assert read("openai", [{"id": "other"}, {"id": "x", "aliases": ["vendor-model-1"]}]).found is True
    assert read("openai", {"data": [{"id": "other", "max_model_len": 9}]}) == Listing(False, ("other",))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"detail": "Not Found"}, 404),
        ({"error": {"message": "Invalid URL (GET /v1/models/vendor-model-1)"}}, 404),
        (b"<html>welcome</html>", 200),
        ({"status": "fine"}, 200),
        ({"data": []}, 200),
        ({"error": {"message": "no access"}}, 403),
        (b"[" * 5000, 200),
    ],
)
def test_what_says_nothing_of_the_model_leaves_it_open(body: Any, status: int) -> None:
    assert read("openai", body, status).found is None


def test_a_404_that_names_the_model_says_that_it_is_not_there() -> None:
    gone = {"error": {"message": "The model 'vendor-model-1' does not exist", "code": "model_not_found"}}
    assert read("openai", gone, 404).found is False


def test_a_list_outweighs_a_page_that_is_missing_and_a_page_a_list() -> None:
    there, missing = Listing(True, ("a",), 4096), Listing()
    assert missing.joined(there) == there
    assert Listing(False).joined(Listing(False, ("a",))).names == ("a",)
    assert Listing(False, ("a",)).joined(there).found is True


def test_the_pages_of_a_raw_reply_are_read_without_its_status_alone() -> None:
    assert read_model_page(RawReply(0, {}, b""), PAGE, model("openai")) == Listing()

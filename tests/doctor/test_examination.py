"""An examination in virtual time: it ends when its time is over, whatever the server does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from virtual_loop import run_virtual
from wire_doubles import SCAN, answer, model

from harness.config import load_config
from harness.doctor.choosing import choose, estimate
from harness.doctor.examination import Terms, examine
from harness.doctor.findings import Examined, Level
from harness.doctor.round import examine_all
from harness.errors import ConfigError
from harness.messages import RawReply, WireRequest
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.transport import Sent, Transport
from harness.sending import Sender
from harness.settings import Model

TINY = model("openai", inputs=("text",), idle_timeout_s=600.0, structured=())


class Sends:
    """A transport that gives each call a reply after some virtual seconds, or never."""

    def __init__(
        self, replies: Mapping[str, tuple[float, Any, int]], headers: Mapping[str, str] | None = None
    ) -> None:
        self.replies, self.headers = replies, dict(headers or {})
        self.paths: list[str] = []

    async def send(self, wire: WireRequest, asked: Model, body: bytes, **ways: Any) -> Sent:
        self.paths.append(wire.path)
        after_s, content, status = self.replies.get(wire.path, (1e9, {}, 200))
        await asyncio.sleep(after_s)
        raw = answer(content, status)
        return Sent(RawReply(raw.status, {**raw.headers, **self.headers}, raw.body), after_s, after_s)


def examined(
    replies: Mapping[str, tuple[float, Any, int]],
    total_s: float = 120.0,
    *,
    asked: Model = TINY,
    headers: Mapping[str, str] | None = None,
) -> tuple[Examined, float]:
    async def work() -> tuple[Examined, float]:
        clock = asyncio.get_running_loop().time
        found, began = Examined(asked), clock()
        sender = Sender(cast(Transport, Sends(replies, headers)), {})
        pool = Pool("p", PoolLimits(), clock=clock)
        await examine(found, sender, pool, SCAN, Terms(total_s))
        return found, clock() - began

    return run_virtual(work())


CHAT = {
    "model": "vendor-model-1",
    "choices": [{"message": {"role": "assistant", "content": "pelican"}, "finish_reason": "stop"}],
}


def test_silence_everywhere_ends_when_the_time_is_over() -> None:  # F33
    found, took_s = examined({})
    assert took_s == pytest.approx(120.0)
    assert found.findings["text"].level is Level.FAIL
    assert "120 s" in found.findings["text"].text


def test_a_silent_page_leaves_time_for_the_question() -> None:
    found, took_s = examined({"/chat/completions": (2.0, CHAT, 200)})
    assert took_s == pytest.approx(17.0)  # 15 for the page
    assert found.level is Level.OK
    assert found.findings["model"].text == "answers; there is no page to look it up in"


def test_a_page_takes_no_more_than_half_of_a_short_time() -> None:
    found, took_s = examined({"/chat/completions": (2.0, CHAT, 200)}, total_s=6.0)
    assert took_s == pytest.approx(5.0) and found.level is Level.OK


def test_a_wait_that_fits_is_kept_and_one_that_does_not_ends_it_at_once() -> None:  # F31
    limited = {"error": {"message": "Rate limit: try again in 30s.", "code": "rate_limit_exceeded"}}
    page = {"/models/vendor-model-1": (0.0, {"id": "vendor-model-1"}, 200)}
    found, took_s = examined(page | {"/chat/completions": (1.0, limited, 429)})
    assert took_s == pytest.approx(32.0)
    assert len([call for call in found.calls if call.check == "text"]) == 2
    found, took_s = examined(page | {"/chat/completions": (1.0, limited, 429)}, total_s=20.0)
    assert took_s == pytest.approx(1.0) and found.findings["text"].level is Level.FAIL


def test_a_limit_that_is_used_up_by_the_first_question_is_no_failure() -> None:
    used_up = {
        "x-ratelimit-limit-requests": "1",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "10m0s",
    }
    both = TINY.model_copy(
        update={
            "structured": ("json",),
            "provider": TINY.provider.model_copy(update={"limit_headers": "openai"}),
        }
    )
    found, took_s = examined({"/chat/completions": (1.0, CHAT, 200)}, asked=both, headers=used_up)
    assert took_s == pytest.approx(16.0)
    assert found.findings["json"].level is Level.WARN and "allows nothing" in found.findings["json"].text
    assert found.findings["text"].level is Level.OK
    assert "nothing is left for 600 s" in found.findings["limits"].text


def test_what_is_finished_is_handed_over_when_the_rest_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = (TINY.model_copy(update={"name": name, "model": name}) for name in ("slow", "quick"))
    finished = asyncio.Event()

    async def one(found: Examined, *terms: object) -> None:
        if found.model.name == "slow":
            await asyncio.Event().wait()
        finished.set()

    monkeypatch.setattr("harness.doctor.round.examine", one)
    told: list[str] = []

    async def work() -> None:
        task = asyncio.create_task(
            examine_all([slow, quick], {}, Terms(), lambda found: told.append(found.model.name))
        )
        await finished.wait()
        await asyncio.sleep(0)
        assert told == []  # in the order given
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert told == ["quick"]


def test_a_retired_model_that_answers_is_a_warning() -> None:
    from harness.doctor.identity_verdicts import on_model
    from harness.messages import Reply
    from harness.outcomes import ExchangeOutcome
    from harness.providers.model_pages import Listing

    gone = TINY.model_copy(update={"retired": "2025-01-01; stand-in: x"})
    told = on_model(Listing(True), Reply(ExchangeOutcome.ANSWERED, "pelican"), gone)
    assert told.level is Level.WARN and "stand-in: x" in told.text


def test_without_names_the_cheapest_model_of_each_key_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config()
    choice = choose(config, (), {"GEMINI_API_KEY": "k" * 20, "GROQ_API_KEY": "g" * 20})
    (chosen,) = choice.models
    assert chosen.provider.name == "gemini" and not chosen.retired and "image" in chosen.inputs
    prices = [
        (one.price.input or 0) + (one.price.output or 0)
        for one in config.models()
        if one.provider.name == "gemini" and not one.retired and one.price.input is not None
    ]
    assert (chosen.price.input or 0) + (chosen.price.output or 0) == min(prices)
    assert any("groq/MODEL" in note for note in choice.notes)
    with pytest.raises(ConfigError, match="no API key"):
        choose(config, (), {})


def test_without_names_a_harness_toml_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "harness.toml"
    path.write_text('[models.mine]\nprovider = "vllm"\nmodel = "x"\n', encoding="utf-8")
    choice = choose(load_config(path), (), {"GEMINI_API_KEY": "k" * 20})
    assert [one.name for one in choice.models] == ["mine"] and str(path.name) in choice.notes[0]


def test_an_estimate_reserves_the_limit_of_every_question() -> None:
    priced = TINY.model_copy(update={"price": TINY.price.model_copy(update={"input": 0.0, "output": 10.0})})
    found = estimate(priced, Terms())
    assert found.questions == 1
    assert found.high_usd == pytest.approx(2048 * 10 / 1e6)
    assert estimate(priced, Terms(every_mode=True)).questions == 3
    assert found.low_usd == pytest.approx(4 * 10 / 1e6)

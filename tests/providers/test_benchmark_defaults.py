"""What a benchmark sets by itself reaches only models that take it, and what is left out is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from harness.benchmarks.base import Benchmark
from harness.benchmarks.radm.task import RadM
from harness.canonical import JSON
from harness.config import load_config
from harness.errors import ConfigError
from harness.messages import Message, Request, TextPart
from harness.model_choice import chosen_models, told_dropped
from harness.plans import ModelPlan
from harness.providers.base import get_adapter
from harness.run_options import RunOptions

CATALOGUE = load_config(cwd=Path(__file__).parent)
RADM = cast("Benchmark", RadM())
WITHOUT_TOP_K = (
    "openai", "openai-responses", "xai", "groq", "deepseek", "moonshot", "moonshot-cn", "ollama",
    "cohere",
)  # fmt: skip
WITH_TOP_K = (
    "gemini", "mistral", "vllm", "sglang", "llamacpp", "local", "dashscope", "dashscope-cn", "openrouter",
    "together", "fireworks", "bedrock", "vertex",
)  # fmt: skip


def plan(model: str, **wanted: Any) -> ModelPlan:
    options = RunOptions(benchmark="radm", models=(model,), **wanted)
    return chosen_models(options, CATALOGUE, RADM)[model]


def body(made: ModelPlan) -> dict[str, JSON]:
    asked = Request((Message("user", (TextPart("?"),)),), params=made.params)
    wire = get_adapter(made.model.provider.adapter).build(asked, made.model)
    return cast("dict[str, JSON]", wire.body)


@pytest.mark.parametrize("provider", WITHOUT_TOP_K)
def test_top_k_is_left_out_and_recorded_where_the_provider_has_none(provider: str) -> None:
    made = plan(f"{provider}/some-model")
    assert made.dropped_params == ("top_k",)
    assert dict(made.params) == {"temperature": 0, "top_p": 1}
    assert "top_k" not in str(body(made))


@pytest.mark.parametrize("provider", WITH_TOP_K)
def test_top_k_is_sent_where_the_provider_has_it(provider: str) -> None:
    made = plan(f"{provider}/some-model")
    assert made.dropped_params == ()
    assert dict(made.params) == {"temperature": 0, "top_k": 1, "top_p": 1}
    assert "top_k" in str(body(made)) or "topK" in str(body(made))


def test_every_provider_of_the_catalogue_is_in_one_of_the_lists() -> None:
    known = {*WITHOUT_TOP_K, *WITH_TOP_K, "anthropic", "azure", "litellm", "sim"}
    assert {one.name for one in CATALOGUE.providers()} == known


@pytest.mark.parametrize("name", ["o3", "gpt-5.5", "o3-pro"])
def test_a_reasoning_model_of_openai_gets_nothing_but_the_question(name: str) -> None:
    made = plan(name)
    assert dict(made.params) == {}
    assert made.dropped_params == ("temperature", "top_k", "top_p")
    assert body(made).keys() <= {"model", "messages", "input", "store"}


@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("claude-haiku-4.5", ("top_p",)),
        ("claude-sonnet-4.6", ("top_p",)),
        ("claude-opus-4.8", ("temperature", "top_k", "top_p")),
        ("bedrock-claude-sonnet-4.5", ("top_p",)),
        ("kimi-k2.6", ("temperature", "top_k", "top_p")),
        ("deepseek-v4-flash", ("temperature", "top_k", "top_p")),
        ("gpt-4o-2024-11-20", ("top_k",)),
        ("gpt-4.1", ("top_k",)),
    ],
)
def test_what_a_model_refuses_is_left_out(name: str, dropped: tuple[str, ...]) -> None:
    made = plan(name)
    assert made.dropped_params == dropped
    assert made.params.keys() == {"temperature", "top_k", "top_p"} - set(dropped)


def test_a_model_without_an_entry_has_its_providers_rules(tmp_path: Path) -> None:
    limited: dict[str, JSON] = {"max_tokens": 99}
    assert plan("anthropic/claude-opus-4-5", params=limited).dropped_params == ("top_p",)
    (tmp_path / "harness.toml").write_text(
        '[providers.azure]\nbase_url = "https://own.example/openai/v1"\n', encoding="utf-8"
    )
    options = RunOptions(benchmark="radm", models=("azure/my-gpt",))
    made = chosen_models(options, load_config(cwd=tmp_path), RADM)["azure/my-gpt"]
    assert made.dropped_params == ("top_k",)


def test_what_is_told_of_a_parameter_left_out_is_why() -> None:
    assert told_dropped(plan("claude-haiku-4.5")) == ["top_p beside temperature"]
    assert told_dropped(plan("o3")) == ["temperature", "top_k", "top_p"]


def test_of_parameters_that_exclude_each_other_the_users_own_is_kept() -> None:
    made = plan("claude-haiku-4.5", params={"top_p": 0.5})
    assert dict(made.params) == {"top_k": 1, "top_p": 0.5}
    assert made.dropped_params == ("temperature",)


def test_two_of_the_users_own_that_exclude_each_other_are_refused() -> None:
    both: dict[str, JSON] = {"top_p": 0.5, "temperature": 0.1}
    with pytest.raises(ConfigError, match="takes only one of 'temperature', 'top_p' in a request"):
        plan("claude-haiku-4.5", params=both)
    made = plan("claude-haiku-4.5", params=both, drop_unsupported=True)
    assert dict(made.params) == {"temperature": 0.1, "top_k": 1}
    assert made.dropped_params == ("top_p",)


def test_what_a_provider_does_not_take_is_refused_when_the_user_writes_it() -> None:
    with pytest.raises(ConfigError, match=r"'gpt-4\.1' does not take 'top_k'; leave it out"):
        plan("gpt-4.1", params={"top_k": 5})


def test_a_user_may_say_that_a_provider_takes_it(tmp_path: Path) -> None:
    (tmp_path / "harness.toml").write_text("[providers.openai]\nunsupported_params = []\n", encoding="utf-8")
    config = load_config(cwd=tmp_path)
    options = RunOptions(benchmark="radm", models=("gpt-4.1",))
    assert chosen_models(options, config, RADM)["gpt-4.1"].dropped_params == ()

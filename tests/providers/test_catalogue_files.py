"""The built-in catalogue holds valid settings, and no adapter guesses by a model's name."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from wire_doubles import SCHEMA, ask, model

import harness.providers as package
from harness.canonical import canonical_json
from harness.config import load_config
from harness.media_limits import IMAGE_MIME
from harness.pools.limits import pool_name
from harness.providers.base import get_adapter
from harness.settings import Model, Provider, limits_of

FOLDER = Path(package.__file__).parent
FILES = sorted((FOLDER / "catalogue").glob("*.toml"))


def tables(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def all_models() -> dict[str, Model]:
    loaded: dict[str, Model] = {}
    for path in FILES:
        providers = {
            name: Provider(name=name, **table) for name, table in tables(path).get("providers", {}).items()
        }
        for name, table in tables(path).get("models", {}).items():
            loaded[name] = Model(**{**table, "name": name, "provider": providers[table["provider"]]})
    return loaded


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_names_its_provider_and_gives_valid_settings(path: Path) -> None:
    own = tables(path)["providers"].keys()
    assert own
    assert {entry["provider"] for entry in tables(path).get("models", {}).values()} <= own


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_says_where_its_facts_are_from_and_of_when(path: Path) -> None:
    if path.stem != "simulator":
        comments = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        assert re.search(r"20\d\d-\d\d-\d\d", " ".join(comments))


def test_every_model_that_reads_images_has_a_number_for_a_limit_or_none() -> None:
    for name, entry in all_models().items():
        assert {"image/png", "image/jpeg"} <= set(limits_of(entry).image.mime or IMAGE_MIME), name
        assert entry.max_images is None or "image" in entry.inputs, name


def test_a_retired_model_names_a_stand_in_that_is_there_and_is_not_retired() -> None:
    models = all_models()
    retired = {name: entry.retired for name, entry in models.items() if entry.retired}
    assert "gemini-2.0-flash" in retired
    for name, text in retired.items():
        found = re.search(r"stand-in: ([\w.-]*\w)", text or "")
        assert found, name
        assert models[found[1]].retired is None


def test_the_day_on_which_a_model_ends_has_a_page_and_a_date() -> None:
    ending = [one for one in all_models().values() if one.retires_on or one.replaced_on]
    assert len(ending) > 5
    for one in ending:
        source = one.ends_source or one.provider.ends_source
        assert source is not None and re.search(r"\w\.\w.*20\d\d-\d\d-\d\d", source), one.name


def test_reasoning_models_take_no_sampling_parameters() -> None:  # F15
    models = all_models()
    for name in ("claude-opus-4.7", "claude-sonnet-5.5", "kimi-k2.6", "deepseek-v4-flash"):
        assert {"temperature", "top_p"} <= set(models[name].unsupported_params)
    for name in ("o3", "gpt-5.1", "gpt-5.2", "gpt-5.4"):
        assert {"temperature", "top_p"} <= set(models[name].unsupported_params)
        assert models[name].provider.max_tokens_field == "max_completion_tokens"


def test_openais_two_formats_are_one_account_and_pools_are_each_models_own() -> None:
    config = load_config(cwd=FOLDER)
    chat, responses = config.provider("openai"), config.provider("openai-responses")
    shared = ("base_url", "api_key_env", "limit_headers")
    assert [getattr(chat, name) for name in shared] == [getattr(responses, name) for name in shared]
    here = [config.model(name) for name in ("o3", "o3-pro", "openai-responses/o3", "openai-responses/o4")]
    assert [one.provider.adapter for one in here] == ["openai", *["openai-responses"] * 3]
    assert len({pool_name(one) for one in here}) == 4


def test_what_the_responses_format_does_not_have_is_left_out_of_its_models() -> None:  # F15
    own = [entry for entry in all_models().values() if entry.provider.adapter == "openai-responses"]
    assert own
    for entry in own:
        assert {"stop", "seed", "presence_penalty", "frequency_penalty"} <= set(entry.unsupported_params)


@pytest.mark.parametrize("kind", ["openai", "openai-responses"])
def test_both_formats_put_the_key_into_the_header_that_a_provider_names(kind: str) -> None:  # F46
    azure = load_config(cwd=FOLDER).provider("azure").model_copy(update={"adapter": kind})
    adapter = get_adapter(kind)
    assert adapter.auth_headers(azure, "sk-1") == {"api-key": "sk-1"}
    usual = azure.model_copy(update={"api_key_header": "authorization"})
    assert adapter.auth_headers(usual, "sk-1") == {"authorization": "Bearer sk-1"}
    assert adapter.auth_headers(azure, None) == {}


def test_a_price_that_nobody_gave_is_unknown() -> None:
    assert all_models()["qwen2.5-vl-7b"].price.input is None


def strings_in(path: Path) -> list[str]:
    """Return the text constants of a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]


def test_no_module_of_the_adapters_names_a_family_of_models() -> None:  # F52
    families = re.compile(
        r"gpt|\bo[134]\b|gemini-\d|qwen|llama|claude|gemma|internvl|grok|-thinking", re.IGNORECASE
    )
    named = {
        path.name: found
        for path in FOLDER.glob("*.py")
        if (found := [text for text in strings_in(path) if families.search(text)])
    }
    assert named == {}


@pytest.mark.parametrize("kind", ["openai", "openai-responses", "gemini", "anthropic"])
def test_the_name_of_a_model_changes_nothing_but_the_name(kind: str) -> None:  # F52
    bodies = set()
    for name in ("o3", "gpt-5.2", "gemini-3-pro-preview", "claude-opus-5", "plain"):
        asked = ask(params={"temperature": 0, "max_tokens": 5}, schema=SCHEMA, structured="schema")
        wire = get_adapter(kind).build(asked, model(kind).model_copy(update={"model": name, "name": name}))
        bodies.add(canonical_json([wire.path, wire.body]).replace(name.encode(), b"NAME"))
    assert len(bodies) == 1

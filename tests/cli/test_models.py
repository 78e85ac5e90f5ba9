"""`harness models`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import cli
from harness.settings import Model

CONFIG = """
[providers.lab]
adapter = "openai"
base_url = "http://127.0.0.1:8000/v1"
api_key_env = "LAB_API_KEY"

[models.lab-eye]
provider = "lab"
model = "Org/Eye-7B"
retired = "2025-06-01; use lab-eye-2"
note = "a note that is far too long for one line of a table of eighty columns, by a good margin"
"""


def models(*args: str) -> Result:
    Path("harness.toml").write_text(CONFIG, encoding="utf-8")
    return CliRunner().invoke(cli, ["models", *args])


def test_the_users_models_stand_among_the_catalogues() -> None:
    result = models()
    assert result.exit_code == 0
    assert "lab-eye" in result.stdout
    assert "sim/steady" in result.stdout


def test_text_filters_by_name_provider_and_model_id() -> None:
    for text in ("lab-EYE", "lab", "org/eye"):
        names = [model["name"] for model in json.loads(models(text, "--json").stdout)]
        assert "lab-eye" in names
        assert "sim/steady" not in names


def test_notes_stand_in_full_below_the_table() -> None:
    lines = models("eye-7b").stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("lab-eye ")]
    assert row.endswith("retired") and max(map(len, lines)) <= 80
    below = lines[lines.index(row) + 1 :]
    assert below[0].startswith("lab-eye: retired: 2025")


def test_models_stand_below_their_provider_and_what_is_known_of_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hush-hush")
    lines = models().stdout.splitlines()
    place = lines.index("[openai] OPENAI_API_KEY is set")
    row = next(line for line in lines[place:] if line.startswith("o3 "))
    assert row.split() == ["o3", "image", "200k", "2.00/8.00"]
    heads = [line for line in lines if line.startswith("[")]
    assert len({head.split()[0] for head in heads}) == len(heads)
    assert "[lab] LAB_API_KEY is missing" in lines and "[sim] no key needed" in lines
    assert max(map(len, lines)) <= 80
    assert "hush-hush" not in "\n".join(lines)


def test_one_providers_models_alone() -> None:
    named = json.loads(models("--provider", "lab", "--json").stdout)
    assert [model["name"] for model in named] == ["lab-eye"]
    assert models("--provider", "lab").stdout.count("[") == 1
    wrong = models("--provider", "lba")
    assert wrong.exit_code == 2 and "did you mean 'lab'" in str(wrong.output)


def test_providers_without_a_list_say_how_their_models_are_named() -> None:
    told = models("--provider", "azure").stdout
    assert "provider/model-id" in told and "needs your base_url" in told
    assert "[openrouter]" in models().stdout and "[openrouter]" not in models("lab").stdout


def test_the_name_of_a_model_shows_all_that_is_known_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hush-hush")
    result = models("o3")
    lines = result.stdout.splitlines()
    assert lines[0] == "o3" and max(map(len, lines)) <= 80
    told = " ".join(result.stdout.split())
    for words in (
        "provider openai, format openai; OPENAI_API_KEY is set",
        "model id o3-2025-04-16",
        "context 200,000 tokens",
        "structured json, schema",
        "does not take temperature",
        "2 in, 8 out, 0.5 cached in (USD per million tokens)",
        "by developers.openai.com",
        "learned from headers (openai)",
        "ends on 2026-12-11, says its provider by developers.openai.com/api/docs/deprecations, read",
    ):
        assert words in told
    assert "o3-pro" in result.stderr and "hush-hush" not in result.output


def test_what_nobody_said_is_a_question_mark() -> None:
    told = " ".join(models("lab-eye").stdout.split())
    assert "retired 2025-06-01; use lab-eye-2" in told
    assert "context ?" in told and "price ? in, ? out" in told
    (row,) = [line for line in models("eye-7b").stdout.splitlines() if line.startswith("lab-eye ")]
    assert row.split()[-2:] == ["?", "retired"]


def test_what_is_retired_stays_said_at_an_address_of_the_users() -> None:
    Path("harness.toml").write_text("[providers.xai]\nbase_url = 'http://127.0.0.1:1'", encoding="utf-8")
    for args in (("xai",), ("grok-4",)):
        told = " ".join(CliRunner().invoke(cli, ["models", *args]).stdout.split())
        assert "its provider withdrew it (xAI withdrew grok-4-0709 on 2026-05-15" in told
        assert "asked at your base_url all the same" in told


def test_a_provider_without_an_address_names_none() -> None:
    told = models("--provider", "litellm").stdout
    assert "[litellm]" in told and "None" not in told and "base_url" not in told


def test_a_model_without_an_entry_can_be_asked_all_the_same() -> None:
    told = " ".join(models("openai/gpt-99").stderr.split())
    assert "no entry matches 'openai/gpt-99'" in told and "--models openai/gpt-99 asks 'openai'" in told
    assert "can be asked" not in models("nobody/gpt-99").stderr


def test_facts_hold_every_setting_of_a_model() -> None:
    (found,) = json.loads(models("lab-eye", "--json").stdout)
    assert {*Model.model_fields, "adapter", "key", "api_key_env", "limit_headers"} <= found.keys()
    assert found["provider"] == "lab"


def test_a_text_that_nothing_holds_says_so_on_stderr() -> None:
    result = models("no-such-thing")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no model matches 'no-such-thing'" in result.stderr


@pytest.mark.parametrize(("value", "state"), [("hush-hush", "set"), ("", "missing"), (None, "missing")])
def test_keys_are_told_by_presence_only(
    monkeypatch: pytest.MonkeyPatch, value: str | None, state: str
) -> None:  # F46
    if value is not None:
        monkeypatch.setenv("LAB_API_KEY", value)
    result = models("lab-eye", "--json")
    assert json.loads(result.stdout)[0]["key"] == state
    assert "hush-hush" not in result.output


def test_a_model_that_needs_no_key_has_a_dash() -> None:
    assert {model["key"] for model in json.loads(models("sim/steady", "--json").stdout)} == {"-"}


def test_an_unknown_price_is_null_and_never_0() -> None:
    price = json.loads(models("lab-eye", "--json").stdout)[0]["price"]
    assert price == {
        "input": None,
        "output": None,
        "cached_input": None,
        "cache_write": None,
        "source": None,
        "tiers": [],
    }


def test_a_configuration_elsewhere_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.replace("lab-eye]", "other-eye]"), encoding="utf-8")
    assert "other-eye" in models("--config", str(other)).stdout

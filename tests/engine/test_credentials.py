"""A credential given as a parameter is refused before anything is stored or sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from sweep_kit import harness, right_answer, run_args, write_cases, write_config

from harness.credentials import check_names, check_values, is_credential_name
from harness.errors import ConfigError

SECRET = "sk-params-8d21f0c47be94a63"


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apikey", "API-Key", "apiKey", "x-goog-api-key", "OPENAI_API_KEY", "key",
        "authorization", "Authorization", "token", "auth", "access_token", "hf_token", "authToken",
        "secret", "client_secret", "secretKey", "password", "bearer", "credentials", "private_key",
    ],
)
def test_names_of_credentials_are_known(name: str) -> None:
    assert is_credential_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "maxOutputTokens", "max_completion_tokens", "min_tokens", "stop_token_ids",
        "skip_special_tokens", "eos_token", "bad_tokens", "prompt_cache_key", "safety_identifier",
        "keyword", "top_k", "tokenizer", "author", "secretary", "token_budget",
    ],
)
def test_names_of_parameters_are_none(name: str) -> None:
    assert not is_credential_name(name)


def test_names_within_values_count_and_schemas_do_not() -> None:
    with pytest.raises(ConfigError, match="'api_key' of model 'm' looks like a credential"):
        check_names("m", {"metadata": [{"x": {"api_key": SECRET}}]})
    check_names("m", {"format": {"properties": {"password": {"type": "string"}}}, "token": None})


def test_values_that_hold_a_key_are_found_whatever_they_are_called() -> None:
    with pytest.raises(ConfigError, match="'user' holds an API key") as raised:
        check_values([("top_p", 1), ("user", {"note": f"of {SECRET}"})], [SECRET])
    assert SECRET not in str(raised.value)
    check_values([("user", "sk-other")], [SECRET])


@pytest.mark.parametrize("given", [f"api_key={SECRET}", f"metadata={{\"u\": \"{SECRET}\"}}"])
@pytest.mark.parametrize("dry", [False, True])
def test_a_run_with_a_key_in_a_parameter_is_refused_before_anything_is_kept(
    tmp_path: Path, given: str, dry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # F46
    write_cases(tmp_path / "data", 2)
    monkeypatch.setenv("LAB_API_KEY", SECRET)
    with ScriptedServer(right_answer) as server:
        path = write_config(tmp_path, server.url)
        table = "[providers.lab]\n"
        text = path.read_text(encoding="utf-8").replace(table, f'{table}api_key_env = "LAB_API_KEY"\n')
        path.write_text(text, encoding="utf-8")
        done = harness(*run_args(tmp_path, "--param", given, *(["--dry-run"] if dry else [])))
        assert server.arrivals == []
    assert done.code == (0 if dry and "metadata" in given else 2), done.err
    assert "api_key_env" in done.err and SECRET not in done.out + done.err
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()

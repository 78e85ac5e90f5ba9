"""What LiteLLM's models are asked, and how answers that it translated are read: all of it without LiteLLM."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import harness, write_cases
from wire_doubles import SCHEMA, ask, completion, model, plain, provider, request

from harness.errors import ConfigError, UnsupportedInputError
from harness.messages import Fault, RawReply, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers import litellm_library, litellm_presence
from harness.providers.base import get_adapter, read
from harness.providers.litellm_format import REPLY, UNREAD, VERSION

LITELLM = get_adapter("litellm")
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def translated(own: Any, message: Any = None, finish: str = "stop", **headers: str) -> RawReply:
    """Return an answer of a provider with LiteLLM's translation beside it."""
    reply = completion(message, finish, usage=USAGE)
    return RawReply(200, {REPLY: json.dumps(reply), **headers}, json.dumps(own).encode())


def meaning(raw: RawReply) -> Reply | Fault:
    return read(raw, provider("litellm"))


def test_the_arguments_are_openais_with_the_version_that_translates_them() -> None:
    asked = request(params={"aws_region_name": "us-east-1"}, schema=SCHEMA, structured="schema")
    own = plain(get_adapter("openai").build(asked, model("openai")).body)
    assert plain(LITELLM.build(asked, model("litellm")).body) == own | {"litellm": VERSION}
    assert LITELLM.auth_headers(provider("litellm"), "sk-0123456789abcdef") == {}


def test_the_version_in_the_key_is_the_pinned_one(checkout: Path) -> None:
    extras = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"litellm=={VERSION}" in extras["optional-dependencies"]["litellm"]
    lock = (checkout / "requirements-litellm.lock").read_text(encoding="utf-8")
    assert f"\nlitellm=={VERSION} \\\n    --hash=sha256:" in lock


def test_the_lock_with_litellm_agrees_with_the_other(checkout: Path) -> None:
    def pins(name: str) -> dict[str, str]:
        lines = (checkout / name).read_text(encoding="utf-8").splitlines()
        return dict(line.split(" ")[0].split("==") for line in lines if "==" in line.split(" ")[0])

    with_it, without = pins("requirements-litellm.lock"), pins("requirements.lock")
    assert len(without) > 30
    assert {name: with_it.get(name) for name in without} == without


@pytest.mark.parametrize(
    "name",
    ["num_retries", "max_retries", "fallbacks", "drop_params", "caching", "api_base", "client",
     "mock_response", "custom_llm_provider", "litellm"],
)  # fmt: skip
def test_arguments_that_would_let_litellm_act_by_itself_are_refused(name: str) -> None:  # F20
    with pytest.raises(UnsupportedInputError, match=f"{name!r} is set by the program"):
        LITELLM.build(ask(params={name: 3}), model("litellm"))


@pytest.mark.parametrize(
    "name", ["api_key", "aws_secret_access_key", "aws_session_token", "azure_ad_token", "vertex_credentials"]
)
def test_arguments_that_may_be_secrets_are_refused(name: str) -> None:  # F46
    with pytest.raises(UnsupportedInputError, match="may be a secret"):
        LITELLM.build(ask(params={name: "x"}), model("litellm"))


def test_parameters_with_token_in_their_name_are_no_secrets() -> None:
    body = LITELLM.build(ask(params={"max_tokens": 5, "max_completion_tokens": 5}), model("litellm")).body
    assert body["max_tokens"] == 5


def test_answers_are_never_streamed() -> None:
    assert LITELLM.build(ask(), model("litellm", stream=True)) == LITELLM.build(ask(), model("litellm"))


def test_a_translated_answer_is_read_with_the_providers_own_words() -> None:
    own = {"model": "served-2", "stop_reason": "end_turn", "usage": {"input_tokens": 11}}
    assert meaning(translated(own, {"content": "yes", "reasoning_content": "hm"})) == Reply(
        Outcome.ANSWERED, "yes", "hm", "end_turn", Usage(11, 7), "served-2"
    )


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        ({"finish_reason": "MAX_TOKENS"}, Outcome.TRUNCATED),
        ({"stopReason": "max_tokens"}, Outcome.TRUNCATED),
        ({"stop_reason": "refusal"}, Outcome.REFUSED),
        ({"stopReason": "guardrail_intervened"}, Outcome.FILTERED),
        ({"finish_reason": "ERROR_TOXIC"}, Outcome.FILTERED),
        ({"candidates": [{"finishReason": "SAFETY"}]}, Outcome.FILTERED),
        ({"candidates": [{"finishReason": "OTHER"}]}, Outcome.TRUNCATED),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, Outcome.FILTERED),
        ({"choices": [{"finish_reason": "length"}]}, Outcome.TRUNCATED),
        ({"results": [{"completionReason": "CONTENT_FILTERED"}]}, Outcome.FILTERED),
    ],
)
def test_why_an_answer_ended_is_the_providers_word_and_not_litellms_stop(
    own: Mapping[str, Any], outcome: Outcome
) -> None:  # F6
    found = meaning(translated(own))
    assert isinstance(found, Reply) and found.outcome is outcome


@pytest.mark.parametrize("word", ["ERROR", "TIMEOUT", "USER_CANCEL"])
def test_an_answer_that_the_provider_calls_failed_is_no_answer(word: str) -> None:  # F5 F7
    found = meaning(translated({"finish_reason": word, "usage": {"tokens": {}}}))
    assert isinstance(found, Fault)
    assert (found.outcome, found.code, found.maybe_billed) == (Outcome.UNAVAILABLE, word, True)
    assert found.usage == Usage(11, 7)


def test_litellms_reason_counts_where_the_provider_gives_none() -> None:
    found = meaning(translated({"text": "x"}, finish="length"))
    assert isinstance(found, Reply) and found.outcome is Outcome.TRUNCATED


def test_tokens_that_litellm_counted_by_itself_are_unknown() -> None:
    found = meaning(translated({"finish_reason": "COMPLETE"}))
    assert isinstance(found, Reply) and found.usage == Usage()
    counted = meaning(translated({"finish_reason": "COMPLETE"}, **{"x-amzn-bedrock-input-token-count": "11"}))
    assert isinstance(counted, Reply) and counted.usage == Usage(11, 7)


def test_the_asked_name_is_not_taken_for_the_served_model() -> None:
    found = meaning(translated({"stopReason": "end_turn"}))
    assert isinstance(found, Reply) and found.served_model is None


def test_an_error_in_a_good_status_is_an_error_even_if_litellm_translated_it() -> None:  # F7
    found = meaning(translated({"error": {"message": "overloaded", "code": 503}}, {"content": "Error"}))
    assert isinstance(found, Fault) and found.outcome is Outcome.UNAVAILABLE


@pytest.mark.parametrize("body", [b"<html>502</html>", b"", b'{"finish_reason": "COMP'])
def test_an_answer_that_is_no_json_is_malformed(body: bytes) -> None:  # F7
    found = meaning(RawReply(200, {UNREAD: "whatever"}, body))
    assert isinstance(found, Fault) and found.outcome is Outcome.MALFORMED_REPLY


def test_an_answer_that_litellm_cannot_read_is_not_asked_again_for_money() -> None:
    found = meaning(RawReply(200, {UNREAD: "KeyError: 'output'"}, b'{"new": "format"}'))
    assert isinstance(found, Fault)
    assert (found.outcome, found.maybe_billed) == (Outcome.UNKNOWN, True)
    assert "KeyError: 'output'" in found.message


@pytest.mark.parametrize(
    ("status", "kind", "body", "outcome"),
    [
        (429, "ThrottlingException:http://internal.amazon.com/", {"message": "Too many requests"},
         Outcome.RATE_LIMITED),
        (429, "ThrottlingException", {"message": "Too many tokens per day, please wait"},
         Outcome.QUOTA_EXHAUSTED),
        (400, "ValidationException", {"message": "Input is too long for requested model."},
         Outcome.CONTEXT_LENGTH),
        (403, "AccessDeniedException", {"message": "no access"}, Outcome.AUTH),
        (503, "ServiceUnavailableException", {"message": "Bedrock is unable to process"},
         Outcome.UNAVAILABLE),
    ],
)  # fmt: skip
def test_bedrocks_errors_are_read_from_its_own_bytes(
    status: int, kind: str, body: object, outcome: Outcome
) -> None:
    found = meaning(RawReply(status, {"x-amzn-errortype": kind}, json.dumps(body).encode()))
    assert isinstance(found, Fault)
    assert (found.outcome, found.code) == (outcome, kind.partition(":")[0])


def test_missing_litellm_is_told_with_the_way_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(litellm_presence, "version", missing)
    litellm_library._loaded.cache_clear()
    monkeypatch.setenv("COHERE_API_KEY", "co-0123456789abcdef")
    write_cases(tmp_path / "data", 1)
    done = harness(
        "run", "--benchmark", "triage", "--data", tmp_path / "data", "--models", "cohere/command-x",
        "--reformatter", "none", "--store", tmp_path / "s.sqlite3",
    )  # fmt: skip
    assert done.code == 2
    assert "pip install 'mllm-harness[litellm]'" in done.err and "Traceback" not in done.err


WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = None
from sweep_kit import harness
RUN = ["run", "--benchmark", "triage", "--limit", "1", "--models", "cohere/command-x"]
RUN += ["--reformatter", "none"]
DOCTOR = ["doctor", "--models", "cohere/command-x"]
for args, code in ((RUN, 2), ([*RUN, "--dry-run"], 0), (DOCTOR, 2), ([*DOCTOR, "--dry-run"], 0)):
    done = harness(*args)
    assert done.code == code, (args, done.code, done.err)
    assert "pip install 'mllm-harness[litellm]'" in done.err, (args, done.err)
    assert "ModuleNotFoundError" not in done.err, (args, done.err)
    assert ("note: without --dry-run this would stop" in done.err) == ("--dry-run" in args), (args, done.err)
from harness.cli.doctor import _sendable
from harness.config import load_config
both = tuple(load_config().model(name) for name in ("cohere/command-x", "sim/steady"))
assert [one.name for one in _sendable(both, named=False, dry_run=False)] == ["sim/steady"]
"""


@pytest.mark.slow
def test_without_httpx_run_and_doctor_say_how_to_install_litellm(tmp_path: Path, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HTTPX], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={"PATH": "", "PYTHONPATH": f"{checkout}:{checkout / 'tests'}", "HOME": str(tmp_path),
             "COHERE_API_KEY": "co-0123456789abcdef"},
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr.startswith("note: not asked: models of the adapter 'litellm'")


def test_another_version_of_litellm_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_presence, "version", lambda name: "1.82.7")
    litellm_library._loaded.cache_clear()
    with pytest.raises(ConfigError, match=r"1\.82\.7 is installed, and .* pip install"):
        litellm_library.outgoing({"model": "x/y", "messages": []}, api_key=None, api_base="")


NOT_IMPORTED = """
import sys
from sweep_kit import harness
RUN = ["run", "--benchmark", "triage", "--limit", "1", "--models"]
DRY = [*RUN, "cohere/command-x", "--reformatter", "none", "--dry-run"]
for args in (["--help"], ["models"], [*RUN, "sim/steady"], ["score"], ["export"],
             ["explain", "--case", "syn-001"], DRY):
    done = harness(*args)
    assert done.code == 0, (args, done.err)
assert sorted(name for name in sys.modules if name.split(".")[0] in ("litellm", "openai", "boto3")) == []
assert "harness.providers.litellm_library" not in sys.modules
"""


@pytest.mark.slow
def test_litellm_is_never_imported_where_nothing_is_sent_through_it(tmp_path: Path, checkout: Path) -> None:
    # F48: a litellm that ends the process stands first in line
    (tmp_path / "litellm.py").write_text("raise SystemExit('litellm was imported')\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", NOT_IMPORTED], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={"PATH": "", "PYTHONPATH": f"{tmp_path}:{checkout}:{checkout / 'tests'}", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")

"""LiteLLM, the pinned version, between us and loopback servers: one arrival a send, nothing behind our back.

Skipped where LiteLLM is not installed; `.ci/run` has an environment with it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import (
    RESET,
    SILENCE,
    Arrival,
    Behaviour,
    Reply,
    chat_reply,
    dripping,
    gemini_reply,
    half,
    html_reply,
    json_reply,
    redirect_reply,
    status_reply,
)
from scripted_server import ScriptedServer, closed_url
from sweep_kit import answer_text, case_number, harness, labels_of, records, write_cases, write_image
from wire_doubles import SCHEMA, ask

from harness.cache.rows import NewExchange
from harness.errors import ConfigError, UnsupportedInputError
from harness.identity import build
from harness.media import probe
from harness.messages import Fault, ImagePart, Message, Request, TextPart
from harness.messages import Reply as Meaning
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers import litellm_call, litellm_library, litellm_presence, litellm_sending
from harness.providers.litellm_format import SENT, VERSION, translated_request
from harness.providers.reading import read_exchange
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model, Provider

try:
    INSTALLED = version("litellm")
except PackageNotFoundError:
    INSTALLED = "none"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        INSTALLED != VERSION, reason=f"LiteLLM {VERSION} is not installed (found: {INSTALLED})"
    ),
    pytest.mark.filterwarnings("ignore:::pydantic"),
]

KEY = "sk-0123456789abcdefghijklmnop"
SECRET_ID, SECRET = "AKIA0123456789ABCDEF", "aws/0123456789abcdefghijklmnopqrstuvwxyz"
TEXT = "the left lower molar"
REGION = {"aws_region_name": "us-east-1"}
VERTEX = {"vertex_project": "p-1", "vertex_location": "us-central1"}


def anthropic_reply(text: str) -> Reply:
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": 11, "output_tokens": 7}
    return json_reply(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
         "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    )  # fmt: skip


def cohere_reply(text: str, finish: str = "COMPLETE") -> Reply:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    usage = {"tokens": {"input_tokens": 11, "output_tokens": 7}}
    return json_reply({"id": "c", "finish_reason": finish, "message": message, "usage": usage})


def converse_reply(text: str, stop: str = "end_turn") -> Reply:
    output = {"message": {"role": "assistant", "content": [{"text": text}]}}
    usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    return json_reply({"output": output, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}})


@dataclass(frozen=True)
class Case:
    """One of LiteLLM's providers: how it is reached on loopback, and what it answers."""

    model: str
    path: str
    reply: Callable[[str], Reply]
    params: Mapping[str, Any] = field(default_factory=dict)
    api_key: str | None = KEY


CASES = {
    "openai": Case("openai/gpt-4o", "/v1", chat_reply),
    "azure": Case("azure/d", "", chat_reply, {"api_version": "2024-10-21"}),
    "anthropic": Case("anthropic/claude-sonnet-4-5", "", anthropic_reply),
    "gemini": Case("gemini/gemini-2.5-flash", "/v1beta", gemini_reply),
    "cohere": Case("cohere/command-a-vision-07-2025", "/v2/chat", cohere_reply),
    "mistral": Case("mistral/pixtral-large-latest", "/v1", chat_reply),
    "bedrock key": Case("bedrock/us.amazon.nova-pro-v1:0", "", converse_reply, REGION),
    "bedrock signed": Case("bedrock/us.amazon.nova-pro-v1:0", "", converse_reply, REGION, None),
    "bedrock invoke": Case(
        "bedrock/invoke/anthropic.claude-3-7-sonnet-20250219-v1:0", "", anthropic_reply, REGION, None
    ),
    "vertex gemini": Case("vertex_ai/gemini-3.1-pro-preview", "/v1/models/m", gemini_reply, VERTEX),
    "vertex claude": Case("vertex_ai/claude-sonnet-4-6", "/v1/models/m", anthropic_reply, VERTEX),
    "databricks": Case("databricks/llama", "", chat_reply),
    "azure_ai": Case("azure_ai/m", "", chat_reply),
    "nvidia_nim": Case("nvidia_nim/m", "/v1", chat_reply),
    "deepinfra": Case("deepinfra/m", "/v1", chat_reply),
    "xai": Case("xai/m", "/v1", chat_reply),
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", SECRET_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


@pytest.fixture
def question(tmp_path: Path) -> Request:
    write_image(tmp_path / "scan.png", 7)
    parts = (TextPart("what is behind"), ImagePart(probe(tmp_path / "scan.png")), TextPart("this image"))
    return Request((Message("system", (TextPart("be brief"),)), Message("user", parts)))


def model_of(case: Case, url: str, **changes: Any) -> Model:
    given = {"adapter": "litellm", "base_url": f"{url}{case.path}", "api_key_env": "K"}
    provider = Provider(name="p", **given)  # type: ignore[arg-type]
    return Model(
        name="m", model=case.model, provider=provider, structured=("json", "schema"),
        params=dict(case.params), **changes,
    )  # fmt: skip


async def sent(
    transport: Transport, case: Case, url: str, request: Request | None = None, **changes: Any
) -> tuple[NewExchange, Meaning | Fault]:
    model = model_of(case, url, **changes)
    request = request or ask()
    request = Request(
        request.messages, {**case.params, **request.params}, request.schema, request.structured
    )
    sender = Sender(transport, {} if case.api_key is None else {"K": case.api_key})
    exchange, meaning = await sender.send(model, request, build(request, model), pool="p")
    if exchange.raw.status:
        assert read_exchange(exchange, model.provider) == meaning, "read differently from the store"
    return exchange, meaning


def everything(exchange: NewExchange) -> str:
    raw = exchange.raw
    return f"{exchange.request!r} {dict(raw.headers)!r} {raw.body!r} {exchange.error!r} {exchange.key}"


@EVERY
async def test_an_answer_is_read_and_the_providers_bytes_are_kept(
    name: str, transport: Transport, question: Request
) -> None:
    case = CASES[name]
    reply = case.reply(TEXT)
    with ScriptedServer(lambda arrival: reply) as server:
        exchange, meaning = await sent(transport, case, server.url, question)
    assert isinstance(meaning, Meaning)
    assert (meaning.outcome, meaning.text) == (Outcome.ANSWERED, TEXT)
    assert (meaning.usage.input_tokens, meaning.usage.output_tokens) == (11, 7)
    assert exchange.raw.body == b"".join(reply.pieces)
    assert len(server.arrivals) == 1
    made = translated_request(exchange.raw)
    assert made is not None and server.url in str(made["url"])


async def test_models_that_are_asked_at_once_get_their_own_answers(
    transport: Transport, question: Request
) -> None:
    """LiteLLM is called from several threads, which must not see each other's calls."""
    server = ScriptedServer(lambda arrival: anthropic_reply(arrival.json["model"]))

    async def one(name: str) -> object:
        case = Case(f"anthropic/{name}", "", anthropic_reply)
        _, meaning = await sent(transport, case, server.url, question)
        return meaning.text if isinstance(meaning, Meaning) else meaning

    names = [f"claude-sonnet-4-5-{number}" for number in range(24)]
    with server:
        assert await asyncio.gather(*map(one, names)) == names
    assert sorted(arrival.json["model"] for arrival in server.arrivals) == sorted(names)


@EVERY
async def test_what_was_sent_is_kept_with_media_by_digest_and_without_keys(
    name: str, transport: Transport, question: Request
) -> None:  # F46
    case = CASES[name]
    with ScriptedServer(lambda arrival: case.reply(TEXT)) as server:
        exchange, _ = await sent(transport, case, server.url, question)
    (arrival,) = server.arrivals
    credential = arrival.headers.get("authorization") or arrival.headers.get("x-api-key") or ""
    shown = arrival.headers.get("api-key") or arrival.headers.get("x-goog-api-key") or credential
    assert (case.api_key or SECRET_ID) in shown, "the provider got no key"
    kept = everything(exchange)
    for secret in (KEY, SECRET, SECRET_ID, credential.rpartition("Signature=")[2] or KEY):
        assert secret not in kept
    (image,) = [
        part.media for part in question.messages[1].parts if isinstance(part, ImagePart)
    ]
    made = translated_request(exchange.raw)
    assert made is not None
    carriers = {"authorization", "x-api-key", "api-key", "x-goog-api-key"} & made["headers"].keys()  # type: ignore[attr-defined]
    assert carriers and {made["headers"][one] for one in carriers} == {"(not kept)"}  # type: ignore[index]
    own = arrival.body.decode().replace(
        base64.b64encode(image.path.read_bytes()).decode(), f"$media:{image.sha256}:original"  # type: ignore[union-attr]
    )
    assert made["body"] == json.loads(own)
    assert f"$media:{image.sha256}:original" in json.dumps(made["body"])


@pytest.mark.parametrize("name", ["bedrock signed", "bedrock invoke", "bedrock arn"])
async def test_a_signed_request_arrives_as_it_was_signed(name: str, transport: Transport) -> None:
    # AWS signs address, body and the headers that SignedHeaders names: a changed one is a 403.
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0"
    case = CASES.get(name) or Case(f"bedrock/converse/{arn}", "", converse_reply, REGION, None)
    with ScriptedServer(lambda arrival: case.reply(TEXT)) as server:
        await sent(transport, case, server.url)
        account = litellm_sending._Account(None, server.url)
        arguments = {"model": case.model, "messages": [{"role": "user", "content": "hello"}], **REGION}
        signed = account.translate(arguments)
    (arrival,) = server.arrivals
    assert arrival.path.startswith("/model/") and ":0" in arrival.path
    assert server.url + arrival.path == signed.url
    assert arrival.body == signed.body
    names = arrival.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert set(names) == {"content-type", "host", "x-amz-date"}
    assert arrival.headers["content-type"] == signed.headers["content-type"]
    assert f"http://{arrival.headers['host']}" == server.url


STATUSES = {
    400: Outcome.BAD_REQUEST, 401: Outcome.AUTH, 403: Outcome.AUTH, 404: Outcome.MODEL_NOT_FOUND,
    422: Outcome.BAD_REQUEST, 429: Outcome.RATE_LIMITED, 500: Outcome.UNAVAILABLE, 503: Outcome.UNAVAILABLE,
    529: Outcome.UNAVAILABLE,
}  # fmt: skip


@EVERY
async def test_every_status_is_one_arrival_and_read_from_the_raw_answer(
    name: str, transport: Transport
) -> None:  # F20 F21
    case = CASES[name]
    found, arrivals = {}, {}
    for status in STATUSES:
        headers = {"retry-after": "2"} if status == 429 else {}
        reply = status_reply(status, "no luck", headers=headers)
        with ScriptedServer(lambda arrival, reply=reply: reply) as server:
            exchange, meaning = await sent(transport, case, server.url)
        assert isinstance(meaning, Fault) and exchange.raw.status == status
        assert meaning.wait_s == (2 if status == 429 else None)
        found[status], arrivals[status] = meaning.outcome, len(server.arrivals)
    assert found == STATUSES
    assert set(arrivals.values()) == {1}


@EVERY
async def test_a_redirect_is_not_followed_with_the_key(name: str, transport: Transport) -> None:  # F46
    with ScriptedServer() as other:
        reply = redirect_reply(307, f"{other.url}/elsewhere")
        with ScriptedServer(lambda arrival: reply) as server:
            _, meaning = await sent(transport, CASES[name], server.url)
    assert isinstance(meaning, Fault) and meaning.outcome is Outcome.UNKNOWN
    assert (len(server.arrivals), len(other.arrivals)) == (1, 0)


FAULTS: Mapping[str, tuple[Callable[[Reply], Behaviour], Outcome, bool]] = {
    "reset": (lambda reply: RESET, Outcome.TIMEOUT, True),
    "stall": (lambda reply: SILENCE, Outcome.TIMEOUT, True),
    "drip": (lambda reply: dripping(reply, 0.05, 1), Outcome.TIMEOUT, True),
    "half": (half, Outcome.MALFORMED_REPLY, True),
    "html": (lambda reply: html_reply(200), Outcome.MALFORMED_REPLY, True),
}


@EVERY
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_transport_is_one_arrival(
    name: str, fault: str, transport: Transport
) -> None:  # F20 F33
    behave, outcome, billed = FAULTS[fault]
    case = CASES[name]
    with ScriptedServer(lambda arrival: behave(case.reply(TEXT))) as server:
        _, meaning = await sent(transport, case, server.url, idle_timeout_s=0.3, total_timeout_s=0.6)
    assert isinstance(meaning, Fault)
    assert (meaning.outcome, meaning.maybe_billed, len(server.arrivals)) == (outcome, billed, 1)


@EVERY
async def test_a_refused_connection_is_no_arrival(name: str, transport: Transport) -> None:
    exchange, meaning = await sent(transport, CASES[name], closed_url())
    assert isinstance(meaning, Fault)
    assert (meaning.outcome, exchange.raw.status) == (Outcome.CONNECTION, 0)


@pytest.mark.parametrize(
    ("name", "reply", "outcome"),
    [
        ("cohere", cohere_reply(TEXT, "ERROR"), Outcome.UNAVAILABLE),
        ("cohere", cohere_reply(TEXT, "MAX_TOKENS"), Outcome.TRUNCATED),
        ("bedrock key", converse_reply(TEXT, "guardrail_intervened"), Outcome.FILTERED),
        ("bedrock key", converse_reply(TEXT, "max_tokens"), Outcome.TRUNCATED),
        ("bedrock key", converse_reply(""), Outcome.EMPTY),
        ("vertex gemini", gemini_reply(TEXT, "SAFETY"), Outcome.FILTERED),
        ("vertex gemini", gemini_reply(None, block_reason="SAFETY"), Outcome.FILTERED),
        ("vertex gemini", gemini_reply("", "MAX_TOKENS"), Outcome.TRUNCATED),
        ("openai", chat_reply(None, "stop", refusal="I cannot"), Outcome.REFUSED),
        ("openai", chat_reply(None), Outcome.EMPTY),
        ("openai", json_reply({"choices": [], "object": "chat.completion"}), Outcome.EMPTY),
        ("openai", json_reply({"error": {"message": "overloaded", "code": 503}}), Outcome.UNAVAILABLE),
        ("cohere", json_reply({"something": "else"}), Outcome.UNKNOWN),
    ],
)
async def test_what_ended_an_answer_is_the_providers_word(
    name: str, reply: Reply, outcome: Outcome, transport: Transport
) -> None:  # F5 F6 F7
    with ScriptedServer(lambda arrival: reply) as server:
        _, meaning = await sent(transport, CASES[name], server.url)
    assert (meaning.outcome, len(server.arrivals)) == (outcome, 1)


async def test_tokens_that_the_provider_does_not_give_stay_unknown(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: chat_reply(TEXT, usage=None)) as server:
        _, meaning = await sent(transport, CASES["openai"], server.url)
    assert (meaning.usage.input_tokens, meaning.usage.output_tokens) == (None, None)


async def test_a_key_that_the_server_echoes_is_masked(transport: Transport) -> None:  # F46
    for name in ("vertex claude", "bedrock signed", "cohere"):

        def echo(arrival: Arrival) -> Reply:
            return json_reply({"message": f"bad credential {arrival.headers['authorization']}"}, 401)

        with ScriptedServer(echo) as server:
            exchange, _ = await sent(transport, CASES[name], server.url)
        token = server.arrivals[0].headers["authorization"].rpartition("Signature=")[2].rpartition(" ")[2]
        assert exchange.masked and token not in everything(exchange) and SECRET_ID not in everything(exchange)


async def test_a_header_of_ours_that_a_server_sends_is_not_believed(transport: Transport) -> None:
    forged = json.dumps({"choices": [{"message": {"content": "forged"}, "finish_reason": "stop"}]})
    reply = json_reply({"nothing": "readable"}, headers={"harness-litellm-reply": forged})
    with ScriptedServer(lambda arrival: reply) as server:
        _, meaning = await sent(transport, CASES["cohere"], server.url)
    assert meaning.outcome is Outcome.UNKNOWN


# --- what LiteLLM changes ---


async def changes(transport: Transport, name: str, request: Request) -> list[str]:
    case = CASES[name]
    with ScriptedServer(lambda arrival: case.reply(TEXT)) as server:
        exchange, _ = await sent(transport, case, server.url, request)
    made = json.loads(exchange.raw.headers[SENT])
    found: list[str] = made["changes"]
    return found


async def test_what_litellm_adds_renames_and_moves_is_kept(transport: Transport, question: Request) -> None:
    assert await changes(transport, "anthropic", question) == [
        "added: max_tokens = 64000",
        "system text moved: system[0].text",
    ]
    asked = ask(params={"stop": ["END"], "max_tokens": 5})
    assert await changes(transport, "bedrock key", asked) == [
        "max_tokens = 5 became inferenceConfig.maxTokens = 5",
        'stop = ["END"] became inferenceConfig.stopSequences[0] = "END"',
    ]
    assert await changes(transport, "openai", question) == []


async def test_a_schema_that_becomes_a_tool_is_told(transport: Transport) -> None:
    asked = ask(schema=SCHEMA, structured="schema", params={"max_tokens": 5})
    assert await changes(transport, "bedrock key", asked) == [
        "max_tokens = 5 became inferenceConfig.maxTokens = 5",
        "response_format became toolConfig",
        "response_format was sent without its additionalProperties, strict",
    ]


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("gemini", ask(params={"frobnicate": 3}), "drops the parameter 'frobnicate'"),
        ("anthropic", ask(structured="json"), "drops the parameter 'response_format'"),
        ("cohere", ask(params={"reasoning_effort": "low"}), "does not support parameters"),
        ("anthropic", ask(params={"seed": 3}), "does not support parameters"),
    ],
)
async def test_what_litellm_would_drop_is_refused_before_it_is_sent(
    name: str, asked: Request, words: str, transport: Transport
) -> None:  # F15
    with ScriptedServer() as server, pytest.raises(UnsupportedInputError, match=words):
        await sent(transport, CASES[name], server.url, asked)
    assert server.arrivals == []


async def test_an_image_that_litellm_would_leave_out_is_never_asked_about(
    transport: Transport, question: Request
) -> None:  # F16
    case = Case("sambanova/m", "/v1", chat_reply)
    with ScriptedServer() as server, pytest.raises(UnsupportedInputError, match=r"send the image .* changed"):
        await sent(transport, case, server.url, question)
    assert server.arrivals == []


def test_a_parameter_with_the_value_of_litellms_default_is_not_taken_for_dropped() -> None:
    account = litellm_sending._Account(KEY, "")
    for model, params in (
        ("anthropic/claude-sonnet-4-5", {"max_tokens": 64000}),
        ("vertex_ai/gemini-3.1-pro-preview", VERTEX),
    ):
        arguments = {"model": model, "messages": [{"role": "user", "content": "x"}], **params}
        litellm_sending._changes(arguments, account)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("ollama_chat/llava", "first sends POST .*/api/show"),
        ("ai21/jamba", "would send its key to api.openai.com"),
        ("nobody/m", "refuses it before sending"),
        ("watsonx/m", "identity/token|project_id"),
    ],
)
def test_providers_that_cannot_be_asked_with_one_request_are_refused_at_the_start(
    model: str, words: str
) -> None:
    provider = Provider(name="p", adapter="litellm")
    with pytest.raises(ConfigError, match=words):
        litellm_sending.check(Model(name="m", model=model, provider=provider), {}, KEY)


async def test_a_refusal_does_not_repeat_the_question(transport: Transport) -> None:
    asked = Request((Message("wizard", (TextPart("a 61-year-old\nman with pain"),)),))  # type: ignore[arg-type]
    with ScriptedServer() as server, pytest.raises(UnsupportedInputError) as refused:
        await sent(transport, CASES["anthropic"], server.url, asked)
    assert "before sending" in str(refused.value) and "61-year-old" not in str(refused.value)
    assert server.arrivals == []


async def test_texts_that_litellm_joins_are_told(transport: Transport) -> None:
    asked = Request((Message("user", (TextPart("one part"), TextPart("another"))),))
    assert await changes(transport, "mistral", asked) == ["text joined with other text: messages[0].content"]


# --- what LiteLLM may not do ---


def test_a_thread_within_a_call_of_litellm_reaches_nothing_by_itself() -> None:
    litellm_library._loaded()
    call = litellm_call.Call(None)
    with closing(socket.create_server(("127.0.0.1", 0))) as there, closing(socket.socket()) as own:
        with litellm_call.within(call), pytest.raises(PermissionError, match="no connection but our own"):
            own.connect(there.getsockname())
        own.connect(there.getsockname())
        there.accept()[0].close()
    assert "127.0.0.1" in str(call.reached_for)


async def test_credentials_that_need_the_network_end_in_auth_without_an_arrival(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    with ScriptedServer() as server:
        _, meaning = await sent(transport, CASES["bedrock signed"], server.url)
    assert isinstance(meaning, Fault)
    assert (meaning.outcome, server.arrivals) == (Outcome.AUTH, [])


def test_everything_of_litellms_that_acts_by_itself_is_off() -> None:
    litellm_library._loaded()
    import litellm

    assert not (litellm.num_retries or litellm.cache or litellm.drop_params or litellm.modify_params)
    # "cache" is put there by a cache of LiteLLM's own for Vertex; without `litellm.cache` it does nothing.
    assert not {*litellm.callbacks, *litellm.success_callback, *litellm.failure_callback} - {"cache"}


# --- a whole run ---


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("COHERE_API_KEY", KEY)
    write_cases(tmp_path / "data", 3)

    def right(arrival: Arrival) -> Reply:
        return cohere_reply(answer_text(labels_of(case_number(arrival))))

    with ScriptedServer(right) as server:
        (tmp_path / "harness.toml").write_text(
            f'[providers.cohere]\nbase_url = "{server.url}/v2/chat"\n'
            '[models.m]\nprovider = "cohere"\nmodel = "cohere/command-a-vision-07-2025"\n',
            encoding="utf-8",
        )
        yield server


def args(tmp_path: Path, *more: str) -> list[str]:
    return [
        "run", "--benchmark", "triage", "--data", str(tmp_path / "data"), "--models", "m", "--reformatter",
        "none", "--store", str(tmp_path / "s.sqlite3"), *more,
    ]  # fmt: skip


def test_a_run_asks_each_unit_once_and_its_score_needs_no_litellm(
    tmp_path: Path, lab: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:  # F20 F29 F46
    monkeypatch.chdir(tmp_path)
    done = harness(*args(tmp_path, "--param", "top_p=0.5"))
    assert done.code == 0, done.err
    assert "as LiteLLM sends it: top_p = 0.5 became p = 0.5" in done.err
    assert len(lab.arrivals) == 3

    def gone(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(litellm_presence, "version", gone)
    litellm_library._loaded.cache_clear()
    again = harness(*args(tmp_path, "--param", "top_p=0.5"))
    assert (again.code, len(lab.arrivals)) == (0, 3)
    assert again.out == done.out
    for record in records(tmp_path, store=tmp_path / "s.sqlite3"):
        assert record["outcome"] == "valid"
        assert record["exchanges"][0]["changes"] == ["top_p = 0.5 became p = 0.5"]
    told = harness("explain", "--case", "c001", "--full", "--store", tmp_path / "s.sqlite3")
    assert "LiteLLM made of it: POST" in told.out and "$media:" in told.out
    verified = harness("store", "verify", "--store", tmp_path / "s.sqlite3")
    assert verified.code == 0, verified.out
    for path in tmp_path.iterdir():
        if path.is_file():
            assert KEY.encode() not in path.read_bytes()


def test_a_parameter_that_is_dropped_ends_the_run_before_anything_is_sent(
    tmp_path: Path, lab: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:  # F15
    monkeypatch.chdir(tmp_path)
    done = harness(*args(tmp_path, "--param", "reasoning_effort=low"))
    assert done.code == 2 and "reasoning_effort" in done.err
    assert lab.arrivals == []

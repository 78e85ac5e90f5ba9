"""Every timeout of a model reaches the socket, and none counts anything but its own time."""  # F33

from __future__ import annotations

import asyncio
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_replies import SILENCE, chat_reply, delayed, dripping, html_reply, sse_reply
from scripted_server import ScriptedServer

from harness.messages import WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers import transport as transport_module
from harness.providers.transport import Sent, Transport
from harness.settings import Model, Provider


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


async def send(
    transport: Transport,
    url: str,
    body: bytes = b"{}",
    *,
    thinks_silently: bool = False,
    **changes: object,
) -> Sent:
    account = {
        "name": "p",
        "adapter": "openai",
        "base_url": url,
        "verify_tls": changes.pop("verify_tls", True),
    }
    provider = Provider.model_validate(account)
    model = Model.model_validate({"name": "m", "model": "m", "provider": provider, **changes})
    wire = WireRequest("/v1/x", {}, thinks_silently=thinks_silently)
    return await transport.send(wire, model, body, auth_headers={})


def assert_timeout(sent: Sent, setting: str, *, billed: bool = True) -> None:
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.TIMEOUT, billed)
    assert setting in sent.fault.message


async def test_silence_after_the_request_ends_at_the_idle_timeout(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: SILENCE) as server:
        sent = await send(transport, server.url, idle_timeout_s=0.2)
    assert_timeout(sent, "idle_timeout_s = 0.2")
    assert 0.2 <= sent.total_s < 2


async def test_a_server_that_accepts_and_never_reads_ends_at_the_idle_timeout(transport: Transport) -> None:
    with ScriptedServer() as server:
        server.on_connect = lambda connection: "silence"
        sent = await send(transport, server.url, idle_timeout_s=0.2)
    assert_timeout(sent, "idle_timeout_s = 0.2")


async def test_an_upload_that_nobody_takes_ends_at_the_idle_timeout_unbilled(transport: Transport) -> None:
    async def sit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await gone.wait()
        writer.transport.abort()

    gone = asyncio.Event()
    async with await asyncio.start_server(sit, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        sent = await send(transport, url, b"x" * 40_000_000, idle_timeout_s=0.3)
        gone.set()
    assert_timeout(sent, "idle_timeout_s = 0.3", billed=False)


async def test_a_body_that_stops_half_way_ends_at_the_idle_timeout_and_its_part_is_kept(
    transport: Transport,
) -> None:
    stops = dripping(chat_reply("x" * 100), interval_s=30, size=50)
    with ScriptedServer(lambda arrival: stops) as server:
        sent = await send(transport, server.url, idle_timeout_s=0.2)
    assert_timeout(sent, "stopped answering after 50 bytes within idle_timeout_s = 0.2")
    assert sent.raw.body == stops.body[:50]


async def test_a_dripping_body_ends_at_the_total_timeout(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: dripping(chat_reply("x" * 1000), 0.05)) as server:
        sent = await send(transport, server.url, idle_timeout_s=5, total_timeout_s=0.4)
    assert_timeout(sent, "total_timeout_s = 0.4")
    assert 0.4 <= sent.total_s < 2


async def test_dripping_headers_end_at_the_total_timeout(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: dripping(chat_reply("x"), 0.05, headers=True)) as server:
        sent = await send(transport, server.url, idle_timeout_s=5, total_timeout_s=0.4)
    assert_timeout(sent, "total_timeout_s = 0.4")


async def test_a_slow_but_living_answer_is_not_idle(transport: Transport) -> None:
    events = sse_reply([{"n": n} for n in range(8)], interval_s=0.2)
    with ScriptedServer(lambda arrival: events) as server:
        sent = await send(transport, server.url, idle_timeout_s=1.2, stream=True)
    assert sent.fault is None  # F34
    assert sent.raw.body == events.body
    assert sent.total_s >= 1.4


async def test_a_stream_may_think_longer_than_it_may_pause(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "STREAM_IDLE_S", 0.2)
    thinks = delayed(sse_reply([{"n": 1}]), 0.4)
    pauses = sse_reply([{"n": 1}, {"n": 2}], interval_s=30)
    with ScriptedServer(lambda arrival: thinks if arrival.number == 0 else pauses) as server:
        patient = await send(transport, server.url, stream=True)
        paused = await send(transport, server.url, stream=True)
    assert patient.fault is None
    assert_timeout(paused, "0.2 s between two chunks")


async def test_headers_that_come_before_the_model_thinks_do_not_start_the_pause(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:  # F34
    monkeypatch.setattr(transport_module, "STREAM_IDLE_S", 0.2)
    events = sse_reply([{"n": 1}])
    early = replace(events, pieces=(b"", events.body), interval_s=0.5)
    never = replace(early, interval_s=30)
    with ScriptedServer(lambda arrival: early if arrival.number == 0 else never) as server:
        thought = await send(transport, server.url, stream=True, idle_timeout_s=2)
        silent = await send(transport, server.url, stream=True, idle_timeout_s=0.4)
    assert thought.raw.body == events.body
    assert thought.fault is None
    assert_timeout(silent, "idle_timeout_s = 0.4")


async def test_a_stream_that_opens_before_the_model_thinks_may_be_silent_for_as_long(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:  # F34
    monkeypatch.setattr(transport_module, "STREAM_IDLE_S", 0.2)
    slow = sse_reply([{"n": 1}, {"n": 2}], interval_s=0.5)
    stuck = sse_reply([{"n": 1}, {"n": 2}], interval_s=30)
    with ScriptedServer(lambda arrival: slow if arrival.number == 0 else stuck) as server:
        thought = await send(transport, server.url, thinks_silently=True, stream=True)
        paused = await send(
            transport, server.url, thinks_silently=True, stream=True, idle_timeout_s=0.4
        )
    assert thought.fault is None
    assert thought.raw.body == slow.body
    assert_timeout(paused, "idle_timeout_s = 0.4")


async def test_connecting_has_a_timeout_of_its_own(transport: Transport) -> None:
    # a listener with a full backlog neither accepts nor refuses
    blocker = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0, backlog=1)
    host, port = blocker.sockets[0].getsockname()
    blocker.get_loop().remove_reader(blocker.sockets[0].fileno())
    fillers = [asyncio.ensure_future(asyncio.open_connection(host, port))]
    while (await asyncio.wait(fillers[-1:], timeout=0.1))[0]:
        fillers.append(asyncio.ensure_future(asyncio.open_connection(host, port)))
    began = time.monotonic()
    sent = await send(transport, f"http://{host}:{port}", connect_timeout_s=0.3)
    for filler in fillers:
        filler.cancel()
    for done in await asyncio.gather(*fillers, return_exceptions=True):
        if isinstance(done, tuple):
            done[1].transport.abort()
    blocker.close()
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert "connect_timeout_s" in sent.fault.message
    assert time.monotonic() - began < 3


async def test_a_name_server_that_says_nothing_counts_as_connecting(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wait_for_ever(*arguments: object, **options: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", wait_for_ever)
    sent = await send(transport, "http://somewhere.invalid", connect_timeout_s=0.2)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert "connect_timeout_s" in sent.fault.message


async def test_a_tls_handshake_that_is_never_answered_is_a_connection_fault(transport: Transport) -> None:
    with ScriptedServer() as server:
        server.on_connect = lambda connection: "silence"
        sent = await send(transport, server.url.replace("http:", "https:"), connect_timeout_s=0.3)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)


async def test_an_error_page_that_stalls_is_still_that_status(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: dripping(html_reply(503), 30, size=10)) as server:
        sent = await send(transport, server.url, idle_timeout_s=0.2)
    assert (sent.fault, sent.raw.status) == (None, 503)


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    _make_certificate(key, certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _make_certificate(key: Path, certificate: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    try:
        subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")


async def test_an_unknown_certificate_stops_the_request_before_it_is_sent(
    transport: Transport, own_certificate: ssl.SSLContext
) -> None:
    with ScriptedServer(tls=own_certificate) as server:
        sent = await send(transport, server.url)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert "TLS certificate not accepted" in sent.fault.message
    assert server.arrivals == []


async def test_verify_tls_false_accepts_it(transport: Transport, own_certificate: ssl.SSLContext) -> None:
    with ScriptedServer(tls=own_certificate) as server:
        sent = await send(transport, server.url, verify_tls=False)
    assert (sent.fault, sent.raw.status) == (None, 200)

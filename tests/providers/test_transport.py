"""What the transport makes of every way in which a server can answer, on a real loopback server."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from scripted_replies import (
    CLOSE,
    RESET,
    Hang,
    Reply,
    burst,
    chat_reply,
    closing,
    delayed,
    dripping,
    half,
    html_reply,
    huge_reply,
    rate_limited,
    sse_reply,
    status_reply,
    wrong_length,
)
from scripted_server import OnConnect, ScriptedServer, closed_url

from harness.errors import ConfigError
from harness.messages import RawReply, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers import transport_flight as flight_module
from harness.providers.transport import Sent, Transport
from harness.providers.transport_flight import read_headers
from harness.settings import Model, Provider

WIRE = WireRequest("/chat/completions", {})


def a_model(base_url: str, provider: Mapping[str, object] | None = None, **changes: object) -> Model:
    account = {"name": "p", "adapter": "openai", "base_url": base_url + "/v1", **(provider or {})}
    return Model.model_validate(
        {"name": "m", "model": "m", "provider": Provider.model_validate(account), **changes}
    )


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


async def send(transport: Transport, url: str, body: bytes = b'{"q": 1}', *, stream: bool = False) -> Sent:
    return await transport.send(WIRE, a_model(url, stream=stream), body, auth_headers={})


async def test_a_complete_answer_comes_back_byte_for_byte_with_its_times(transport: Transport) -> None:
    reply = chat_reply("häl\udc80lo")
    with ScriptedServer(lambda arrival: delayed(reply, 0.05)) as server:
        sent = await send(transport, server.url)
    assert (sent.fault, sent.raw.status, sent.raw.body) == (None, 200, reply.body)
    assert sent.first_byte_s is not None
    assert 0.05 <= sent.first_byte_s <= sent.total_s < 5
    assert server.arrivals[0].path == "/v1/chat/completions"


async def test_every_header_reaches_the_server_the_key_last(transport: Transport) -> None:
    wire = WireRequest(
        "/x?alt=sse", {}, headers={"X-Answer": "1"}, transport_headers={"X-Harness-Attempt": "2"}
    )
    with ScriptedServer() as server:
        model = a_model(server.url, provider={"headers": {"X-Team": "a", "authorization": "none"}})
        await transport.send(wire, model, b"{}", auth_headers={"Authorization": "Bearer secret"})
    headers = server.arrivals[0].headers
    assert [headers[name] for name in ("x-answer", "x-harness-attempt", "x-team", "authorization")] == [
        "1",
        "2",
        "a",
        "Bearer secret",
    ]
    assert (headers["content-type"], headers["accept-encoding"]) == ("application/json", "identity")
    assert server.arrivals[0].path == "/v1/x?alt=sse"


async def test_cookies_are_neither_kept_nor_sent_back(transport: Transport) -> None:
    reply = chat_reply("x", headers={"Set-Cookie": "session=s3cret", "X-Ok": "1"})
    with ScriptedServer(lambda arrival: reply) as server:
        first = await send(transport, server.url)
        await send(transport, server.url)
    assert "set-cookie" not in first.raw.headers
    assert first.raw.headers["x-ok"] == "1"
    assert all("cookie" not in arrival.headers for arrival in server.arrivals)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_an_answer_and_is_not_followed(transport: Transport, status: int) -> None:
    reply = status_reply(status, headers={"location": "/v1/elsewhere"})
    with ScriptedServer(lambda arrival: reply) as server:
        sent = await send(transport, server.url)
    assert (sent.raw.status, sent.fault, len(server.arrivals)) == (status, None, 1)


@pytest.mark.parametrize("status", [400, 429, 500, 503])
async def test_an_error_status_is_sent_once_and_comes_back_whole(transport: Transport, status: int) -> None:
    with ScriptedServer(lambda arrival: status_reply(status)) as server:
        sent = await send(transport, server.url)
    assert (sent.raw.status, sent.fault, len(server.arrivals)) == (status, None, 1)  # F20 F21
    assert b"scripted error" in sent.raw.body


async def test_an_error_page_that_is_cut_is_still_that_status(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: half(rate_limited(7))) as server:
        sent = await send(transport, server.url)
    assert (sent.raw.status, sent.fault, sent.raw.headers["retry-after"]) == (429, None, "7")


async def test_a_refused_connection_costs_nothing(transport: Transport) -> None:
    sent = await send(transport, closed_url())
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert sent.fault.message.endswith("connection refused")
    assert (sent.raw.status, sent.raw.body, sent.first_byte_s) == (0, b"", None)


async def test_an_unknown_host_is_a_connection_fault(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def know_nobody(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", know_nobody)
    sent = await send(transport, "http://no-such-host.invalid")
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert sent.fault.message.endswith("host name not found")


async def test_speaking_tls_to_a_plain_server_is_a_connection_fault(transport: Transport) -> None:
    async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer_plainly, "127.0.0.1", 0) as server:
        sent = await send(transport, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert "TLS" in sent.fault.message


@pytest.mark.parametrize("hang", [RESET, CLOSE])
async def test_a_drop_after_the_request_may_be_billed(transport: Transport, hang: Hang) -> None:
    with ScriptedServer(lambda arrival: hang) as server:
        sent = await send(transport, server.url)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.TIMEOUT, True)
    assert len(server.arrivals) == 1  # F20
    assert sent.fault.message.endswith("connection reset" if hang is RESET else "connection closed")


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_drop_before_reading_may_be_billed_unless_nothing_had_been_sent(
    transport: Transport, how: OnConnect
) -> None:
    with ScriptedServer() as server:
        server.on_connect = lambda connection: how
        sent = await send(transport, server.url)
    assert sent.fault is not None  # whether the drop or the request is first is up to the network
    assert (sent.fault.outcome, sent.fault.maybe_billed) in {
        (ExchangeOutcome.TIMEOUT, True),
        (ExchangeOutcome.CONNECTION, False),
    }


async def test_a_drop_in_the_middle_of_a_large_request_is_not_billed(transport: Transport) -> None:
    async def read_some(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100_000)
        writer.transport.abort()

    async with await asyncio.start_server(read_some, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        sent = await send(transport, f"http://127.0.0.1:{port}", b"x" * 50_000_000)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.UNAVAILABLE, False)


async def test_a_connection_closed_while_it_was_idle_is_not_used_again(transport: Transport) -> None:
    with ScriptedServer(burst(1, closing(chat_reply("one")))) as server:
        first = await send(transport, server.url)
        await asyncio.to_thread(server.wait_until_closed)
        second = await send(transport, server.url)
    assert (first.fault, second.fault) == (None, None)
    assert [arrival.connection for arrival in server.arrivals] == [1, 2]


async def test_a_reset_on_a_kept_connection_is_not_sent_again_by_itself(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: RESET if arrival.nth_on_connection == 2 else None) as server:
        await send(transport, server.url)
        second = await send(transport, server.url)
    assert second.fault is not None
    assert (second.fault.outcome, second.fault.maybe_billed) == (ExchangeOutcome.TIMEOUT, True)
    assert [arrival.connection for arrival in server.arrivals] == [1, 1]  # F20


@pytest.mark.parametrize(
    "reply",
    [
        half(chat_reply("all of it")),
        half(chat_reply("all of it"), how="reset"),
        wrong_length(chat_reply("all of it"), 10),
    ],
)
async def test_a_cut_answer_is_malformed_and_its_part_is_kept(transport: Transport, reply: Reply) -> None:
    with ScriptedServer(lambda arrival: reply) as server:
        sent = await send(transport, server.url)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.MALFORMED_REPLY, True)
    assert sent.raw.status == 200
    assert sent.raw.body
    assert reply.body.startswith(sent.raw.body)


async def test_the_surplus_of_a_body_longer_than_declared_is_nobodys_answer(transport: Transport) -> None:
    reply = wrong_length(chat_reply("all of it"), -10)
    with ScriptedServer(lambda arrival: reply) as server:
        sends = [await send(transport, server.url) for _ in range(3)]
    for sent in sends:  # when the surplus is seen depends on how the bytes fall into packets
        malformed = sent.fault is not None and sent.fault.outcome is ExchangeOutcome.MALFORMED_REPLY
        assert malformed or sent.raw.body == reply.body[:-10]


async def test_what_is_not_http_is_malformed(transport: Transport) -> None:
    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(garble, "127.0.0.1", 0) as server:
        sent = await send(transport, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.MALFORMED_REPLY, True)


async def test_an_html_page_is_left_to_the_adapter(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: html_reply(200)) as server:
        sent = await send(transport, server.url)
    assert (sent.fault, sent.raw.status, sent.raw.headers["content-type"]) == (None, 200, "text/html")  # F7


async def test_an_endless_answer_is_given_up_at_the_cap() -> None:
    with ScriptedServer(lambda arrival: huge_reply(3 << 20)) as server:
        async with Transport(max_reply_bytes=1 << 20) as transport:
            sent = await send(transport, server.url)
    assert sent.fault is not None
    assert sent.fault.outcome is ExchangeOutcome.MALFORMED_REPLY
    assert len(sent.raw.body) <= 1 << 20


async def test_of_an_answer_that_is_too_long_only_the_start_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_module, "KEPT_OF_TOO_LONG", 1000)
    with ScriptedServer(lambda arrival: huge_reply(3 << 20)) as server:
        async with Transport(max_reply_bytes=1 << 20) as transport:
            sent = await send(transport, server.url)
    assert sent.fault is not None and "longer than 1048576 bytes; its first 1000 are" in sent.fault.message
    assert sent.raw.body == b"x" * 1000


async def test_an_answer_that_does_not_fit_into_memory_may_be_billed_and_its_start_is_kept(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = iter([b"it began well"])

    async def run_short(content: aiohttp.StreamReader) -> bytes:
        for piece in pieces:
            return piece
        raise MemoryError

    monkeypatch.setattr(aiohttp.StreamReader, "readany", run_short)
    with ScriptedServer(lambda arrival: chat_reply("all of it")) as server:
        sent = await send(transport, server.url)
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.UNKNOWN, True)
    assert "has no memory for" in sent.fault.message and "--max-in-flight" in sent.fault.message
    assert sent.raw.body == b"it began well"


@pytest.mark.parametrize("pieces", [(), (b"it began well",)])
async def test_memory_may_end_before_anything_came_or_when_all_has_come(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    left = iter([*pieces, b""])

    async def run_short(content: aiohttp.StreamReader) -> bytes:
        if not pieces:
            raise MemoryError
        return next(left)

    def too_large(flight: object) -> RawReply:
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(aiohttp.StreamReader, "readany", run_short)
    if pieces:
        monkeypatch.setattr(flight_module.Flight, "raw", too_large)
    with ScriptedServer(lambda arrival: chat_reply("all of it")) as server:
        sent = await send(transport, server.url)
    assert sent.fault is not None and "has no memory for" in sent.fault.message
    assert (sent.raw.status, sent.raw.body) == (200, b"".join(pieces))


async def test_an_image_sized_body_arrives_intact(transport: Transport) -> None:
    body = json.dumps({"content": "é" * 3_000_000}).encode()
    with ScriptedServer(lambda arrival: chat_reply("ok")) as server:
        sent = await send(transport, server.url, body)
    assert sent.fault is None
    assert server.arrivals[0].body == body
    assert "transfer-encoding" not in server.arrivals[0].headers


async def test_a_stream_comes_back_raw(transport: Transport) -> None:
    reply = sse_reply([{"n": 1}, {"n": 2}])
    with ScriptedServer(lambda arrival: reply) as server:
        sent = await send(transport, server.url, stream=True)
    assert (sent.fault, sent.raw.body) == (None, reply.body)


async def test_512_requests_are_at_the_server_at_once(transport: Transport) -> None:
    with ScriptedServer() as server:
        server.hold()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(send(transport, server.url, b'{"n": %d}' % n)) for n in range(512)]
            await asyncio.to_thread(server.wait_for, 512)
            server.release()
    assert server.max_in_flight == 512  # F35
    assert all(task.result().fault is None for task in tasks)


async def test_a_cancelled_send_lets_its_connection_go(transport: Transport) -> None:
    with ScriptedServer(burst(1, delayed(chat_reply("late"), 5))) as server:
        task = asyncio.ensure_future(send(transport, server.url))
        await asyncio.to_thread(server.wait_for, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        sent = await send(transport, server.url)
    assert sent.fault is None
    assert [arrival.connection for arrival in server.arrivals] == [1, 2]


async def test_credentials_in_the_base_url_become_a_header_and_show_nowhere(transport: Transport) -> None:
    with ScriptedServer() as server:
        await send(transport, server.url.replace("//", "//user:pa%40ss@"))
        server.refuse()
        sent = await send(transport, server.url.replace("//", "//user:pa%40ss@"))
    assert server.arrivals[0].headers["authorization"] == "Basic dXNlcjpwYUBzcw=="
    assert sent.fault is not None
    assert "pa" not in sent.fault.message.replace("cannot", "")  # F46


async def test_a_key_with_a_line_end_is_refused_before_anything_is_sent(transport: Transport) -> None:
    key = {"Authorization": "Bearer k3y\n"}
    with ScriptedServer() as server, pytest.raises(ConfigError, match="'Authorization'") as caught:
        await transport.send(WIRE, a_model(server.url), b"{}", auth_headers=key)
    assert server.connections == 0
    assert "k3y" not in str(caught.value)  # F46


@pytest.mark.parametrize("base_url", ["", "localhost:8000", "ftp://x", "http://"])
async def test_a_base_url_that_is_none_is_refused(transport: Transport, base_url: str) -> None:
    with pytest.raises(ConfigError, match="no HTTP address"):
        await transport.send(WIRE, a_model("http://x"), b"{}", auth_headers={}, base_url=base_url or " ")


async def test_an_address_that_nothing_can_be_sent_to_is_refused(transport: Transport) -> None:
    with pytest.raises(ConfigError, match="no address"):
        await send(transport, "http://127.0.0.1:99999")


async def test_headers_come_back_joined_in_lower_case_and_in_any_encoding() -> None:
    plain = [(b"X-A", b"1"), (b"x-a", b"2"), (b"Set-Cookie", b"s=\xff"), (b"Date", b"now")]
    assert read_headers(plain) == {"x-a": "1, 2", "date": "now"}
    assert read_headers([(b"x", "é".encode())]) == {"x": "é"}
    assert read_headers([(b"x", b"\xe9"), (b"y", "é".encode())]) == {"x": "é", "y": "Ã©"}


async def test_a_proxy_is_used_with_its_own_credentials() -> None:
    with ScriptedServer() as proxy:
        through = proxy.url.replace("//", "//user:pass@")
        async with Transport(proxy_for=lambda url: through) as transport:
            sends = [await send(transport, "http://api.invalid") for _ in range(2)]
    assert [sent.fault for sent in sends] == [None, None]
    for arrival in proxy.arrivals:
        assert arrival.path == "http://api.invalid/v1/chat/completions"
        assert arrival.headers["proxy-authorization"] == "Basic dXNlcjpwYXNz"
        assert "authorization" not in arrival.headers


async def test_a_proxy_that_lets_nothing_through_is_a_connection_fault() -> None:
    with ScriptedServer(lambda arrival: status_reply(407)) as proxy:
        async with Transport(proxy_for=lambda url: proxy.url) as transport:
            sent = await send(transport, "https://api.invalid")
    assert sent.fault is not None
    assert (sent.fault.outcome, sent.fault.maybe_billed) == (ExchangeOutcome.CONNECTION, False)
    assert sent.fault.message.endswith("the proxy answered 407")


async def test_a_look_up_waits_for_its_whole_answer(transport: Transport) -> None:
    with ScriptedServer(lambda arrival: dripping(status_reply(404, "no such model"), 0.01, 20)) as server:
        model = a_model(server.url)
        page = WireRequest(path="/models/m", body={})
        sent = await transport.send(page, model, b"", auth_headers={"x-key": "k"}, method="GET")
    assert (sent.raw.status, sent.fault) == (404, None)
    assert json.loads(sent.raw.body)["error"]["message"] == "no such model"
    assert (server.arrivals[0].body, server.arrivals[0].headers["x-key"]) == (b"", "k")

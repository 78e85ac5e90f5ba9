"""The simulator's HTTP server: OpenAI's chat completions on loopback, in the running event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

from aiohttp import web

from harness.simulator.behaviours import BEHAVIOURS, STALL_S, Answer, Fault, answer, fault, tokens
from harness.simulator.chance import whole
from harness.simulator.questions import BadQuestionError, Question, read_question

URL_VARIABLE = "HARNESS_SIMULATOR_URL"
"""Names a simulator that runs elsewhere; none is started then."""

_MAX_BODY = 256 * 1024 * 1024
_CHUNKS = 4


class SimulatorServer:
    """Serves the simulated models until it is stopped.

    What it answers is a function of the question; it only counts how often each question of an unreliable
    model has arrived, until it is answered, so that faults clear up.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None
        self._starting = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._sends: Counter[tuple[object, ...]] = Counter()

    @property
    def url(self) -> str:
        """Base URL for clients, `/v1` included."""
        return f"http://{self._host}:{self._port}/v1"

    async def start(self) -> str:
        """Listen, unless it does already; return the base URL. Raises OSError when the port is taken."""
        async with self._starting:
            if self._runner is None:
                application = web.Application(client_max_size=_MAX_BODY)
                application.router.add_post("/v1/chat/completions", self._chat)
                application.router.add_get("/v1/models", _models)
                runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
                await runner.setup()
                try:
                    await web.TCPSite(runner, self._host, self._port, backlog=4096).start()
                except OSError:
                    await runner.cleanup()
                    raise
                self._port = runner.addresses[0][1]
                self._stopping.clear()
                self._runner = runner
        return self.url

    async def stop(self) -> None:
        """Stop listening and drop what is still open."""
        async with self._starting:
            runner, self._runner = self._runner, None
            self._stopping.set()
            if runner is not None:
                await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        try:
            question = read_question(json.loads(await request.read()), request.headers)
        except (BadQuestionError, ValueError) as error:
            return _error(400, f"bad request: {error}", "invalid_request_error", None)
        if question.model not in BEHAVIOURS:
            message = f"the model {question.model!r} does not exist; known: {', '.join(BEHAVIOURS)}"
            return _error(404, message, "invalid_request_error", "model_not_found")
        self._sends[question.identity] += 1
        trouble = fault(question, self._sends[question.identity])
        if trouble is None or trouble == "half":
            said = answer(question)
            await asyncio.sleep(said.latency_s)
            if trouble == "half":
                return await _half(request, _completion(question, said))
            del self._sends[question.identity]
            if question.stream:
                return await _streamed(request, question, said)
            return _json(_completion(question, said))
        return await self._misbehave(request, question, trouble)

    async def _misbehave(
        self, request: web.Request, question: Question, trouble: Fault
    ) -> web.StreamResponse:
        match trouble:
            case "rate_limited":
                return _rate_limited(whole(100, 400, "wait", *question.identity))
            case "server_error":
                return _error(500, "the simulated server had an error", "server_error", None)
            case "gateway":
                page = "<html><body><h1>502 Bad Gateway</h1></body></html>"
                return web.Response(status=502, text=page, content_type="text/html")
            case "stall":
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), STALL_S)
        _drop(request, reset=trouble == "reset")
        return web.Response(status=500)


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, SimulatorServer] = WeakKeyDictionary()


async def ensure_simulator() -> str:
    """Return the base URL of a simulator, started in this event loop when it is first asked for.

    `HARNESS_SIMULATOR_URL` names one that runs elsewhere. `stop_simulator` ends the one started here.
    """
    if outside := os.environ.get(URL_VARIABLE):
        return outside.rstrip("/")
    loop = asyncio.get_running_loop()
    if loop not in _servers:
        _servers[loop] = SimulatorServer()
    return await _servers[loop].start()


async def stop_simulator() -> None:
    """Stop the simulator of this event loop, if one was started."""
    if server := _servers.pop(asyncio.get_running_loop(), None):
        await server.stop()


async def _models(request: web.Request) -> web.Response:
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in BEHAVIOURS]
    return web.json_response({"object": "list", "data": data})


def _completion(question: Question, said: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
    return {
        "id": f"chatcmpl-sim-{question.content[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": question.model,
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
        "usage": _usage(question, said),
    }


def _usage(question: Question, said: Answer) -> dict[str, int]:
    given, written = (
        tokens(question.text, question.images, question.videos),
        tokens(said.text or said.refusal),
    )
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


async def _streamed(request: web.Request, question: Question, said: Answer) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in _events(question, said):
        await response.write(b"data: " + json.dumps(event).encode("ascii") + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _events(question: Question, said: Answer) -> Iterator[dict[str, Any]]:
    reply = _completion(question, said)
    chunk = {key: reply[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    text = said.text or ""
    size = max(1, -(-len(text) // _CHUNKS))
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    if said.refusal is not None:
        deltas.append({"refusal": said.refusal})
    for delta in deltas:
        yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": said.finish}]}
    yield chunk | {"choices": [], "usage": reply["usage"]}


async def _half(request: web.Request, value: dict[str, Any]) -> web.StreamResponse:
    body = json.dumps(value).encode("ascii")
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    _drop(request, reset=False)
    return response


def _drop(request: web.Request, *, reset: bool) -> None:
    if request.transport is None:
        return
    if reset:  # with SO_LINGER 0, closing sends RST instead of FIN
        plug = request.transport.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    else:
        request.transport.close()


def _rate_limited(wait_ms: int) -> web.Response:
    response = _error(429, f"simulated limit; try again in {wait_ms}ms", "requests", "rate_limit_exceeded")
    response.headers["retry-after-ms"] = str(wait_ms)
    return response


def _error(status: int, message: str, kind: str, code: str | None) -> web.Response:
    return _json({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def _json(value: dict[str, Any], status: int = 200) -> web.Response:
    body = json.dumps(value).encode("ascii")  # escapes carry lone surrogates
    return web.Response(status=status, body=body, content_type="application/json")

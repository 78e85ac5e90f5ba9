"""LiteLLM at work without a network: it makes a provider's request of our arguments, and reads its answer.

It is called twice for an exchange, each time with a transport that stays in this process. The first call
ends where LiteLLM would send: the request is taken from it, and whatever it does after that (its own
retries, fallbacks, log lines) never begins. The second is handed the answer that `transport.py` got. So one
exchange is one arrival whatever LiteLLM's retry switches do; they are off all the same. A thread that is in
such a call cannot open a connection or look up a name by other ways either.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote

import httpx

from harness.canonical import JSON
from harness.errors import UnsupportedInputError
from harness.messages import RawReply
from harness.providers.litellm_call import (
    Call,
    CallTransport,
    Outgoing,
    Taken,
    current,
    keep_off_the_network,
    within,
)
from harness.providers.litellm_presence import check_installed

_SHOWN: Final = 300
_TELLING_LENGTH: Final = 12
"""Shorter texts are words that LiteLLM's own sentences hold."""
_loading = threading.Lock()
_CLOSED_SWITCHES: Final[Mapping[str, object]] = {
    "num_retries": 0, "max_retries": 0, "drop_params": False, "caching": False, "fallbacks": None,
}  # fmt: skip


class RefusedError(Exception):
    """LiteLLM sent nothing; `about_key`: for want of a credential, or of one that needs no network."""

    def __init__(self, message: str, *, about_key: bool) -> None:
        super().__init__(message)
        self.about_key = about_key


def outgoing(arguments: Mapping[str, Any], *, api_key: str | None, api_base: str) -> Outgoing:
    """Return the request that LiteLLM makes of OpenAI's arguments; nothing is sent.

    Raises ConfigError where LiteLLM is missing or another version, RefusedError for what it refuses.
    """
    call = Call(api_key)
    error = _complete(call, arguments, api_base)[1]
    if call.taken is None:
        raise _refused(call, error, arguments)
    return call.taken


def incoming(
    arguments: Mapping[str, Any], raw: RawReply, *, api_key: str | None, api_base: str
) -> dict[str, JSON]:
    """Return what LiteLLM reads in a 2xx answer to these arguments, as a chat completion.

    Raises ValueError, in its words, where it cannot read it.
    """
    call = Call(api_key, answer=raw)
    reply, error = _complete(call, arguments, api_base)
    if reply is None:
        raise ValueError(_shown(error))
    found: dict[str, JSON] = json.loads(json.dumps(reply.model_dump(mode="json", warnings="none")))
    return found


def _complete(call: Call, arguments: Mapping[str, Any], api_base: str) -> tuple[Any, BaseException | None]:
    """Return LiteLLM's reply, or what ended the call."""
    with _loading:
        library = _loaded()
    given: dict[str, Any] = {name: value for name, value in arguments.items() if name != "litellm"}
    if call.api_key:
        given["api_key"] = call.api_key
    if api_base:
        given["api_base"] = api_base
    with within(call), library.as_part_of_another():
        try:
            return library.completion(**given, **_CLOSED_SWITCHES), None
        except Taken as end:
            return None, end
        except Exception as error:  # noqa: BLE001 (a translator's errors are of every class there is)
            return None, error


def _refused(call: Call, error: BaseException | None, arguments: Mapping[str, Any]) -> RefusedError:
    if call.reached_for is not None:
        return RefusedError(
            f"LiteLLM wants to reach {call.reached_for} by itself before it sends, for a credential mostly, "
            "and may not: every connection is ours; give the credential by the environment",
            about_key=True,
        )
    kind = type(error).__name__
    about_key = kind in {"AuthenticationError", "NoCredentialsError", "PartialCredentialsError"}
    said = _shown(error, tuple(_said_in(arguments.get("messages"))))
    return RefusedError(f"LiteLLM refuses it before sending: {said}", about_key=about_key)


def _said_in(messages: object) -> Iterator[str]:
    """Yield the texts of a question, and the addresses of its images."""
    if isinstance(messages, str):
        yield messages
    for item in messages.values() if isinstance(messages, dict) else ():
        yield from _said_in(item)
    for item in messages if isinstance(messages, list) else ():
        yield from _said_in(item)


def _shown(error: BaseException | None, texts: Sequence[str] = ()) -> str:
    """Return what LiteLLM says, without its traceback, its advice, and these texts, which may be private."""
    if error is None or isinstance(error, Taken):
        return "it asks for more than one exchange"
    kind, words = type(error).__name__, str(error)
    for text in sorted(texts, key=len, reverse=True):
        if len(text) >= _TELLING_LENGTH:
            for spelling in (text, repr(text)[1:-1], json.dumps(text)[1:-1]):
                words = words.replace(spelling, "(what was asked)")
    words = " ".join(words.split())
    for tail in ("Traceback (most recent call last)", "To drop these, set"):
        words = words.partition(tail)[0].strip()
    return words.removeprefix(f"litellm.{kind}: ")[:_SHOWN] or kind


@dataclass(frozen=True, slots=True)
class _Library:
    """What is used of LiteLLM: `as_part_of_another` keeps a call from preparing log lines in a thread."""

    completion: Callable[..., Any]
    as_part_of_another: Callable[[], AbstractContextManager[None]]


@lru_cache(maxsize=1)
def _loaded() -> _Library:
    """Import LiteLLM (seconds of CPU) with everything that would call elsewhere switched off."""
    check_installed()
    # Read at import: no price list is fetched, and no compiled client sends past our transport.
    os.environ.update({"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"})
    os.environ["LITELLM_RUST"] = "False"
    keep_off_the_network()
    with within(Call(None)):
        library: Any = import_module("litellm")
        library.sync_transport = CallTransport()
        library.client_session = httpx.Client(transport=CallTransport(), follow_redirects=False)
        library.suppress_debug_info = True
        library.drop_params = library.modify_params = False
        library.cache = None
        library.num_retries = 0
        _quiet(library)
        _give_vertex_tokens()
        _keep_colons()
        # Not `litellm.completion`, which may hand the call to a compiled client.
        completion = import_module("litellm.main").completion
        return _Library(completion, import_module("litellm._internal_context").internal_sub_call)


def _quiet(library: Any) -> None:
    """Leave nothing to log to: no callbacks, no log lines, no thread that would prepare them."""
    for name in ("callbacks", "success_callback", "failure_callback", "input_callback", "service_callback"):
        setattr(library, name, [])
    logging = import_module("litellm._logging")
    # Of types within LiteLLM, shown once a model: nothing that a user could change.
    warnings.filterwarnings("ignore", module=r"(pydantic|litellm)(\.|$)")
    for name in ("verbose_logger", "verbose_proxy_logger", "verbose_router_logger"):
        getattr(logging, name).disabled = True


def _give_vertex_tokens() -> None:
    """Let Vertex AI take the access token of `api_key_env`: LiteLLM would fetch one over the network."""
    base = import_module("litellm.llms.vertex_ai.vertex_llm_base").VertexBase
    fetch = base.get_access_token

    def given(self: Any, credentials: Any, project_id: Any, *rest: Any, **more: Any) -> Any:
        call = current()
        if call is None or not call.api_key:
            return fetch(self, credentials, project_id, *rest, **more)
        if not project_id:
            raise UnsupportedInputError("Vertex AI needs the parameter 'vertex_project'")
        return call.api_key, project_id

    base.get_access_token = given


def _keep_colons() -> None:
    """Let Bedrock's addresses hold the colon of a model id as it is: aiohttp undoes the escape of one.

    AWS signs the address, so it must arrive as it was signed; LiteLLM's `bedrock/invoke/` writes it so too.
    """
    base = import_module("litellm.llms.bedrock.base_aws_llm").BaseAWSLLM

    def encoded(model_id: str) -> str:
        return quote(model_id, safe=":")

    base.encode_model_id = staticmethod(encoded)

"""One send: media loaded and encoded, the request sent, the raw answer read, masked and described."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from harness.cache.key import stored_document
from harness.cache.rows import NewExchange
from harness.frames.shown import clips_shown
from harness.identity import Built
from harness.media_limits import check_request_bytes
from harness.messages import Fault, RawReply, Reply, Request, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers.base import TRANSLATED, get_adapter, read
from harness.providers.encoding import mask_headers, mask_secrets
from harness.providers.limit_headers import LearnedLimits, limits_from_headers
from harness.providers.reading import with_names
from harness.providers.split_secrets import mask_pieces, may_be_split
from harness.providers.transport import Sent, Transport
from harness.providers.transport_flight import KEPT_OF_TOO_LONG
from harness.request_bytes import encoded
from harness.settings import Model

Now: TypeAlias = Callable[[], float]
BaseUrl: TypeAlias = Callable[[Model], str]

_MILLION = 1_000_000
MASK_OFF_LOOP_BYTES = 64 * 1024
"""Answers larger than this are searched for keys in a thread."""

_NO_MEMORY = (
    "this machine ran out of memory over an answer, of which only the start is kept; lower "
    "--max-in-flight, or close other programs"
)


@dataclass(frozen=True, slots=True)
class SentExchange:
    """A committed send: its id in the store, its HTTP status, what it meant."""

    id: int
    status: int
    meaning: Reply | Fault


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends requests with the keys of one session.

    `keys`: name of an environment variable -> its value. `base_url` gives the address of a model's
    provider, which for the simulator is known only once it runs.
    """

    transport: Transport
    keys: Mapping[str, str]
    base_url: BaseUrl = field(default=lambda model: model.provider.base_url)
    now: Now = time.time

    async def send(
        self, model: Model, request: Request, built: Built, *, pool: str
    ) -> tuple[NewExchange, Reply | Fault]:
        """Send once; return the exchange as it is to be stored, keys masked, and what it means.

        Raises MediaError where a medium cannot be read or has changed, or the body is larger than the model
        takes; nothing was sent then.
        """
        body, media_sent = await encoded(request, built.wire)
        limit = model.max_request_bytes or model.provider.max_request_bytes
        check_request_bytes(len(body), limit, f"model {model.name!r}")
        adapter = get_adapter(model.provider.adapter)
        api_key = self.keys.get(model.provider.api_key_env or "")
        started_at = self.now()
        sent, secrets = await self._sent(built.wire, model, body, api_key)
        raw, masked, meaning = await self._understood(sent, model, secrets)
        headers, in_request = mask_headers(built.headers, self.keys.values())
        exchange = NewExchange(
            key=built.key,
            twin=built.twin,
            pool=pool,
            purpose=request.purpose,
            attempt=request.attempt,
            repeat=request.repeat,
            provider=model.provider.name,
            endpoint=built.endpoint,
            model=model.model,
            adapter=adapter.kind,
            wire_revision=built.wire_revision,
            request=stored_document(built.document, headers, built.wire.names, clips_shown(request.messages)),
            raw=raw,
            outcome=meaning.outcome,
            started_at_us=int(started_at * _MILLION),
            total_s=sent.total_s,
            first_byte_s=sent.first_byte_s,
            served_model=meaning.served_model if isinstance(meaning, Reply) else None,
            usage=meaning.usage,
            maybe_billed=isinstance(meaning, Fault) and meaning.maybe_billed,
            error=meaning.message if isinstance(meaning, Fault) else None,
            masked=masked or in_request,
            media_sent=media_sent,
        )
        return exchange, with_names(meaning, built.wire.names)

    async def _sent(
        self, wire: WireRequest, model: Model, body: bytes, api_key: str | None
    ) -> tuple[Sent, tuple[str, ...]]:
        """Return what came of one send, and the secrets that went with it."""
        secrets = tuple(self.keys.values())
        if model.provider.adapter in TRANSLATED:
            from harness.providers.litellm_sending import send

            translated = await send(self.transport, wire, model, body, api_key=api_key)
            return translated.sent, (*secrets, *translated.secrets)
        auth_headers = get_adapter(model.provider.adapter).auth_headers(model.provider, api_key)
        base_url = self.base_url(model)
        return await self.transport.send(
            wire, model, body, auth_headers=auth_headers, base_url=base_url
        ), secrets

    async def _understood(
        self, sent: Sent, model: Model, secrets: tuple[str, ...]
    ) -> tuple[RawReply, bool, Reply | Fault]:
        """Return the answer with keys masked, whether any was, and what it means.

        Where there is no memory for that, what is known of the answer is kept: it may have been paid for.
        """
        try:
            if len(sent.raw.body) > MASK_OFF_LOOP_BYTES:
                raw, masked = await asyncio.to_thread(_mask, sent.raw, secrets)
            else:
                raw, masked = _mask(sent.raw, secrets)
            fault = None if sent.fault is None else _masked_fault(sent.fault, secrets)
            meaning = fault or read(raw, model.provider)
            if secrets and may_be_split(meaning, raw.body, secrets, masked=masked):
                body, split = await asyncio.to_thread(mask_pieces, sent.raw.body, secrets)
                if split:
                    raw, masked = _mask(replace(sent.raw, body=body), secrets)[0], True
                    meaning = fault or read(raw, model.provider)
            return raw, masked, meaning
        except MemoryError:
            raw, masked = _start_masked(sent.raw, secrets)
            return raw, masked, Fault(ExchangeOutcome.UNKNOWN, _NO_MEMORY, maybe_billed=True)

    def limits(self, exchange: NewExchange, model: Model) -> LearnedLimits:
        """Return the rate limits that an answer's headers tell."""
        return limits_from_headers(model.provider.limit_headers, exchange.raw.headers, self.now())


def _mask(raw: RawReply, secrets: tuple[str, ...]) -> tuple[RawReply, bool]:
    body, in_body = mask_secrets(raw.body, secrets)
    headers, in_headers = mask_headers(raw.headers, secrets)
    return RawReply(raw.status, headers, body), in_body or in_headers


def _start_masked(raw: RawReply, secrets: tuple[str, ...]) -> tuple[RawReply, bool]:
    """Return the first bytes of an answer with keys masked; none where memory ends over that."""
    try:
        return _mask(_start(raw), secrets)
    except MemoryError:
        return RawReply(raw.status, {}, b""), False


def _masked_fault(fault: Fault, secrets: tuple[str, ...]) -> Fault:
    data, found = mask_secrets(fault.message.encode("utf-8", "surrogatepass"), secrets)
    return replace(fault, message=data.decode("utf-8", "replace")) if found else fault


def shortened(exchange: NewExchange) -> tuple[NewExchange, Fault]:
    """Return an exchange that the store had no memory for as one that it has, and what that one means."""
    fault = Fault(ExchangeOutcome.UNKNOWN, _NO_MEMORY, usage=exchange.usage, maybe_billed=True)
    return replace(
        exchange,
        raw=_start(exchange.raw),
        outcome=fault.outcome,
        maybe_billed=True,
        error=fault.message,
    ), fault


def _start(raw: RawReply) -> RawReply:
    return RawReply(raw.status, raw.headers, raw.body[:KEPT_OF_TOO_LONG])

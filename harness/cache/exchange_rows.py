"""How an exchange is laid out as a row of its table."""

from __future__ import annotations

import json
import zlib
from typing import Any, cast

from harness.cache.rows import Exchange, NewExchange
from harness.cache.tables import EXCHANGE, AnyRow
from harness.canonical import canonical_json, pack, unpack
from harness.messages import Purpose, RawReply, Usage
from harness.outcomes import ExchangeOutcome

COLUMNS = tuple(EXCHANGE.c)
"""What `read_row` takes, in this order."""


def packed_json(value: object) -> bytes:
    """Return a value as compressed canonical JSON."""
    return pack(canonical_json(value))


def unpacked_json(data: bytes) -> Any:
    """Undo `packed_json`."""
    return json.loads(unpack(data))


def unpacked_object(data: bytes) -> dict[str, Any] | None:
    """Undo `packed_json` of an object; None for what is damaged, or is none."""
    try:
        found = unpacked_json(data)
    except (zlib.error, ValueError):
        return None
    return found if isinstance(found, dict) else None


def weight(exchange: NewExchange) -> int:
    """Return the bytes that have to be compressed, about."""
    return len(exchange.request) + len(exchange.raw.body)


def make_row(exchange: NewExchange, *, id: int, session: int) -> dict[str, object]:
    """Return the row of an exchange."""
    usage = exchange.usage
    return {
        "id": id,
        "session_id": session,
        "key": exchange.key,
        "twin": exchange.twin,
        "pool": exchange.pool,
        "purpose": exchange.purpose,
        "attempt": exchange.attempt,
        "repeat": exchange.repeat,
        "provider": exchange.provider,
        "endpoint": exchange.endpoint,
        "model": exchange.model,
        "served_model": exchange.served_model,
        "adapter": exchange.adapter,
        "wire_revision": exchange.wire_revision,
        "status": exchange.raw.status,
        "outcome": exchange.outcome.value,
        "started_at_us": exchange.started_at_us,
        "first_byte_s": exchange.first_byte_s,
        "total_s": exchange.total_s,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "maybe_billed": exchange.maybe_billed,
        "masked": exchange.masked,
        "request": pack(exchange.request),
        "headers": packed_json(exchange.raw.headers),
        "error": None if exchange.error is None else packed_json(exchange.error),
        "media_sent": packed_json(exchange.media_sent) if exchange.media_sent else None,
        "body": pack(exchange.raw.body),
    }


def read_row(row: AnyRow) -> Exchange:
    """Return the exchange of a row that holds `COLUMNS`."""
    # fmt: off
    (
        id, session, key, twin, pool, purpose, attempt, repeat, provider, endpoint, model, served_model,
        adapter, wire_revision, status, outcome, started_at_us, first_byte_s, total_s, input_tokens,
        output_tokens, reasoning_tokens, cached_tokens, maybe_billed, masked, request, headers, error,
        media_sent, body,
    ) = row
    # fmt: on
    return Exchange(
        id=id,
        session=session,
        data=NewExchange(
            key=key,
            twin=twin,
            pool=pool,
            purpose=cast(Purpose, purpose),
            attempt=attempt,
            repeat=repeat,
            provider=provider,
            endpoint=endpoint,
            model=model,
            adapter=adapter,
            wire_revision=wire_revision,
            request=unpack(request),
            raw=RawReply(status, unpacked_json(headers), unpack(body)),
            outcome=ExchangeOutcome(outcome),
            started_at_us=started_at_us,
            total_s=total_s,
            first_byte_s=first_byte_s,
            served_model=served_model,
            usage=Usage(input_tokens, output_tokens, reasoning_tokens, cached_tokens),
            maybe_billed=maybe_billed,
            error=None if error is None else unpacked_json(error),
            masked=masked,
            media_sent={} if media_sent is None else unpacked_json(media_sent),
        ),
    )

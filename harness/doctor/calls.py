"""The calls of one examination: the same adapter, pool and transport as a run's, and nothing stored."""

from __future__ import annotations

import asyncio
from typing import Final

from harness.cache.rows import NewExchange
from harness.costs import send_cost_usd
from harness.doctor.findings import Call, Examined
from harness.doctor.verdicts import Meaning
from harness.errors import PoolClosedError
from harness.estimates import pacing_input_tokens, pacing_output_tokens
from harness.identity import build
from harness.messages import Fault, RawReply, Reply, Request, WireRequest
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.pool import Pool
from harness.providers.base import get_adapter, read
from harness.providers.encoding import mask_headers, mask_secrets
from harness.providers.limit_headers import LearnedLimits, limits_from_headers
from harness.providers.model_pages import Listing, read_model_page
from harness.retry import AskBudget, Retry
from harness.sending import Sender
from harness.settings import Model

BODY_SHOWN: Final = 600
"""Bytes that are kept of an answer's body."""


class Calls:
    """Makes the calls of one examination, which ends at `ends_at` of the loop's time, and notes each."""

    def __init__(self, sender: Sender, pool: Pool, examined: Examined, ends_at: float) -> None:
        self._sender, self._pool = sender, pool
        self._examined, self._ends_at = examined, ends_at

    @property
    def left_s(self) -> float:
        """Seconds until the examination ends."""
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    async def ask(self, check: str, request: Request, model: Model) -> Meaning:
        """Ask once; where a limit stands in the way and its wait fits into what is left, once more.

        Raises UnsupportedInputError, MediaError and PoolClosedError before anything is sent.
        """
        built = build(request, model)
        budget = AskBudget(1, self._pool)
        tokens = pacing_input_tokens(request), pacing_output_tokens(model, request.params)
        for last in (False, True):
            if (held_s := self._pool.held_for_s()) >= self.left_s:
                raise PoolClosedError(f"not asked: the provider allows nothing for {held_s:,.0f} s")
            async with self._pool.admit(*tokens, ticket=budget.ticket) as slot:
                exchange, meaning = await self._sender.send(model, request, built, pool=self._pool.name)
                slot.settle(exchange.usage.input_tokens, exchange.usage.output_tokens)
                learned = self._sender.limits(exchange, model)
                self._pool.learn(learned)
                if learned.hold_s is not None and isinstance(meaning, Reply):
                    self._pool.nothing_left(learned.hold_s)
                self._pool.report(meaning, slot)
            fault = meaning if isinstance(meaning, Fault) else None
            self._note(_asked(check, built.wire.path, exchange, fault, model), learned)
            if last or fault is None or fault.outcome is not Outcome.RATE_LIMITED:
                return meaning
            step = budget.decide(fault)
            if not isinstance(step, Retry) or step.wait_s >= self.left_s:
                return meaning
            await self._pool.back_off(step.wait_s, step.reason)
        raise AssertionError("unreachable")

    async def get(self, page: WireRequest, model: Model) -> tuple[Listing, Fault | None]:
        """Read one page about a model; the fault where it did not arrive in full."""
        sender, secrets = self._sender, tuple(self._sender.keys.values())
        key = sender.keys.get(model.provider.api_key_env or "")
        sent = await sender.transport.send(
            page,
            model,
            b"",
            auth_headers=get_adapter(model.provider.adapter).auth_headers(model.provider, key),
            base_url=sender.base_url(model),
            method="GET",
        )
        headers, _ = mask_headers(sent.raw.headers, secrets)
        raw = RawReply(sent.raw.status, headers, mask_secrets(sent.raw.body, secrets)[0])
        meaning = sent.fault
        if meaning is None and not 200 <= raw.status < 300:
            told = read(raw, model.provider)
            meaning = told if isinstance(told, Fault) else None
        self._note(
            Call(
                check="model",
                path=page.path,
                status=raw.status,
                outcome="read" if meaning is None else str(meaning.outcome),
                total_s=sent.total_s,
                first_byte_s=sent.first_byte_s,
                wait_s=None if meaning is None else meaning.wait_s,
                error=None if meaning is None else _masked(meaning.message, secrets),
                body_start=_start(raw.body),
            ),
            limits_from_headers(model.provider.limit_headers, raw.headers),
        )
        return (Listing() if sent.fault is not None else read_model_page(raw, page, model)), sent.fault

    def _note(self, call: Call, learned: LearnedLimits) -> None:
        self._examined.calls.append(call)
        if learned != LearnedLimits():
            self._examined.limits = learned


def _asked(check: str, path: str, exchange: NewExchange, fault: Fault | None, model: Model) -> Call:
    billed, serves = exchange.maybe_billed, exchange.outcome.serves
    return Call(
        check=check,
        path=path,
        status=exchange.raw.status,
        outcome=str(exchange.outcome),
        total_s=exchange.total_s,
        first_byte_s=exchange.first_byte_s,
        usage=exchange.usage,
        usd=send_cost_usd(exchange.usage, model.price, serves=serves, maybe_billed=billed),
        served_model=exchange.served_model,
        wait_s=None if fault is None else fault.wait_s,
        error=exchange.error,
        body_start=_start(exchange.raw.body),
    )


def _start(body: bytes) -> str:
    return body[:BODY_SHOWN].decode("utf-8", "replace")


def _masked(text: str, secrets: tuple[str, ...]) -> str:
    return mask_secrets(text.encode("utf-8", "replace"), secrets)[0].decode("utf-8", "replace")

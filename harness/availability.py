"""Whether a provider knows a reformatter, looked up before the first request is paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from harness.errors import ConfigError
from harness.messages import Fault, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers.base import TRANSLATED, get_adapter, read
from harness.providers.transport import Transport
from harness.settings import Model

LOOK_UP_S = 15.0
"""Longest that a look-up may take; a provider that is slow to tell is asked the questions all the same."""


async def check_known(reformatters: Iterable[Model], keys: Mapping[str, str]) -> None:
    """Raise ConfigError for a reformatter that its provider says it does not have.

    Asks `GET /models/ID`, which OpenAI and Gemini answer without charge (their API references, "Retrieve a
    model" and "models.get"), and only where there is a key: other servers need not have such a page. Any
    answer but a plain "no such model" lets the run go on.
    """
    async with Transport() as transport:
        for model in reformatters:
            if model.provider.api_key_env is None or model.simulated or model.provider.adapter in TRANSLATED:
                continue
            fault = await _look_up(transport, model, keys)
            if fault is not None:
                raise ConfigError(
                    f"the reformatter {model.name!r} is unknown to its provider ({fault.message}); give "
                    "--reformatter MODEL, or --reformatter none to count unreadable answers as unusable"
                )


async def _look_up(transport: Transport, model: Model, keys: Mapping[str, str]) -> Fault | None:
    adapter = get_adapter(model.provider.adapter)
    auth = adapter.auth_headers(model.provider, keys.get(model.provider.api_key_env or ""))
    page = WireRequest(path=f"/models/{model.model}", body={})
    try:
        async with asyncio.timeout(LOOK_UP_S):
            sent = await transport.send(page, model, b"", auth_headers=auth, method="GET")
    except TimeoutError:
        return None
    if sent.fault is not None or sent.raw.status != 404:
        return None
    meaning = read(sent.raw, model.provider)
    unknown = isinstance(meaning, Fault) and meaning.outcome is ExchangeOutcome.MODEL_NOT_FOUND
    # A server without such a page answers 404 as well, but names the page and not the model.
    told = meaning.message.replace(page.path, "") if isinstance(meaning, Fault) and unknown else ""
    names_it = model.model in told and "url" not in told.lower()
    return meaning if isinstance(meaning, Fault) and names_it else None

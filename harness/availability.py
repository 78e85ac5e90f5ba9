"""Whether a provider knows a reformatter, looked up before the first request is paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace

from harness.errors import ConfigError
from harness.messages import Fault
from harness.providers.base import get_adapter
from harness.providers.encoding import mask_secrets
from harness.providers.model_pages import denies, model_pages
from harness.providers.transport import Transport
from harness.settings import Model

LOOK_UP_S = 15.0
"""Longest that a look-up may take; a provider that is slow to tell is asked the questions all the same."""


async def check_known(reformatters: Iterable[Model], keys: Mapping[str, str]) -> None:
    """Raise ConfigError for a reformatter that its provider says it does not have.

    Asks for the page about the model (`harness.providers.model_pages`), which is answered without charge, and
    only where there is a key: other servers need not have such a page. Any answer but a plain "no such model"
    lets the run go on.
    """
    async with Transport() as transport:
        for model in reformatters:
            if model.provider.api_key_env is None or model.simulated:
                continue
            fault = await _look_up(transport, model, keys)
            if fault is not None:
                raise ConfigError(
                    f"the reformatter {model.name!r} is unknown to its provider ({fault.message}); give "
                    "--reformatter MODEL, or --reformatter none to count unreadable answers as unusable"
                )


async def _look_up(transport: Transport, model: Model, keys: Mapping[str, str]) -> Fault | None:
    pages = model_pages(model)
    if not pages:
        return None
    adapter = get_adapter(model.provider.adapter)
    auth = adapter.auth_headers(model.provider, keys.get(model.provider.api_key_env or ""))
    try:
        async with asyncio.timeout(LOOK_UP_S):
            sent = await transport.send(pages[0], model, b"", auth_headers=auth, method="GET")
    except TimeoutError:
        return None
    if sent.fault is not None:
        return None
    body, _ = mask_secrets(sent.raw.body, keys.values())
    return denies(replace(sent.raw, body=body), pages[0], model)

"""What a wire format must offer; the contract tests run on every adapter in `ADAPTERS`.

Adapters are pure: they build bodies and read answers. They import no HTTP library, so that scoring
can use `read_reply` offline. Sending is `harness.providers.transport`'s work.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Protocol, cast

from harness.errors import ConfigError
from harness.messages import Fault, RawReply, Reply, Request, WireRequest
from harness.settings import Model, Provider


class Adapter(Protocol):
    """One wire format."""

    kind: str
    """Name in `[providers.X] adapter`, and part of the request key."""
    wire_revision: int
    """Raised whenever `build` gives a different body for the same request (golden tests)."""

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the provider-ready call.

        Raises UnsupportedInputError for a part or an option that this format or model cannot carry.
        """
        ...

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return the headers that carry the key; they are never stored."""
        ...

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means; a Fault where it holds an error or is cut or no JSON."""
        ...

    def read_error(self, raw: RawReply, provider: Provider) -> Fault | Reply:
        """Return what any other answer means.

        A Reply where the provider answered after all: a content block (`filtered`) or a 400 that is
        made of the model's own output (`answered`).
        """
        ...


ADAPTERS = {
    "openai": "harness.providers.openai",
    "openai-responses": "harness.providers.openai_responses",
    "gemini": "harness.providers.gemini",
    "anthropic": "harness.providers.anthropic",
    "litellm": "harness.providers.litellm_format",
    "simulator": "harness.providers.simulator",
}


TRANSLATED = frozenset({"litellm"})
"""Adapters whose body is no provider's: `harness.providers.litellm_sending` makes one of it when sending."""

READ_ONLY = {"imported": "harness.providers.imported"}
"""Adapters of what is read and never asked; their `build` refuses."""


def get_adapter(kind: str) -> Adapter:
    """Return the adapter of a kind; each module holds one, named `adapter`."""
    module = ADAPTERS.get(kind) or READ_ONLY.get(kind)
    if module is None:
        raise ConfigError(f"unknown adapter {kind!r}; known: {', '.join(sorted(ADAPTERS))}")
    return _adapter_in(module)


@cache
def _adapter_in(module: str) -> Adapter:
    # Four times an exchange: even to find a module imported already takes as long as reading an answer.
    return cast(Adapter, import_module(module).adapter)


def read(raw: RawReply, provider: Provider, *, adapter: str | None = None) -> Reply | Fault:
    """Return what a raw answer means, by the adapter of the provider (or the one that is named)."""
    wire = get_adapter(adapter or provider.adapter)
    return wire.read_reply(raw, provider) if 200 <= raw.status < 300 else wire.read_error(raw, provider)

"""Imported answers: exchanges that hold a row of another tool's result file. They are read, never asked.

The body is the row as it stood in its file, a header says how to read it (`harness.imports.hints`).
"""

from __future__ import annotations

from harness.errors import UnsupportedInputError
from harness.imports.documents import BadRowError, parse
from harness.imports.hints import read_hints
from harness.imports.registry import FORMATS
from harness.imports.stated import Stated, meaning
from harness.messages import Fault, RawReply, Reply, Request, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers.base import Adapter
from harness.settings import Model, Provider


class ImportedAdapter:
    """Reads rows; `build` refuses, so that no request ever has the key of an imported answer."""

    kind = "imported"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Raise UnsupportedInputError: there is nobody to ask."""
        raise UnsupportedInputError(f"model {model.name!r} was imported from files; it cannot be asked")

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return nothing."""
        return {}

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a row means."""
        try:
            return meaning(state_of(raw), read_hints(raw.headers).failure_texts, provider)
        except BadRowError as error:
            return Fault(ExchangeOutcome.UNKNOWN, f"the imported row cannot be read: {error}")

    def read_error(self, raw: RawReply, provider: Provider) -> Fault | Reply:
        """Return the same: a row has no status."""
        return self.read_reply(raw, provider)


def state_of(raw: RawReply) -> Stated:
    """Return what a stored row states, cost and times included. Raises BadRowError."""
    hints = read_hints(raw.headers)
    if hints.format not in FORMATS:
        raise BadRowError(f"its format {hints.format!r} is not known to this version")
    return FORMATS[hints.format].state(parse(raw.body), hints)


adapter: Adapter = ImportedAdapter()

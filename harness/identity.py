"""A request as its adapter builds it, with the key by which its answer is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.cache.key import answer_headers, endpoint_identity, key_of_twin, twin_of, wire_document
from harness.messages import Request, WireRequest
from harness.providers.base import get_adapter
from harness.settings import Model


@dataclass(frozen=True, slots=True)
class Built:
    """A provider-ready request; `twin` is equal where only endpoint or wire revision differ.

    `document` is the body as canonical JSON, media by digest; `headers` are those that enter the key.
    """

    wire: WireRequest
    key: str
    twin: str
    endpoint: str
    wire_revision: int
    document: bytes
    headers: Mapping[str, str]


def build(request: Request, model: Model) -> Built:
    """Build a request and its key. Raises UnsupportedInputError for what the model cannot take."""
    adapter = get_adapter(model.provider.adapter)
    wire = adapter.build(request, model)
    document = wire_document(wire)
    headers = answer_headers(wire, model.provider.headers)
    twin = twin_of(
        adapter=adapter.kind,
        model=model.model,
        headers=headers,
        body=document,
        attempt=request.attempt,
        repeat=request.repeat,
    )
    endpoint = endpoint_identity(model.provider)
    key = key_of_twin(twin, endpoint=endpoint, wire_revision=adapter.wire_revision)
    return Built(wire, key, twin, endpoint, adapter.wire_revision, document, headers)

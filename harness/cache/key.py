"""The identity of a request: equal keys may share an exchange."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from harness.canonical import canonical_json, sha256_hex
from harness.media import RECIPE_VERSIONS
from harness.messages import MediaSlot, WireRequest, WireValue
from harness.settings import Provider

KEY_VERSION: Final = 1
"""Raised when the same request gets another key: every stored answer would then be asked anew."""

HEADERS_FIELD: Final = "$headers"
"""Where a stored request holds the headers that change its answer; older ones have no such field."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def key_of_twin(twin: str, *, endpoint: str, wire_revision: int) -> str:
    """Return the key of the request of a twin at one endpoint: 64 hexadecimal digits.

    Everything that changes the answer enters it: the twin (see `request_twin`), the endpoint and the wire
    revision.
    """
    document = {
        "key_version": KEY_VERSION,
        "twin": twin,
        "endpoint": endpoint,
        "wire_revision": wire_revision,
    }
    return sha256_hex(canonical_json(document))


def request_twin(
    *,
    adapter: str,
    model: str,
    wire: WireRequest,
    attempt: int,
    repeat: int,
    provider_headers: Mapping[str, str] | None = None,
    recipe_versions: Mapping[str, int] = RECIPE_VERSIONS,
) -> str:
    """Return what a request has in common with the same one at another endpoint or wire revision.

    `wire.path` and `wire.transport*` do not enter: the path says no more than adapter, endpoint and model,
    and may say whether the answer is streamed. `provider_headers` are those of the configuration, where
    `wire.headers` does not hold them already. Raises ValueError for a medium with an unknown recipe.
    """
    return twin_of(
        adapter=adapter,
        model=model,
        headers=answer_headers(wire, provider_headers or {}),
        body=_by_reference(wire.body, recipe_versions),
        attempt=attempt,
        repeat=repeat,
    )


def twin_of(
    *, adapter: str, model: str, headers: Mapping[str, str], body: object, attempt: int, repeat: int
) -> str:
    """Return the twin of a request whose body holds its media by digest, as a stored one does."""
    document = {
        "adapter": adapter,
        "model": model,
        "headers": headers,
        "body": body,
        "attempt": attempt,
        "repeat": repeat,
    }
    return sha256_hex(canonical_json(document))


def answer_headers(wire: WireRequest, provider_headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that enter the key, names in lower case; the API key is not among them."""
    return _lower_case(provider_headers) | _lower_case(wire.headers)


def wire_document(
    wire: WireRequest,
    *,
    headers: Mapping[str, str] | None = None,
    recipe_versions: Mapping[str, int] = RECIPE_VERSIONS,
) -> bytes:
    """Return a request as it is stored with an exchange: canonical JSON of its body, media by digest.

    `headers`, those of `answer_headers`, stand beside the body's own fields as `$headers`.
    """
    body = _by_reference(wire.body, recipe_versions)
    assert isinstance(body, dict)
    return canonical_json(body if headers is None else {**body, HEADERS_FIELD: headers})


def read_document(document: bytes) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Return body and headers of a stored request; headers None: it is older than the keeping of headers.

    Raises ValueError for what is no JSON object.
    """
    body = json.loads(document)
    if not isinstance(body, dict):
        raise ValueError("a stored request is no JSON object")
    return body, body.pop(HEADERS_FIELD, None)


def endpoint_identity(provider: Provider) -> str:
    """Return what an endpoint is called in keys: its given name, else its address in one spelling.

    Scheme and host in lower case; without default port, closing slash, credentials, query and fragment.
    """
    if provider.endpoint:
        return provider.endpoint
    return normalised_url(provider.base_url)


def normalised_url(url: str) -> str:
    """Return an address in the one spelling that `endpoint_identity` describes."""
    parts = urlsplit(url.strip())
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    port = "" if parts.port in {None, _DEFAULT_PORTS.get(scheme)} else f":{parts.port}"
    path = parts.path.rstrip("/")
    return f"{scheme}://{host}{port}{path}" if scheme else f"{host}{path}"


def _lower_case(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _by_reference(value: WireValue, versions: Mapping[str, int]) -> object:
    match value:
        case MediaSlot():
            return _medium(value, versions)
        case Mapping():
            return {name: _by_reference(item, versions) for name, item in value.items()}
        case list() | tuple():
            return [_by_reference(item, versions) for item in value]
        case _:
            return value


def _medium(slot: MediaSlot, versions: Mapping[str, int]) -> object:
    if slot.recipe not in versions:
        raise ValueError(f"unknown recipe {slot.recipe!r}; known: {', '.join(sorted(versions))}")
    return {"$media": [slot.media.sha256, slot.recipe, versions[slot.recipe]], "prefix": slot.prefix}

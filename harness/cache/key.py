"""The identity of a request: equal keys may share an exchange."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from harness.canonical import JSON, canonical_json, sha256_hex
from harness.messages import MediaSlot, WireRequest, WireValue
from harness.recipes import recipe_version
from harness.settings import Provider

KEY_VERSION: Final = 1
"""Raised when the same request gets another key: every stored answer would then be asked anew."""

HEADERS_FIELD: Final = "$headers"
"""Where a stored request holds the headers that change its answer; older ones have no such field."""

NAMES_FIELD: Final = "$names"
"""Where a stored request holds which of its schema's names stand for which (`harness.schema_names`)."""

CLIPS_FIELD: Final = "$clips"
"""Where a stored request holds what it shows of its clips (`harness.frames.shown`)."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def key_of_twin(twin: str, *, endpoint: str, wire_revision: int) -> str:
    """Return the key of the request of a twin at one endpoint: 64 hexadecimal digits.

    Everything that changes the answer enters it: its twin (see `twin_of`), endpoint and wire revision.
    """
    document = {
        "key_version": KEY_VERSION,
        "twin": twin,
        "endpoint": endpoint,
        "wire_revision": wire_revision,
    }
    return sha256_hex(canonical_json(document))


def twin_of(
    *, adapter: str, model: str, headers: Mapping[str, str], body: bytes, attempt: int, repeat: int
) -> str:
    """Return what a request has in common with the same one at another endpoint or wire revision.

    `headers` are those of `answer_headers`, `body` that of `wire_document`. Path and transport fields do not
    enter: the path says no more than adapter, endpoint and model, and may say whether the answer is streamed.
    """
    # Canonical JSON of adapter, attempt, body, headers, model and repeat, the body put in as it stands.
    before = canonical_json({"adapter": adapter, "attempt": attempt})
    after = canonical_json({"headers": headers, "model": model, "repeat": repeat})
    return sha256_hex(b'%b,"body":%b,%b' % (before[:-1], body, after[1:]))


def answer_headers(wire: WireRequest, provider_headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that enter the key, names in lower case; the API key is not among them."""
    return _lower_case(provider_headers) | _lower_case(wire.headers)


def wire_document(wire: WireRequest) -> bytes:
    """Return the body of a request as canonical JSON, media by digest.

    Raises ValueError for a medium with an unknown recipe.
    """
    return canonical_json(_by_reference(wire.body))


def stored_document(
    document: bytes,
    headers: Mapping[str, str],
    names: Mapping[str, str] | None = None,
    clips: Sequence[JSON] = (),
) -> bytes:
    """Return a request as it is stored with an exchange: `wire_document` with the headers that enter its key.

    They stand beside the body's own fields as `$headers`; aliases of property names, if any, as `$names`, and
    what is shown of clips as `$clips`.
    """
    beside: dict[str, JSON] = {HEADERS_FIELD: headers}
    if clips:
        beside[CLIPS_FIELD] = clips
    if names:
        beside[NAMES_FIELD] = names
    fields = canonical_json(beside)
    return fields if document == b"{}" else b"%b,%b" % (fields[:-1], document[1:])


def read_document(document: bytes) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Return body and headers of a stored request; headers None: it is older than the keeping of headers.

    Raises ValueError for what is no JSON object.
    """
    body = json.loads(document)
    if not isinstance(body, dict):
        raise ValueError("a stored request is no JSON object")
    body.pop(NAMES_FIELD, None)
    body.pop(CLIPS_FIELD, None)
    return body, body.pop(HEADERS_FIELD, None)


def names_sent(document: bytes) -> dict[str, str] | None:
    """Return alias -> name of a stored request; None where it calls every property by its own name."""
    # The quotes of a text are escaped, so that a request without this field is known without parsing it.
    if b'"%b":' % NAMES_FIELD.encode("ascii") not in document:
        return None
    found = json.loads(document).get(NAMES_FIELD)
    return found if isinstance(found, dict) else None


def clips_sent(document: bytes) -> list[dict[str, Any]]:
    """Return what a stored request shows of its clips, in order; an empty list where it has none."""
    if b'"%b":' % CLIPS_FIELD.encode("ascii") not in document:
        return []
    found = json.loads(document).get(CLIPS_FIELD)
    return found if isinstance(found, list) else []


def media_in(value: object) -> list[tuple[str, str, int]]:
    """Return (sha256, recipe, recipe version) of every medium in the body of a stored request, in order."""
    if isinstance(value, Mapping):
        match value.get("$media"):
            case [str(sha256), str(recipe), int(version)]:
                return [(sha256, recipe, version)]
        # A turn's parts keep their order; the order of other fields is no one's wish.
        return [found for name in sorted(value) for found in media_in(value[name])]
    if isinstance(value, list):
        return [found for item in value for found in media_in(item)]
    return []


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


def _by_reference(value: WireValue) -> object:
    match value:
        case MediaSlot():
            return _medium(value)
        case Mapping():
            return {name: _by_reference(item) for name, item in value.items()}
        case list() | tuple():
            return [_by_reference(item) for item in value]
        case _:
            return value


def _medium(slot: MediaSlot) -> object:
    version = recipe_version(slot.recipe)
    return {"$media": [slot.media.sha256, slot.recipe, version], "prefix": slot.prefix}

"""Where a provider tells which models it has, and what its answer says of one. Pure; no page is charged for.

Sources: OpenAI's API reference ("List models", "Retrieve a model"), Anthropic's ("Get a model": limits too),
Google's ("models.get"), and vLLM's server, which has the list only, with `max_model_len` in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from harness.messages import Fault, RawReply, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers.anthropic import API_VERSION
from harness.providers.base import READ_ONLY, TRANSLATED, read
from harness.providers.bodies import Object, as_count, as_object, as_text, parse_json
from harness.settings import Model

_CONTEXT_NAMES: Final = ("max_model_len", "max_input_tokens", "inputTokenLimit", "context_length")
_OUTPUT_NAMES: Final = ("max_tokens", "outputTokenLimit")
_WITHOUT_PAGES: Final = TRANSLATED | READ_ONLY.keys()


@dataclass(frozen=True, slots=True)
class Listing:
    """What a provider's pages say of a model.

    `found` None: they do not tell. `names`: what a list holds. Limits in tokens, None where not said.
    `generates`: whether the model answers by the method that is used; None: not said.
    """

    found: bool | None = None
    names: tuple[str, ...] = ()
    context_tokens: int | None = None
    output_tokens: int | None = None
    generates: bool | None = None

    def joined(self, later: Listing) -> Listing:
        """Return what two pages say together; a model that one of them knows is there."""
        names = self.names or later.names
        if later.found:
            return replace(later, names=names)
        return replace(self, names=names, found=later.found if self.found is None else self.found)


def model_pages(model: Model) -> tuple[WireRequest, ...]:
    """Return the pages (each to be got) that tell of a model, the one about it alone first; none for some."""
    kind = model.provider.adapter
    if kind in _WITHOUT_PAGES:
        return ()
    one = quote(model.model.removeprefix("models/"), safe="/:@")
    versions = {"anthropic-version": API_VERSION} if kind == "anthropic" else {}
    named = any(name.lower() == "anthropic-version" for name in model.provider.headers)
    about = WireRequest(f"/models/{one}", {}, transport_headers={} if named else versions)
    # Anthropic and Google answer for each of their models; other servers often have the list alone.
    return (about,) if kind in ("anthropic", "gemini") else (about, WireRequest("/models", {}))


def read_model_page(raw: RawReply, page: WireRequest, model: Model) -> Listing:
    """Return what the answer to one page says; nothing where it is an error that does not name the model."""
    if not 200 <= raw.status < 300:
        return Listing(found=False if denies(raw, page, model) is not None else None)
    try:
        content = parse_json(raw.body)
    except (ValueError, RecursionError):
        return Listing()
    entries = _entries(content)
    if entries is None:
        single = as_object(content)
        return _described(single) if _name(single) else Listing()
    wanted = _plain(model.model)
    names = tuple(name for name in map(_name, entries) if name)
    for entry in entries:
        if wanted in {_plain(name) for name in _names(entry)}:
            return replace(_described(entry), names=names)
    return Listing(found=False if names else None, names=names)


def denies(raw: RawReply, page: WireRequest, model: Model) -> Fault | None:
    """Return what a 404 says where it says that there is no such model; a page that is missing says less."""
    if raw.status != 404:
        return None
    meaning = read(raw, model.provider)
    if not isinstance(meaning, Fault) or meaning.outcome is not ExchangeOutcome.MODEL_NOT_FOUND:
        return None
    # A server without such a page answers 404 as well, but names the page and not the model.
    told = meaning.message.replace(page.path, "")
    return meaning if _plain(model.model) in told and "url" not in told.lower() else None


def _entries(content: object) -> list[Object] | None:
    """Return the elements of a list of models: bare, or as `data` (OpenAI) or `models` (Google)."""
    found = content
    if isinstance(content, dict):
        found = content.get("data", content.get("models"))
    return [as_object(entry) for entry in found] if isinstance(found, list) else None


def _described(entry: Object) -> Listing:
    methods = entry.get("supportedGenerationMethods")
    return Listing(
        found=True,
        context_tokens=_first(entry, _CONTEXT_NAMES),
        output_tokens=_first(entry, _OUTPUT_NAMES),
        generates="generateContent" in methods if isinstance(methods, list) else None,
    )


def _first(entry: Object, names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := as_count(entry.get(name)))), None)


def _name(entry: Object) -> str:
    return next(_names(entry), "")


def _names(entry: Object) -> Iterator[str]:
    """Give the names of an entry: its id, what it is called at Google, and aliases (Mistral, xAI)."""
    aliases = entry.get("aliases")
    for name in (entry.get("id"), entry.get("name"), *(aliases if isinstance(aliases, list) else ())):
        if text := as_text(name):
            yield text


def _plain(name: str) -> str:
    return name.removeprefix("models/")

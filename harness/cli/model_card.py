"""All that is known of one model: as a card for people, as facts for scripts; never a key."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from harness.cli.tables import terminal_width
from harness.settings import MediaLimits, Model, Provider, limits_of

_LABEL = 16
_UNKNOWN = "?"


def facts(model: Model, environ: Mapping[str, str]) -> dict[str, object]:
    """Return every setting of a model, the media limits that hold for it, and who is asked by which key."""
    provider = model.provider
    return {
        **model.model_dump(mode="json", exclude={"provider"}),
        "media_limits": limits_of(model).model_dump(mode="json"),
        "provider": provider.name,
        "adapter": provider.adapter,
        "base_url": provider.base_url,
        "endpoint": provider.endpoint,
        "limit_headers": provider.limit_headers,
        "api_key_env": provider.api_key_env,
        "key": key_state(model, environ),
        "simulated": model.simulated,
    }


def key_state(model: Model, environ: Mapping[str, str]) -> str:
    """Return "set", "missing", or "-" where no key is needed."""
    name = model.provider.api_key_env
    if name is None:
        return "-"
    return "set" if environ.get(name) else "missing"


def elsewhere_told(withdrawn: str) -> str:
    """Return what to say of a model that its provider withdrew, and that is asked at the user's address."""
    return f"its provider withdrew it ({withdrawn}); asked at your base_url all the same"


def key_told(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return a provider's variable and whether it is set, in words."""
    name = provider.api_key_env
    if name is None:
        return "no key needed"
    return f"{name} is {'set' if environ.get(name) else 'missing'}"


def card(model: Model, environ: Mapping[str, str], withdrawn: str | None = None) -> Iterator[str]:
    """Give the lines of a model's card; what nobody said is a question mark.

    `withdrawn`: why its provider no longer serves it, where it is asked at an address of the user's.
    """
    yield model.name
    told = [("retired", elsewhere_told(withdrawn))] if withdrawn else []
    for label, value in (*told, *_rows(model, environ)):
        yield from textwrap.wrap(
            value,
            terminal_width(),
            initial_indent=f"  {label:<{_LABEL - 2}}",
            subsequent_indent=" " * _LABEL,
            break_on_hyphens=False,
        )


def _rows(model: Model, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    provider = model.provider
    if model.retired:
        yield "retired", model.retired
    yield "provider", f"{provider.name}, format {provider.adapter}; {key_told(provider, environ)}"
    yield "model id", model.model
    yield "address", provider.base_url or provider.base_url_like or "started here when it is asked"
    yield "inputs", ", ".join(model.inputs)
    yield "context", _tokens(model.context_tokens)
    yield "output", _tokens(model.max_output_tokens)
    limits = limits_of(model)
    if "image" in model.inputs:
        yield "images", ", ".join(_images(limits))
    if "video" in model.inputs:
        yield "videos", ", ".join(_videos(limits))
    if limits.max_request_bytes is not None:
        yield "a request", f"{_number(limits.max_request_bytes)} bytes, media as base64"
    if model.image_recipe:
        yield "image recipe", model.image_recipe
    yield "structured", ", ".join(model.structured) or "off only"
    yield "params", ", ".join(f"{name} = {value!r}" for name, value in model.params.items()) or "none set"
    not_taken = dict.fromkeys((*model.unsupported_params, *model.provider.unsupported_params))
    yield "does not take", ", ".join(not_taken) or "nothing known"
    for group in model.one_of:
        yield "takes one of", ", ".join(group)
    yield "price", _price(model)
    if model.price.source:
        yield "", f"by {model.price.source}"
    yield "a minute", _rates(model)
    yield "in flight", f"{model.max_in_flight} at most" if model.max_in_flight else "adapts from 16"
    yield (
        "time limits",
        (
            f"{model.connect_timeout_s:g} s to connect, {model.idle_timeout_s:g} s of silence, "
            f"{model.total_timeout_s:g} s in all; {model.max_sends} sends"
        ),
    )
    yield "streamed", "yes" if model.stream else "no"
    if model.retires_on:
        yield "ends on", f"{model.retires_on}, says its provider"
    if model.replaced_on:
        yield "ends on", f"{model.replaced_on}: from then on another model answers under its name"
    if model.ends_source and (model.retires_on or model.replaced_on):
        yield "", f"by {model.ends_source}"
    if model.note:
        yield "note", model.note


def _tokens(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count:,} tokens"


def _images(limits: MediaLimits) -> Iterator[str]:
    image = limits.image
    each = (
        ("bytes", image.max_bytes),
        ("bytes of base64", image.max_base64_bytes),
        ("pixels", image.max_pixels),
        ("pixels a side", image.max_side),
    )
    yield f"{_number(limits.max_images)} a request"
    yield from (f"{_number(most)} {kind} each" for kind, most in each if most is not None)
    yield from image.mime or ()


def _videos(limits: MediaLimits) -> Iterator[str]:
    video = limits.video
    yield f"{_number(limits.max_videos)} a request"
    if video.max_bytes is not None:
        yield f"{_number(video.max_bytes)} bytes each"
    yield from video.mime or ()


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.0f}"


def _price(model: Model) -> str:
    price = model.price
    named = (("in", price.input), ("out", price.output), ("cached in", price.cached_input))
    parts = [f"{_UNKNOWN if usd is None else format(usd, '.4g')} {kind}" for kind, usd in named]
    if price.cache_write is not None:
        parts.append(f"{price.cache_write:.4g} to keep")
    for tier in price.tiers:
        usd = "/".join(_UNKNOWN if one is None else f"{one:.4g}" for one in (tier.input, tier.output))
        parts.append(f"{usd} in/out above {tier.above_input_tokens:,} input tokens")
    return f"{', '.join(parts)} (USD per million tokens)"


def _rates(model: Model) -> str:
    known = [
        f"{count:,.0f} {kind}"
        for kind, count in (
            ("requests", model.requests_per_minute),
            ("tokens", model.tokens_per_minute),
            ("input tokens", model.input_tokens_per_minute),
            ("output tokens", model.output_tokens_per_minute),
        )
        if count is not None
    ]
    dialect = model.provider.limit_headers
    learned = "no limits are told in headers" if dialect == "none" else f"learned from headers ({dialect})"
    return "; ".join([", ".join(known) or "no limit set", learned])

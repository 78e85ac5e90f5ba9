"""Typed settings of providers and models, as `harness.toml` and the catalogue give them.

Every field is classified by `ANSWER_FIELDS_*`: what changes the answer enters the request key.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

IMPORTED: Final = "imported"
"""The adapter of answers that were read from files: nobody can be asked by it."""


class Settings(BaseModel):
    """Frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SettingsT = TypeVar("SettingsT", bound=Settings)


class ErrorRule(Settings):
    """Recognises one kind of error body: every field that is given must match.

    `code` is compared with the body's code, type or status; `message` is a case-insensitive substring.
    """

    status: int | None = None
    code: str | None = None
    message: str | None = None


class ManyImages(Settings):
    """What else holds for each image of a request that has more than so many: its longest side in pixels."""

    more_than: int = Field(gt=0)
    max_side: int = Field(gt=0)


class ImageLimits(Settings):
    """What is taken of one image, as it is sent; None is unknown.

    `max_base64_bytes` counts the text that it is encoded as (4 for each 3 bytes), `max_side` is the longest
    side in pixels. `mime` None: PNG, JPEG and WebP.
    """

    max_bytes: int | None = Field(default=None, gt=0)
    max_base64_bytes: int | None = Field(default=None, gt=0)
    max_pixels: int | None = Field(default=None, gt=0)
    max_side: int | None = Field(default=None, gt=0)
    mime: tuple[str, ...] | None = None
    many: ManyImages | None = None


class VideoLimits(Settings):
    """What is taken of one video; None is unknown. `mime` None: whatever container we can tell."""

    max_bytes: int | None = Field(default=None, gt=0)
    mime: tuple[str, ...] | None = None


class MediaLimits(Settings):
    """What a request may carry: of a provider for all its models, or of a model, key by key in its place.

    Checked before sending; what is beyond them is `not_applicable`. None is unknown. `max_request_bytes` is
    the whole body, media as base64.
    """

    max_images: int | None = Field(default=None, gt=0)
    max_videos: int | None = Field(default=None, gt=0)
    max_request_bytes: int | None = Field(default=None, gt=0)
    image: ImageLimits = ImageLimits()
    video: VideoLimits = VideoLimits()


class Provider(MediaLimits):
    """Who is called: an account and a wire format."""

    name: str
    adapter: Literal["openai", "openai-responses", "gemini", "anthropic", "litellm", "simulator", "imported"]
    base_url: str = ""
    base_url_like: str | None = None
    """What an address looks like that only the user knows (Azure); then `base_url` may stand open."""
    endpoint: str | None = None
    api_key_env: str | None = None
    api_key_header: str = "authorization"
    """The header that carries the key: as a bearer token in `authorization`, bare in any other."""
    headers: dict[str, str] = Field(default_factory=dict)
    limit_headers: Literal["openai", "anthropic", "azure", "groq", "mistral", "none"] = "none"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_fields: tuple[str, ...] = ("reasoning", "reasoning_content")
    verify_tls: bool = True
    video_format: Literal["none", "video_url", "vllm", "dashscope"] = "none"
    """How adapter `openai` sends a video. `video_url`: as a data URL in a part of that type, frames per
    second left to the server. `vllm`, `dashscope`: the same, with frames per second as these two take them.
    """
    model_prefix: str = ""
    """Put before the id of a model that is named `provider/model-id`, without an entry of its own."""
    unsupported_params: tuple[str, ...] = ()
    """What none of its models takes; each model may name more."""
    exclusive_params: tuple[tuple[str, ...], ...] = ()
    """Groups of parameters of which its models take one in a request, the preferred one first."""
    stream_options: bool = True
    """False where the field `stream_options` is refused; the last chunk must tell the usage unasked then."""
    schema_names: str | None = None
    """Pattern of the property names that its schema mode takes; others go as aliases. None: the format's."""
    errors: dict[str, tuple[ErrorRule, ...]] = Field(default_factory=dict)
    """Exchange outcome name -> rules tried before the adapter's own reading."""
    price_source: str | None = None
    """Page and date of its models' prices, where a price names none itself."""
    ends_source: str | None = None
    """Page and date of the days on which its models end."""

    def key_headers(self, api_key: str | None) -> dict[str, str]:
        """Return the header that carries an API key; none without a key, as local servers want it."""
        if not api_key:
            return {}
        bearer = self.api_key_header == "authorization"
        return {self.api_key_header: f"Bearer {api_key}" if bearer else api_key}


class Rates(Settings):
    """US dollars per million tokens; None is unknown, never 0."""

    input: float | None = Field(default=None, ge=0)
    output: float | None = Field(default=None, ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    """What input costs that a provider is asked to keep (Anthropic, for five minutes)."""


class PriceTier(Rates):
    """What every token of a request costs whose input is longer than `above_input_tokens`."""

    above_input_tokens: int = Field(gt=0)


class Price(Rates):
    """The rates of a model, of long requests too where those cost more."""

    tiers: tuple[PriceTier, ...] = ()
    source: str | None = None
    """Who said so, and when."""


class Model(MediaLimits):
    """Which weights are asked, and what they can do."""

    name: str
    provider: Provider
    model: str
    inputs: tuple[Literal["text", "image", "video"], ...] = ("text", "image")
    structured: tuple[Literal["json", "schema"], ...] = ()
    context_tokens: int | None = Field(default=None, gt=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    image_recipe: str | None = None
    """How images are made ready for it (`harness.recipes`); None: the benchmark's way, else as they are."""
    unsupported_params: tuple[str, ...] = ()
    exclusive_params: tuple[tuple[str, ...], ...] = ()
    params: dict[str, JsonValue] = Field(default_factory=dict)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    input_tokens_per_minute: float | None = Field(default=None, gt=0)
    output_tokens_per_minute: float | None = Field(default=None, gt=0)
    max_in_flight: int | None = Field(default=None, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    idle_timeout_s: float = Field(default=600.0, gt=0)
    total_timeout_s: float = Field(default=1800.0, gt=0)
    max_sends: int = Field(default=4, gt=0)
    stream: bool = False
    price: Price = Price()
    retired: str | None = None
    """Set when the provider no longer serves it: the date or fact, and what to use instead."""
    replaced_on: date | None = None
    """From this day (UTC) the provider answers with another model under this name: then it is retired."""
    retires_on: date | None = None
    """The day on which the provider means to withdraw it: told when it is near. It is asked all the same."""
    ends_source: str | None = None
    """Page and date that the two days are from; None: its provider's."""
    note: str | None = None

    @property
    def not_taken(self) -> frozenset[str]:
        """Parameters that a request to it may not have: its provider's, and its own."""
        return frozenset((*self.provider.unsupported_params, *self.unsupported_params))

    @property
    def one_of(self) -> tuple[tuple[str, ...], ...]:
        """Groups of parameters of which a request to it may have one: its provider's, and its own."""
        return (*self.provider.exclusive_params, *self.exclusive_params)

    @property
    def simulated(self) -> bool:
        """True for models that no one trained: every table that holds one says so."""
        return self.provider.adapter == "simulator"


def limits_of(model: Model) -> MediaLimits:
    """Return what a request to a model may carry: the model's own limits, else its provider's, key by key."""
    return _laid_over(MediaLimits, model.provider, model)


def _laid_over(kind: type[SettingsT], below: Settings, above: Settings) -> SettingsT:
    found: dict[str, Any] = {}
    for name in kind.model_fields:
        under, over = getattr(below, name), getattr(above, name)
        nested = isinstance(over, Settings) and isinstance(under, Settings)
        found[name] = _laid_over(type(over), under, over) if nested else under if over is None else over
    return kind.model_construct(**found)


ANSWER_FIELDS_PROVIDER = frozenset(
    {"adapter", "base_url", "endpoint", "headers", "max_tokens_field", "schema_names", "video_format"}
)
"""Provider fields that change the answer; `base_url` counts only where no `endpoint` is named."""

ANSWER_FIELDS_MODEL = frozenset({"model", "provider", "params", "image_recipe"})
"""Model fields that change the answer. All others must not change the key.

`max_output_tokens` does where a format demands a limit and neither request nor `params` give one: it is sent.
"""

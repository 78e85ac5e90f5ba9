"""Credentials where none may stand: parameters are part of a request, so they are kept in the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from harness.canonical import JSON, canonical_json
from harness.errors import ConfigError
from harness.providers.encoding import mask_secrets

_ALONE: Final = frozenset(
    {"apikey", "authorization", "bearer", "credential", "credentials", "passwd", "password", "secret"}
)
"""Words of a name each of which gives it away."""
_BEFORE_KEY: Final = frozenset({"access", "api", "private", "secret", "subscription"})
_BEFORE_TOKEN: Final = frozenset(
    {"access", "api", "auth", "bearer", "hf", "id", "personal", "refresh", "security", "session"}
)
"""What makes a token a credential: `stop_token_ids`, `eos_token` and `max_tokens` are none."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MEND: Final = (
    "and parameters are kept in the store: take it out, and name the environment variable of the API key in "
    "the provider's api_key_env"
)


def is_credential_name(name: str) -> bool:
    """Tell whether a parameter's name says that its value is a credential; whole words count."""
    words = [word.casefold() for word in _WORD.findall(name)]
    if _ALONE.intersection(words) or words in (["token"], ["auth"], ["key"]):
        return True
    pairs = list(pairwise(words))
    if any(word == "key" and before in _BEFORE_KEY for before, word in pairs):
        return True
    return bool(pairs) and pairs[-1][1] == "token" and pairs[-1][0] in _BEFORE_TOKEN


def check_names(model: str, params: Mapping[str, JSON]) -> None:
    """Raise ConfigError for a parameter of a model, or a field in one, that is named as credentials are."""
    for name in _credentials(params):
        raise ConfigError(f"the parameter {name!r} of model {model!r} looks like a credential, {_MEND}")


def check_values(params: Iterable[tuple[str, JSON]], keys: Iterable[str]) -> None:
    """Raise ConfigError where the value of a parameter holds one of these API keys."""
    secrets = tuple(keys)
    for name, value in params:
        if mask_secrets(canonical_json(value), secrets)[1]:
            raise ConfigError(f"the parameter {name!r} holds an API key, {_MEND}")


def _credentials(value: JSON) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            scalar = isinstance(inner, str | int | float) and not isinstance(inner, bool)
            if scalar and is_credential_name(name):
                yield name
            yield from _credentials(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _credentials(inner)

"""From raw tables to typed settings, refusing what is unknown, mistyped or secret."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from types import UnionType
from typing import Any, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from harness.errors import ConfigError, MediaError
from harness.nearest import nearest, nearest_or_known
from harness.outcomes import ExchangeOutcome
from harness.recipes import read_wish
from harness.schema_names import some_alias_matches
from harness.settings import IMPORTED, ErrorRule, Model, Provider, Settings
from harness.toml_file import Table

SettingsT = TypeVar("SettingsT", bound=Settings)

_SECRET_WORDS = frozenset(
    {"authorization", "auth", "apikey", "key", "token", "secret", "password", "cookie", "credential",
     "credentials", "bearer"}
)
_SECRET_VALUE = re.compile(r"^\s*(bearer|basic)\s|^\s*(sk|gsk|xai|hf|r8|pplx)[-_]\w|^\s*AIza", re.IGNORECASE)
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_KEY_HEADER_ADAPTERS = ("openai", "openai-responses")
_NO_ECHO = frozenset({"headers", "base_url", "api_key_env"})


def check_keys(table: Mapping[str, object], known: Collection[str], where: str) -> None:
    """Raise ConfigError on the first key that is not known, with the nearest that is."""
    for key in table:
        if key not in known:
            hint = nearest_or_known(key, sorted(known))
            raise ConfigError(f"{where}: unknown key {key!r}{hint}")


def build_provider(name: str, table: Table, where: str) -> Provider:
    """Return a provider from its table; `where` names file and table for the messages.

    Raises ConfigError on anything unknown or mistyped, on secrets, and on a missing base URL.
    """
    _check_name(name, where)
    if "/" in name:
        raise ConfigError(f"{where}: a provider name may hold no '/', as in 'provider/model-id'; rename it")
    _check_fields(table, Provider, {"name"}, where)
    if table.get("adapter") == IMPORTED:
        raise ConfigError(f"{where}: nobody is asked by the adapter 'imported'; `harness import` reads files")
    provider = _validated(Provider, {**table, "name": name}, where)
    _check_base_url(provider, where)
    _check_headers(provider.headers, where)
    if provider.api_key_env is not None and not _VARIABLE.match(provider.api_key_env):
        raise ConfigError(
            f"{where}: api_key_env must be the name of an environment variable, not the key itself; "
            "put the key in the environment"
        )
    _check_key_header(provider, where)
    _check_schema_names(provider.schema_names, where)
    _check_errors(provider.errors, where)
    return provider


def _check_schema_names(pattern: str | None, where: str) -> None:
    if pattern is None:
        return
    try:
        usable = some_alias_matches(pattern)
    except re.error as error:
        raise ConfigError(f"{where}: schema_names is no regular expression: {error}; correct it") from error
    if not usable:
        raise ConfigError(
            f"{where}: schema_names {pattern!r} matches no name that could stand for another; write a "
            'pattern of whole names, as in "[A-Za-z0-9_.-]{1,64}"'
        )


def build_model(name: str, table: Table, provider: Provider, where: str) -> Model:
    """Return a model from its table and its provider, which the table only names."""
    _check_name(name, where)
    _check_fields(table, Model, {"name"}, where)
    if not table.get("model"):
        raise ConfigError(f"{where}: model is missing; set it to the name that the provider knows it by")
    model = _validated(Model, {**table, "name": name, "provider": provider.model_dump()}, where)
    check_recipe(model.image_recipe, where)
    return model


def check_recipe(recipe: str | None, where: str) -> None:
    """Raise ConfigError where a text names no recipe for all images of a run."""
    if recipe is not None:
        try:
            read_wish(recipe)
        except MediaError as error:
            raise ConfigError(f"{where} image_recipe: {error}") from error


def _check_name(name: str, where: str) -> None:
    if not name or name != name.strip() or not name.isprintable() or "," in name or "=" in name:
        raise ConfigError(f"{where}: {name!r} cannot be written in --models; use no ',' and no '='")


def _check_fields(table: Table, kind: type[Settings], hidden: set[str], where: str) -> None:
    """Check key names, those of the nested tables included."""
    check_keys(table, kind.model_fields.keys() - hidden, where)
    for key, value in table.items():
        for nested in _alternatives(kind.model_fields[key].annotation):
            if isinstance(value, dict) and isinstance(nested, type) and issubclass(nested, Settings):
                _check_fields(value, nested, set(), f"{where} {key}")


def _alternatives(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)


def _validated(kind: type[SettingsT], values: Mapping[str, Any], where: str) -> SettingsT:
    try:
        # The JSON form is strict about types ("600" is no number) and yet takes arrays for tuples.
        return kind.model_validate_json(json.dumps(_finite(values, where)), strict=True)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_told(error, kind)}") from error


def _finite(value: object, where: str) -> object:
    """Return the value itself; raise on what JSON cannot carry, and so no request either."""
    match value:
        case Mapping():
            return {key: _finite(item, f"{where} {key}") for key, item in value.items()}
        case list() | tuple():
            return [_finite(item, where) for item in value]
        case float() if not math.isfinite(value):
            raise ConfigError(f"{where}: {value} is no usable number; give a finite one")
        case str() | int() | float() | bool() | None:
            return value
        case _:
            raise ConfigError(f"{where}: {str(value)!r} is a date or time; write it as a string in quotes")


def _told(error: ValidationError, kind: type[BaseModel]) -> str:
    """Return the faults in one line; values are repeated only where they can be no secret."""
    told = []
    for fault in error.errors(include_url=False)[:3]:
        path = ".".join(str(step) for step in fault["loc"])
        value = fault["input"]
        if fault["type"] == "extra_forbidden":
            told.append(f"unknown key {path!r}")
            continue
        if fault["type"] == "missing":
            told.append(f"{path} is missing")
            continue
        text = fault["msg"].replace("Input should be", "must be")
        secret = bool(fault["loc"]) and fault["loc"][0] in _NO_ECHO
        simple = isinstance(value, str | int | float | bool) and not secret
        near = ""
        if fault["type"] == "literal_error" and isinstance(value, str):
            near = nearest(value, re.findall(r"'([^']+)'", str(fault.get("ctx", {}).get("expected", ""))))
        told.append(f"{path}: {text}" + (f", not {value!r}" if simple else "") + near)
    return "; ".join(told)


def _check_base_url(provider: Provider, where: str) -> None:
    url = provider.base_url
    if not url:
        # LiteLLM knows the addresses of its providers.
        if provider.adapter in {"simulator", "litellm"} or provider.base_url_like:
            return
        raise ConfigError(f"{where}: base_url is missing; set the address of the server's API")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    # An address that cannot be read is not repeated: it may hold a password.
    if not sound or url != url.strip() or " " in url:
        raise ConfigError(f"{where}: base_url is no http address; write it as 'http://HOST:PORT/v1'")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{where}: base_url holds credentials; keys belong in the environment")
    if parts.query or parts.fragment:
        raise ConfigError(f"{where}: base_url may hold no '?' or '#' part; keys belong in the environment")


def _check_key_header(provider: Provider, where: str) -> None:
    name = provider.api_key_header
    if not _HEADER_NAME.fullmatch(name):
        raise ConfigError(f"{where}: api_key_header {name!r} is no header name; write one like 'api-key'")
    if name != "authorization" and provider.adapter not in _KEY_HEADER_ADAPTERS:
        known = " and ".join(map(repr, _KEY_HEADER_ADAPTERS))
        raise ConfigError(
            f"{where}: the adapter {provider.adapter!r} has its own header for the key; leave api_key_header "
            f"out (it is for {known})"
        )


def _check_headers(headers: Mapping[str, str], where: str) -> None:
    for name, value in headers.items():
        words = set(re.split(r"[^a-z0-9]+", name.casefold()))
        if words & _SECRET_WORDS or _SECRET_VALUE.search(value):
            raise ConfigError(
                f"{where}: header {name!r} looks like a secret; put the key in the environment (api_key_env)"
            )


def _check_errors(errors: Mapping[str, tuple[ErrorRule, ...]], where: str) -> None:
    known = [outcome.value for outcome in ExchangeOutcome]
    for name, rules in errors.items():
        if name not in known:
            hint = nearest_or_known(name, known)
            raise ConfigError(f"{where} errors: unknown outcome {name!r}{hint}")
        for rule in rules:
            if rule.status is None and rule.code is None and rule.message is None:
                raise ConfigError(f"{where} errors: an empty rule for {name!r}; give status, code or message")

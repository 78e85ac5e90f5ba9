"""Whether LiteLLM is there to send with, found without importing it (seconds of CPU)."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from harness.errors import ConfigError
from harness.providers.litellm_format import VERSION

INSTALL: Final = "pip install 'mllm-harness[litellm]'"


def check_installed() -> None:
    """Raise ConfigError, with the way to install it, where LiteLLM is missing, or not this one."""
    try:
        found = version("litellm")
    except PackageNotFoundError as error:
        raise ConfigError(
            f"models of the adapter 'litellm' need LiteLLM, which is not installed: {INSTALL}"
        ) from error
    if find_spec("httpx") is None:
        raise ConfigError(
            f"models of the adapter 'litellm' need httpx beside LiteLLM, which is not installed: {INSTALL}"
        )
    if found != VERSION:
        raise ConfigError(
            f"LiteLLM {found} is installed, and {VERSION} is the version whose translations are known and "
            f"stored: {INSTALL}"
        )

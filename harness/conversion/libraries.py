"""The libraries of the extra `convert`: whether they are there, their versions, and their silence."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from harness.errors import ConfigError

INSTALL: Final = "pip install 'mllm-harness[convert]'"
_NEEDED: Final = {"av": "av", "nibabel": "nibabel", "pydicom": "pydicom", "openjpeg": "pylibjpeg-openjpeg"}
"""Import name -> distribution."""
_RECORDED: Final = ("av", "nibabel", "numpy", "pillow", "pydicom", "pylibjpeg-openjpeg")
_TALKATIVE: Final = ("pydicom", "nibabel", "PIL", "libav", "pylibjpeg")


def need_libraries() -> None:
    """Raise ConfigError, with the command that installs them, where a library of the extra is missing."""
    missing = [distribution for name, distribution in _NEEDED.items() if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"converting DICOM and NIfTI needs {', '.join(missing)}; install the extra: {INSTALL}"
        )


def library_versions() -> dict[str, str]:
    """Return distribution -> version of all that has a say in the bytes of an output."""
    found = {}
    for name in _RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@contextmanager
def silenced() -> Iterator[None]:
    """Keep what the libraries would log or warn of to themselves: their words quote values of tags.

    pydicom validates values as it reads and names those that it finds wrong, a patient's name too; what
    matters of that is told by us, without the value.
    """
    import pydicom.config

    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    loggers += [logging.getLogger(name) for name in logging.root.manager.loggerDict if _of_these(name)]
    before = [one.disabled for one in loggers]
    validation = pydicom.config.settings.reading_validation_mode
    pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE
    for one in loggers:
        one.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        pydicom.config.settings.reading_validation_mode = validation
        for one, disabled in zip(loggers, before, strict=True):
            one.disabled = disabled


def _of_these(name: str) -> bool:
    return name.split(".")[0] in _TALKATIVE

"""A folder that is there whole or not at all: made beside its place, and put there in one step."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError, SpoolError


@dataclass(slots=True)
class Draft:
    """The folder while it is made; `keep` says that it shall stay."""

    path: Path
    kept: bool = False

    def keep(self) -> None:
        """Put it in its place at the end."""
        self.kept = True


def check_free(out: Path) -> None:
    """Raise ConfigError where something stands at a place, an empty folder apart."""
    if out.is_dir():
        if any(out.iterdir()):
            raise ConfigError(f"the folder {str(out)!r} is not empty; name a new or an empty one")
    elif os.path.lexists(out):
        raise ConfigError(f"{str(out)!r} is no folder; name a new or an empty one")


def check_left(out: Path) -> None:
    """Raise ConfigError where this process stands in a folder: whoever called it would be left nowhere."""
    if out.is_dir() and Path.cwd().is_relative_to(out):
        raise ConfigError(f"the folder {str(out)!r} would be replaced under your feet; leave it first")


@contextmanager
def new_folder(out: Path, check: Callable[[Path], None] = check_free) -> Iterator[Draft]:
    """Give a draft of a folder, which is removed on any way out but after `keep`.

    What stands at `out` is replaced if `check` lets it pass: an empty folder alone, unless it is told
    otherwise. Raises ConfigError where it does not, SpoolError where the disk fails.
    """
    out = out.resolve()
    check_left(out)
    check(out)
    draft = Draft(out.parent / f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft.path.mkdir()
        yield draft
        if draft.kept:
            check(out)
            _put(draft.path, out)
    except OSError as error:
        raise SpoolError(
            f"cannot write {str(out)!r}: {error.strerror or error}; make room, or change --out"
        ) from error
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)


def _put(draft: Path, out: Path) -> None:
    """Rename a folder into a place, taking what stands there out of its way before and away after."""
    old = None
    if out.is_dir():
        old = out.with_name(f".{out.name}.{secrets.token_hex(4)}.old")
        out.rename(old)
    try:
        draft.rename(out)
    except BaseException:
        if old is not None:
            old.rename(out)
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def copy_folder(source: Path, out: Path) -> None:
    """Copy a folder without its code. Raises ConfigError where `out` is taken or cannot be written."""
    check_free(out)
    try:
        shutil.copytree(
            source, out, dirs_exist_ok=True, copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__", "*.py"),
        )
    except (shutil.Error, OSError) as error:
        raise ConfigError(f"cannot write {str(out)!r}: {error}; change --out") from error

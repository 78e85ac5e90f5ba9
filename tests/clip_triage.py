"""Triage whose cases show a clip instead of an image: `both` at 2 frames a second, `opg` at 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clip_examples import written_clip
from sweep_kit import harness, run_args, write_cases

import harness.benchmarks.triage.cases as cases
from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.case_loading import CaseForm
from harness.benchmarks.triage import benchmark
from harness.messages import ImagePart, Message, Part, VideoPart

FPS: Mapping[str, float] = {"both": 2, "opg": 10}


def install(patch: pytest.MonkeyPatch) -> None:
    """Show clips from now on."""
    made, render = cases.case_form, type(benchmark).render

    def form() -> CaseForm:
        return replace(made(), kinds=lambda value: ["video"])

    def rendered(self: Any, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        def shown(part: Part) -> Part:
            return VideoPart(part.media, fps=FPS[condition]) if isinstance(part, ImagePart) else part

        turns = render(self, case, condition, prompt)
        return tuple(Message(turn.role, tuple(shown(part) for part in turn.parts)) for turn in turns)

    patch.setattr(cases, "case_form", form)
    patch.setattr(type(benchmark), "render", rendered)


def write_clip_cases(folder: Path, count: int, **clip: Any) -> Path:
    """Write cases that all show one clip, and return its path."""
    write_cases(folder / "data", count, image="clip.mp4")
    return written_clip(folder / "data", **clip)


def ask(folder: Path, *more: str | Path, models: str = "m") -> Any:
    """Ask the run of the folder."""
    return harness(*run_args(folder, *more, models=models))


def program(args: Sequence[str]) -> None:
    """Run the program with clips in it."""
    from harness.cli.main import cli

    install(pytest.MonkeyPatch())
    cli.main([*args])


def media_of(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the media of a record."""
    found: Sequence[Mapping[str, Any]] = record["media"]
    return found

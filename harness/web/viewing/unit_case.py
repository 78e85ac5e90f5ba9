"""What a case holds, and what of it a condition shows to a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.prompts import placeholders
from harness.errors import HarnessError
from harness.messages import TextPart
from harness.offline.stored_run import StoredRun


@dataclass(frozen=True, slots=True)
class CaseField:
    """A text of a case; `is_shown`: the condition puts it before the model; None: that is not known."""

    name: str
    text: str
    is_shown: bool | None


@dataclass(frozen=True, slots=True)
class CaseMedium:
    """A medium of a case: its role, its place there from 0, and whether the condition shows it, likewise."""

    role: str
    number: int
    sha256: str
    mime: str
    size: int
    is_shown: bool | None


@dataclass(frozen=True, slots=True)
class CaseShown:
    """A case as one condition shows it. `problem`: why no model can be asked about it."""

    fields: Sequence[CaseField]
    media: Sequence[CaseMedium]
    tags: Sequence[str]
    group: str | None
    problem: str | None
    prompt: str | None


def case_shown(
    stored: StoredRun, case: Case, condition: str, sent: Collection[str] | None = None
) -> CaseShown:
    """Return the texts and media of a case, each with whether the condition shows it.

    Told by rendering the case with the prompt that the run keeps: a text is shown where the prompt names it
    or it stands in what is said, a medium where it is among the parts. Where the case cannot be rendered,
    the prompt tells of texts, and of media `sent`: the digests that the unit's requests hold, if it has any.
    Of imported answers nothing is known.
    """
    ref = stored.manifest.conditions[condition].prompt
    prompt = None
    if not stored.manifest.imported:
        prompt = Prompt(ref.id, ref.sha256, stored.blobs[ref.sha256].decode("utf-8"))
    named, said, media = (None, "", None) if prompt is None else _rendered(stored, case, condition, prompt)
    media = sent if media is None else media
    return CaseShown(
        [CaseField(name, text, _is_said(name, text, named, said)) for name, text in case.fields.items()],
        [
            CaseMedium(
                role, number, one.sha256, one.mime, one.size, None if media is None else one.sha256 in media
            )
            for role, of_role in case.media.items()
            for number, one in enumerate(of_role)
        ],
        case.tags,
        case.group,
        case.problem,
        None if prompt is None else ref.id,
    )


def is_asked(stored: StoredRun, case: Case, condition: str) -> bool:
    """Tell whether a run asks a condition of a case: where it does not, there is no unit."""
    benchmark = stored.benchmark
    return condition not in benchmark.partial_conditions or benchmark.asks(case, condition)


def _is_said(name: str, text: str, named: Collection[str] | None, said: str) -> bool | None:
    return None if named is None else name in named or bool(text.strip() and text in said)


def _rendered(
    stored: StoredRun, case: Case, condition: str, prompt: Prompt
) -> tuple[Collection[str] | None, str, Collection[str] | None]:
    """Return which fields the prompt names, all that is said, and the digests of the media that are shown."""
    named: Collection[str] | None = None
    try:
        named = placeholders(prompt)
        turns = stored.benchmark.render(case, condition, prompt)
    except (HarnessError, KeyError):
        return named, "", None
    parts = [part for turn in turns for part in turn.parts]
    said = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return named, said, {part.media.sha256 for part in parts if not isinstance(part, TextPart)}

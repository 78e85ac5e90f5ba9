"""What a run wants: the digest of this is the run's identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from harness.canonical import JSON, digest
from harness.messages import Purpose, Structured
from harness.recipes import ORIGINAL
from harness.settings import IMPORTED

MANIFEST_VERSION = 1
UNKNOWN_PROMPT = "unknown"
"""Id of the empty prompt of imported answers, where nobody noted what was asked."""


@dataclass(frozen=True, slots=True)
class BlobRef:
    """A prompt, schema or case snapshot by its versioned id and the digest of its bytes."""

    id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelWanted:
    """A model as it enters a run's identity: whatever changes its answers.

    `dropped_params` are benchmark defaults (or, on request, the user's) that the model does not take.
    `reformatter` names the model that restates its unusable answers; None: nobody does.
    """

    adapter: str
    endpoint: str
    model: str
    headers: Mapping[str, str]
    max_tokens_field: str
    params: Mapping[str, JsonValue]
    dropped_params: tuple[str, ...] = ()
    reformatter: str | None = None
    simulated: bool = False
    image_recipe: str = ORIGINAL
    """The wish (see `harness.recipes`); left out of the JSON where images are sent as they are."""
    schema_names: str | None = None
    """The provider's rule for names of properties, where answers are constrained by a schema."""

    @property
    def imported(self) -> bool:
        """True for a model whose answers were read from files: prompt and parameters are not known."""
        return self.adapter == IMPORTED


@dataclass(frozen=True, slots=True)
class ConditionWanted:
    """The prompt of one condition and the schema its answers must fit (None: free text)."""

    prompt: BlobRef
    schema: BlobRef | None


@dataclass(frozen=True, slots=True)
class ReformatWanted:
    """How unusable answers are restated; prompts and schemas by condition.

    `quoting` is the text that marks the answer as quoted data.
    """

    quoting: BlobRef
    models: Mapping[str, ModelWanted]
    conditions: Mapping[str, ConditionWanted]


@dataclass(frozen=True, slots=True)
class NotShown:
    """How many units of a model and condition a step does not look at, and why."""

    model: str
    condition: str
    why: str
    units: int


@dataclass(frozen=True, slots=True)
class StepWanted:
    """What a step follows: the run with the digest `source`.

    `simulated`, `imported`: what is true of the answers that it looks at.
    """

    kind: str
    source: str
    simulated: bool
    imported: bool
    not_shown: tuple[NotShown, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a run wants. Two runs with equal digests are the same run."""

    benchmark: str
    cases: BlobRef
    n_cases: int
    synthetic: bool
    conditions: Mapping[str, ConditionWanted]
    models: Mapping[str, ModelWanted]
    reformat: ReformatWanted | None
    attempts: int
    reask: Literal["same", "feedback"]
    feedback: BlobRef | None
    """The text that `reask` "feedback" adds."""
    structured: Structured
    repeats: int
    step: StepWanted | None = None
    """Of a run that follows another one; left out of the JSON of all others."""
    asked: Mapping[str, int] = field(default_factory=dict)
    """Condition -> of how many cases it is asked, where not of all; left out where each is."""

    @property
    def simulated(self) -> bool:
        """True if any model is a simulated one, or answers of one are looked at."""
        followed = self.step is not None and self.step.simulated
        return followed or any(model.simulated for model in self.models.values())

    @property
    def imported(self) -> bool:
        """True if the answers of any model were read from files."""
        return any(model.imported for model in self.models.values())

    @property
    def n_units(self) -> int:
        """Cases x conditions that are asked of them x models x repeats."""
        return self.n_model * len(self.models)

    @property
    def n_model(self) -> int:
        """Units of one model."""
        return sum(self.asked.get(name, self.n_cases) for name in self.conditions) * self.repeats

    def asked_model(self, model: str, purpose: Purpose) -> str:
        """Return the name of the model that a purpose asks: a unit's own, or its reformatter."""
        return model if purpose == "answer" else self.models[model].reformatter or model

    def to_json(self) -> Mapping[str, JSON]:
        """Return the manifest as it is stored and hashed."""
        found = {"version": MANIFEST_VERSION, **asdict(self)}
        if self.step is None:
            del found["step"]  # so that a run from before there were steps is the same run
        if not self.asked:
            del found["asked"]
        for models in (found["models"], (found["reformat"] or {}).get("models", {})):
            for model in models.values():
                # So that a run from before there was a choice is the same run.
                if model["image_recipe"] == ORIGINAL:
                    del model["image_recipe"]
                if model["schema_names"] is None:
                    del model["schema_names"]
        return found

    def digest(self) -> str:
        """Return the run's identity."""
        return digest(self.to_json())


def read_manifest(data: Mapping[str, JSON]) -> Manifest:
    """Undo `Manifest.to_json`."""
    return _READER.validate_python({key: value for key, value in data.items() if key != "version"})


def differences(old: Manifest, new: Manifest) -> Iterator[str]:
    """Name what two runs want differently."""
    before, after = old.to_json(), new.to_json()
    for name in before:
        if name in ("models", "conditions"):
            was, now = before[name], after[name]
            assert isinstance(was, Mapping) and isinstance(now, Mapping)
            yield from (f"{name}: {key}" for key in sorted({*was, *now}) if was.get(key) != now.get(key))
        elif before[name] != after.get(name):
            yield name


_READER = TypeAdapter(Manifest)

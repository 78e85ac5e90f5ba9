"""Files in, outputs and their record out: each file by itself, one fault stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness.canonical import digest
from harness.conversion.finding import find_sources, kind_of
from harness.conversion.libraries import library_versions
from harness.conversion.making import Made, make
from harness.conversion.nifti import NiftiStack, stacks_of_volume
from harness.conversion.nifti_files import open_volume
from harness.conversion.outputs import part_file, put_in_place, sha256_of, stem_of
from harness.conversion.pictures import Source, Stack
from harness.conversion.recipe import Recipe
from harness.conversion.record import ConversionRecord
from harness.conversion.series import stacks_of
from harness.conversion.slices import Slice, read_slices
from harness.conversion.windowing import Measures
from harness.errors import ConfigError, ConversionError, HarnessError

Event = Literal["made", "kept", "failed", "warning"]
Tell = Callable[[Event, str], None]


@dataclass(slots=True)
class Outcome:
    """What came of a call: names of outputs, sentences about files; `passed_over`: files of other kinds."""

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    passed_over: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One call of `harness data convert`."""

    inputs: tuple[Path, ...]
    out: Path
    recipe: Recipe
    keep_names: bool = False
    overwrite: bool = False


class Converter:
    """Works off a job; `tell` hears of each output and each fault as it happens."""

    def __init__(self, job: Job, tell: Tell) -> None:
        self._job = job
        self._tell = tell
        self._outcome = Outcome()
        self._digests: dict[Path, str] = {}
        self._taken: set[str] = set()
        self._libraries = library_versions()
        self._record: ConversionRecord

    def run(self) -> Outcome:
        """Convert everything. Raises ConfigError where a path or the output folder cannot be used."""
        files = list(find_sources(self._job.inputs, self._job.out))
        if self._job.out.exists() and not self._job.out.is_dir():
            raise ConfigError(f"{str(self._job.out)!r} is a file; --out names a folder")
        self._job.out.mkdir(parents=True, exist_ok=True)
        self._record = ConversionRecord(self._job.out)
        try:
            self._convert(files)
        finally:
            self._record.close()
        return self._outcome

    def _convert(self, files: Sequence[tuple[Source, bool]]) -> None:
        slices: list[Slice] = []
        broken: set[Path] = set()
        for source, named in files:
            try:
                match kind_of(source, named=named):
                    case "dicom":
                        slices += read_slices(source)
                    case None:
                        self._outcome.passed_over += 1
                    case kind:
                        self._convert_volume(source, packed=kind == "nifti.gz")
            except ConversionError as error:
                broken.add(source.path.parent)
                self._fail(str(error))
            except (HarnessError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001 - a library's words may quote a patient's name
                broken.add(source.path.parent)
                self._fail(_unforeseen(source, error))
        stacks = stacks_of(slices)
        wanted = self._job.recipe.phase
        if wanted is not None and stacks and all(_phase(one) != wanted for one in stacks):
            first = str(stacks[0].sources[0].path)
            self._fail(f"{first!r}: --phase {wanted} is not there, nor in any other series; 0 is the first")
        for stack in stacks:
            missing = len(stack.sources) > 1 and any(one.path.parent in broken for one in stack.sources)
            if wanted in (None, _phase(stack)):
                self._convert_stack(stack, missing=missing)

    def _convert_volume(self, source: Source, *, packed: bool) -> None:
        volume = open_volume(source, packed=packed)
        try:
            stacks = stacks_of_volume(volume, self._job.recipe.axis)
            wanted = self._job.recipe.phase
            if wanted is not None and wanted >= len(stacks):
                raise ConversionError(
                    f"{str(source.path)!r}: --phase {wanted} is not there; it has {len(stacks)}, from 0"
                )
            for stack in stacks if wanted is None else [stacks[wanted]]:
                self._convert_stack(stack)
        finally:
            volume.close()

    def _convert_stack(self, stack: Stack, *, missing: bool = False) -> None:
        try:
            measures: Measures = {}
            for kind, indices, suffix in self._wanted(stack):
                self._output(stack, kind, indices, suffix, measures, missing=missing)
        except ConversionError as error:
            self._fail(str(error))
        except (HarnessError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(_unforeseen(stack.sources[0], error))

    def _wanted(self, stack: Stack) -> Iterator[tuple[Literal["image", "clip"], list[int], str]]:
        recipe, count = self._job.recipe, len(stack.frames)
        if recipe.kind == "clip" or (recipe.kind == "auto" and stack.moving):
            yield "clip", list(range(count)), ".mp4"
            return
        picks = recipe.picks
        if isinstance(picks, int) and picks >= count:
            raise ConversionError(
                f"{str(stack.sources[0].path)!r}: --slice {picks} is not there; it has {count}, from 0"
            )
        chosen = range(count) if picks == "all" else [count // 2 if picks == "middle" else picks]
        for index in chosen:
            yield "image", [index], f"-s{index:04}.png" if stack.moving else ".png"

    def _output(
        self,
        stack: Stack,
        kind: Literal["image", "clip"],
        indices: list[int],
        suffix: str,
        measures: Measures,
        *,
        missing: bool,
    ) -> None:
        sources = [{"path": one.name, "sha256": self._digest(one)} for one in stack.sources]
        recipe = self._job.recipe.to_json(kind)
        pictures = [list(stack.frames[index]) for index in indices]
        contents = [one["sha256"] for one in sources]
        identity = digest({"recipe": recipe, "sources": contents, "pictures": pictures, "part": stack.part})
        name = self._name(stack, suffix, sources)
        if name is None:
            return
        final, line = self._job.out / name, self._record.get(name)
        untouched = line is not None and final.exists() and sha256_of(final) == line["sha256"]
        if line is not None and untouched and line["identity"] == identity:
            self._outcome.kept.append(name)
            self._tell("kept", name)
            for note in line["warnings"]:
                self._warn(stack, name, note)
            return
        if untouched and not self._job.overwrite:
            raise _taken(final, "was made by another recipe or of other files")
        with part_file(self._job.out) as part:
            made = make(part, stack, kind, indices, self._job.recipe, measures)
            self._place(part, final)
            notes = [*stack.notes, *made.notes]
            if self._job.recipe.axis != "axial" and not isinstance(stack, NiftiStack):
                notes.append(f"--axis {self._job.recipe.axis} is of NIfTI alone: its slices are as stored")
            if missing:
                notes.append("a file of the same folder could not be read: slices may be missing")
            facts = {"part": stack.part, "orientation": stack.orientation, "warnings": notes}
            self._record.add(
                {"output": name, "sha256": sha256_of(final), "identity": identity, "recipe": recipe}
                | _facts(made, self._job.recipe)
                | {"sources": sources, "pictures": pictures, **facts, "libraries": self._libraries}
            )
        self._outcome.made.append(name)
        self._tell("made", name)
        for note in notes:
            self._warn(stack, name, note)

    def _place(self, part: Path, final: Path) -> None:
        """Put a file in place; one that is there already and holds the same bytes is left as it is."""
        placed = put_in_place(part, final, overwrite=self._job.overwrite)
        if not placed and sha256_of(part) != sha256_of(final):
            raise _taken(final, "is another file")

    def _name(self, stack: Stack, suffix: str, sources: list[dict[str, str]]) -> str | None:
        """Return the name of an output: by its contents, or as the user calls them; None if it is made."""
        content = digest([one["sha256"] for one in sources])
        parts = [stack.part]
        if isinstance(stack, NiftiStack) and stack.axis != "axial":
            parts.append(stack.axis)
        ending = "".join(f"-{one}" for one in parts if one) + suffix
        name = f"{content[:12]}{ending}"
        if self._job.keep_names:
            name = f"{stem_of(stack.sources)}{ending}"
            line = self._record.get(name)
            others = line is not None and [one["path"] for one in line["sources"]] != [
                one["path"] for one in sources
            ]
            if others or name in self._taken:
                name = f"{stem_of(stack.sources)}-{content[:6]}{ending}"
        if name in self._taken:
            self._warn(stack, name, "it holds the same bytes as another input and was converted once")
            return None
        self._taken.add(name)
        return name

    def _digest(self, source: Source) -> str:
        if source.path not in self._digests:
            self._digests[source.path] = sha256_of(source.path)
        return self._digests[source.path]

    def _fail(self, sentence: str) -> None:
        self._outcome.failed.append(sentence)
        self._tell("failed", sentence)

    def _warn(self, stack: Stack, name: str, note: str) -> None:
        more = f" and {len(stack.sources) - 1} more" if len(stack.sources) > 1 else ""
        sentence = f"{name}, of {str(stack.sources[0].path)!r}{more}: {note}"
        self._outcome.warnings.append(sentence)
        self._tell("warning", sentence)


def _phase(stack: Stack) -> int:
    """Return which phase of its series a stack is: 0 where there is one."""
    return int(stack.part.rpartition("t")[2]) if "t" in stack.part else 0


def _facts(made: Made, recipe: Recipe) -> dict[str, Any]:
    return {
        "kind": made.kind,
        "bytes": made.bytes,
        "size": [made.width, made.height],
        "frames": made.frames,
        "fps": recipe.fps if made.kind == "clip" else None,
        "window": made.window,
        "colour": made.window is None,
        "pixel_ratio": made.ratio,
    }


def _unforeseen(source: Source, error: Exception) -> str:
    why = f"damaged, or of a kind not foreseen ({type(error).__name__})"
    return f"{str(source.path)!r}: it cannot be converted: {why}"


def _taken(final: Path, what: str) -> ConversionError:
    return ConversionError(
        f"{str(final)!r} is there and {what}; --overwrite replaces it, another --out keeps both"
    )

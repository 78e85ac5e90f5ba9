"""The run that imported answers stand in: what it wants, by the same manifest as an asked one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.asked_cases import asked_cases
from harness.benchmarks.base import Benchmark, CaseSet
from harness.benchmarks.registry import get_benchmark
from harness.canonical import canonical_json, sha256_hex
from harness.case_spool import chosen_cases
from harness.config import Config
from harness.errors import ConfigError, UnknownNameError
from harness.manifest import UNKNOWN_PROMPT, BlobRef, ConditionWanted, Manifest, ModelWanted
from harness.settings import IMPORTED, Model, Provider
from harness.snapshot import encode_cases

NOTED_PROMPT = "noted"
PROVIDER = Provider(name=IMPORTED, adapter=IMPORTED, endpoint=IMPORTED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the answers are answers to. `prompt_note`: what the user knows of the prompt, None: nothing."""

    benchmark: Benchmark
    cases: CaseSet
    condition: str
    model: Model
    prompt_note: str | None


def what_is_wanted(
    benchmark_name: str,
    model_name: str,
    config: Config,
    *,
    data: Path | None = None,
    condition: str | None = None,
    prompt_note: str | None = None,
) -> Wanted:
    """Resolve benchmark, cases, condition and model. Raises ConfigError, CaseFileError."""
    benchmark = get_benchmark(benchmark_name)
    if condition is None:
        condition = benchmark.main_conditions[0]
    if condition not in benchmark.conditions:
        known = ", ".join(benchmark.conditions)
        raise UnknownNameError(f"unknown condition {condition!r} of {benchmark.name}; known: {known}")
    if not model_name.strip() or not model_name.isprintable() or model_name != model_name.strip():
        raise ConfigError(
            f"--model {model_name!r} is no name; call the model as it should stand in the tables"
        )
    folder = data or config.benchmark(benchmark.name).data or benchmark.sample_dir()
    cases = _asked(benchmark, benchmark.load(folder), condition)
    if not cases.cases:
        raise ConfigError("there are no cases to match answers to; the case file is empty")
    return Wanted(
        benchmark=benchmark,
        cases=cases,
        condition=condition,
        model=Model(name=model_name, provider=PROVIDER, model=model_name),
        prompt_note=prompt_note or None,
    )


def _asked(benchmark: Benchmark, cases: CaseSet, condition: str) -> CaseSet:
    """Return the cases that a condition is asked of: those alone can have answers in it."""
    flags = asked_cases(benchmark, cases.cases, [condition]).get(condition)
    if flags is None:
        return cases
    return replace(cases, cases=chosen_cases(cases.cases, [n for n, asked in enumerate(flags) if asked]))


def imported_manifest(wanted: Wanted, repeats: int) -> tuple[Manifest, Mapping[str, bytes]]:
    """Return the manifest and the blobs that it names.

    Files are no part of it: other files of the same answers add to the same run.
    """
    blobs: dict[str, bytes] = {}

    def put(name: str, data: bytes) -> BlobRef:
        digest = sha256_hex(data)
        blobs[digest] = data
        return BlobRef(name, digest)

    schema = wanted.benchmark.schema(wanted.condition)
    note = wanted.prompt_note
    manifest = Manifest(
        benchmark=wanted.benchmark.name,
        cases=put("cases", encode_cases(wanted.cases)),
        n_cases=len(wanted.cases.cases),
        synthetic=wanted.cases.synthetic,
        conditions={
            wanted.condition: ConditionWanted(
                prompt=put(UNKNOWN_PROMPT if note is None else NOTED_PROMPT, (note or "").encode("utf-8")),
                schema=None if schema is None else put(schema.id, canonical_json(schema.body)),
            )
        },
        models={
            wanted.model.name: ModelWanted(
                adapter=IMPORTED,
                endpoint=IMPORTED,
                model=wanted.model.model,
                headers={},
                max_tokens_field=PROVIDER.max_tokens_field,
                params={},
            )
        },
        reformat=None,
        attempts=1,
        reask="same",
        feedback=None,
        structured="off",
        repeats=repeats,
    )
    return manifest, blobs

"""From what the user asked for to everything a run needs, with every name resolved and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.asked_cases import AskedCases, asked_cases
from harness.attempts import attempt_policy
from harness.benchmarks.base import Benchmark, Case, CaseSet, Prompt
from harness.benchmarks.prompts import load_prompt, read_prompt_file
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.steps import Step
from harness.cache.key import endpoint_identity
from harness.canonical import JSON, canonical_json, sha256_hex
from harness.case_spool import broken_cases, case_ids, chosen_cases, snapshot_digest
from harness.config import Config
from harness.errors import ConfigError, UnknownNameError
from harness.manifest import BlobRef, ConditionWanted, Manifest, ModelWanted, ReformatWanted
from harness.media_reading import MediaReader
from harness.messages import Schema, Structured
from harness.model_choice import COMMON_PARAMS, chosen_models, retired_notes, told_dropped
from harness.nearest import nearest
from harness.offline.step_cases import Followed
from harness.plans import ConditionPlan, ModelPlan
from harness.recipes import ORIGINAL
from harness.reformatter import FEEDBACK_PROMPT, QUOTING_PROMPT
from harness.run_options import RunOptions
from harness.settings import Model


@dataclass(frozen=True, slots=True)
class Plan:
    """A run ready to be worked on: its manifest, the blobs that it keeps, and the live settings.

    `notes` are sentences that the user should read before the first request.
    """

    benchmark: Benchmark
    manifest: Manifest
    cases: CaseSet
    conditions: Mapping[str, ConditionPlan]
    models: Mapping[str, ModelPlan]
    asked: AskedCases
    blobs: Mapping[str, bytes]
    """Prompts and schemas; the snapshot of the cases is made from `cases` when it is kept."""
    notes: tuple[str, ...]
    name_stem: str | None = None
    """What the run is called after if nobody names it; None: the benchmark."""

    def all_models(self) -> dict[str, Model]:
        """Return the models that are asked and their reformatters, by name."""
        asked = {name: plan.model for name, plan in self.models.items()}
        restating = {
            plan.reformatter.name: plan.reformatter for plan in self.models.values() if plan.reformatter
        }
        return restating | asked


def make_plan(
    options: RunOptions,
    config: Config,
    media: MediaReader | None = None,
    followed: Followed | None = None,
) -> Plan:
    """Resolve all that a run wants; `media` tells what its media files are, None: each is read.

    `followed`: the cases of a step, which come from a run and no folder.
    Raises ConfigError or CaseFileError; asks nobody, writes nothing.
    """
    benchmark = get_benchmark(options.benchmark)
    if isinstance(benchmark, Step) and followed is None:
        raise ConfigError(benchmark.no_cases)
    blobs = _Blobs()
    models = chosen_models(options, config, benchmark)
    conditions = _conditions(options, benchmark)
    cases = _cases(options, config, benchmark, media) if followed is None else followed.cases
    asked, absent = _asked(benchmark, cases, conditions, drop="all" in options.conditions)
    conditions = {name: plan for name, plan in conditions.items() if name not in absent}
    reformat = any(model.reformatter for model in models.values())
    manifest = Manifest(
        benchmark=benchmark.name,
        cases=BlobRef("cases", snapshot_digest(cases)),
        n_cases=len(cases.cases),
        synthetic=cases.synthetic,
        conditions={name: _wanted(plan.prompt, plan.schema, blobs) for name, plan in conditions.items()},
        models={name: _model_wanted(plan, options.structured) for name, plan in models.items()},
        reformat=_reformat_wanted(models, conditions, blobs) if reformat else None,
        attempts=options.attempts,
        reask=options.reask,
        feedback=blobs.prompt(load_prompt(FEEDBACK_PROMPT)) if options.reask == "feedback" else None,
        structured=options.structured,
        repeats=options.repeats,
        step=None if followed is None else followed.wanted,
        asked={name: flags.count(1) for name, flags in asked.items()},
    )
    notes = tuple(_notes(options, config, benchmark, manifest, cases, models))
    if absent:
        notes = (f"left out, since no case has what they show: {', '.join(absent)}", *notes)
    if followed is not None:
        notes = (*followed.notes(), *notes)
    stem = None if followed is None else followed.name_stem
    return Plan(benchmark, manifest, cases, conditions, models, asked, blobs.data, notes, stem)


class _Blobs:
    """Prompts, schemas and cases by the digest of their bytes."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        sha256 = sha256_hex(data)
        self.data[sha256] = data
        return sha256

    def prompt(self, prompt: Prompt) -> BlobRef:
        return BlobRef(prompt.id, self.put(prompt.text.encode("utf-8")))

    def schema(self, schema: Schema | None) -> BlobRef | None:
        return None if schema is None else BlobRef(schema.id, self.put(canonical_json(schema.body)))


def condition_names(wanted: Sequence[str], benchmark: Benchmark) -> list[str]:
    """Return the conditions that are meant, in the benchmark's order: `all`, none (the main ones), or names.

    The same wish is the same run, whatever the user's order. Raises UnknownNameError.
    """
    names = wanted or benchmark.main_conditions
    if "all" in names:
        names = benchmark.conditions
    for name in names:
        if name not in benchmark.conditions:
            known = ", ".join(benchmark.conditions)
            meant = _meant(name, benchmark.conditions)
            raise UnknownNameError(
                f"unknown condition {name!r} of {benchmark.name}{meant}; known: {known}, all"
            )
    return [name for name in benchmark.conditions if name in names]


def _conditions(options: RunOptions, benchmark: Benchmark) -> dict[str, ConditionPlan]:
    names = condition_names(options.conditions, benchmark)
    return {name: _condition(name, options, benchmark) for name in names}


def _meant(name: str, conditions: Sequence[str]) -> str:
    """Return "; did you mean ...?": a part after the colon is enough to tell which one."""
    whole = [one for one in conditions if one.partition(":")[2] == name.strip().casefold()]
    return f"; did you mean {whole[0]!r}?" if len(whole) == 1 else nearest(name, conditions)


def _condition(name: str, options: RunOptions, benchmark: Benchmark) -> ConditionPlan:
    prompt = benchmark.prompt(name) if options.prompt is None else read_prompt_file(Path(options.prompt))
    benchmark.check_prompt(prompt, name)
    schema, reformat_schema = benchmark.schema(name), benchmark.reformat_schema(name)
    policy = attempt_policy(
        benchmark,
        name,
        None if schema is None else schema.body,
        None if reformat_schema is None else reformat_schema.body,
        max_attempts=options.attempts,
        reask=options.reask,
        reformat=True,
        prompt=prompt,
    )
    reformat_prompt = None if reformat_schema is None else benchmark.reformat_prompt(name)
    return ConditionPlan(name, prompt, schema, policy, reformat_prompt, reformat_schema)


def _cases(options: RunOptions, config: Config, benchmark: Benchmark, media: MediaReader | None) -> CaseSet:
    folder = Path(options.data) if options.data else config.benchmark(benchmark.name).data
    loaded = benchmark.load(folder or benchmark.sample_dir(), media)
    chosen = _chosen(loaded.cases, options)
    ids = set(case_ids(chosen))
    raters = {
        name: {case_id: answer for case_id, answer in answers.items() if case_id in ids}
        for name, answers in loaded.raters.items()
    }
    return CaseSet(chosen, raters, loaded.synthetic)


def _chosen(cases: Sequence[Case], options: RunOptions) -> Sequence[Case]:
    ids = case_ids(cases)
    indexes: Sequence[int] = range(len(ids))
    if options.cases:
        known = set(ids)
        for case_id in options.cases:
            if case_id not in known:
                raise UnknownNameError(f"unknown case {case_id!r}{nearest(case_id, known)}")
        wanted = set(options.cases)
        indexes = [index for index in indexes if ids[index] in wanted]
    if options.limit is not None:
        indexes = indexes[: options.limit]
    if not indexes:
        raise ConfigError("there are no cases to ask; the case file is empty")
    return chosen_cases(cases, indexes)


def _asked(
    benchmark: Benchmark, cases: CaseSet, conditions: Collection[str], *, drop: bool
) -> tuple[AskedCases, list[str]]:
    """Return of which cases each condition is asked, and the conditions that are asked of none.

    Raises ConfigError where there are such and they are not to be dropped, or all are.
    """
    asked = asked_cases(benchmark, cases.cases, conditions)
    absent = [name for name, flags in asked.items() if not flags.count(1)]
    if absent and (not drop or len(absent) == len(conditions)):
        raise ConfigError(
            f"none of the cases has what these conditions of {benchmark.name} show: {', '.join(absent)}; "
            "choose other --conditions, or other cases"
        )
    return {name: flags for name, flags in asked.items() if name not in absent}, absent


def _wanted(prompt: Prompt, schema: Schema | None, blobs: _Blobs) -> ConditionWanted:
    return ConditionWanted(prompt=blobs.prompt(prompt), schema=blobs.schema(schema))


def _model_wanted(plan: ModelPlan, structured: Structured) -> ModelWanted:
    reformatter = None if plan.reformatter is None else plan.reformatter.name
    found = _identity(plan.model, plan.params, plan.dropped_params, reformatter)
    names = plan.model.provider.schema_names if structured == "schema" else None
    return replace(found, image_recipe=plan.image_recipe, schema_names=names)


def _identity(
    model: Model, params: Mapping[str, JSON], dropped: tuple[str, ...], reformatter: str | None
) -> ModelWanted:
    return ModelWanted(
        adapter=model.provider.adapter,
        endpoint=endpoint_identity(model.provider),
        model=model.model,
        headers=model.provider.headers,
        max_tokens_field=model.provider.max_tokens_field,
        params=params,  # type: ignore[arg-type] # JSON is what JsonValue is, but read-only
        dropped_params=dropped,
        reformatter=reformatter,
        simulated=model.simulated,
    )


def _reformat_wanted(
    models: Mapping[str, ModelPlan], conditions: Mapping[str, ConditionPlan], blobs: _Blobs
) -> ReformatWanted:
    used = {plan.reformatter.name: plan.reformatter for plan in models.values() if plan.reformatter}
    return ReformatWanted(
        quoting=blobs.prompt(load_prompt(QUOTING_PROMPT)),
        models={name: _identity(model, model.params, (), None) for name, model in sorted(used.items())},
        conditions={
            name: _wanted(plan.reformat_prompt, plan.reformat_schema, blobs)
            for name, plan in conditions.items()
            if plan.reformat_prompt is not None
        },
    )


def _notes(
    options: RunOptions,
    config: Config,
    benchmark: Benchmark,
    manifest: Manifest,
    cases: CaseSet,
    models: Mapping[str, ModelPlan],
) -> list[str]:
    notes = retired_notes(models, config)
    if manifest.asked:
        told = ", ".join(f"{name} of {n}" for name, n in manifest.asked.items())
        notes.append(f"asked only of the cases that have what is shown: {told} of {manifest.n_cases} cases")
    if cases.synthetic:
        notes.append("the cases are SYNTHETIC: made by a script, of no clinical value")
    if any(plan.model.simulated for plan in models.values()):
        notes.append("simulated models answer by rules; their scores say nothing about any real model")
    if any(not plan.model.simulated for plan in models.values()):
        notes.append("rate limits are counted per process: a second run at the same time has its own")
    for name in options.params:
        hint = "" if name in COMMON_PARAMS else nearest(name, COMMON_PARAMS)
        if hint:
            notes.append(f"--param {name} is sent as it is written, and a server may ignore it{hint}")
    broken, first = broken_cases(cases.cases)
    if broken:
        notes.append(f"cases that cannot be asked and end as case_error: {broken}; first: {first}")
    recipes = {name: plan.image_recipe for name, plan in models.items() if plan.image_recipe != ORIGINAL}
    if recipes:
        told = ", ".join(f"{name} {recipe}" for name, recipe in recipes.items())
        notes.append(f"images are not sent as they are: {told}; each record says what was done")
    for name, plan in models.items():
        if plan.dropped_params:
            notes.append(f"{name} does not take {', '.join(told_dropped(plan))}: left out and recorded")
    default = any(
        plan.reformatter is not None and plan.reformatter.name == benchmark.reformatter
        for plan in models.values()
    )
    if default and benchmark.reformatter_departure:
        notes.append(f"departs from the paper: {benchmark.reformatter_departure}")
    return notes

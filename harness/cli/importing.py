"""The work behind `harness import`: check every row, store, say what came of it."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import __version__, exit_codes
from harness.budget import NOTHING_SENT
from harness.cache.location import display, find_store
from harness.cache.owner import this_process
from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.canonical import JSON
from harness.case_spool import case_ids
from harness.cli.going_on import told_when_interrupted, where_again
from harness.cli.import_report import named_facts, print_counts, tell_notes
from harness.cli.options import print_json, say
from harness.cli.run_planning import store_as_it_is
from harness.config import load_config
from harness.errors import ConfigError, ImportFileError
from harness.event_loop import run_session
from harness.imports.comparing import Comparison, Stored
from harness.imports.hints import Hints
from harness.imports.imported_run import PROVIDER, Wanted, imported_manifest, what_is_wanted
from harness.imports.importing import Importer, file_facts
from harness.imports.matching import CaseFinder, IdFile, read_id_file
from harness.imports.reader import AnswerReader, ImportFile, Named
from harness.imports.registry import AUTO, detect, get_format, refuse_pickle
from harness.imports.source import SourceFile
from harness.imports.turns import Check, turn
from harness.live_state import import_state
from harness.live_telling import telling
from harness.moments import now_us
from harness.outcomes import INCOMPLETE, UnitOutcome

_SAFE_TO_REPEAT = "give the same command again: what was stored is kept, and only the rest is added"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """One call of `import`, its arguments read."""

    files: tuple[Path, ...]
    benchmark: str
    model: str
    format_name: str
    data: Path | None
    condition: str | None
    repeat: int | None
    repeats: int | None
    run_name: str | None
    paths: Mapping[str, str]
    ids: Path | None
    failure_texts: tuple[str, ...]
    prompt_note: str | None
    skip_bad: bool
    dry_run: bool
    config_path: Path | None
    store: str | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """An import with everything resolved: what is read, what it answers, how it is matched."""

    options: ImportOptions
    wanted: Wanted
    files: tuple[ImportFile, ...]
    listed: IdFile | None
    secrets: tuple[str, ...]

    def reader(self) -> AnswerReader:
        ids = case_ids(self.wanted.cases.cases)
        return AnswerReader(
            self.files,
            ids,
            CaseFinder(ids, self.listed),
            PROVIDER,
            repeat=self.options.repeat,
            skip_bad=self.options.skip_bad,
            secrets=self.secrets,
        )

    def comparison(self, store: Store | None, run_id: int | None, digests: Sequence[str]) -> Comparison:
        names = [(file.source.name, digest) for file, digest in zip(self.files, digests, strict=True)]
        return Comparison(store, run_id, self.wanted, names, now_us())


def import_files(options: ImportOptions) -> int:
    """Import files and return the exit code: 3 where units are left without an answer."""
    config = load_config(options.config_path)
    url = find_store(options.store, os.environ, config.store, Path.cwd())
    wanted = what_is_wanted(
        options.benchmark,
        options.model,
        config,
        data=options.data,
        condition=options.condition,
        prompt_note=options.prompt_note,
    )
    listed = None if options.ids is None else read_id_file(options.ids)
    secrets = tuple(config.api_keys(os.environ).values())
    job = _Job(options, wanted, _files(options), listed, secrets)
    finder = CaseFinder((), listed)
    for file in job.files:
        finder.check(file.form, file.hints)
    digests = [file.source.sha256() for file in job.files]
    facts = file_facts(job.files, digests)
    _check_models(facts)
    checked = _checked(job)
    repeats = _repeats(options, checked)
    found = _counts(job, checked, repeats)
    if not options.dry_run:
        say(f"store: {display(url)}")
        with told_when_interrupted(_SAFE_TO_REPEAT):
            found |= run_session(_store(job, url, repeats, facts, digests))
    else:
        found["would"] = run_session(_would(job, url, repeats, digests))
    tell_notes(wanted, job.files, checked.tally, facts, numbers_are_ids=listed is None)
    if options.as_json:
        print_json(found)
    else:
        print_counts(found)
    if "run" in found:
        where = where_again(options.config_path, options.store)
        say(f"to score it: {shlex.join(['harness', 'score', found['run'], *where])}")
    return exit_codes.INCOMPLETE if found["incomplete"] else exit_codes.OK


def _files(options: ImportOptions) -> tuple[ImportFile, ...]:
    files = []
    for path in options.files:
        source = SourceFile(path)
        if options.format_name == AUTO:
            form = detect(source)
        else:
            form = get_format(options.format_name)
            refuse_pickle(source)
        files.append(ImportFile(source, form, Hints(form.name, options.paths, 0, options.failure_texts)))
    return tuple(files)


def _check_models(facts: Sequence[Mapping[str, Any]]) -> None:
    models = sorted({fact["model"] for fact in facts if fact["model"]})
    if len(models) > 1:
        raise ConfigError(f"the files are of different models ({', '.join(models)}); import each by itself")


def _checked(job: _Job) -> AnswerReader:
    """Read everything once. Raises ImportFileError before anything is stored."""
    reader = job.reader()
    for _ in reader.answers():
        pass
    tally = reader.tally
    if not tally.answers:
        names = ", ".join(repr(file.source.name) for file in job.files)
        if not tally.rows:
            raise ImportFileError(f"{names}: there are no rows")
        example = f" ({tally.unmatched.first[0]!r})" if tally.unmatched.first else ""
        some = ", ".join(repr(case.id) for case in job.wanted.cases.cases[:3])
        raise ImportFileError(
            f"{names}: no row belongs to a case: their ids{example} are not the ids of the cases ({some} "
            "...); give --data DIR with the cases that were asked, --map id=PATH or --ids FILE"
        )
    return reader


def _repeats(options: ImportOptions, reader: AnswerReader) -> int:
    highest = reader.seen.repeats
    if options.repeats is not None and options.repeats < highest:
        raise ConfigError(
            f"--repeats {options.repeats}: the files hold answers of repeat {highest}; raise it"
        )
    return options.repeats or highest


def _counts(job: _Job, reader: AnswerReader, repeats: int) -> dict[str, Any]:
    tally, cases = reader.tally, job.wanted.cases.cases
    only = job.options.repeat
    missing = Named()
    for case, repeat in reader.seen.missing(repeats):
        if only is None or repeat == only:
            missing.add(cases[case].id)
    failures = {why: named_facts(one) for why, one in sorted(tally.failures.items())}
    return {
        "benchmark": job.wanted.benchmark.name,
        "model": job.wanted.model.name,
        "condition": job.wanted.condition,
        "files": [{"name": file.source.name, "format": file.form.name} for file in job.files],
        "cases": len(cases),
        "repeats": repeats,
        "rows": tally.rows,
        "answers": tally.answers,
        "failures": failures,
        "suspicious": {why: named_facts(one) for why, one in sorted(tally.suspicious.items())},
        "unmatched": named_facts(tally.unmatched),
        "repeated": named_facts(tally.repeated),
        "positions": [list(pair) for pair in reader.positions.pairs],
        "missing": named_facts(missing),
        "bad_rows": named_facts(tally.bad),
        "incomplete": missing.count + sum(one["count"] for one in failures.values()),
    }


async def _would(job: _Job, url: str, repeats: int, digests: Sequence[str]) -> dict[str, Any]:
    """Return what an import would do to the store as it is; nothing is made or written."""
    digest = imported_manifest(job.wanted, repeats)[0].digest()
    async with store_as_it_is(url) as there:
        store = await there.get()
        runs = () if store is None else await store.runs()
        run = next((one for one in runs if one.digest == digest), None)
        comparison = job.comparison(store, None if run is None else run.id, digests)
        stored = await comparison.count(job.reader())
    name = job.options.run_name
    if run is None and name is not None and name.strip() in {"", LATEST}:
        raise ConfigError(f"{name!r} cannot be a run's name; choose another with --run")
    if run is None and name is not None and any(one.name == name for one in runs):
        raise ConfigError(f"the name {name!r} is held by another run; choose another --run, or leave it out")
    return {
        "run": name if run is None else run.name,
        "makes_run": run is None,
        "digest": digest,
        "new": stored.added - stored.changed.count,
        "known": stored.known,
        "changed": named_facts(stored.changed),
    }


async def _store(
    job: _Job,
    url: str,
    repeats: int,
    facts: Sequence[Mapping[str, Any]],
    digests: Sequence[str],
) -> dict[str, Any]:
    opening = Store.open(url, warn=lambda text: say(f"warning: {text}"))
    async with await opening as store, turn(store, say) as check:
        return await _store_in_turn(job, store, repeats, facts, digests, check)


async def _store_in_turn(
    job: _Job,
    store: Store,
    repeats: int,
    facts: Sequence[Mapping[str, Any]],
    digests: Sequence[str],
    check: Check,
) -> dict[str, Any]:
    manifest, blobs = imported_manifest(job.wanted, repeats)
    await store.put_blobs(blobs.values())
    run = await store.save_run(
        job.options.run_name, manifest.digest(), manifest.benchmark, manifest.to_json()
    )
    model = job.wanted.model
    info: dict[str, Any] = {
        "version": __version__,
        "models": {model.name: model.model_dump(mode="json")},
        "import": {"files": list(facts), "skip_bad": job.options.skip_bad},
    }
    session = await store.start_session(run.id, info)
    code, ending = exit_codes.FAILED, dict[str, Any]()
    try:
        importer = Importer(store, run, session, job.comparison(store, run.id, digests), check)
        async with telling(store, session, lambda: _told(importer), say):
            stored = await importer.add(job.reader())
            _check_unchanged(job, digests)
            if not await importer.is_finished(stored):
                await importer.finish()
        outcomes = await _outcomes(store, run, manifest.n_units)
        code = exit_codes.INCOMPLETE if any(outcomes[one] for one in INCOMPLETE) else exit_codes.OK
        ending = {**NOTHING_SENT, "import": {**info["import"], **_stored_facts(stored)}}
    except asyncio.CancelledError:
        code = exit_codes.INTERRUPTED
        raise
    finally:
        await store.end_session(session, code, ending)
    left = sum(outcomes[one] for one in INCOMPLETE)
    shown = {str(outcome): count for outcome, count in sorted(outcomes.items())}
    return {
        "run": run.name,
        "digest": run.digest,
        **_stored_facts(stored),
        "outcomes": shown,
        "incomplete": left,
    }


def _told(importer: Importer) -> Mapping[str, JSON]:
    return import_state(this_process(), answers=importer.stored.added + importer.stored.known)


def _check_unchanged(job: _Job, digests: Sequence[str]) -> None:
    for file, digest in zip(job.files, digests, strict=True):
        if file.source.sha256() != digest:
            raise file.source.error("it changed while it was imported; import it again")


def _stored_facts(stored: Stored) -> dict[str, Any]:
    return {"added": stored.added, "known": stored.known, "changed": named_facts(stored.changed)}


async def _outcomes(store: Store, run: Run, n_units: int) -> Counter[UnitOutcome]:
    counts: Counter[UnitOutcome] = Counter()
    for one in await store.count_units(run.id):
        counts[one.outcome or UnitOutcome.NOT_ATTEMPTED] += one.units
    counts[UnitOutcome.NOT_ATTEMPTED] += n_units - counts.total()
    return +counts

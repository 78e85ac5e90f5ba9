"""The rows of a notebook's tables, from runs, replayed units and scores as the store has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from harness.benchmarks.steps import unit_of_id
from harness.cache.rows import Run, Session
from harness.costs import total_usd
from harness.manifest import read_manifest
from harness.offline.cells import json_cell
from harness.offline.effort_sums import TOKENS
from harness.offline.kept_units import RowNumbers
from harness.offline.records import RecordMaker
from harness.offline.replay import ReplayedUnit
from harness.offline.row_units import OUTCOMES, RowKey
from harness.offline.scored_runs import ScoredRun
from harness.offline.sends import Send
from harness.offline.stored_run import StoredRun

Row: TypeAlias = dict[str, Any]

READINGS: Final = ("as_answered", "valid_only", "without_reformatter")
NO_VALUE: Final = "no value for this unit"


def run_row(run: Run, sessions: Sequence[Session]) -> Row:
    """Return the row of a run (`columns.RUNS`)."""
    manifest = read_manifest(run.manifest)
    last = max((one.started_at_us for one in sessions), default=None)
    return {
        "run": run.name,
        "digest": run.digest,
        "benchmark": run.benchmark,
        "source": None if manifest.step is None else manifest.step.source,
        "models": sorted(manifest.models),
        "conditions": sorted(manifest.conditions),
        "n_cases": manifest.n_cases,
        "repeats": manifest.repeats,
        "n_units": manifest.n_units,
        "synthetic": manifest.synthetic,
        "simulated": manifest.simulated,
        "imported": manifest.imported or (manifest.step is not None and manifest.step.imported),
        "created": _moment(run.created_at_us),
        "last_session": None if last is None else _moment(last),
        "sessions": len(sessions),
    }


def _moment(microseconds: int) -> datetime:
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


def record_row(stored: StoredRun, maker: RecordMaker, replayed: ReplayedUnit, *, exchanges: bool) -> Row:
    """Return the row of a unit (`columns.RECORDS`); its numbers are those of its record."""
    unit, result, manifest = replayed.unit, replayed.result, stored.manifest
    sends = tuple(maker.sends(replayed))
    answer = _that_counts(sends)
    about = None if manifest.step is None else unit_of_id(unit.case_id)
    return {
        "run": stored.run.name,
        "benchmark": manifest.benchmark,
        "model": unit.model,
        "condition": unit.condition,
        "case_id": unit.case_id,
        "repeat": unit.repeat,
        "about_model": None if about is None else about.model,
        "about_condition": None if about is None else about.condition,
        "about_case_id": None if about is None else about.case_id,
        "about_repeat": None if about is None else about.repeat,
        "imported": manifest.models[unit.model].imported,
        "outcome": result.outcome.value,
        "stage": result.stage,
        "prediction": None if result.stage is None else json_cell(result.prediction),
        "text": replayed.text if any(send.reading.outcome.serves for send in sends) else None,
        "error_kind": None if result.error is None else result.error.kind,
        "error": None if result.error is None else result.error.message,
        "filled_keys": list(result.filled_keys),
        "unsupported": list(result.unsupported),
        "attempts": sum(send.link.purpose == "answer" and send.send == 1 for send in sends),
        "sends": len(sends),
        "cached": bool(sends) and not any(send.paid_here for send in sends),
        "latency_s": None if answer is None else answer.latency_s,
        **{kind: _tokens(kind, sends) for kind in TOKENS},
        "evidence_cost_usd": total_usd(send.cost_usd for send in sends),
        "spent_usd": total_usd(send.cost_usd for send in sends if send.paid_here),
        "served_model": None if answer is None else answer.exchange.data.served_model,
        "exchanges": json_cell(maker.record(replayed)["exchanges"]) if exchanges else None,
    }


def _that_counts(sends: Sequence[Send]) -> Send | None:
    """Return the model's answer on which the outcome rests, the last where there are several."""
    used = [send for send in sends if send.used and send.link.purpose == "answer"]
    return used[-1] if used else None


def _tokens(kind: str, sends: Sequence[Send]) -> int | None:
    told = [count for send in sends if (count := getattr(send.usage, kind)) is not None]
    return sum(told) if told or not sends else None


def metric_rows(score: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of a run's scores (`columns.METRICS`)."""
    for row in score["rows"]:
        facts = {
            "run": score["run"]["name"],
            **{name: row[name] for name in ("kind", "model", "condition", "rank", "rank_reason")},
            **{name: row[name] for name in ("incomplete", "to_complete", "coverage", "n_cases", "n_units")},
        }
        for reading in READINGS:
            for path, metric in (row[reading] or {}).items():
                low, high = metric["ci"] or (None, None)
                yield {
                    **facts,
                    "reading": reading,
                    "metric": path,
                    "value": metric["value"],
                    "n": metric["n"],
                    "ci_low": low,
                    "ci_high": high,
                    "ci_method": metric.get("ci_method"),
                    "sd": metric.get("sd"),
                    "reason": metric["reason"] or metric.get("ci_reason"),
                }


def score_rows(scored: ScoredRun, key: RowKey, numbers: RowNumbers) -> Iterator[Row]:
    """Yield the values of a row's units (`columns.SCORES`), case by case."""
    stored, units, conventions = scored.stored, numbers.units, scored.score["conventions"]
    index, name = stored.case_index, stored.run.name
    for place, repeat, outcome, values in zip(
        units.cases.tolist(), units.repeats.tolist(), numbers.outcomes.tolist(), units.numbers, strict=True
    ):
        facts = {
            "run": name,
            "kind": key.kind,
            "model": key.name,
            "condition": key.condition,
            "case_id": index.id(place),
            "repeat": repeat,
            "outcome": OUTCOMES[outcome].value,
        }
        found = stored.benchmark.score_unit(values.tolist(), key.condition, conventions)
        for metric, value in found.items():
            yield {
                **facts,
                "metric": metric,
                "value": value,
                "reason": NO_VALUE if value is None else None,
            }

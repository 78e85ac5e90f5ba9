"""What a run's answers took: sends, faults, tokens, US dollars and seconds, unit by unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from harness.benchmarks.steps import unit_of_id
from harness.offline.asked_with import SentFields, asked_with_json, params_json
from harness.offline.effort_sums import UnitSums, period_json
from harness.offline.replay import ReplayedUnit
from harness.offline.sends import SendReader
from harness.offline.stored_run import StoredRun

Json: TypeAlias = dict[str, Any]
_Row: TypeAlias = tuple[str, str]


class Effort:
    """Takes replayed units one by one and adds up what stands behind them.

    Costs, tokens and times are those of `harness export` (`harness.offline.sends`): every linked exchange
    counts, failed sends and earlier rounds included, and one that answers several units counts for each.
    """

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        self._reader = SendReader(stored)
        self._sent = SentFields()
        self._rows: dict[_Row, UnitSums] = {}
        self._about: dict[_Row, UnitSums] = {}
        self._imported = {name for name, one in stored.manifest.models.items() if one.imported}

    def note(self, replayed: ReplayedUnit) -> None:
        """Add one unit. Raises StoreError where its store is damaged."""
        unit = replayed.unit
        model, condition = unit.model, unit.condition
        imported = model in self._imported
        sends = list(self._reader.sends(replayed))
        self._row(self._rows, model, condition).add(replayed, sends, imported=imported)
        for send in sends:
            self._sent.note(model, condition, send)
        if self._stored.manifest.step is not None:
            about = unit_of_id(unit.case_id)
            if about is not None:
                row = self._row(self._about, about.model, about.condition)
                row.add(replayed, sends, imported=imported)

    @staticmethod
    def _row(rows: dict[_Row, UnitSums], model: str, condition: str) -> UnitSums:
        row = rows.get((model, condition))
        if row is None:
            row = rows[model, condition] = UnitSums()
        return row

    def to_json(self) -> Json:
        r"""Return everything as JSON: no clock but the stored one, so that a replay gives the same bytes.

        - `rows`: one object a model and condition; `models`: one a model, over its conditions (`condition`
          null); `unions`: one a model and union (conditions that are scored together); `about`: of a step
          over answers, one for each model and condition whose answers it looks at, else empty. Rows of
          different lists hold the same units: add up one list only.
        - A row: `model`, `condition`, `imported`, `units`; how many of its units have each of `outcomes` (by
          name), `stages` ("attempt-1" .., "reformatter"; units without a prediction have none), `errors`
          (kind of the record's error), `attempts` ("0", "1", ..: how many attempts were asked, earlier rounds
          included); `cached_units`: answered without one send of this run's sessions (imported ones apart);
          `filled_keys`, `unsupported`: key -> units in which a reformatter's answer had it.
        - The numbers of all its sends stand in the row, those of the model's own in `answers`, the
          reformatter's in `reformatter` (null: it was never asked): `asks`, `sends`, `answered` (of them),
          `cached_sends` (no session of this run sent them), `faults` (exchange outcome -> sends),
          `input_tokens`, `output_tokens`, `reasoning_tokens`, `cached_tokens` (sums of what was told; null:
          answers never told; `tokens_told`: how many sends did), `tokens_unknown` (answers that lack input
          or output); `evidence_cost_usd`, `spent_usd` (as records have them; null: some send nobody can
          price), `cost_unknown`, `spent_unknown` (those sends), `known_evidence_usd`, `known_spent_usd` (the
          sum without them: at least so much); `served_models` [{`model` (null: not told), `answers`}];
          `asked` {first, last} (UTC, of its sends, other runs' included); `latency_s` {n, mean, p50, p90,
          p99, max}: seconds from the send to the end of the answer, of sends that were answered (see
          `effort_sums.latency_json`). The row's own latency is the model's, without the reformatter's.
        - `params`: model or reformatter -> `role`, `adapter`, `endpoint`, `model`, `params` (sent),
          `dropped_params` (left out), `reformatter`, `simulated`, `imported`, `image_recipe`, `prices` (of
          its sessions, with their source), `sent` (`asked_with.sent_fields`, with `purpose`, `conditions`).
        - `conditions`, `reformat` (ids and digests of prompts and schemas), `policy`, `versions`, `sessions`,
          `dates` {first, last} of the sessions, `asked` {first, last} of all sends.
        """
        manifest = self._stored.manifest
        sends = [one for sums in self._rows.values() for one in sums.purposes.values()]
        first = min((one.first_us for one in sends), default=0)
        last = max((one.last_us for one in sends), default=-1)
        return {
            "rows": [self._row_json(name, condition, sums) for (name, condition), sums in self._in_order()],
            "models": [
                self._row_json(model, None, UnitSums.of(self._of_model(model).values()))
                for model in sorted(manifest.models)
            ],
            "unions": self._unions(),
            "about": [
                self._row_json(model, condition, sums, asked=next(iter(manifest.models)))
                for (model, condition), sums in sorted(self._about.items())
            ],
            "params": params_json(self._stored, self._sent),
            **asked_with_json(self._stored),
            "asked": period_json(first, last),
        }

    def _in_order(self) -> list[tuple[_Row, UnitSums]]:
        order = {name: place for place, name in enumerate(self._stored.conditions)}
        return sorted(self._rows.items(), key=lambda item: (order[item[0][1]], item[0][0]))

    def _of_model(self, model: str) -> Mapping[str, UnitSums]:
        return {condition: sums for (name, condition), sums in self._rows.items() if name == model}

    def _unions(self) -> list[Json]:
        found = []
        for union, members in self._stored.benchmark.unions(self._stored.conditions).items():
            for model in sorted(self._stored.manifest.models):
                of_model = self._of_model(model)
                sums = UnitSums.of(of_model[name] for name in members if name in of_model)
                found.append(self._row_json(model, union, sums))
        return found

    def _row_json(
        self, model: str, condition: str | None, sums: UnitSums, *, asked: str | None = None
    ) -> Json:
        wanted = self._stored.manifest.models[asked or model]
        stages = [f"attempt-{number}" for number in range(1, self._stored.manifest.attempts + 1)]
        if wanted.reformatter is not None:
            stages.append("reformatter")
        return {"model": model, "condition": condition, "imported": wanted.imported, **sums.to_json(stages)}

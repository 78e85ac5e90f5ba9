"""Records: one lossless JSON object a unit, with every exchange that stands behind it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from harness.benchmarks.steps import unit_of_id
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.costs import total_usd
from harness.manifest import UNKNOWN_PROMPT, BlobRef, Manifest, ModelWanted
from harness.messages import Fault, Reply
from harness.offline.media_shown import media_shown
from harness.offline.replay import ReplayedUnit
from harness.offline.sends import Send, SendReader
from harness.offline.stored_run import StoredRun
from harness.providers.litellm_format import translated_request


class RecordMaker:
    """Makes the records of one run.

    An exchange that answers several units, as equal requests share one, stands in the cost of each: a bill
    is the sum over exchanges by their keys, or what the sessions counted.
    """

    def __init__(self, stored: StoredRun, *, raw: bool = False) -> None:
        self._stored = stored
        self._reader = SendReader(stored)
        self._raw = raw

    def record(self, replayed: ReplayedUnit) -> dict[str, JSON]:
        """Return a unit's record; every field is there, null where there is nothing to say."""
        unit, result, manifest = replayed.unit, replayed.result, self._stored.manifest
        condition, model = manifest.conditions[unit.condition], manifest.models[unit.model]
        sends = tuple(self.sends(replayed))
        error = result.error
        return {
            "run": self._stored.run.name,
            "benchmark": manifest.benchmark,
            "case_id": unit.case_id,
            "condition": unit.condition,
            "model": unit.model,
            "repeat": unit.repeat,
            "step": _step_json(manifest, unit),
            "imported": model.imported,
            "outcome": str(result.outcome),
            "stage": result.stage,
            "prediction": result.prediction,
            "error": None if error is None else {"kind": error.kind, "message": error.message},
            "filled_keys": list(result.filled_keys),
            "unsupported": list(result.unsupported),
            "dropped_params": list(model.dropped_params),
            "exchanges": [_send_json(send, raw=self._raw) for send in sends],
            "evidence_cost_usd": total_usd(send.cost_usd for send in sends),
            "spent_usd": total_usd(send.cost_usd for send in sends if send.paid_here),
            "prompt": _prompt_json(condition.prompt, model),
            "schema": None if condition.schema is None else _ref_json(condition.schema),
            "media": self.media(unit, sends),
            "params": None if model.imported else dict(model.params),
        }

    def media(self, unit: UnitId, sends: Sequence[Send]) -> list[JSON]:
        """Return the media that a unit's answers were asked with, in the order of the case.

        Recipes stand in the stored requests; a unit without an exchange was shown nothing.
        """
        index = self._stored.case_index
        case = index.case(index.place(unit.case_id))
        documents = [send.exchange.data.request for send in sends if send.link.purpose == "answer"]
        return media_shown((one for media in case.media.values() for one in media), documents)

    def sends(self, replayed: ReplayedUnit) -> Iterator[Send]:
        """Yield every linked exchange in order, earlier rounds and failed sends included."""
        return self._reader.sends(replayed)


def _step_json(manifest: Manifest, unit: UnitId) -> JSON:
    """Return which unit of which run (by its digest) a step's unit is about; None for any other run."""
    about = None if manifest.step is None else unit_of_id(unit.case_id)
    if manifest.step is None or about is None:
        return None
    return {
        "kind": manifest.step.kind,
        "source": manifest.step.source,
        "about": {
            "model": about.model,
            "condition": about.condition,
            "case_id": about.case_id,
            "repeat": about.repeat,
        },
    }


def costs_of_asks(sends: Iterable[Send]) -> list[Mapping[str, JSON]]:
    """Return what each attempt and the reformatter cost, in order, failed sends included; null: unknown."""
    asks: dict[tuple[str, int], list[float | None]] = {}
    for send in sends:
        asks.setdefault((send.link.purpose, send.link.attempt), []).append(send.cost_usd)
    return [
        {"purpose": purpose, "attempt": attempt, "sends": len(costs), "cost_usd": total_usd(costs)}
        for (purpose, attempt), costs in asks.items()
    ]


def _send_json(send: Send, *, raw: bool) -> JSON:
    data, reading, usage = send.exchange.data, send.reading, send.usage
    replied = isinstance(reading, Reply)
    found: dict[str, JSON] = {
        "purpose": send.link.purpose,
        "attempt": send.link.attempt,
        "send": send.send,
        "key": data.key,
        "used": send.used,
        "status": data.raw.status,
        "outcome": str(reading.outcome),
        "finish_reason": reading.finish_reason if isinstance(reading, Reply) else None,
        "cached": not send.paid_here,
        "latency_s": send.latency_s,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cached_tokens": usage.cached_tokens,
        },
        "cost_usd": send.cost_usd,
        "text": reading.text if isinstance(reading, Reply) else None,
        "reasoning": reading.reasoning if isinstance(reading, Reply) else None,
    }
    translated = translated_request(data.raw)
    if translated is not None:
        found["changes"] = cast(JSON, translated.get("changes"))
    if raw:
        found |= {
            "error": None if replied else reading.message if isinstance(reading, Fault) else None,
            "request": _bytes_json(data.request),
            "headers": dict(data.raw.headers),
            "body": _bytes_json(data.raw.body),
        }
    return found


def _bytes_json(data: bytes) -> JSON:
    """Return bytes as text where they are UTF-8, else as {"base64": ...}."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _prompt_json(ref: BlobRef, model: ModelWanted) -> JSON:
    """Return the prompt that was used; None where answers were imported and nobody noted it."""
    return None if model.imported and ref.id == UNKNOWN_PROMPT else _ref_json(ref)


def _ref_json(ref: BlobRef) -> JSON:
    return {"id": ref.id, "sha256": ref.sha256}



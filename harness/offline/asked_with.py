"""With what a run asked: its models' parameters as sent and left out, prices, prompts, schemas, sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from harness.cache.key import read_document
from harness.cache.rows import Exchange, Session
from harness.canonical import canonical_json, sha256_hex
from harness.manifest import BlobRef, ConditionWanted, ModelWanted
from harness.messages import Purpose
from harness.moments import shown_moment
from harness.offline.sends import Send
from harness.offline.stored_run import StoredRun
from harness.providers.litellm_format import translated_request
from harness.settings import IMPORTED

Json: TypeAlias = dict[str, Any]

CONTENT: Final = frozenset(
    {
        "contents",
        "input",
        "instructions",
        "messages",
        "prompt",
        "system",
        "systemInstruction",
        "system_instruction",
    }
)
"""Fields of a body that hold what is asked, in any format; all others say how."""

LONGEST: Final = 400
"""Characters of JSON from which on a value (a schema) is told by its digest."""


class SentFields:
    """How requests went out: of each model, condition and purpose the first one of each session."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, Purpose, int]] = set()
        self._found: dict[str, dict[str, tuple[Json, set[str]]]] = {}

    def note(self, model: str, condition: str, send: Send) -> None:
        """Look at a send, if it is the first of its kind; `model` is the name of the unit's model."""
        purpose, exchange = send.link.purpose, send.exchange
        kind = model, condition, purpose, exchange.session
        if kind in self._seen or exchange.data.adapter == IMPORTED:
            return
        self._seen.add(kind)
        fields = {"purpose": purpose, **sent_fields(exchange)}
        same = self._found.setdefault(model, {}).setdefault(_digest(fields), (fields, set()))
        same[1].add(condition)

    def to_json(self, model: str) -> list[Json]:
        """Return the different ones of a model, each with the conditions that were asked so."""
        of_model = self._found.get(model, {}).values()
        found = [{**fields, "conditions": sorted(names)} for fields, names in of_model]
        return sorted(found, key=lambda one: (one["purpose"], one["conditions"], _digest(one)))


def sent_fields(exchange: Exchange) -> Json:
    """Return how a stored request asked: `{adapter, wire_revision, body, headers, changes}`.

    `body` lacks the fields of `CONTENT`; what is longer than `LONGEST` is `{sha256, characters}` of its
    canonical JSON. `headers` are those that change the answer; `changes` is what LiteLLM made of it, in
    sentences, or null. A request that cannot be read any more has null for `body`.
    """
    data = exchange.data
    translated = translated_request(data.raw)
    found: Json = {
        "adapter": data.adapter,
        "wire_revision": data.wire_revision,
        "body": None,
        "headers": None,
        "changes": None if translated is None else translated.get("changes"),
    }
    try:
        body, headers = read_document(data.request)
    except ValueError:
        return found
    shown = {name: _short(value) for name, value in body.items() if name not in CONTENT}
    return found | {"body": shown, "headers": headers}


def _short(value: object) -> object:
    if len(text := canonical_json(value)) <= LONGEST:
        return value
    if isinstance(value, Mapping):
        return {name: _short(one) for name, one in value.items()}
    return {"sha256": sha256_hex(text), "characters": len(text)}


def _digest(value: object) -> str:
    return sha256_hex(canonical_json(value))


def params_json(stored: StoredRun, sent: SentFields) -> Json:
    """Return model -> how it was asked, its reformatters among them (`role`)."""
    manifest = stored.manifest
    found = {
        name: _wanted_json(stored, name, wanted, "model") | {"sent": sent.to_json(name)}
        for name, wanted in manifest.models.items()
    }
    if manifest.reformat is not None:
        for name, wanted in manifest.reformat.models.items():
            found.setdefault(name, _wanted_json(stored, name, wanted, "reformatter") | {"sent": []})
    return dict(sorted(found.items()))


def _wanted_json(stored: StoredRun, name: str, wanted: ModelWanted, role: str) -> Json:
    return {
        "role": role,
        "adapter": wanted.adapter,
        "endpoint": wanted.endpoint,
        "model": wanted.model,
        "params": None if wanted.imported else dict(wanted.params),
        "dropped_params": list(wanted.dropped_params),
        "reformatter": wanted.reformatter,
        "simulated": wanted.simulated,
        "imported": wanted.imported,
        "image_recipe": wanted.image_recipe,
        "prices": [] if wanted.imported else _prices(stored, name),
    }


def _prices(stored: StoredRun, name: str) -> list[Json]:
    """Return the different prices that sessions had of a model, oldest first."""
    found: list[Json] = []
    for session in stored.sessions:
        model = stored.session_models[session.id].get(name)
        price = None if model is None else model.price.model_dump(mode="json")
        if price is not None and price not in found:
            found.append(price)
    return found


def asked_with_json(stored: StoredRun) -> Json:
    """Return prompts and schemas by condition, the policy of attempts, and the sessions."""
    manifest, reformat = stored.manifest, stored.manifest.reformat
    versions = {one.info.get("version") for one in stored.sessions}
    return {
        "conditions": {name: _condition_json(manifest.conditions[name]) for name in stored.conditions},
        "reformat": None
        if reformat is None
        else {
            "quoting": _ref_json(reformat.quoting),
            "conditions": {name: _condition_json(one) for name, one in sorted(reformat.conditions.items())},
        },
        "policy": {
            "attempts": manifest.attempts,
            "reask": manifest.reask,
            "feedback": _ref_json(manifest.feedback),
            "structured": manifest.structured,
            "repeats": manifest.repeats,
        },
        "versions": sorted(one for one in versions if isinstance(one, str)),
        "dates": _dates(stored.sessions),
        "sessions": [_session_json(one) for one in _in_time(stored.sessions)],
    }


def _condition_json(wanted: ConditionWanted) -> Json:
    return {"prompt": _ref_json(wanted.prompt), "schema": _ref_json(wanted.schema)}


def _ref_json(ref: BlobRef | None) -> Json | None:
    return None if ref is None else {"id": ref.id, "sha256": ref.sha256}


def _in_time(sessions: tuple[Session, ...]) -> list[Session]:
    return sorted(sessions, key=lambda one: (one.started_at_us, one.id))


def _dates(sessions: tuple[Session, ...]) -> Json:
    """Return when the first session began, and when the last ended (or began, where it was killed)."""
    if not sessions:
        return {"first": None, "last": None}
    last = max(one.started_at_us if one.ended_at_us is None else one.ended_at_us for one in sessions)
    return {"first": shown_moment(min(one.started_at_us for one in sessions)), "last": shown_moment(last)}


def _session_json(session: Session) -> Json:
    return {
        "version": session.info.get("version"),
        "started": shown_moment(session.started_at_us),
        "ended": None if session.ended_at_us is None else shown_moment(session.ended_at_us),
        "exit_code": session.exit_code,
        "shard": session.info.get("shard"),
        "limits": session.info.get("limits"),
    }

"""Builds small stored runs by hand: raw bodies in, no network and no model anywhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.benchmarks.base import Case, CaseSet, Prompt
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.taxonomy import answer_of
from harness.cache.rows import Link, NewExchange, Run, UnitId, UnitState
from harness.cache.store import Store
from harness.canonical import JSON, canonical_json, sha256_hex
from harness.manifest import BlobRef, ConditionWanted, Manifest, ModelWanted, ReformatWanted
from harness.media import Media
from harness.messages import Purpose, RawReply, Schema, Usage
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.settings import Model, Price, Provider
from harness.snapshot import encode_cases

SCALING = "Gingivitis (BPE screening score 1 or 2) - Non-surgical periodontal treatment"
FILLING = "Simple operative (Class I to V)"
EXTRACTION = "Exodontia"
IMAGE = "ab" * 32

LAB = Provider(name="lab", adapter="openai", base_url="http://127.0.0.1:9/v1")
PRICE = Price(input=1.0, output=2.0)


def case(id: str, *labels: str, complaint: str = "It hurts.", **changes: Any) -> Case:
    return Case(
        id=id,
        fields={"chief_complaint": complaint},
        media={"image": (Media(IMAGE, "image/png", 100, 10, 10),)},
        reference={"labels": list(labels), "rationale": ""},
        **changes,
    )


def answer(*labels: str, reasoning: str = "Because.") -> str:
    return json.dumps(answer_of(labels, reasoning))


def body(
    text: str | None, *, finish: str = "stop", tokens: tuple[int, int] = (100, 10), **message: Any
) -> bytes:
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "model": "served-1",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, **message},
                    "finish_reason": finish,
                }
            ],
            "usage": {
                "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)
            },
        }
    ).encode()


def model(name: str, *, price: Price = PRICE, provider: Provider = LAB) -> Model:
    return Model(name=name, provider=provider, model=f"{name}-id", price=price)


@dataclass
class Plan:
    """What a built run wants."""

    cases: Sequence[Case]
    models: Sequence[str] = ("alpha",)
    conditions: Sequence[str] = ("both",)
    repeats: int = 1
    attempts: int = 3
    reformatter: str | None = None
    synthetic: bool = False
    simulated: bool = False
    raters: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    price: Price = PRICE
    dropped_params: tuple[str, ...] = ()


@dataclass
class Built:
    """A run in a store, to which exchanges and states are added."""

    store: Store
    run: Run
    session: int
    plan: Plan

    async def exchange(
        self,
        unit: UnitId,
        data: bytes | str | None,
        *,
        attempt: int = 1,
        purpose: Purpose = "answer",
        status: int = 200,
        outcome: ExchangeOutcome = ExchangeOutcome.ANSWERED,
        request: Mapping[str, Any] | None = None,
        session: int | None = None,
        link: bool = True,
        **changes: Any,
    ) -> int:
        """Append an exchange; a text is wrapped in an ordinary answer."""
        raw = body(data) if isinstance(data, str) else data or b""
        image = {"$media": [IMAGE, "original", 1], "prefix": ""}
        asked = {"messages": [{"role": "user", "content": [image]}]}
        new = NewExchange(
            key=f"{unit.case_id}-{unit.model}-{unit.repeat}-{purpose}-{attempt}",
            twin=f"twin-{unit.case_id}-{unit.model}-{unit.repeat}-{purpose}-{attempt}",
            pool="lab",
            purpose=purpose,
            attempt=attempt,
            repeat=unit.repeat,
            provider="lab",
            endpoint="lab",
            model=f"{unit.model}-id",
            adapter="openai",
            wire_revision=1,
            request=canonical_json(asked if request is None else request),
            raw=RawReply(status, {"content-type": "application/json"}, raw),
            outcome=outcome,
            started_at_us=1,
            total_s=0.5,
            usage=Usage(100, 10) if status == 200 else Usage(),
            error=None if outcome.serves else "it failed",
            media_sent={IMAGE: IMAGE},
        )
        return await self.store.append(
            replace(new, **changes),
            session=self.session if session is None else session,
            serve=outcome.serves,
            link=(self.run.id, unit) if link else None,
        )

    async def finish(
        self,
        unit: UnitId,
        outcome: UnitOutcome | None,
        links: Iterable[tuple[int, Purpose, int]] = (),
        *,
        used: Iterable[int] = (),
        error: str | None = None,
        again_after: int = 0,
    ) -> None:
        """End a unit with links (exchange id, purpose, attempt)."""
        made = [Link(id, purpose, attempt, used=id in set(used)) for id, purpose, attempt in links]
        state = UnitState(unit, outcome, again_after=again_after, error=error)
        await self.store.finish_unit(self.run.id, state, made)

    async def valid(self, unit: UnitId, *labels: str, text: str | None = None) -> int:
        """End a unit as valid at its first attempt."""
        id = await self.exchange(unit, answer(*labels) if text is None else text)
        await self.finish(unit, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        return id

    async def answers(self, unit: UnitId, outcome: UnitOutcome, *texts: str | bytes) -> list[int]:
        """End a unit after these answers, one an attempt."""
        ids = [
            await self.exchange(unit, text, attempt=place) for place, text in enumerate(texts, start=1)
        ]
        links: list[tuple[int, Purpose, int]] = [(id, "answer", n) for n, id in enumerate(ids, start=1)]
        await self.finish(unit, outcome, links, used=ids[-1:])
        return ids


@asynccontextmanager
async def built_run(folder: Path, plan: Plan, *, name: str = "test-run") -> AsyncIterator[Built]:
    """Open a new store in a folder with one run and one session."""
    async with await Store.open(str(folder / "store.sqlite3")) as store:
        yield await build(store, plan, name=name)


async def build(store: Store, plan: Plan, *, name: str = "test-run") -> Built:
    """Save a run and start its session."""
    manifest = await _manifest(store, plan)
    run = await store.save_run(name, manifest.digest(), "triage", manifest.to_json())
    return Built(store, run, await store.start_session(run.id, session_info(plan)), plan)


def session_info(plan: Plan) -> Mapping[str, JSON]:
    names = [*plan.models, *([plan.reformatter] if plan.reformatter else [])]
    models = {name: model(name, price=plan.price).model_dump(mode="json") for name in names}
    return {"version": "0", "models": models}


async def _manifest(store: Store, plan: Plan) -> Manifest:
    benchmark = get_benchmark("triage")
    cases = CaseSet(tuple(plan.cases), raters=plan.raters, synthetic=plan.synthetic)
    blobs = [encode_cases(cases), b"{answer}"]

    def ref(id: str, data: bytes) -> BlobRef:
        blobs.append(data)
        return BlobRef(id, sha256_hex(data))

    def wanted(prompt: Prompt, schema: Schema | None) -> ConditionWanted:
        assert schema is not None
        return ConditionWanted(
            ref(prompt.id, prompt.text.encode()), ref(schema.id, canonical_json(schema.body))
        )

    conditions = {name: wanted(benchmark.prompt(name), benchmark.schema(name)) for name in plan.conditions}
    restated = {
        name: wanted(benchmark.reformat_prompt(name), benchmark.reformat_schema(name))
        for name in plan.conditions
    }
    snapshot, quoting, *_ = await store.put_blobs(blobs)
    return Manifest(
        benchmark="triage",
        cases=BlobRef("cases", snapshot),
        n_cases=len(plan.cases),
        synthetic=plan.synthetic,
        conditions=conditions,
        models={name: _wanted(name, plan) for name in plan.models},
        reformat=ReformatWanted(
            BlobRef("quoting", quoting),
            {plan.reformatter: _wanted(plan.reformatter, plan)},
            restated,
        )
        if plan.reformatter
        else None,
        attempts=plan.attempts,
        reask="same",
        feedback=None,
        structured="off",
        repeats=plan.repeats,
    )


def _wanted(name: str, plan: Plan) -> ModelWanted:
    return ModelWanted(
        adapter="openai",
        endpoint="lab",
        model=f"{name}-id",
        headers={},
        max_tokens_field="max_tokens",
        params={"max_tokens": 500},
        dropped_params=plan.dropped_params,
        reformatter=plan.reformatter,
        simulated=plan.simulated,
    )

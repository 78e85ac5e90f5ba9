"""What a run would send and cost, found without any network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from harness.benchmarks.base import Benchmark
from harness.cache.store import Store
from harness.canonical import JSON
from harness.costs import output_limit, total_usd
from harness.errors import MediaError, UnsupportedInputError
from harness.estimates import input_tokens
from harness.identity import build
from harness.messages import Request, Structured
from harness.planning import Plan
from harness.plans import ModelPlan, Unit, first_request
from harness.runner import Work
from harness.settings import Model

BATCH = 500
OUTPUT_TOKENS_LOW = 50
"""The shortest useful answer."""


@dataclass(slots=True)
class Forecast:
    """One model's share of a session. Tokens and USD: low is one short send a unit, high is all attempts.

    None: unknown, because no price or no output limit is known. The reformatter's asks are not in it.
    `not_applicable`: units that no request would be sent for.
    """

    model: str
    units: int
    finished: int
    stored: int = 0
    to_send: int = 0
    not_applicable: int = 0
    input_tokens_low: int = 0
    input_tokens_high: int = 0
    output_tokens_low: int = 0
    output_tokens_high: int | None = 0
    usd_low: float | None = None
    usd_high: float | None = None

    def to_json(self) -> Mapping[str, JSON]:
        """Return the forecast as `--dry-run --json` prints it."""
        return asdict(self)


async def forecast(plan: Plan, work: Work, store: Store | None) -> list[Forecast]:
    """Return what each model's open units would come to; `store` None: nothing is stored yet."""
    return [await _forecast_model(plan, work, store, name) for name in plan.models]


async def _forecast_model(plan: Plan, work: Work, store: Store | None, name: str) -> Forecast:
    model_plan = plan.models[name]
    n_units = sum(1 for _ in work.unit_ids(name))
    result = Forecast(name, n_units, n_units - work.count_open(name))
    units = work.open_units(name)
    while batch := list(islice(units, BATCH)):
        requests = dict(_requests(plan.benchmark, batch, plan.manifest.structured, result))
        served = {} if store is None else await store.served(list(requests))
        for key, (unit, request) in requests.items():
            if key in served and served[key].id > unit.after:
                result.stored += 1
            else:
                _add(result, request, model_plan, plan.manifest.attempts)
    _price(result, model_plan.model)
    return result


def _requests(
    benchmark: Benchmark, units: Sequence[Unit], structured: Structured, result: Forecast
) -> Iterator[tuple[str, tuple[Unit, Request]]]:
    for unit in units:
        try:
            if unit.case.problem is not None:
                raise MediaError(unit.case.problem)
            request = first_request(benchmark, unit, structured)
            yield build(request, unit.model.model).key, (unit, request)
        except (MediaError, UnsupportedInputError):
            result.not_applicable += 1


def _add(result: Forecast, request: Request, plan: ModelPlan, attempts: int) -> None:
    low, high = input_tokens(request)
    limit = output_limit(plan.model, plan.params)
    result.to_send += 1
    result.input_tokens_low += low
    result.input_tokens_high += high * attempts
    result.output_tokens_low += OUTPUT_TOKENS_LOW
    if limit is None or result.output_tokens_high is None:
        result.output_tokens_high = None
    else:
        result.output_tokens_high += limit * attempts


def _price(result: Forecast, model: Model) -> None:
    price = model.price
    result.usd_low = total_usd(
        (_usd(result.input_tokens_low, price.input), _usd(result.output_tokens_low, price.output))
    )
    result.usd_high = total_usd(
        (_usd(result.input_tokens_high, price.input), _usd(result.output_tokens_high, price.output))
    )


def _usd(tokens: int | None, per_million: float | None) -> float | None:
    if per_million == 0:
        return 0.0
    return None if tokens is None or per_million is None else tokens * per_million / 1_000_000

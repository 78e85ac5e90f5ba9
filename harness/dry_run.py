"""What a run would send and cost, found without any network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from harness.attempts import is_asked_again, read_reply
from harness.beyond_limits import Beyond
from harness.cache.rows import Exchange
from harness.cache.store import Store
from harness.canonical import JSON
from harness.costs import output_limit, part_usd, rates_of, total_usd
from harness.errors import MediaError, MediaLimitError, UnsupportedInputError
from harness.estimates import input_tokens
from harness.identity import build
from harness.messages import Reply, Request
from harness.planning import Plan
from harness.plans import ModelPlan, Unit, first_request
from harness.providers.reading import read_exchange
from harness.runner import Work

BATCH = 500
OUTPUT_TOKENS_LOW = 50
"""The shortest useful answer."""


@dataclass(slots=True)
class Forecast:
    """One model's share of a session. Tokens and USD: low is one short send a unit, high is all attempts.

    None: unknown, because no price or no output limit is known. The reformatter's asks are not in it.
    `not_applicable`: units that no request would be sent for; `beyond`: why, where a limit is why.
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
    usd_low: float | None = 0.0
    usd_high: float | None = 0.0
    beyond: Beyond = field(default_factory=Beyond)

    def to_json(self) -> Mapping[str, JSON]:
        """Return the forecast as `--dry-run --json` prints it."""
        return {**asdict(self), "beyond": self.beyond.to_json()}


async def forecast(plan: Plan, work: Work, store: Store | None) -> list[Forecast]:
    """Return what each model's open units would come to; `store` None: nothing is stored yet."""
    return [await _forecast_model(plan, work, store, name) for name in plan.models]


async def _forecast_model(plan: Plan, work: Work, store: Store | None, name: str) -> Forecast:
    model_plan = plan.models[name]
    n_units = work.states.n_units(name)
    result = Forecast(name, n_units, n_units - work.count_open(name))
    units = work.open_units(name)
    while batch := list(islice(units, BATCH)):
        for attempt in range(1, plan.manifest.attempts + 1):
            requests = dict(_requests(plan, batch, attempt, result))
            served = {} if store is None else await store.served(list(requests))
            batch = []
            for key, (unit, request) in requests.items():
                if key not in served or served[key].id <= unit.after:
                    if not model_plan.model.retired:  # to such a model nothing is sent
                        _add(result, request, model_plan, plan.manifest.attempts - attempt + 1)
                elif attempt < plan.manifest.attempts and _is_asked_again(unit, served[key]):
                    batch.append(unit)
                else:
                    result.stored += 1
    if model_plan.model.price.input is None or model_plan.model.price.output is None:
        result.usd_low = result.usd_high = None
    return result


def _requests(
    plan: Plan, units: Sequence[Unit], attempt: int, result: Forecast
) -> Iterator[tuple[str, tuple[Unit, Request]]]:
    for unit in units:
        try:
            if unit.case.problem is not None:
                raise MediaError(unit.case.problem)
            request = first_request(plan.benchmark, unit, plan.manifest.structured, attempt)
            yield build(request, unit.model.model).key, (unit, request)
        except (MediaLimitError, UnsupportedInputError) as error:
            result.not_applicable += 1
            result.beyond.add(unit.case.id, error)
        except MediaError:
            result.not_applicable += 1


def _is_asked_again(unit: Unit, stored: Exchange) -> bool:
    """Tell whether a stored answer is one after which the unit is asked once more."""
    reply = read_exchange(stored.data, unit.model.model.provider)
    policy = unit.condition.policy
    return isinstance(reply, Reply) and is_asked_again(read_reply(reply, policy))


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
    rates = rates_of(plan.model.price, low)
    sent_low = total_usd((part_usd(low, rates.input), part_usd(OUTPUT_TOKENS_LOW, rates.output)))
    result.usd_low = total_usd((result.usd_low, sent_low))
    rates = rates_of(plan.model.price, high)
    sent_high = total_usd((part_usd(high, rates.input), part_usd(limit, rates.output)))
    result.usd_high = total_usd((result.usd_high, None if sent_high is None else sent_high * attempts))

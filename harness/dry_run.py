"""What a run would send and cost, found without any network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from harness.attempts import is_asked_again, read_reply
from harness.beyond_limits import Beyond
from harness.cache.rows import Exchange, UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.costs import output_limit, part_usd, rates_of, total_usd
from harness.errors import MediaError, MediaLimitError, UnsupportedInputError
from harness.estimates import input_tokens
from harness.identity import Built, build
from harness.messages import Reply, Request
from harness.planning import Plan
from harness.plans import ModelPlan, Unit, first_request
from harness.providers.reading import read_exchange
from harness.reformatter import reformat_request
from harness.request_bytes import check_size
from harness.runner import Work
from harness.settings import Model

BATCH = 500
OUTPUT_TOKENS_LOW = 50
"""The shortest useful answer."""


@dataclass(slots=True)
class Forecast:
    """One model's share of a session. Tokens and USD: low is one short send a unit, high is all attempts.

    None: unknown, because no price or no output limit is known. The reformatter's asks stand apart.
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


@dataclass(slots=True)
class Restating:
    """The most that a reformatter would be asked: each unit that is sent needs it. At least: nothing.

    Units whose stored answers it has not restated yet are among them. None: unknown, as in `Forecast`.
    """

    model: Model
    asks: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    usd: float | None = 0.0

    def add(self, request: Request, answer_tokens: int | None) -> None:
        """Add one ask; `answer_tokens` come on top of those of the request."""
        tokens = None if answer_tokens is None else input_tokens(request).high + answer_tokens
        limit = output_limit(self.model, request.params)
        rates = rates_of(self.model.price, tokens or 0)
        self.asks += 1
        self.input_tokens = _sum(self.input_tokens, tokens)
        self.output_tokens = _sum(self.output_tokens, limit)
        self.usd = total_usd((self.usd, part_usd(tokens, rates.input), part_usd(limit, rates.output)))

    @property
    def unpriced(self) -> bool:
        """Whether the reformatter has no known price."""
        return self.model.price.input is None or self.model.price.output is None

    def to_json(self) -> Mapping[str, JSON]:
        """Return it as `--dry-run --json` prints it."""
        return {
            "model": self.model.name,
            "asks_low": 0,
            "asks_high": self.asks,
            "input_tokens_low": 0,
            "input_tokens_high": self.input_tokens,
            "output_tokens_low": 0,
            "output_tokens_high": self.output_tokens,
            "usd_low": 0.0,
            "usd_high": self.usd,
        }


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


async def forecast(plan: Plan, work: Work, store: Store | None) -> tuple[list[Forecast], list[Restating]]:
    """Return what each model's open units would come to, and what their reformatters would at most.

    `store` None: nothing is stored yet.
    """
    asked = [one.reformatter for one in plan.models.values() if one.reformatter is not None]
    restating = {model.name: Restating(model) for model in asked}
    found = [await _forecast_model(plan, work, store, name, restating) for name in plan.models]
    return found, list(restating.values())


async def _forecast_model(
    plan: Plan, work: Work, store: Store | None, name: str, restating: Mapping[str, Restating]
) -> Forecast:
    model_plan = plan.models[name]
    n_units = work.states.n_units(name)
    result = Forecast(name, n_units, n_units - work.count_open(name))
    units = work.open_units(name)
    while batch := list(islice(units, BATCH)):
        restated = _Restated(model_plan, restating)
        for attempt in range(1, plan.manifest.attempts + 1):
            requests = dict(_requests(plan, batch, attempt, result))
            served = {} if store is None else await store.served(list(requests))
            batch = []
            for key, (unit, request, built) in requests.items():
                if key not in served or served[key].id <= unit.after:
                    if not _fits(unit, built, result):
                        continue
                    restated.may_be(unit)
                    if not model_plan.model.retired:  # to such a model nothing is sent
                        _add(result, request, model_plan, plan.manifest.attempts - attempt + 1)
                elif restated.asked_again(unit, served[key]) and attempt < plan.manifest.attempts:
                    batch.append(unit)
                else:
                    result.stored += 1
        await restated.add_stored(store)
    if model_plan.model.price.input is None or model_plan.model.price.output is None:
        result.usd_low = result.usd_high = None
    return result


class _Restated:
    """Which of a batch of one model's units the reformatter may be asked about."""

    def __init__(self, plan: ModelPlan, restating: Mapping[str, Restating]) -> None:
        self._plan = plan
        self._restating = None if plan.reformatter is None else restating[plan.reformatter.name]
        self._answers: dict[UnitId, tuple[Unit, str]] = {}

    def may_be(self, unit: Unit) -> None:
        """Note a unit that is sent: its answer may be as long as the model's answers get."""
        self._answers.pop(unit.id, None)
        if self._restating is not None and unit.condition.policy.reformat and not self._plan.model.retired:
            self._restating.add(reformat_request(unit, ""), output_limit(self._plan.model, self._plan.params))

    def asked_again(self, unit: Unit, stored: Exchange) -> bool:
        """Tell whether a unit is asked once more after a stored answer; note one that is unusable."""
        reply = read_exchange(stored.data, self._plan.model.provider)
        if not isinstance(reply, Reply):
            return False
        reading = read_reply(reply, unit.condition.policy)
        if reading.usable:
            self._answers.pop(unit.id, None)
        elif reading.answer and unit.condition.policy.reformat:
            self._answers[unit.id] = unit, reading.answer
        return is_asked_again(reading)

    async def add_stored(self, store: Store | None) -> None:
        """Add the units whose stored answers are unusable, and that the reformatter has not restated."""
        reformatter, restating = self._plan.reformatter, self._restating
        if store is None or reformatter is None or restating is None:
            return
        asked: dict[str, tuple[Unit, Request]] = {}
        for unit, answer in self._answers.values():
            request = reformat_request(unit, answer)
            asked[build(request, reformatter).key] = unit, request
        served = await store.served(list(asked))
        for key, (unit, request) in asked.items():
            if key not in served or served[key].id <= unit.after:
                restating.add(request, 0)


def _requests(
    plan: Plan, units: Sequence[Unit], attempt: int, result: Forecast
) -> Iterator[tuple[str, tuple[Unit, Request, Built]]]:
    for unit in units:
        try:
            if unit.case.problem is not None:
                raise MediaError(unit.case.problem)
            request = first_request(plan.benchmark, unit, plan.manifest.structured, attempt)
            built = build(request, unit.model.model)
            yield built.key, (unit, request, built)
        except (MediaLimitError, UnsupportedInputError) as error:
            result.not_applicable += 1
            result.beyond.add(unit.case.id, error)
        except MediaError:
            result.not_applicable += 1


def _fits(unit: Unit, built: Built, result: Forecast) -> bool:
    """Tell whether a request that is not stored is small enough to be sent; note one that is not."""
    try:
        check_size(built.wire, built.document, unit.model.model)
    except MediaLimitError as error:
        result.not_applicable += 1
        result.beyond.add(unit.case.id, error)
        return False
    except MediaError:  # the image cannot be encoded as it would be sent
        result.not_applicable += 1
        return False
    return True


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

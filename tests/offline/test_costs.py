from __future__ import annotations

import pytest

from harness.costs import cost_usd, output_limit, reserve_usd, send_cost_usd, total_usd
from harness.messages import Usage
from harness.settings import Model, Price, Provider

PRICE = Price(input=2.0, output=10.0, cached_input=0.5)


def model(**settings: object) -> Model:
    provider = Provider(name="lab", adapter="openai", base_url="http://127.0.0.1:1/v1")
    return Model(name="m", provider=provider, model="m-1", **settings)  # type: ignore[arg-type]


def test_tokens_are_priced_per_million() -> None:
    assert cost_usd(Usage(input_tokens=1_000_000, output_tokens=500_000), PRICE) == 7.0


def test_cached_input_tokens_have_their_own_price() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=400_000)
    assert cost_usd(usage, PRICE) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5)


def test_cached_input_tokens_cost_the_full_price_where_no_lower_one_is_known() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=400_000)
    assert cost_usd(usage, Price(input=2.0, output=10.0)) == 2.0


def test_more_cached_tokens_than_input_tokens_never_make_a_negative_price() -> None:
    usage = Usage(input_tokens=10, output_tokens=0, cached_tokens=1000)
    assert cost_usd(usage, PRICE) == pytest.approx(10 * 0.5 / 1_000_000)


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        (Usage(input_tokens=1, output_tokens=1), Price(input=1.0)),
        (Usage(input_tokens=1, output_tokens=1), Price(output=1.0)),
        (Usage(input_tokens=1), PRICE),
        (Usage(output_tokens=1), PRICE),
        (Usage(), PRICE),
    ],
)
def test_an_unknown_price_or_count_gives_an_unknown_cost_and_never_zero(usage: Usage, price: Price) -> None:
    assert cost_usd(usage, price) is None


def test_a_model_that_costs_nothing_costs_nothing_without_counts_too() -> None:
    assert cost_usd(Usage(), Price(input=0.0, output=0.0)) == 0.0


def test_an_error_that_nobody_worked_on_is_free_even_without_a_price() -> None:
    assert send_cost_usd(Usage(), Price(), serves=False, maybe_billed=False) == 0.0


def test_a_failed_send_that_may_have_been_billed_has_an_unknown_cost() -> None:
    assert send_cost_usd(Usage(), PRICE, serves=False, maybe_billed=True) is None


def test_a_failed_send_with_counts_costs_what_they_say() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    assert send_cost_usd(usage, PRICE, serves=False, maybe_billed=True) == 2.0


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert total_usd([0.1, None, 0.2]) is None
    assert total_usd([0.1, 0.2]) == pytest.approx(0.3)
    assert total_usd([]) == 0.0


def test_a_reservation_holds_the_input_and_the_requests_own_output_limit() -> None:
    asked = model(price=PRICE, max_output_tokens=8000)
    assert reserve_usd(asked, 1000, {"max_tokens": 100}) == pytest.approx((1000 * 2 + 100 * 10) / 1e6)


def test_a_reservation_without_max_tokens_takes_the_models_limit() -> None:
    assert reserve_usd(model(price=PRICE, max_output_tokens=8000), 0, {}) == pytest.approx(0.08)


def test_a_reservation_without_any_limit_or_price_is_unknown() -> None:
    assert reserve_usd(model(price=PRICE), 10, {}) is None
    assert reserve_usd(model(max_output_tokens=10), 10, {}) is None


def test_true_is_no_output_limit() -> None:
    assert output_limit(model(max_output_tokens=7), {"max_tokens": True}) == 7

"""Which stored request is called the nearest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from request_examples import REQUEST, model, provider, turns
from store_examples import an_exchange

from harness.cache.key import stored_document
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.explaining.components import wanted_identity
from harness.explaining.nearest import Neighbour, Sought, nearest_neighbour
from harness.identity import build
from harness.manifest import BlobRef, ConditionWanted, Manifest, ModelWanted
from harness.messages import ImagePart, Request
from harness.outcomes import ExchangeOutcome
from harness.settings import Model

LAB = model("openai")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(tmp_path / "s.sqlite3")) as opened:
        wanted = ModelWanted("openai", "lab", "weights", {}, "max_tokens", {})
        manifest = Manifest(
            "triage", BlobRef("cases", "0" * 64), 1, False,
            {"both": ConditionWanted(BlobRef("p", "1" * 64), None)}, {"m": wanted},
            None, 3, "same", None, "off", 1,
        )  # fmt: skip
        run = await opened.save_run("night", manifest.digest(), "triage", manifest.to_json())
        await opened.start_session(run.id, {})
        yield opened


async def keep(
    store: Store, request: Request, asked: Model = LAB, case: str | None = None, **changes: Any
) -> int:
    """Store a request as answered, linked to a case where one is named."""
    built = build(request, asked)
    exchange = an_exchange(
        key=built.key, twin=built.twin, request=stored_document(built.document, built.headers),
        model=asked.model, endpoint=built.endpoint, purpose=request.purpose, attempt=request.attempt,
        repeat=request.repeat, **changes,
    )  # fmt: skip
    link = None if case is None else (1, UnitId("m", "both", case))
    return await store.append(exchange, session=1, serve=True, link=link)


async def find(
    store: Store, request: Request = REQUEST, asked: Model = LAB, own: tuple[int, ...] = (), **more: Any
) -> Neighbour | None:
    built = build(request, asked)
    sought = Sought(
        wanted_identity(built, request, asked), built.key, built.twin, request.purpose, "triage",
        UnitId("m", "both", "1"), own, **more,
    )  # fmt: skip
    return await nearest_neighbour(store, sought)


def with_params(**changes: Any) -> Request:
    return replace(REQUEST, params={**REQUEST.params, **changes})


async def test_the_fewest_differences_win(store: Store) -> None:  # F50
    await keep(store, with_params(temperature=1, seed=2))
    near = await keep(store, with_params(temperature=1))
    await keep(store, with_params(temperature=1, seed=2, top_p=1))
    found = await find(store)
    assert found is not None and (found.stored.id, found.run) == (near, "night")
    assert [one.path for one in found.differences] == ["temperature"]


async def test_of_equals_the_newest_wins(store: Store) -> None:
    await keep(store, with_params(temperature=1))
    newest = await keep(store, with_params(temperature=2))
    found = await find(store)
    assert found is not None and found.stored.id == newest


async def test_the_same_request_elsewhere_is_found_among_any_number(store: Store) -> None:
    elsewhere = model("openai", provider=provider("openai", endpoint="other"))
    there = await keep(store, REQUEST, elsewhere)
    for number in range(300):
        await keep(store, replace(REQUEST, messages=turns(text=f"{number}"), params={}))
    found = await find(store)
    assert found is not None and found.stored.id == there and found.is_elsewhere


async def test_a_case_is_found_among_any_number_of_other_requests(store: Store) -> None:
    """Far back, and by another model: only the links lead there."""
    there = await keep(store, REQUEST, model("openai", model="other-weights"), case="1")
    for number in range(300):
        await keep(store, replace(REQUEST, messages=turns(text=f"{number}"), params={}))
    found = await find(store)
    assert found is not None and found.stored.id == there
    assert [one.component for one in found.differences] == ["model"]


async def test_the_same_picture_is_found_for_a_case_that_was_renamed(store: Store) -> None:
    (picture,) = (part for part in REQUEST.messages[1].parts if isinstance(part, ImagePart))
    there = await keep(store, replace(REQUEST, messages=turns(picture, text="other")), case="renamed")
    await keep(store, replace(REQUEST, messages=turns(text="other")))
    found = await find(store)
    assert found is not None and found.stored.id == there


async def test_what_failed_and_what_was_asked_for_another_purpose_is_no_neighbour(store: Store) -> None:
    await keep(store, with_params(temperature=1), outcome=ExchangeOutcome.TIMEOUT, error="late")
    await keep(store, replace(with_params(temperature=1), purpose="reformat"), case="1")
    assert await find(store) is None


async def test_the_request_itself_is_no_neighbour_of_its_own(store: Store) -> None:
    await keep(store, REQUEST)
    assert await find(store) is None


async def test_a_damaged_request_is_passed_over(store: Store) -> None:
    near = await keep(store, with_params(temperature=1, seed=1))
    await keep(store, with_params(temperature=1))
    async with store._database.writing() as transaction:
        await transaction.connection.exec_driver_sql("UPDATE exchange SET request = x'00' WHERE id = 2")
    found = await find(store)
    assert found is not None and found.stored.id == near


async def test_only_another_models_answers_are_a_neighbour_too(store: Store) -> None:
    there = await keep(store, REQUEST, model("openai", model="other-weights"))
    found = await find(store)
    assert found is not None and found.stored.id == there


async def test_of_equals_the_units_own_wins_over_a_newer_one(store: Store) -> None:  # F50
    own = await keep(store, with_params(temperature=1), case="1")
    nearer_than_others = await keep(store, with_params(temperature=2), case="1")
    found = await find(store, own=(own,))
    assert found is not None and (found.stored.id, found.own) == (own, True)
    other = await find(store)
    assert other is not None and (other.stored.id, other.own) == (nearer_than_others, False)


async def test_the_units_own_is_known_far_back_and_without_a_run_that_names_it(store: Store) -> None:
    own = await keep(store, replace(REQUEST, messages=turns(text="of old")))
    for number in range(300):
        await keep(store, replace(REQUEST, messages=turns(text=f"{number}"), params={}))
    found = await find(store, own=(own,))
    assert found is not None and found.stored.id == own


async def test_another_cases_request_is_no_neighbour(store: Store) -> None:  # F50
    await keep(store, replace(REQUEST, messages=turns(text="another complaint")), case="2")
    assert await find(store) is None


async def test_the_same_text_tells_the_case_only_where_it_depends_on_it(store: Store) -> None:
    wanted = replace(REQUEST, messages=turns(text="what is this?"))
    there = await keep(store, replace(wanted, params={"temperature": 1}), case="2")
    found = await find(store, wanted)
    assert found is not None and found.stored.id == there
    assert await find(store, wanted, text_tells=False) is None


async def test_the_case_in_another_condition_is_no_neighbour(store: Store) -> None:
    """It differs by design: neither prompt nor case has changed."""
    built = build(with_params(temperature=1), LAB)
    wanted = ModelWanted("openai", "lab", "weights", {}, "max_tokens", {})
    manifest = Manifest(
        "triage", BlobRef("cases", "0" * 64), 1, False,
        {"image": ConditionWanted(BlobRef("p", "1" * 64), None)}, {"m": wanted},
        None, 3, "same", None, "off", 1,
    )  # fmt: skip
    run = await store.save_run("morning", manifest.digest(), "triage", manifest.to_json())
    exchange = an_exchange(
        key=built.key, twin=built.twin, request=stored_document(built.document, built.headers),
        model=LAB.model, endpoint=built.endpoint, purpose="answer", attempt=1, repeat=1,
    )  # fmt: skip
    session = await store.start_session(run.id, {})
    await store.append(exchange, session=session, serve=True, link=(run.id, UnitId("m", "image", "1")))
    assert await find(store) is None

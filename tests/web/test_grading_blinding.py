"""What a rater's browser gets tells nothing of whose answers these are: every byte of it is read."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from graded_pages import GradingSite, Sent, grading_site
from page_browser import a_browser
from people_grading import at_the_desk
from radm_night import CONDITIONS, MODELS, PRICES, PROVIDER, RUN, SERVED, case_id, night, records

from harness.cache.store import Store
from harness.grading.desk import Desk
from harness.grading.opening import GradingWanted, make_grading


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("night")
    night(folder)
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "store.sqlite3", tmp_path / "store.sqlite3"))


def telling(folder: Path) -> set[str]:
    """Return all words that would tell whose answer it is, which case, or what it cost and took."""
    words = {*MODELS, *SERVED.values(), PROVIDER, RUN, "quokka", "zephyrine", "scan-QZ", "images/"}
    words |= {name for name in CONDITIONS if name != "text"}  # a word of every style sheet
    words |= {case_id(number) for number in range(5)} | {str(price) for price in PRICES.values()}
    for record in records(folder):
        for exchange in record["exchanges"]:
            words |= {str(exchange[name]) for name in ("latency_s", "cost_usd", "key") if exchange[name]}
        words |= {str(record[name]) for name in ("evidence_cost_usd", "spent_usd") if record[name]}
        words |= {str(medium["sha256"]) for medium in record["media"]}
    return words


def found_in(sent: Sent, words: set[str]) -> list[str]:
    """Return the words that stand in an address, a header or a body, in whatever case."""
    head = "\n".join([sent.address, *(f"{name}: {value}" for name, value in sent.headers)])
    text = f"{head}\n{sent.body.decode('utf-8', 'replace')}".casefold()
    return [word for word in words if word.casefold() in text]


@pytest.mark.slow
def test_a_whole_grading_tells_the_browser_nothing(made: Path, store: Path) -> None:
    words = telling(made)
    assert len(words) > 40
    with a_browser() as browser, grading_site(store, calibration=0) as grading:
        with at_the_desk(browser, grading.link("alice"), lambda _: 1) as alice:
            alice.begin()
            sheets = 0
            while "/sheet/" in alice.opened.page.url:
                alice.press("i")  # the images of each, and one of them in full
                alice.opened.page.locator("#media img").first.wait_for()
                alice.answer()
                alice.go_on()
                sheets += 1
            assert sheets == 20
            assert alice.opened.said == []
        assert len([one for one in grading.sent if one.status == 200]) > 20 * (1 + 5 + 2)
        assert [(one.address, found) for one in grading.sent if (found := found_in(one, words))] == []
        hidden = sum(one.body.count(b"[name hidden]") for one in grading.sent if "sheet/" in one.address)
        assert hidden >= 8  # two names in an answer of each model and condition
        shown = "".join(one.body.decode("utf-8", "replace") for one in grading.sent)
        assert "disease 4 of kind 4" in shown and "Headache for 5 days" in shown
        # That the search finds what is there: the lead's page names the run.
        httpx.get(grading.link("lead"), trust_env=False)
        assert RUN in found_in(grading.sent[-1], words)


def neutral(sent: httpx.Response, base: str, position: int) -> tuple[Mapping[str, str], str]:
    """Return a sheet's headers and page without its position, and without the ways to others."""
    text = re.sub(r'<nav class="moves".*?</nav>', "", sent.text, flags=re.DOTALL)
    text = text.replace(f"{base}sheet/{position}", "HERE").replace(f"after={position}", "after=N")
    text = re.sub(rf"([Ss])heet {position}\b", r"\1heet N", text)
    text = text.replace('<details class="scale" open>', '<details class="scale">')
    headers = {name: value for name, value in sent.headers.items() if name != "content-length"}
    return headers, text


def test_equal_answers_of_two_models_are_equal_bytes(store: Path) -> None:
    with grading_site(store, calibration=0) as grading, httpx.Client(trust_env=False) as client:
        seat = next(one for one in grading.desk.seats if one.name == "alice")
        base = urlsplit(grading.link("alice")).path
        groups: dict[str, list[tuple[str, Any]]] = {}
        for position, number in enumerate(grading.desk.order(seat), 1):
            unit = grading.desk.plan.items[number].unit
            response = client.get(f"{grading.link('alice')}sheet/{position}")
            assert response.status_code == 200
            groups.setdefault(unit.case_id, []).append((unit.model, neutral(response, base, position)))
        same = groups[case_id(0)] + groups[case_id(3)]
        assert [len(groups[case_id(number)]) for number in (0, 3)] == [4, 4]
        for number in (0, 3):
            assert {model for model, _ in groups[case_id(number)]} == set(MODELS)
            (_, first), *others = groups[case_id(number)]
            assert all(other == first for _, other in others)
        assert same[0][1] != same[4][1]  # two cases are not the same


async def test_the_order_does_not_follow_the_model_or_the_condition(store: Path) -> None:
    places: dict[tuple[str, str], list[float]] = {}
    async with await Store.open(str(store), create=False) as opened:
        (run,) = await opened.runs()
        for seed in range(30):
            wanted = GradingWanted("tiers", ("alice", "bob"), f"g{seed}", calibration=0, seed=seed)
            desk = await Desk.open(opened, await make_grading(opened, run, wanted))
            for seat in desk.seats[:2]:
                for place, number in enumerate(desk.order(seat)):
                    unit = desk.plan.items[number].unit
                    for what in (
                        ("model", unit.model),
                        ("condition", unit.condition),
                        ("case", unit.case_id),
                    ):
                        places.setdefault(what, []).append(place - 9.5)
    # A uniform place of 20 has a variance of 33.25; 9 groups are looked at, 4 standard errors are 1 in 1,700.
    drift = {what: sum(some) / len(some) / sqrt(33.25 / len(some)) for what, some in places.items()}
    assert len(drift) == 9
    assert {what: z for what, z in drift.items() if abs(z) > 4} == {}


def test_the_order_of_a_rater_is_not_the_other_ones(store: Path) -> None:
    with grading_site(store, calibration=0) as grading:
        orders = [list(grading.desk.order(seat)) for seat in grading.desk.seats[:2]]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(20))
    assert orders[0] != orders[1]


@pytest.fixture
def site(store: Path) -> Iterator[GradingSite]:
    with grading_site(store, calibration=0) as one:
        yield one


def test_an_error_of_the_store_tells_a_rater_nothing(
    site: GradingSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from harness.errors import StoreError

    async def broken(*_: object, **__: object) -> None:
        await asyncio.sleep(0)
        raise StoreError(f"unit {MODELS[0]} {case_id(1)} is damaged")

    monkeypatch.setattr(Desk, "sheet", broken)
    monkeypatch.setattr(Desk, "overview", broken)
    for name, told in [("alice", False), ("consensus", False), ("lead", True)]:
        response = httpx.get(site.link(name), trust_env=False)
        assert response.status_code == 500
        assert (case_id(1) in response.text) is told
    response = httpx.get(site.link("alice") + "sheet/1", trust_env=False)
    assert response.status_code == 500 and "tell whoever leads the grading" in response.text
    form = {"seen": "x", "tier_1": "1"}
    response = httpx.post(site.link("alice") + "sheet/1", data=form, trust_env=False)
    assert response.status_code == 500 and case_id(1) not in response.text
    assert "a page of a rater failed: StoreError" in caplog.text
    assert case_id(1) not in caplog.text and MODELS[0] not in caplog.text


def test_one_rater_sees_nothing_of_what_another_said(store: Path) -> None:
    with grading_site(store, calibration=0, limit=2) as site, httpx.Client(trust_env=False) as client:
        pages = [site.link("bob"), site.link("bob") + "sheet/1"]
        before = [client.get(page).text for page in pages]
        site.grade_all("alice", 1)
        assert [client.get(page).text for page in pages] == before
        assert "checked" not in before[1]
        assert "checked" in client.get(site.link("alice") + "sheet/1").text

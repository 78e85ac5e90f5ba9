"""The pages of runs and units: what they count, where their links lead, and names that would break them."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from bulk_run import bulk_plan, fill
from postgres_server import PostgresServer
from stored_run_builder import FILLING, SCALING, Built, Plan, answer, build, built_run, case
from web_viewing import pages_of

from harness.benchmarks.triage.task import Triage
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.offline.score import score_run
from harness.outcomes import UnitOutcome
from harness.web.links import Query, link
from harness.web.viewing.filters import FACETS, Filters, units_link
from harness.web.viewing.index_reading import IndexReader
from harness.web.viewing.library import Library

HOSTILE = (
    "<script>alert(1)</script>", "a/b?c&d=e#f%20g+h", "nul\0here", "\ud800lone", "\u202eabc", "x" * 10_000,
    "..\\..", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "\u2028\rline", "' or 1=1 --",
)  # fmt: skip

HTMX = {"hx-request": "true"}


class Pages:
    """A client of the pages, which reads links as a browser does."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, status: int = 200, **headers: str) -> str:
        found = await self.client.get(path, headers=headers)
        assert found.status_code == status, found.text
        return found.content.decode("utf-8")

    async def whole(self, path: str) -> str:
        """Return a page once all that it shows has been read."""
        for _ in range(400):
            found = await self.get(path)
            if not re.search("One moment|being read|not been read|not read yet", found):
                return found
        raise AssertionError("it was never read")


def links(page: str, path: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(rf'href="({re.escape(path)}\?[^"]*)"', page)]


def total(page: str) -> int:
    (found,) = re.findall(r"<strong>([\d,]+)</strong>", page)
    return int(found.replace(",", ""))


def query(link: str) -> Query:
    return Query(link.partition("?")[2].encode("ascii"))


async def opened(store: Store) -> AsyncIterator[Pages]:
    library = Library(store)
    async with (
        pages_of(store, library) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        yield Pages(client)


@pytest.fixture(autouse=True)
def without_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are read as fast as that goes: no sweep is to be spared here."""
    monkeypatch.setattr("harness.web.viewing.index_reading._WORKING_DUTY", 1.0)
    monkeypatch.setattr("harness.web.viewing.index_reading._QUIET_DUTY", 1.0)


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    place = str(tmp_path / "store.sqlite3")
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        place = server.new_store()
    async with await Store.open(place) as found:
        yield found


@pytest.fixture
async def pages(store: Store) -> AsyncIterator[Pages]:
    async for one in opened(store):
        yield one


@pytest.fixture
async def bulk(tmp_path: Path) -> AsyncIterator[tuple[Built, Pages]]:
    async with built_run(tmp_path, bulk_plan(110, conditions=("both", "opg")), name="night") as built:
        await fill(built)
        async for one in opened(built.store):
            yield built, one


async def test_an_empty_store_says_what_to_do(pages: Pages) -> None:
    page = await pages.whole("/")

    assert "no run in this store yet" in page
    assert "harness run" in page and "--store" in page
    await pages.get("/run?run=nothing", 404)
    await pages.get("/units?run=nothing", 404)


async def test_a_value_that_no_unit_has_leaves_none_and_can_be_given_up(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    for facet in FACETS:
        for value in ("unheard-of", "%00", "%ff"):
            page = await pages.whole(f"/units?run=night&{facet}={value}")
            assert total(page) == 0
            assert "/units?run=night" in links(page, "/units")


async def test_runs_are_listed_the_latest_first_with_what_they_are(store: Store, pages: Pages) -> None:
    cases = [case("c1", SCALING), case("c2")]
    first = await build(store, Plan(cases, models=("alpha",)), name="first")
    await first.valid(UnitId("alpha", "both", "c1"), SCALING)
    await store.end_session(first.session, 3, {"spent_usd": 1.25, "unknown_cost_sends": 2})
    made_up = Plan(cases, models=("alpha", "beta"), synthetic=True, simulated=True)
    second = await build(store, made_up, name="second")

    page = await pages.whole("/")

    assert [query(one).one("run") for one in links(page, "/run")] == ["second", "first"]
    assert page.count("SYNTHETIC") == page.count("SIMULATED") == 1
    assert "1 of 2" in page and "0 of 4" in page
    assert "$1.25" in page and "2 sends without a price" in page and "1 session that did not end" in page
    assert "ended: some units have no answer" in page

    await second.answers(UnitId("beta", "both", "c2"), UnitOutcome.EMPTY, "")
    assert "1 of 4" in await pages.whole("/")
    run = await pages.whole(link("/run", run="second"))
    assert "SYNTHETIC DATA - SIMULATED MODELS: no evidence about real models" in run
    assert "harness score second" in run


async def test_a_run_is_open_while_any_session_has_not_ended(store: Store, pages: Pages) -> None:
    built = await build(store, Plan([case("c0", SCALING)]))
    later = await store.start_session(built.run.id, {})
    await store.end_session(later, 0)
    page = await pages.whole("/")
    assert "at work, or killed" in page
    (asked,) = [html.unescape(one) for one in re.findall(r'hx-get="(/live[^"]*)"', page)]
    assert "just begun" not in page and ">just begun, never told<" in await pages.get(asked, **HTMX)
    await store.end_session(built.session, 0)
    assert "at work, or killed" not in await pages.whole("/")
    assert "ended meanwhile" in await pages.get(asked, **HTMX)


async def test_a_run_counts_its_units_as_the_lists_do_that_it_links_to(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    page = await pages.whole(link("/run", run="night"))

    cells = re.findall(r'<td[^>]*><a href="(/units[^"]*)">([\d,]+)</a>', page)
    assert len(cells) > 20
    for href, count in cells:
        assert total(await pages.whole(html.unescape(href))) == int(count.replace(",", "")), href
    by_model = [int(count) for href, count in cells if "condition=" not in href]
    assert sum(by_model) == 880


async def test_each_facet_counts_what_choosing_it_gives(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    page = await pages.whole(units_link("night", Filters(model=("beta",), text="patient")))

    choices = re.findall(r'<a class="choice[^"]*" href="([^"]*)"[^>]*>.*?choice-count">([\d,]+)<', page)
    assert len(choices) >= 12
    for href, count in choices:
        chosen = Filters.read(query(html.unescape(href)))
        if chosen.model == ():  # taking a choice away leaves more than the others of its facet
            continue
        if chosen.model == ("beta",):
            assert total(await pages.whole(html.unescape(href))) == int(count.replace(",", "")), href


async def test_pages_of_fifty_show_every_unit_once(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    seen, number = [], 1
    here: str | None = units_link("night", Filters(condition=("both",), sort="latest"))
    while here is not None:
        page = await pages.whole(here)
        seen += [query(one).one("case") + str(query(one).one("model")) for one in links(page, "/unit")]  # type: ignore[operator]
        following = [one for one in links(page, "/units") if query(one).one("page") == str(number + 1)]
        here, number = (following[0] if following else None), number + 1
    assert number - 1 == 9
    assert len(seen) == len({*seen}) == 440
    for odd in ("0", "-1", "999999999999", "x", "\uff11"):
        assert total(await pages.whole(link("/units", run="night", page=odd))) == 880


async def test_a_list_shows_what_answers_begin_with_and_whether_they_are_right(
    bulk: tuple[Built, Pages],
) -> None:
    _, pages = bulk
    page = await pages.whole(units_link("night", Filters(outcome=("unparsable",))))

    assert page.count('chip-bad">unparsable') == page.count("I would suggest") == 8
    assert page.count('chip-bad">wrong') == 8
    assert Filters.carried(query(links(page, "/unit")[0])) == Filters(outcome=("unparsable",))
    nothing = await pages.get(units_link("night", Filters(text="qqqzzz")))
    assert "No unit of this run fits" in nothing and total(nothing) == 0


async def test_a_list_of_answers_that_are_still_being_read_says_so_and_counts_nothing_yet(
    bulk: tuple[Built, Pages], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def later(reader: IndexReader, *, scores: bool) -> None:
        """Read nothing yet."""

    monkeypatch.setattr(IndexReader, "fill", later)
    _, pages = bulk
    for _ in range(400):
        early = await pages.get(units_link("night", Filters(right=("yes",))))
        if "One moment" not in early:
            break
    assert "still reading" in early and "not known before" in early and "every 2s" in early
    assert "No unit of this run fits" not in early and "<strong>0</strong>" not in early


async def test_beginnings_stand_in_one_line_so_that_their_two_lines_hold_words(
    store: Store, pages: Pages
) -> None:
    built = await build(store, Plan([case("c1")]), name="night")
    await built.answers(UnitId("alpha", "both", "c1"), UnitOutcome.UNPARSABLE, '{\n  "triage":\n\n x')

    page = await pages.whole(units_link("night", Filters()))

    assert '{ "triage": x' in html.unescape(re.sub(r"<wbr>|</?bdi[^>]*>", "", page))


async def test_a_form_without_scripts_leads_to_the_link_of_the_view(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    await pages.whole(units_link("night", Filters()))
    among = Filters(model=("beta",), sort="worst").packed()

    found = await pages.client.get("/units", params={"run": "night", "text": "upper", "among": among})

    assert found.status_code == 303
    assert found.headers["location"] == units_link(
        "night", Filters(model=("beta",), text="upper", sort="worst")
    )


async def test_htmx_gets_the_list_alone_and_the_address_of_the_view(bulk: tuple[Built, Pages]) -> None:
    _, pages = bulk
    here = units_link("night", Filters(stage=("attempt-2",)))
    await pages.whole(here)

    part = await pages.client.get(here, headers={"hx-request": "true", "hx-target": "units"})
    again = await pages.client.get(
        here, headers={"hx-request": "true", "hx-target": "units", "hx-current-url": f"http://x{here}"}
    )

    assert "<html" not in part.text and part.text.count('id="units"') == 1
    assert part.text.count('id="among"') == 1
    assert part.headers["hx-push-url"] == here
    assert "hx-push-url" not in again.headers
    late = await pages.client.get(f"{here}&again=1", headers={"hx-request": "true", "hx-target": "units"})
    assert late.status_code == 200 and "hx-push-url" not in late.headers
    restored = await pages.get(here, **{"hx-request": "true"})
    assert "<html" in restored


async def test_current_scores_are_shown_and_nothing_is_scored(
    bulk: tuple[Built, Pages], monkeypatch: pytest.MonkeyPatch
) -> None:
    built, pages = bulk
    monkeypatch.setattr(Triage, "intervals", lambda *_: {})
    before = await pages.whole(link("/run", run="night"))
    assert "No stored scores of this run are current" in before
    assert await built.store.stored_score(built.run.id) is None
    score = await score_run(built.store, built.run)

    page = await pages.whole(link("/run", run="night"))

    rows = {(row["model"], row["condition"]): row for row in score.to_json()["rows"]}  # type: ignore[union-attr, index, call-overload]
    value = rows["beta", "both"]["as_answered"]["fine.macro_f1"]["value"]  # type: ignore[index, call-overload]
    assert f">{value:.3f}<" in page
    assert "fine maF1" in page
    assert 'href="/units?run=night&amp;model=beta&amp;condition=both">beta</a>' in page


async def test_names_are_shown_as_text_and_their_links_lead_to_them(store: Store, pages: Pages) -> None:
    for name in HOSTILE:
        one = replace(case(name, SCALING, complaint=name), tags=(name,))
        built = await build(store, Plan([one, case("c2", FILLING)], models=(name, "beta")), name=name)
        unit, keys = UnitId(name, "both", name), {"key": f"k{built.run.id}", "twin": f"t{built.run.id}"}
        said = "\udc00" if "\ud800" in name else name
        id = await built.exchange(unit, said.encode("utf-8", "replace").decode(), **keys, model="m")
        await built.finish(unit, UnitOutcome.UNPARSABLE, [(id, "answer", 1)], used=[id])
    shown = [await pages.whole("/")]
    assert {query(one).one("run") for one in links(shown[0], "/run")} == {*HOSTILE}
    for name in HOSTILE:
        everything = Filters(model=(name,), stratum=(name,))
        listed = await pages.whole(units_link(name, everything))
        assert total(listed) == 1, name
        (there,) = links(listed, "/unit")
        asked = query(there)
        assert [asked.one(part) for part in ("run", "model", "case")] == [name] * 3
        assert Filters.carried(asked) == everything
        searched = await pages.get(units_link(name, replace(everything, text=name[:300])))
        assert total(searched) == 1, name
        shown += [listed, searched, await pages.get(link("/run", run=name))]
        shown.append(await pages.get(link("/run", run=name + "?"), 404))
        for href in links(listed, "/units")[:6]:
            await pages.get(href)
    for page in shown:
        assert "<script>alert" not in page and "<img src=x" not in page and "{49}" not in page
        page = re.sub(' value="[^"]*"', "", page)  # what somebody searched for stands there as it is
        assert not re.search("[\x00\u202e\u2028\ud800-\udfff]", page)
        assert len(page) < 600_000


async def test_a_row_says_how_its_answer_compares_and_what_it_is_worth_scored_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether scores or the replay told of it, and anew once the unit is answered anew."""
    monkeypatch.setattr("harness.web.viewing.shelf._LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("harness.web.viewing.shelf._SHARE", 1e9)
    async with built_run(tmp_path, Plan([case("c1", SCALING), case("c2", FILLING)])) as built:
        await built.valid(UnitId("alpha", "both", "c1"), SCALING, FILLING)
        await built.answers(UnitId("alpha", "both", "c2"), UnitOutcome.UNPARSABLE, "no")
        async for pages in opened(built.store):
            page = await pages.whole(link("/units", run="test-run"))
            assert "0 missing, 1 extra, 1 the same" in page and "triage_output" not in page
            assert "case_f1</th>" in page and re.search(r'data-name="case_f1">0.667</td>', page)
            assert re.search(r'class="beginning"><div>no</div>', page)
        await score_run(built.store, built.run)
        async for pages in opened(built.store):
            page = await pages.whole(link("/units", run="test-run"))
            assert "0 missing, 1 extra, 1 the same" in page
            again = await built.store.mark_again(built.run.id, [UnitId("alpha", "both", "c1")])
            new = await built.exchange(UnitId("alpha", "both", "c1"), answer(SCALING), key="again")
            await built.finish(
                UnitId("alpha", "both", "c1"), UnitOutcome.VALID, [(new, "answer", 1)], used=[new],
                again_after=again,
            )  # fmt: skip
            page = await pages.whole(link("/units", run="test-run"))
            assert "exactly the reference (1 label)" in page and "1 extra" not in page


async def test_right_and_wrong_are_counted_as_the_rows_that_were_just_read_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the page reads answers here, and it waits for them."""

    async def nothing(_reader: object, *, scores: bool) -> None: ...

    monkeypatch.setattr("harness.web.viewing.index_reading.IndexReader.fill", nothing)
    monkeypatch.setattr("harness.web.viewing.library.PATIENCE_S", 30.0)
    async with built_run(tmp_path, Plan([case("c1", SCALING), case("c2", FILLING)])) as built:
        await built.valid(UnitId("alpha", "both", "c1"), SCALING)
        await built.valid(UnitId("alpha", "both", "c2"), SCALING)
        async for pages in opened(built.store):
            page = await pages.get(link("/units", run="test-run"))
    counts = re.findall(r'right=(?:yes|no|none)">.*?choice-count">(\d+)<', page)
    assert counts == ["1", "1", "0"] and "not read yet" not in page

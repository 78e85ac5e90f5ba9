"""Pages of gradings: saved or told, usable without a mouse or without JavaScript, sound to look at."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from graded_pages import GradingSite, grading_site
from page_browser import PHONE, Look, a_browser
from people_grading import Person, at_the_desk
from playwright.sync_api import Browser, Route
from radm_night import night
from site_checks import PAGE_LOOKS, visiting, wrong_with


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("night"), cases=2, conditions=("text_images",))


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "store.sqlite3"))


@pytest.fixture
def site(store: Path) -> Iterator[GradingSite]:
    with grading_site(store, calibration=2) as one:
        yield one


def grades(site: GradingSite, rater: str = "alice") -> list[tuple[str, object]]:
    """Return every grade of a rater in the order of time, its history too."""
    history = site.site.run(site.desk.store.grade_history(site.desk.stored.run.id))
    ours = sorted((one for one in history if one.rater == rater), key=lambda one: one.graded_at_us)
    return [(one.question, one.value) for one in ours]


def kept(person: Person, count: int) -> None:
    """Wait until so many answers of the sheet are told to be saved."""
    person.opened.page.locator(".state .kept").nth(count - 1).wait_for()


def rows_of_options(person: Person) -> set[tuple[int, ...]]:
    """Return how many options stand in each row of a question, for all questions of the sheet."""
    tops = person.opened.run(
        """[...document.querySelectorAll('.options')].map((one) =>
            [...one.children].map((option) => Math.round(option.getBoundingClientRect().top)))"""
    )
    return {tuple(of.count(top) for top in sorted(set(of))) for of in tops}


@contextmanager
def lost_answers(person: Person) -> Iterator[None]:
    """Let no answer reach the server within the block."""

    def lose(route: Route) -> None:
        if route.request.method == "POST":
            route.abort("connectionrefused")
        else:
            route.continue_()

    person.opened.page.route("**/*", lose)
    yield
    person.opened.page.unroute("**/*")


def test_an_answer_that_is_not_saved_is_told_and_kept_until_it_is(
    browser: Browser, site: GradingSite
) -> None:
    with at_the_desk(browser, site.link("alice"), lambda _: 2) as alice:
        page = alice.opened.page
        alice.begin()
        here = page.url
        with lost_answers(alice):
            alice.answer(1)
            page.get_by_role("alert").wait_for()
            assert "Not saved: question 1: the server cannot be reached" in page.inner_text("#alarm")
            for key in ("n", "u", "Enter"):
                alice.press(key)
            alice.answer()
            alice.press("Enter", "n", "u")
            assert page.url == here
            assert "not saved yet: question 1" in page.inner_text("#told")
            assert grades(site) == []
        page.locator("#alarm").wait_for(state="hidden")  # it was tried again by itself
        kept(alice, 5)
        assert sorted(grades(site)) == [(f"tier_{rank}", 2) for rank in range(1, 6)]
        alice.go_on()
        assert page.url != here
        assert {words.partition(":")[0] for words in alice.opened.said} == {
            "console error"
        }  # of what was lost


@pytest.mark.slow
def test_who_closes_the_window_over_an_unsaved_answer_is_asked(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice"), lambda _: 2) as alice:
        alice.begin()
        with lost_answers(alice):
            alice.answer(1)
            alice.opened.page.get_by_role("alert").wait_for()
            alice.opened.page.close(run_before_unload=True)
            alice.opened.page.wait_for_timeout(200)
        assert any(words.startswith("dialog:") for words in alice.opened.said)


@pytest.mark.slow
def test_a_changed_answer_says_so_and_keeps_its_history(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        alice.press("3", "ArrowUp", "1")
        alice.opened.page.get_by_text("changed, saved").wait_for()
        alice.press("ArrowUp", "1")  # what stands already: nothing new
        alice.press("c")
        alice.opened.page.keyboard.type("n 1 2 3: keys are letters here")
        alice.press("Escape", "2")
        kept(alice, 3)
        assert alice.opened.page.url.endswith("/sheet/1")
        said = [("tier_1", 3), ("tier_1", 1), ("comment", "n 1 2 3: keys are letters here"), ("tier_2", 2)]
        assert sorted(grades(site), key=str) == sorted(said, key=str)
        alice.opened.page.reload()
        assert (
            alice.opened.run("document.querySelector('textarea').value") == "n 1 2 3: keys are letters here"
        )
        assert alice.opened.run("[...document.querySelectorAll(':checked')].map((one) => one.value)") == [
            "1",
            "2",
        ]
        assert alice.opened.said == []


@pytest.mark.slow
def test_a_key_that_is_held_down_answers_one_question(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        for _ in range(4):
            alice.opened.page.keyboard.down("2")
        alice.opened.page.keyboard.up("2")
        kept(alice, 1)
        assert grades(site) == [("tier_1", 2)]


def test_keys_lead_around(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        page = alice.opened.page
        alice.begin()
        for keys, ending in [
            ("n", "sheet/2"),
            ("p", "sheet/1"),
            ("j", "sheet/2"),
            ("k", "sheet/1"),
            ("u", "/"),
        ]:
            alice.press(keys)
            page.wait_for_url(f"**{ending}")
        page.click("main h1")  # which leaves the focus with nothing that a key presses
        alice.press("Enter")
        page.wait_for_url("**/sheet/1")
        alice.press("ArrowRight", "ArrowRight", "Space")
        kept(alice, 1)
        assert grades(site) == [("tier_1", 2)]
        alice.press("Enter")  # four are open: it stays, and says which
        assert page.url.endswith("/sheet/1")
        assert page.inner_text("#told") == "question 2 has no answer yet"
        alice.press("?")
        page.get_by_role("dialog").wait_for()
        listed = page.inner_text("dialog")
        assert "answer the question at hand" in listed and "write a comment" in listed
        page.locator(".keys").evaluate("(hints) => { hints.style.display = 'none'; }")  # as without a mouse
        alice.press("?", "?")
        assert page.inner_text("dialog") == listed
        alice.press("2")
        assert grades(site) == [("tier_1", 2)]
        assert alice.opened.said == []


@pytest.mark.slow
def test_single_keys_can_be_turned_off(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        alice.opened.run("localStorage.setItem('harness-keys-off', '1')")
        alice.press("2", "n")
        alice.press("ArrowRight", "Space")
        kept(alice, 1)
        assert grades(site) == [("tier_1", 1)]


@pytest.mark.slow
def test_an_answer_that_was_settled_meanwhile_is_refused_in_words(browser: Browser, store: Path) -> None:
    with grading_site(store, calibration=0) as site, at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        site.grade_all("alice", 1)
        site.grade_all("bob", 2)
        site.grade_all("consensus", 2)
        alice.press("3")
        alice.opened.page.get_by_role("alert").wait_for()
        told = alice.opened.page.inner_text("#alarm")
        assert "a consensus was found on this answer" in told and "Load the page again" in told
        alice.opened.page.get_by_role("link", name="load the page again").click()
        alice.opened.page.locator(".warning").wait_for()
        assert alice.opened.run("document.querySelectorAll('fieldset:disabled').length") == 5
        assert grades(site) == [(f"tier_{rank}", 1) for _ in range(4) for rank in range(1, 6)]


def test_without_javascript_it_is_a_form_with_a_button(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice"), script=False) as alice:
        page = alice.opened.page
        page.goto(site.link("alice"))
        page.get_by_role("link", name="begin").click()
        for rank in range(1, 5):
            page.locator(f"input[name=tier_{rank}][value='1']").check(force=True)
        page.locator("textarea").fill("so it is")
        page.get_by_role("button", name="save", exact=True).click()
        assert page.inner_text(".note") == "saved; no answer yet: question 5"
        page.locator("input[name=tier_5][value='3']").check(force=True)
        page.get_by_role("button", name="save and go on").click()
        assert page.url.endswith("/sheet/2")
        assert page.locator("#alarm").is_hidden()
        page.goto(site.link("alice") + "sheet/1")
        page.get_by_role("link", name="show 1 image").click()
        assert page.locator("img").count() == 1
    expected = [*((f"tier_{rank}", 1) for rank in range(1, 5)), ("comment", "so it is"), ("tier_5", 3)]
    assert sorted(grades(site), key=str) == sorted(expected, key=str)


@pytest.mark.slow
def test_images_come_when_they_are_asked_for_alone(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        assert not [url for url in alice.opened.requests if "/media/" in url or url.endswith("/media")]
        alice.press("i")
        alice.opened.page.locator("#media img").first.wait_for()
        assert alice.opened.run("document.querySelector('#media').contains(document.activeElement)")
        alice.press("2")
        kept(alice, 1)
        assert grades(site) == [("tier_1", 2)]
        assert alice.opened.said == []


@pytest.mark.slow
def test_the_lead_decides_where_raters_agree_too_little(browser: Browser, site: GradingSite) -> None:
    site.grade_all("alice", 1)
    site.grade_all("bob", 2)
    with at_the_desk(browser, site.link("lead")) as lead:
        page = lead.opened.page
        page.goto(site.link("lead"))
        assert "below 0.75" in page.inner_text("main")
        page.get_by_label("Sheets").fill("1")
        page.get_by_role("button", name="begin another round").click()
        assert len(site.desk.state.rounds) == 2 and len(site.desk.state.rounds[1].items) == 1
        page.get_by_label("Reason").fill("<b>we talked</b>")
        page.get_by_role("button", name="open full grading").click()
        assert "opened by the lead: <b>we talked</b>" in page.inner_text("main")
        with page.expect_download() as download:
            page.get_by_role("link", name="JSONL").first.click()
        rows = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
        assert len(rows) == 20 and {row["rater"] for row in rows} == {"alice", "bob"}
        links = lead.opened.run("[...document.querySelectorAll('.links input')].map((one) => one.value)")
        assert links == [site.link(name) for name in ("alice", "bob", "consensus", "lead")]
        assert lead.opened.said == []


def test_differences_are_counted_among_themselves_and_others_lead_back(store: Path) -> None:
    with grading_site(store, calibration=0) as site, httpx.Client(trust_env=False) as client:
        site.grade_all("alice", 1)
        seats = {seat.name: list(site.desk.order(seat)) for seat in site.desk.seats if seat.role != "lead"}
        seat = next(one for one in site.desk.seats if one.name == "bob")
        position = seats["bob"].index(seats["consensus"][2]) + 1
        site.site.run(site.desk.grade(seat, position, "tier_1", 2))
        for rank in range(2, 6):
            site.site.run(site.desk.grade(seat, position, f"tier_{rank}", 1))
        site.grade_all("bob", 1)
        link = site.link("consensus")
        differs = client.get(link + "sheet/3").text
        assert "<title>difference 1 of 1</title>" in differs and "sheet 3" not in differs
        alike = client.get(link + "sheet/1")
        assert alike.status_code == 409 and "the raters do not differ on this answer" in alike.text
        beyond = client.get(site.link("alice") + "sheet/99")
        assert beyond.status_code == 404 and "there is no such sheet" in beyond.text
        for answer, home in ((alike, link), (beyond, site.link("alice"))):
            assert f'href="{home.removeprefix(site.site.url)}"' in answer.text


PAGES = (
    "overview",
    "sheet",
    "images",
    "unsaved",
    "waiting",
    "lead",
    "differences",
    "difference",
    "closed",
    "refused",
)


@pytest.mark.slow
@pytest.mark.parametrize("look", PAGE_LOOKS, ids=str)
def test_every_page_is_sound(browser: Browser, store: Path, look: Look) -> None:
    wrong: dict[str, list[str]] = {}
    with grading_site(store, calibration=2) as site, visiting(browser, site.site, look) as one:
        alice, page = Person(one, site.link("alice"), lambda _: 1), one.page

        def looked(name: str, *allowed: str) -> None:
            wrong[name] = [
                words for words in wrong_with(one, site.site, look) if not words.startswith(allowed)
            ]

        page.goto(alice.link)
        looked("overview")
        alice.begin()
        alice.answer(2)
        looked("sheet")
        alice.press("i")
        page.locator("#media img").first.wait_for()
        looked("images")
        with lost_answers(alice):
            alice.answer(1)
            page.get_by_role("alert").wait_for()
            looked("unsaved", "it said: console error")
        page.locator("#alarm").wait_for(state="hidden")
        one.said.clear()
        site.grade_all("alice", 1)
        site.grade_all("bob", 2)
        page.goto(alice.link)
        looked("waiting")
        page.goto(site.link("lead"))
        looked("lead")
        page.get_by_label("Reason").fill("both know why")
        page.get_by_role("button", name="open full grading").click()
        page.goto(site.link("consensus"))
        looked("differences")
        page.goto(site.link("consensus") + f"next?after={len(site.desk.plan.items)}")
        looked("difference")
        site.grade_all("consensus", 2)
        page.goto(alice.link + "sheet/1")
        looked("closed")
        page.goto(site.site.url + "/g/nobody/")
        looked("refused", "it said: console error: Failed to load resource")
    assert tuple(wrong) == PAGES
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.slow
def test_a_phone_shows_the_case_above_the_questions(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice"), size=PHONE) as alice:
        alice.begin()
        case, work = (alice.opened.page.locator(f".{name}").bounding_box() for name in ("case", "work"))
        assert case is not None and work is not None
        assert case["y"] + case["height"] <= work["y"] and case["y"] < 200
        assert alice.opened.run("window.scrollY") == 0
        assert rows_of_options(alice) == {(1, 1, 1, 1)}
        for width, rows in [(700, {(4,)}), (1280, {(4,)})]:
            alice.opened.page.set_viewport_size({"width": width, "height": 900})
            assert rows_of_options(alice) == rows, width

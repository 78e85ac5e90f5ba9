"""Pages of gradings against hostile content and hostile visitors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path

import httpx
import pytest
from graded_pages import GradingSite, grading_site
from page_browser import DESK, Look, a_browser
from people_grading import at_the_desk
from PIL import Image
from playwright.sync_api import Browser
from radm_night import diagnoses, night
from site_checks import wrong_with

from harness.cache.store import Store
from harness.grading.desk import Desk

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
LONG = "a long answer " * 14_286
"""200,004 characters."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


def hostile(model: str, number: int, condition: str) -> list[str]:
    """Return diagnoses with script, with what is not seen, and a very long one."""
    found = diagnoses(model, number, condition)
    return [
        f"{SCRIPT} {found[0]}",
        f"'\"></textarea><b>{found[1]}",
        f"\u202e{found[2]}\r\u2028x",
        LONG,
        "{{ 7 * 7 }}",
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("night")
    return night(
        folder, cases=2, script=hostile, conditions=("text",), diagnosis=SCRIPT,
        history=f"Headache for 1 days. {SCRIPT} {{% raw %}}",
    )  # fmt: skip


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "store.sqlite3"))


@pytest.fixture
def site(store: Path) -> Iterator[GradingSite]:
    with grading_site(store, calibration=0) as one:
        yield one


@pytest.fixture(scope="module")
def shared(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GradingSite]:
    """A site for tests that change nothing."""
    with grading_site(Path(shutil.copy(made, tmp_path_factory.mktemp("shared"))), calibration=0) as one:
        yield one


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30) as one:
        yield one


def test_hostile_texts_are_escaped(shared: GradingSite, client: httpx.Client) -> None:
    html = client.get(shared.link("alice") + "sheet/1").text.replace("<wbr>", "")
    assert SCRIPT not in html and unescape(html).count(SCRIPT) >= 3
    assert "</textarea><b>" not in html and "{{ 7 * 7 }}" in html and "{% raw %}" in html


@pytest.mark.slow
def test_hostile_texts_are_texts(browser: Browser, site: GradingSite) -> None:
    with at_the_desk(browser, site.link("alice"), lambda _: 1) as alice:
        alice.begin()
        page = alice.opened.page
        text = page.inner_text("main")
        assert text.count("<script>document.title='owned'</script>") == 3  # history, reference, a candidate
        assert (
            "{{ 7 * 7 }}" in text and "{% raw %}" in text and "\\u202e" in text and "</textarea><b>" in text
        )
        assert "owned" not in page.title()
        alice.press("c")
        page.keyboard.type(SCRIPT)
        alice.press("Escape")
        alice.answer()
        alice.go_on()
        page.goto(site.link("alice") + "sheet/1")
        assert alice.opened.run("document.querySelector('textarea').value") == SCRIPT
        assert wrong_with(alice.opened, site.site, Look(*DESK, False)) == []


@pytest.mark.slow
def test_an_answer_of_200_000_characters_is_collapsed_and_opens_whole(
    browser: Browser, site: GradingSite
) -> None:
    with at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        page = alice.opened.page
        long = page.locator("fieldset").nth(3)
        box = long.bounding_box()
        assert box is not None and box["height"] < 900
        long.locator("summary").click()
        assert len(long.locator(".whole").inner_text()) >= len(LONG) - 1
        box = long.locator(".whole").bounding_box()
        assert box is not None and box["height"] < 600
        assert alice.opened.said == []


def test_whoever_has_no_seat_is_told_the_same(shared: GradingSite, client: httpx.Client) -> None:
    token = shared.link("alice").rsplit("/", 2)[1]
    wrong = ["x", token[:-1], token + "x", token.swapcase(), "%00", "..", "a" * 2_000]
    told = {
        (answer.status_code, answer.text)
        for one in wrong
        for path in ("", "sheet/1", "media/1/1", "export", "nowhere")
        for answer in [client.get(f"{shared.site.url}/g/{one}/{path}")]
        if one != ".."
    }
    assert [status for status, _ in told] == [403]
    assert "this link opens nothing here" in told.pop()[1]
    assert client.post(f"{shared.site.url}/g/x/sheet/1", data={"tier_1": "1"}).status_code == 403
    for path in ("/g/", "/", f"/g/../{token}/", "/static/../cli/main.py", "/static/..%2Fguard.py"):
        assert client.get(shared.site.url + path).status_code == 404


def test_a_link_that_another_process_replaced_opens_nothing_and_the_new_one_does(
    store: Path, site: GradingSite, client: httpx.Client
) -> None:
    async def replaced(name: str) -> str:
        async with await Store.open(str(store), create=False) as opened:
            desk = await Desk.open(opened, (await opened.gradings())[0])
            return (await desk.replace_link(name)).token

    for name, path in [("lead", "export?format=csv"), ("alice", "sheet/1"), ("lead", "decide")]:
        before, now = site.link(name), f"{site.site.url}/g/{site.site.run(replaced(name))}/"
        form = {"what": "again", "size": "x"}
        ask = partial(client.post, data=form) if path == "decide" else client.get
        assert ask(before + path).status_code == 403
        assert ask(now + path).status_code == (409 if path == "decide" else 200)


@pytest.mark.parametrize("name", ["alice", "consensus"])
def test_a_link_opens_the_pages_of_its_seat_alone(
    shared: GradingSite, client: httpx.Client, name: str
) -> None:
    for path in ("export?format=csv", "progress", "decide"):
        assert client.get(shared.link(name) + path).status_code == 404
    decision = {"what": "open", "reason": "mine"}
    assert client.post(shared.link(name) + "decide", data=decision).status_code == 404
    assert client.get(shared.link("lead") + "sheet/1").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["media/1/..%2f..%2fetc%2fpasswd", "media/1/0", "media/1/2", "media/1/-1",
     "media/1/1%00", "media/../1/1", "media/99/1", "media/1/\u0661", "sheet/0", "sheet/-1", "sheet/1e3",
     "sheet/99", "sheet/99999999999999999999", "sheet/1/media/1", "sheet/\u0661"],
)  # fmt: skip
def test_no_path_leads_out_of_the_sheets(shared: GradingSite, client: httpx.Client, path: str) -> None:
    answer = client.get(shared.link("alice") + path)
    assert answer.status_code == 404
    assert "root:" not in answer.text and "Traceback" not in answer.text


ELSEWHERE = (
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    {"host": "evil.example"},
)


def test_another_site_can_neither_grade_nor_read(site: GradingSite, client: httpx.Client) -> None:
    sheet = site.link("alice") + "sheet/1"
    seen = client.get(sheet).text.split('name="seen" value="')[1].split('"')[0]
    form = {"seen": seen, "tier_1": "3", "then": "stay"}
    for headers in ELSEWHERE:
        assert client.post(sheet, data=form, headers=headers).status_code in {403, 421}
        assert client.get(sheet, headers=headers).status_code in {403, 421}
    assert "checked" not in client.get(sheet).text
    assert client.post(sheet, data=form, headers={"sec-fetch-site": "same-origin"}).status_code == 303
    assert "checked" in client.get(sheet).text


def test_forms_that_are_none_are_refused(shared: GradingSite, client: httpx.Client) -> None:
    sheet = shared.link("alice") + "sheet/1"
    seen = client.get(sheet).text.split('name="seen" value="')[1].split('"')[0]
    for form, status in [
        ({"seen": seen, "tier_1": "4"}, 409),
        ({"seen": seen, "tier_1": ""}, 409),
        ({"seen": seen, "tier_6": "1"}, 409),
        ({"seen": "other", "tier_1": "1"}, 409),
        ({"tier_1": "1"}, 409),
        ({"seen": seen, "comment": "x" * 10_001}, 409),
        ({"seen": seen, "comment": "x" * 2_000_000}, 413),
    ]:
        answer = client.post(sheet, data=form)
        assert answer.status_code == status, (form, answer.text)
        htmx = client.post(sheet, data=form, headers={"hx-request": "true"})
        assert htmx.status_code == status and "x-saved" not in htmx.headers
    assert client.post(sheet, json={"seen": seen, "tier_1": "1"}).status_code == 415
    assert client.post(sheet, data={"seen": seen}, headers={"hx-request": "true"}).status_code == 400
    raw = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(sheet, content=b"seen=%ff&tier_1", headers=raw).status_code == 400
    assert client.post(sheet, content=b"\xff\x00", headers=raw).status_code == 400
    assert client.put(sheet, content=b"tier_1=1", headers=raw).status_code == 405
    assert "checked" not in client.get(sheet).text


@pytest.mark.slow
def test_a_big_image_is_shown_small_and_named_by_its_place(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "big"
    folder.mkdir()
    store = night(folder, cases=1, conditions=("text_images",), images=_big(folder))
    with grading_site(store, calibration=0) as site, at_the_desk(browser, site.link("alice")) as alice:
        alice.begin()
        alice.press("i")
        picture = alice.opened.page.locator("#media img").first
        picture.wait_for()
        alice.opened.page.wait_for_load_state("networkidle")
        assert picture.evaluate("(one) => one.naturalWidth") > 0
        media = [one for one in site.sent if "/media/" in one.address]
        assert media and all(one.status == 200 and len(one.raw) < 2_000_000 for one in media)
        assert not any("owned" in f"{one.address}{one.headers}" for one in site.sent)
        assert alice.opened.said == []


def _big(folder: Path) -> list[str]:
    """Write an image of more than 20 MB with a hostile name; return it as a case file names it."""
    name = "images/<img src=x onerror=owned>.png"
    path = folder / "data" / name
    path.parent.mkdir(parents=True)
    Image.effect_noise((5_000, 4_500), 100).save(path, compress_level=0)
    assert path.stat().st_size > 20_000_000
    return [name]

"""What the page of a grading's lead says of its rounds: of each two raters what is true of these two."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from graded_pages import GradingSite, grading_site
from radm_night import night


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("night"), cases=3, conditions=("text",))


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "store.sqlite3"))


def grade_by_place(site: GradingSite, name: str, turned: int) -> None:
    """Answer all that is open: the tiers 0 to 3 by turns, those of the first item `turned` further."""

    async def work() -> None:
        seat = next(one for one in site.desk.seats if one.name == name)
        for position, number in enumerate(site.desk.order(seat), start=1):
            for place, question in enumerate(site.desk.task.questions):
                tier = (number + place + (turned if number == 0 else 0)) % 4
                await site.desk.grade(seat, position, question.name, tier)

    site.site.run(work())


def verdicts(site: GradingSite) -> Mapping[str, str]:
    """Return two raters -> the chip of their line among the first rounds."""
    page = httpx.get(site.link("lead"), trust_env=False, timeout=30).text
    rounds = page[page.index('id="rounds"') : page.index("</table>", page.index('id="rounds"'))]
    lines = re.findall(r"<tr[^>]*><th[^>]*>(?:\w+: )?1</th>.*?</tr>", rounds, re.DOTALL)
    found = {}
    for line in lines:
        who = next(one for one in ("ann and bob", "ann and cy", "bob and cy") if one in line)
        found[who] = re.findall(r'class="chip[^"]*">([^<]*)<', line)[0]
    return found


def test_each_two_raters_are_told_by_their_own_kappa(store: Path) -> None:
    with grading_site(store, raters=("ann", "bob", "cy"), calibration=2, limit=2) as site:
        for name, turned in (("ann", 0), ("bob", 0), ("cy", 1)):
            grade_by_place(site, name, turned)
        assert verdicts(site) == {
            "ann and bob": "agreed", "ann and cy": "below 0.75", "bob and cy": "below 0.75",
        }  # fmt: skip


def test_without_a_kappa_nobody_is_said_to_agree_too_little(store: Path) -> None:
    with grading_site(store, raters=("ann", "bob"), calibration=2, limit=2) as site:
        for name in ("ann", "bob"):
            site.grade_all(name, 2)
        assert verdicts(site) == {"ann and bob": "no kappa"}
        page = httpx.get(site.link("lead"), trust_env=False, timeout=30).text
        assert "Kappa does not reach the threshold: you decide" in page and "too little" not in page


def test_who_came_later_and_who_left_are_told_with_their_round_and_the_decision(store: Path) -> None:
    with grading_site(store, raters=("ann", "bob"), calibration=2, limit=2) as site:
        for name in ("ann", "bob"):
            grade_by_place(site, name, 0)
        gone = site.link("bob")
        site.site.run(site.desk.add_rater("cy"))
        grade_by_place(site, "cy", 1)
        assert verdicts(site) == {
            "ann and bob": "agreed", "ann and cy": "below 0.75", "bob and cy": "below 0.75",
        }  # fmt: skip
        site.site.run(site.desk.retire("bob"))
        page = httpx.get(site.link("lead"), trust_env=False, timeout=30).text
        assert "Open full grading by hand to cy" in page and "retired; these grades count" in page
        assert httpx.get(gone, trust_env=False, timeout=30).status_code == 403
        decided = {"what": "open", "reason": "talked"}
        answer = httpx.post(f"{site.link('lead')}decide", data=decided, trust_env=False, timeout=30)
        assert answer.status_code == 303 and site.desk.roster.pending == ()

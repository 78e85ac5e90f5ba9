"""`harness grade` over the life of a grading: asked about, changed, its links told again, ended."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cli.test_grade import MADE, at_desk, grade, graded, links, served, store, task, ungraded
from grading_examples import Rater
from sweep_kit import harness

from harness.cli.grade import command
from harness.grading.desk import Desk

__all__ = ["graded", "store", "task", "ungraded"]


def grades_of(*names: str, differ: bool = False) -> object:
    async def work(desk: Desk) -> None:
        numbers = [*desk.state.rounds[0].items, *range(12)]
        said = {number: place % 2 for place, number in reversed(list(enumerate(numbers)))}
        for place, name in enumerate(names):
            await Rater(desk, name).all_open({n: (one + differ * place) % 2 for n, one in said.items()})

    return work


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((*MADE[:-1], "--status"), "the same command without --status and --json makes it"),
        ((*MADE[:-1], "--json"), "with --links in their place"),
        (("test-run", "--task", "small", "--status"), "`harness grade test-run --task small --raters"),
        ((*MADE[:-1], "--retire", "bob"), "nothing to change"),
        ((*MADE[:-1], "--open", "so", "--links"), "nothing to change"),
    ],
)
def test_who_asks_or_changes_makes_nothing(ungraded: Path, given: tuple[str, ...], told: str) -> None:
    refused = grade(ungraded, *given, code=2)
    assert "run 'test-run' has no grading 'test-run-small' yet" in refused.err and told in refused.err
    assert grade(ungraded).out == "no gradings yet\n"


def test_links_are_told_without_serving_and_are_those_that_are_served(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = grade(store, *MADE)
    assert list(links(told)) == ["alice", "bob", "consensus", "lead"]
    assert "note: these links open their pages while `harness grade test-run-small` serves them" in told.err
    served(monkeypatch)
    assert links(grade(store, "test-run-small")) == links(told)
    assert grade(store, "test-run-small", "--links", "--json").json == {
        "grading": "test-run-small", "links": links(told),
    }  # fmt: skip
    other = links(grade(store, "test-run", "--links", "--port", "81", "--host", "localhost"))
    assert other["bob"] == "http://localhost:81/g/" + links(told)["bob"].partition("/g/")[2]
    assert links(grade(store, "test-run-small", "--links")) == links(told)


def test_a_new_link_is_told_beside_how_it_stands(store: Path) -> None:
    before = links(grade(store, *MADE))
    told = grade(store, "test-run-small", "--new-link", "bob", "--status")
    assert "alice: 0 of 4 sheets done" in told.out and list(links(told)) == ["bob"]
    after = links(grade(store, "test-run-small", "--links"))
    assert links(told)["bob"] == after["bob"] != before["bob"] and after["alice"] == before["alice"]
    facts = grade(store, "test-run-small", "--new-link", "lead", "--json").json
    assert list(facts["new_links"]) == ["lead"] and facts["phase"] == "calibration"
    assert "new_links" not in grade(store, "test-run-small", "--json").json
    left = grade(store, "test-run-small", "--add-rater", "carol", "--retire", "carol", "--status")
    assert links(left) == {} and "carol: 0 sheets done, retired" in left.out


def test_raters_come_and_leave_and_it_says_what_that_means(store: Path) -> None:
    grade(store, *MADE)
    at_desk(store, grades_of("alice", "bob"))
    added = grade(store, "test-run-small", "--add-rater", "carol", "--status")
    assert list(links(added)) == ["carol"]
    assert "first carol grades 4 sheets of calibration, held against what alice, bob said" in added.err
    assert "carol: 0 of 4 sheets done" in added.out
    assert "calibration of carol alone, round 1: 4 sheets, goes on" in added.out
    at_desk(store, grades_of("alice", "carol", differ=True))
    waits = grade(store, "test-run-small", "--status").out
    assert "carol does not reach the threshold, and you decide" in waits and "full grading goes on" in waits
    opened = grade(store, "test-run-small", "--open", "talked", "--status")
    assert "full grading is open to carol" in opened.err and "opened to carol by hand" in opened.out
    left = grade(store, "test-run-small", "--retire", "bob", "--status")
    assert "bob has retired" in left.err and "note: their grades stay and count" in left.err
    assert "of run test-run, by alice, carol" in left.out and "bob: 12 sheets done, retired" in left.out
    place = grade(store, "test-run-small", "--add-rater", "dave", "--in-place-of", "carol", "--json")
    assert "carol has retired" in place.err and "note: alice" not in place.err
    facts = place.json
    assert facts["raters"] == ["alice", "bob", "carol", "dave"]
    assert [one["rater"] for one in facts["retired"]] == ["bob", "carol"]
    assert facts["joined"][1]["in_place_of"] == "carol" and "share" not in facts["joined"][1]
    assert grade(store, "--json").json["gradings"][0]["raters"] == ["alice", "dave"]
    refused = grade(store, "test-run-small", "--raters", "alice,dave", "--status", code=2).err
    assert "--add-rater and --retire change who grades" in refused


def test_a_grading_is_deleted_or_withdrawn_and_no_grade_is_lost(store: Path) -> None:
    grade(store, *MADE)
    assert "name of the grading itself: test-run-small" in grade(store, "test-run", "--delete", code=2).err
    assert "is deleted; it had no grade" in grade(store, "test-run-small", "--delete").out
    assert grade(store).out == "no gradings yet\n"
    grade(store, *MADE)
    at_desk(store, grades_of("alice", "bob", "alice"))
    refused = grade(store, "test-run-small", "--delete", code=2).err
    assert "has 48 grades (alice 24, bob 24), which nothing deletes; `--delete --yes`" in refused
    assert "test-run-small" in grade(store).out
    ended = grade(store, "test-run-small", "--delete", "--yes")
    assert "is withdrawn" in ended.out and "48 grades (alice 24, bob 24) stay with run test-run" in ended.err
    listed = grade(store)
    assert listed.out == "no gradings yet\n" and "not listed: test-run-small (withdrawn)" in listed.err
    assert grade(store, "--json").json == {"gradings": [], "withdrawn": ["test-run-small (withdrawn)"]}
    assert "was withdrawn" in grade(store, "test-run-small (withdrawn)", code=2).err
    assert "is not graded yet" in grade(store, "test-run", "--status", code=2).err
    exported = harness("grades", "export", "test-run", "--format", "csv", "--store", store)
    assert exported.out.count("alice") == exported.out.count("bob") == 24
    grade(store, *MADE)
    assert grade(store, "test-run-small", "--json").json["phase"] == "done"
    assert grade(store, "test-run-small", "--delete", "--yes", "--json").json == {
        "grading": "test-run-small", "run": "test-run", "ended": "withdrawn",
        "grades": {"alice": 24, "bob": 24},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("test-run-small", "--status", "--links"), "give one of them"),
        (("test-run-small", "--yes"), "--yes goes with --delete"),
        (("test-run-small", "--delete", "--status"), "leave out what else"),
        (("test-run-small", "--in-place-of", "bob"), "one --add-rater NAME"),
        (("test-run-small", "--retire", "bbo"), "there is no rater 'bbo'; did you mean 'bob'?"),
        (("test-run-small", "--add-rater", "bob"), "'bob' grades here already"),
        (("test-run", "--delete"), "several gradings here (test-run-small, other)"),
        (("--delete",), "name the run"),
        (("--links",), "name the run"),
    ],
)
def test_what_does_not_go_together_is_refused(graded: Path, given: tuple[str, ...], told: str) -> None:
    assert told in grade(graded, *given, code=2).err
    assert len(grade(graded, "--json").json["gradings"]) == 2


def test_a_second_command_serves_beside_the_first_and_leaves_its_port(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = links(grade(store, *MADE))
    port = int(before["bob"].split(":")[2].split("/")[0])
    served(monkeypatch)
    with socket.socket() as first:
        first.bind(("127.0.0.1", port))
        first.listen()
        at_desk(store, lambda desk: desk.remember_port(port))
        beside = grade(store, "test-run-small")
        assert f"is served already, at port {port} by process" in beside.err
        assert links(beside) != before
        assert links(grade(store, "test-run-small", "--links")) == before
    assert links(grade(store, "test-run-small")) == before
    assert at_desk(store, _server) is None, "nobody serves it any more"


async def _server(desk: Desk) -> object:
    return desk.state.server


def test_every_option_is_in_the_documentation() -> None:
    told = (Path(__file__).parents[2] / "docs/grading.md").read_text(encoding="utf-8")
    options = {name for one in command.params for name in one.opts if name.startswith("--")}
    common = {"--json", "--store", "--config", "--models", "--conditions"}
    assert [name for name in sorted(options - common) if f"{name}" not in told] == []

"""From `harness grade` to `harness score`: two raters, their consensus, numbers that others compute alike."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from grading_examples import Rater
from sklearn.metrics import cohen_kappa_score
from sweep_kit import Done, harness

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.grading.desk import Desk

RANKS = [f"tier_{rank}" for rank in range(1, 6)]
WEIGHTS = (1.0, 0.8, 0.6, 0.4, 0.2)
Tiers = Mapping[UnitId, list[int]]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the bundled cases by two simulated models."""
    folder = tmp_path_factory.mktemp("night")
    done = harness(
        *("run", "--benchmark", "radm", "--models", "sim/steady,sim/messy", "--limit", "8"),
        *("--name", "night", "--store", folder / "s.sqlite3"),
    )
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def store(tmp_path: Path, night: Path) -> Path:
    """A copy of its store."""
    return Path(shutil.copy(night / "s.sqlite3", tmp_path))


def grade(store: Path, *args: str, code: int = 0) -> Done:
    done = harness("grade", *args, "--store", store)
    assert done.code == code, done.err
    return done


def truth(desk: Desk, rater: str, wrong: float) -> Tiers:
    """Return what a rater thinks of each answer: the same as others, but for a share."""
    found = {}
    for item in desk.plan.items:
        dice = random.Random(f"{item.unit}")
        own = random.Random(f"{item.unit} {rater}")
        alike = [dice.randrange(4) for _ in RANKS]
        found[item.unit] = [tier if own.random() > wrong else own.randrange(4) for tier in alike]
    return found


async def grade_all(desk: Desk, rater: Rater, tiers: Tiers) -> None:
    while (position := await desk.next_open(rater.seat)) is not None:
        shown = await desk.sheet(rater.seat, position)
        await rater.say(position, **dict(zip(RANKS, tiers[shown.unit], strict=True)))


async def grade_everything(store: Path, name: str) -> tuple[Tiers, Tiers, Tiers]:
    """Grade all by both raters and settle all; return what each said, and what stands."""
    async with await Store.open(str(store), create=False) as opened:
        stored = next(one for one in await opened.gradings() if one.name == name)
        desk = await Desk.open(opened, stored)
        raters = {name: Rater(desk, name) for name in ("alice", "bob")}
        said = {name: truth(desk, name, 0.1) for name in raters}
        for _ in range(2):  # calibration, then the others
            for name, rater in raters.items():
                await grade_all(desk, rater, said[name])
        assert desk.state.opened is not None and desk.state.opened.by == "agreement"
        consensus = next(seat for seat in desk.seats if seat.role == "consensus")
        final = {unit: list(tiers) for unit, tiers in said["alice"].items()}
        while (position := await desk.next_open(consensus)) is not None:
            shown = await desk.sheet(consensus, position)
            for dispute in shown.disputes:
                value = max(int(one) for one in dispute.grades.values())
                await desk.grade(consensus, position, dispute.question, value)
                final[shown.unit][RANKS.index(dispute.question)] = value
        overview = await desk.overview(next(seat for seat in desk.seats if seat.role == "lead"))
        assert overview.phase == "done" and 0 < overview.disputes == overview.settled
        return said["alice"], said["bob"], final


@pytest.mark.slow
def test_the_scores_are_those_of_what_raters_agreed_on(store: Path) -> None:
    made = grade(store, "night", "--task", "tiers", "--raters", "alice,bob", "--calibration", "6", "--links")
    assert "first all raters grade the same 6 sheets" in made.err
    alice, bob, final = asyncio.run(grade_everything(store, "night-tiers"))
    status = grade(store, "night-tiers", "--json").json
    pairs = [pair for unit in alice for pair in zip(alice[unit], bob[unit], strict=True)]
    wanted = cohen_kappa_score(*zip(*pairs, strict=True))
    assert status["phase"] == "done" and status["settled"] == sum(one != other for one, other in pairs)
    [agreement] = status["agreement"]
    # Whole numbers over whole numbers: equal but for rounding in the last place.
    assert agreement["pooled"]["kappa"] == pytest.approx(wanted, abs=1e-12)
    assert agreement["pooled"]["n"] == len(pairs) == 5 * status["items"]
    for place, name in enumerate(RANKS):
        of_rank = [(alice[unit][place], bob[unit][place]) for unit in alice]
        found = agreement["questions"][name]
        assert found["kappa"] == pytest.approx(cohen_kappa_score(*zip(*of_rank, strict=True)), abs=1e-12)
        assert found["n"] == len(of_rank)

    scores = harness("score", "night", "--json", "--store", store).json
    people = scores["agreement"]["between_people"]["alice and bob"]
    assert people["dimensions"]["diagnoses"]["kappa"]["value"] == pytest.approx(wanted, abs=1e-12)
    ends = [agreement["pooled"]["low"], agreement["pooled"]["high"]]
    assert people["dimensions"]["diagnoses"]["kappa"]["ci"] == ends
    assert scores["grading"]["by"] == "imported"
    assert set(scores["grading"]["raters"]) == {"alice", "bob", "consensus"}
    assert scores["grading"]["disputed"] == 0 and scores["grading"]["units"] == status["items"]
    (graded,) = scores["graded"]
    assert graded["by_raters"] == {"2 of 2": status["items"]}
    assert (graded["waiting"], graded["disputed"]) == (0, 0)
    assert graded["made"] == {"consensus": status["settled"], "agreed": len(pairs) - status["settled"]}
    for row in scores["rows"]:
        whose = (row["model"], row["condition"])
        theirs = [tiers for unit, tiers in final.items() if (unit.model, unit.condition) == whose]
        worth = [max(weight * tier for weight, tier in zip(WEIGHTS, tiers, strict=True)) for tiers in theirs]
        found = row["as_answered"]
        assert found["score"]["value"] == pytest.approx(sum(worth) / row["n_units"], abs=1e-12)
        for k in (1, 3, 5):
            hits = sum(any(tiers[:k]) for tiers in theirs) / row["n_units"]
            assert found[f"top{k}"]["value"] == pytest.approx(hits, abs=1e-12)
        assert found["graded.share"]["value"] == 1.0


@pytest.mark.slow
def test_grades_go_out_as_files_and_come_in_elsewhere_with_the_same_scores(store: Path, night: Path) -> None:
    grade(store, "night", "--task", "tiers", "--raters", "alice,bob", "--calibration", "6", "--links")
    asyncio.run(grade_everything(store, "night-tiers"))
    for kind in ("jsonl", "csv"):
        file, other = store.parent / f"grades.{kind}", store.parent / f"{kind}.sqlite3"
        done = harness("grades", "export", "night", "--format", kind, "--out", file, "--store", store)
        assert done.code == 0, done.err
        shutil.copy(night / "s.sqlite3", other)
        done = harness("grades", "import", "night", file, "--store", other)
        assert done.code == 0, done.err
        found = [harness("score", "night", "--json", "--store", one).json for one in (store, other)]
        told, imported = (one.pop("graded")[0] for one in found)
        assert found[0] == found[1] and found[0]["grading"]["disputed"] == 0
        # Who was to grade what is known where they graded alone.
        assert [one["name"] for one in told.pop("gradings")] == ["night-tiers"]
        assert imported.pop("gradings") == []
        assert told == imported and told["by_raters"] == {"2 of 2": told["usable"]}
        # A grading that is made there finds everything graded, by the same raters.
        grade(other, "night", "--task", "tiers", "--raters", "alice,bob", "--calibration", "6", "--links")
        there = grade(other, "night-tiers", "--json").json
        assert there["phase"] == "done" and there["rounds"][0]["ended"] is not None

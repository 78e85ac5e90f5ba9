"""What `harness score` makes of people's grades, recomputed from `harness grades export` and the case files.

Means of points, shares of audits, and how far raters agree: by numpy, scikit-learn's kappa (unweighted and
quadratic) and scipy's exact intervals. Tolerances: values 1e-12, exact intervals 1e-9, BCa intervals on the
documented draws 2e-8.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from medlay_examples import line, write
from recomputed import (
    USABLE,
    Numbers,
    Recomputed,
    asked,
    chance,
    clustered,
    documented_bca,
    documented_draws,
    failing,
    intervals_differing,
    rescored,
    weights_of,
)
from recomputed_pandent import write_pandent_cases
from scipy.stats import binomtest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sklearn.metrics import cohen_kappa_score
from sweep_kit import harness, write_config

from harness.benchmarks.pandent.normalise import Normalise
from harness.benchmarks.pandent.task import PanDent
from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.grading.plan import read_plan

CASES = 60
MODELS = ("one", "two")
EXPERT = tuple(f"expert.{name}" for name in ("completeness", "fluency", "simplicity", "factual_correctness"))
READER = tuple(f"reader.{name}" for name in ("understandability", "fluency", "trustworthiness"))
AUDIT = tuple(f"audit.{name}" for name in ("meaning_kept", "added", "lost", "changed"))
TIERS = tuple(f"tier_{rank}" for rank in range(1, 6))

slow = pytest.mark.slow
Grade = Mapping[str, Any]
Said = Mapping[tuple[str, str, int], Mapping[str, Mapping[str, Any]]]
"""(model, case, repeat) -> question -> rater -> value."""


def store_of(folder: Path) -> tuple[str | Path, ...]:
    return ("--store", folder / "store.sqlite3", "--config", folder / "harness.toml")


def import_grades(folder: Path, run: str, grades: Sequence[Grade]) -> None:
    file = folder / f"grades-{run}.jsonl"
    file.write_text("".join(json.dumps(grade) + "\n" for grade in grades), encoding="utf-8")
    done = harness("grades", "import", run, file, *store_of(folder))
    assert done.code == 0, done.err


def exported(folder: Path, run: str) -> Said:
    """Return the grades that stand, as they are exported."""
    done = harness("grades", "export", run, "--latest", *store_of(folder))
    assert done.code == 0, done.err
    found: dict[tuple[str, str, int], dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for text in done.out.split("\n")[:-1]:
        one = json.loads(text)
        found[one["model"], one["case_id"], one["repeat"]][one["question"]][one["rater"]] = one["value"]
    return found


def points_of(raters: Mapping[str, int]) -> float:
    """Return the points that count of an answer: the consensus, else the mean of all raters."""
    return float(raters["consensus"]) if "consensus" in raters else float(np.mean(list(raters.values())))


def in_dispute(raters: Mapping[str, int]) -> bool:
    """Tell whether people differ on a question, and have come to nothing."""
    return "consensus" not in raters and len(set(raters.values())) > 1


def agreed(raters: Mapping[str, int]) -> int | None:
    """Return what counts of a question without a mean: the consensus, else what all say."""
    if "consensus" in raters:
        return raters["consensus"]
    return next(iter(raters.values())) if len(set(raters.values())) == 1 else None


# -- lay texts ----------------------------------------------------------------------------------------


def lay_text(arrival: Arrival) -> Reply:
    dice = chance("lay", arrival.json["model"], ascii(json.dumps(arrival.json["messages"])))
    return failing("refused") if dice.random() < 0.12 else chat_reply(f"1. This is a scan. {dice.random()}")


def ratings(records: Sequence[Mapping[str, Any]]) -> Iterator[Grade]:
    """Rate two thirds of the usable answers; lay readers those of one model alone, half by one person."""
    for record in records:
        unit = {name: record[name] for name in ("model", "condition", "case_id", "repeat")}
        dice = chance("points", *unit.values())
        if record["outcome"] not in USABLE or dice.random() < 0.33:
            continue
        for question in (*EXPERT, *(READER if unit["model"] == "one" else ())):
            raters = ("rad-a", "rad-b") if question in EXPERT else ("lay-a", "lay-b")[: dice.randint(1, 2)]
            first = dice.choice((3, 4, 4, 5, 5, 5))
            said = [first, min(5, max(1, first + dice.choice((-1, 0, 0, 0, 1))))][: len(raters)]
            for rater, value in zip(raters, said, strict=True):
                yield {**unit, "rater": rater, "question": question, "value": value}
            if len(set(said)) > 1 and dice.random() < 0.4:
                yield {**unit, "rater": "consensus", "question": question, "value": dice.choice(said)}


@pytest.fixture(
    scope="module", params=[pytest.param(1, id="once"), pytest.param(2, id="repeated", marks=slow)]
)
def lay(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, patients with several cases, in `repeated` asked twice."""
    folder = tmp_path_factory.mktemp("lay")
    groups = [{"group": f"p{number % 13}"} if number % 3 else {} for number in range(CASES)]
    write(folder / "data", *(line(f"c{number:03}", **group) for number, group in enumerate(groups)))
    asked(folder, "medlay", lay_text, MODELS, "--name", "run", "--repeats", str(request.param))
    before = harness("score", "run", "--json", *store_of(folder)).json
    assert not [path for row in before["rows"] for path in row["as_answered"] if path.endswith(".mean")]
    import_grades(folder, "run", list(ratings(rescored(folder, "run").records)))
    rescored.cache_clear()
    return folder


@lru_cache
def groups_of(folder: Path) -> Mapping[str, str | None]:
    """Return case -> its group, None for a case of its own."""
    lines = (folder / "data" / "cases.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return {one["id"]: one.get("group") for one in map(json.loads, lines)}


def cluster_of(folder: Path, case_id: str) -> str:
    """Return what a case is resampled with, as comparisons of raters sort it: by name."""
    return groups_of(folder)[case_id] or case_id


def place_of(folder: Path, case_id: str) -> str:
    """Return the same by a name that sorts as rows are documented to: cases, then groups as they come."""
    groups = groups_of(folder)
    if groups[case_id] is None:
        return f"c {case_id}"
    return f"g{list(dict.fromkeys(groups.values())).index(groups[case_id]):05}"


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_means_of_points_are_those_of_the_export(lay: Path, model: str) -> None:
    run, said = rescored(lay, "run"), exported(lay, "run")
    row, repeats = run.row(model, "A"), run.scores["repeats"]
    units = run.units(model, "A")
    for question in (*EXPERT, *READER):
        path = f"{question}.mean"
        if model == "two" and question in READER:
            assert path not in row["as_answered"] and path not in row["valid_only"]
            continue
        rows, by_repeat = [], defaultdict(list)
        for unit in units:
            raters = said.get((model, unit["case_id"], unit["repeat"]), {}).get(question, {})
            usable = unit["outcome"] in USABLE
            points = points_of(raters) if raters else 0.0
            summands = (points, float(bool(raters)), float(usable), 1.0)
            rows.append((place_of(lay, unit["case_id"]), unit["repeat"], summands))
            by_repeat[unit["repeat"]].append(summands)
        whole, valid, n_whole, n_valid = [], [], [], []
        for summands in by_repeat.values():
            points, graded, usable, all_of_them = np.sum(summands, axis=0)
            share = usable / all_of_them
            valid.append(points / graded)
            whole.append(points / graded * share + 1 * (1 - share))
            n_valid.append(int(graded))
            n_whole.append(int(graded + all_of_them - usable))
        there = row["as_answered"][path]
        assert there["value"] == pytest.approx(np.mean(whole), abs=1e-12) and there["n"] == min(n_whole)
        there_valid = row["valid_only"][path]
        assert there_valid["value"] == pytest.approx(np.mean(valid), abs=1e-12)
        assert there_valid["n"] == min(n_valid) and 1 <= there_valid["value"] <= 5

        def mean(sums: Numbers, path: str = path) -> Mapping[str, Numbers]:
            share = sums[..., 2] / sums[..., 3]
            return {path: sums[..., 0] / sums[..., 1] * share + (1 - share)}

        wrong, held, _ = intervals_differing({path: there}, clustered(rows, repeats), mean, 2e-8)
        assert not wrong and held == 1, wrong


def pairs_of(said: Said, questions: Sequence[str], first: str, second: str) -> Mapping[str, list[Any]]:
    """Return question -> (case, first's value, second's value) of what both graded."""
    found: dict[str, list[Any]] = {question: [] for question in questions}
    for (_, case, _), by_question in said.items():
        for question in questions:
            raters = by_question.get(question, {})
            if first in raters and second in raters:
                found[question].append((case, raters[first], raters[second]))
    return found


def with_few_differences(
    ends: tuple[float, float], rows: Sequence[Any], kind: str, labels: Sequence[int]
) -> tuple[float, float]:
    """Return ends as far as those of the exact interval of how often raters differ, where they rarely do."""
    size = len(labels)
    table = np.sum([cells for *_, cells in rows], axis=0).reshape(size, size) / len(rows)
    clusters = {cluster for cluster, *_ in rows}
    differing = {cluster for cluster, _, cells in rows if cells.index(1.0) % (size + 1)}
    if len(differing) >= 10:
        return ends
    apart = 1 - np.eye(size)
    weights = np.subtract.outer(labels, labels) ** 2 if kind == "weighted_kappa" else apart
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    differ, weight = float((chance * apart).sum()), float((chance * weights).sum())
    share = float((table * apart).sum())
    kinds = sorted((weight / differ, float((table * weights).sum()) / share if share else weight / differ))
    exact = binomtest(len(differing), len(clusters)).proportion_ci(method="exact")
    within = share / (len(differing) / len(clusters)) if differing else 1.0
    low = 1 - exact.high * within * kinds[1] / weight
    high = 1 - exact.low * within * kinds[0] / weight
    return min(ends[0], max(low, -1.0)), max(ends[1], min(high, 1.0))


def check_dimension(
    there: Mapping[str, Any], pairs: Sequence[Any], labels: Sequence[int], folder: Path
) -> None:
    """Hold one dimension against scikit-learn, and its intervals against the documented draws."""
    mine, theirs = [one for _, one, _ in pairs], [other for _, _, other in pairs]
    assert there["n"] == len(pairs)
    assert there["accuracy"]["value"] == pytest.approx(np.mean(np.equal(mine, theirs)), abs=1e-12)
    kinds: dict[str, Any] = {"kappa": None} | ({"weighted_kappa": "quadratic"} if len(labels) > 2 else {})
    assert ("weighted_kappa" in there) == (len(labels) > 2)
    rows = [
        (cluster_of(folder, case), 1, [float((one, other) == (a, b)) for a in labels for b in labels])
        for case, one, other in pairs
    ]
    sums = clustered(rows, 1)[:, 0]
    clusters, size = len(sums), len(labels)
    for kind, weights in kinds.items():
        wanted = cohen_kappa_score(mine, theirs, labels=list(labels), weights=weights)
        assert there[kind]["value"] == pytest.approx(wanted, abs=1e-12)

        def kappa(tables: Numbers, weights: str | None = weights) -> Numbers:
            table = tables.reshape(-1, size, size)
            n = table.sum(axis=(1, 2))
            apart = np.subtract.outer(labels, labels).astype(float) ** 2 if weights else 1 - np.eye(size)
            rows, columns = table.sum(axis=2), table.sum(axis=1)
            by_chance = np.einsum("ri,rj,ij->r", rows, columns, apart)
            with np.errstate(invalid="ignore", divide="ignore"):
                found: Numbers = 1 - n * (table * apart).sum(axis=(1, 2)) / by_chance
            return found

        ends = documented_bca(
            wanted, kappa(weights_of(documented_draws(clusters)) @ sums), kappa((1 - np.eye(clusters)) @ sums)
        )
        assert ends is not None
        ends = with_few_differences(ends, rows, kind, labels)
        assert there[kind]["ci"] == pytest.approx(ends, abs=2e-8)


def test_raters_of_points_agree_as_scikit_learn_says(lay: Path) -> None:
    found, said = rescored(lay, "run").scores["agreement"], exported(lay, "run")
    assert list(found["between_people"]) == ["lay-a and lay-b (reader)", "rad-a and rad-b (expert)"]
    for pair, questions, names in (
        ("rad-a and rad-b (expert)", EXPERT, ("rad-a", "rad-b")),
        ("lay-a and lay-b (reader)", READER, ("lay-a", "lay-b")),
    ):
        there, pairs = found["between_people"][pair], pairs_of(said, questions, *names)
        assert list(there["dimensions"]) == ["all questions", *questions]
        for question in questions:
            check_dimension(there["dimensions"][question], pairs[question], (1, 2, 3, 4, 5), lay)
        pooled = [one for question in questions for one in pairs[question]]
        check_dimension(there["dimensions"]["all questions"], pooled, (1, 2, 3, 4, 5), lay)
        assert there["kappa_threshold"] is None and there["reaches_threshold"] is None


@pytest.mark.slow
def test_the_tables_show_the_points_of_those_who_have_some(lay: Path) -> None:
    text = harness("score", "run", *store_of(lay)).out
    assert "agreement of rad-a and rad-b (expert) with each other" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    done = harness("report", "run", "--out", lay / "report", *store_of(lay))
    assert done.code == 0, done.err
    csv = "\n".join(path.read_text(encoding="utf-8") for path in (lay / "report").rglob("*.csv"))
    assert "expert.factual_correctness.mean" in csv and "reader.trustworthiness.mean" in csv
    row = next(row for row in rescored(lay, "run").scores["rows"] if row["model"] == "one")
    assert str(row["as_answered"]["reader.fluency.mean"]["value"]) in csv
    (page,) = (lay / "report").glob("*.html")
    assert "Agreement of the people who graded" in page.read_text(encoding="utf-8")
    compared = harness("compare", "run", "--metric", "expert.fluency.mean", *store_of(lay))
    assert compared.code == 2 and "answers have no grade" in compared.err, "a sample is not compared"


# -- restated reports ---------------------------------------------------------------------------------


@pytest.fixture(
    scope="module", params=[pytest.param(False, id="single"), pytest.param(True, id="grouped", marks=slow)]
)
def restated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Two models' reports, restated; METEOR, which nothing here is about, is left out."""
    off = {"meteor15": ("off", "if-installed"), "meteor2005": ("off", "if-installed")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PanDent, "conventions", off)
        patch.setattr(Normalise, "conventions", off)
        yield _restated(tmp_path_factory, groups=request.param)


def _restated(tmp_path_factory: pytest.TempPathFactory, *, groups: bool) -> Path:
    folder = tmp_path_factory.mktemp("restated")
    write_pandent_cases(folder / "data", 40, groups=groups)

    def script(arrival: Arrival) -> Reply:
        dice = chance("report", arrival.json["model"], ascii(json.dumps(arrival.json["messages"])))
        return failing("empty") if dice.random() < 0.1 else chat_reply(f"Caries in {dice.randint(11, 18)}.")

    asked(folder, "pandent", script, MODELS, "--conditions", "report", "--name", "run")
    with ScriptedServer(script) as server:
        config = write_config(folder, server.url, (*MODELS, "norm"), max_in_flight=32)
        done = harness(
            *("step", "normalise", "run", "--model", "norm", "--name", "step", "--attempts", "1"),
            *("--store", folder / "store.sqlite3", "--config", config),
        )
    assert done.code in (0, 3), done.err
    return folder


def audits(records: Sequence[Mapping[str, Any]]) -> Iterator[Grade]:
    for record in records:
        unit = {name: record[name] for name in ("model", "condition", "case_id", "repeat")}
        dice = chance("audit", *unit.values())
        if record["outcome"] not in USABLE or dice.random() < 0.25:
            continue
        for question in AUDIT:
            said = [int(dice.random() < 0.3) for _ in range(2)]
            said[1] = said[0] if dice.random() < 0.7 else said[1]
            for rater, value in zip(("ann", "bob"), said, strict=True):
                yield {**unit, "rater": rater, "question": question, "value": value}
            # What they differ on is settled for two of the questions.
            if said[0] != said[1] and (dice.random() < 0.5 or question in AUDIT[:2]):
                yield {**unit, "rater": "consensus", "question": question, "value": said[1]}


def source_case(case_id: str) -> str:
    return case_id.split("|")[2]


@pytest.mark.slow
def test_shares_of_audits_are_those_of_the_export(restated: Path) -> None:
    before = rescored(restated, "step")
    grades = list(audits(before.records))
    import_grades(restated, "step", grades)
    rescored.cache_clear()
    run, said = rescored(restated, "step"), exported(restated, "step")
    assert run.scores["grading"]["by"] == "imported" and run.scores["grading"]["disputed"] > 0
    # All step's cases are of groups, which are resampled in the order in which the step has them.
    cases = (cluster_of(restated, source_case(record["case_id"])) for record in run.records)
    places = {cluster: f"{place:05}" for place, cluster in enumerate(dict.fromkeys(cases))}
    settled = 0
    for model in MODELS:
        row = run.row(model, "report")
        for question in AUDIT:
            values = [
                (source_case(case), value)
                for (_, case, _), by_question in said.items()
                if case.split("|")[0] == model
                and (value := agreed(by_question.get(question, {"a": 0, "b": 1}))) is not None
            ]
            there, yes = row["as_answered"][f"{question}.share"], sum(value for _, value in values)
            assert there["n"] == len(values) > 10
            open_ones = sum(
                case.split("|")[0] == model and in_dispute(by_question.get(question, {}))
                for (_, case, _), by_question in said.items()
            )
            if open_ones:
                whole = len(values) + open_ones
                between = f"between {yes / whole:.3f} and {(yes + open_ones) / whole:.3f}"
                assert there["value"] is None and there["ci"] is None and there["reason"].endswith(between)
                continue
            settled += 1
            assert there["value"] == pytest.approx(yes / len(values), abs=1e-12)
            clusters = [places[cluster_of(restated, case)] for case, _ in values]
            if len(set(clusters)) == len(values):
                exact = binomtest(yes, len(values)).proportion_ci(method="exact")
                assert there["ci"] == pytest.approx((exact.low, exact.high), abs=1e-9)
            else:
                rows = [
                    (cluster, 1, (float(value), 1.0))
                    for cluster, (_, value) in zip(clusters, values, strict=True)
                ]
                wrong, held, _ = intervals_differing(
                    {"x": there}, clustered(rows, 1), lambda sums: {"x": sums[..., 0] / sums[..., 1]}, 2e-8
                )
                assert not wrong and held == 1, wrong
    assert 0 < settled < len(MODELS) * len(AUDIT), "some shares are held back, and some are not"
    _unchanged_but_for_the_audit(before, run)
    there = run.scores["agreement"]["between_people"]["ann and bob"]
    pairs = {
        question: [(source_case(case), *values) for case, *values in of_it]
        for question, of_it in pairs_of(said, AUDIT, "ann", "bob").items()
    }
    for question in AUDIT:
        check_dimension(there["dimensions"][question], pairs[question], (0, 1), restated)
    text = " ".join(harness("score", "step", *store_of(restated)).out.split())
    assert "grades: imported, of ann, bob, consensus" in text and "agreement of ann and bob" in text


def _unchanged_but_for_the_audit(before: Recomputed, after: Recomputed) -> None:
    """Nothing else in the scores depends on the audit."""
    whole = json.loads(json.dumps(after.scores))
    assert whole.pop("agreement") and whole.pop("grading") and whole.pop("graded")
    for row in whole["rows"]:
        for reading in ("as_answered", "valid_only"):
            row[reading] = {path: one for path, one in row[reading].items() if not path.startswith("audit.")}
    assert whole == before.scores


# -- ranked diagnoses ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def radm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("radm")
    get_benchmark("radm").write_sample(folder / "data")

    def script(arrival: Arrival) -> Reply:
        dice = chance("five", arrival.json["model"], ascii(json.dumps(arrival.json["messages"])))
        return chat_reply(json.dumps({"diagnoses": [f"D{dice.random()}" for _ in range(5)]}))

    asked(folder, "radm", script, MODELS, "--conditions", "text", "--name", "run")
    grades = []
    for record in rescored(folder, "run").records:
        unit = {name: record[name] for name in ("model", "condition", "case_id", "repeat")}
        dice = chance("tiers", *unit.values())
        for question in TIERS:
            first = dice.choice((0, 0, 1, 2, 3))
            second = first if dice.random() < 0.85 else dice.randint(0, 3)
            for rater, value in (("ann", first), ("bob", second)):
                grades.append({**unit, "rater": rater, "question": question, "value": value})
    import_grades(folder, "run", grades)
    rescored.cache_clear()
    return folder


def test_radiologists_agree_on_diagnoses_as_scikit_learn_says(radm: Path) -> None:
    found, said = rescored(radm, "run").scores["agreement"], exported(radm, "run")
    there = found["between_people"]["ann and bob"]
    pairs = pairs_of(said, TIERS, "ann", "bob")
    for question in TIERS:
        check_dimension(there["dimensions"][question], pairs[question], (0, 1, 2, 3), radm)
    pooled = [one for question in TIERS for one in pairs[question]]
    check_dimension(there["dimensions"]["diagnoses"], pooled, (0, 1, 2, 3), radm)
    kappa = there["dimensions"]["diagnoses"]["kappa"]["value"]
    assert there["kappa_threshold"] == 0.75 and there["reaches_threshold"] is (kappa >= 0.75)
    assert found["grades"] == 10 * there["n_graded"] and found["of_other_answers"] == 0


def sampled_grades(items: Sequence[UnitId]) -> tuple[list[Grade], dict[UnitId, list[int] | None]]:
    """Return what dan, eve and their consensus say of a sample, and the tiers that count of each answer.

    Dan grades all, eve two thirds; she changes some afterwards, and the last one counts. What they differ on
    is settled, by a rater whose name is written in two ways.
    """
    grades: list[Grade] = []
    final: dict[UnitId, list[int] | None] = {}
    for number, item in enumerate(items):
        unit = dict(zip(("model", "condition", "case_id", "repeat"), astuple(item), strict=True))
        counted = []
        for rank, question in enumerate(TIERS):
            dice = chance("sample", number, rank)
            dan = dice.choice((0, 0, 1, 2, 3))
            eve = dan if dice.random() < 0.8 else dice.randint(0, 3)
            said = [("dan", dan, 1)]
            if number % 3:
                said += [("eve", 3 - eve, 1), ("eve", eve, 2)] if dice.random() < 0.3 else [("eve", eve, 2)]
                if dan != eve:
                    said.append((("consensus", "Consensus")[number % 2], max(dan, eve), 3))
            counted.append(max(dan, eve))
            for rater, value, minute in said:
                when = f"2001-01-01T00:0{minute}:00Z"
                grades.append({**unit, "rater": rater, "question": question, "value": value, "time": when})
        grades.append({**unit, "rater": "dan", "question": "comment", "value": "tier_1, 3, consensus"})
        final[item] = counted if number % 3 else None
    return grades, final


async def items_of(store: Path) -> Sequence[UnitId]:
    """Return the answers of the one grading of a store."""
    async with await Store.open(str(store), create=False) as opened:
        (grading,) = await opened.gradings()
        return [item.unit for item in read_plan(grading.settings).items]


@pytest.mark.slow
def test_a_sample_that_one_rater_has_not_finished_is_scored_as_what_it_is(radm: Path, tmp_path: Path) -> None:
    shutil.copy(radm / "store.sqlite3", tmp_path / "store.sqlite3")
    shutil.copy(radm / "harness.toml", tmp_path / "harness.toml")
    made = harness(
        *("grade", "run", "--task", "tiers", "--raters", "dan,eve", "--limit", "11", "--calibration", "0"),
        *("--seed", "7", "--links", *store_of(tmp_path)),
    )
    assert made.code == 0, made.err
    items = asyncio.run(items_of(tmp_path / "store.sqlite3"))
    assert len(items) == 11 and len({item.case_id for item in items}) == 6, "of a case all answers"
    grades, final = sampled_grades(items)
    import_grades(tmp_path, "run", grades)
    grades_option = ("--grades", "imported:dan,eve,consensus")
    scores = harness("score", "run", "--json", *grades_option, *store_of(tmp_path)).json
    (task,) = scores["graded"]
    done = [tiers for tiers in final.values() if tiers is not None]
    assert (task["to_grade"], task["waiting"], task["disputed"]) == (11, 11 - len(done), 0)
    assert task["by_raters"] == {"2 of 2": len(done), "1 of 2": 11 - len(done)}
    assert sum(task["made"].values()) == 5 * len(done)
    cases = {one["id"]: place for place, one in enumerate(scores_cases(radm))}
    for row in scores["rows"]:
        theirs = {
            item.case_id: tiers
            for item, tiers in final.items()
            if item.model == row["model"] and tiers is not None
        }
        found, n = row["as_answered"], len(theirs)
        assert found["score"]["value"] is None and found["score"]["ci"] is None
        worth = {
            case: max(w * tier for w, tier in zip((1, 0.8, 0.6, 0.4, 0.2), tiers, strict=True))
            for case, tiers in theirs.items()
        }
        there = found["graded_only.score"]
        assert there["n"] == n and there["value"] == pytest.approx(sum(worth.values()) / n, abs=1e-12)
        rows = [(f"{cases[case]:05}", 1, (value, 1.0)) for case, value in worth.items()]
        wrong, _, _ = intervals_differing(
            {"x": there}, clustered(rows, 1), lambda sums: {"x": sums[..., 0] / sums[..., 1]}, 2e-8
        )
        assert not wrong, wrong
        for k in (1, 3, 5):
            hits = sum(any(tiers[:k]) for tiers in theirs.values())
            exact = binomtest(hits, n).proportion_ci(method="exact")
            there = found[f"graded_only.top{k}"]
            assert there["value"] == pytest.approx(hits / n, abs=1e-12)
            assert there["ci"] == pytest.approx((exact.low, exact.high), abs=1e-9)
    text = " ".join(harness("score", "run", *grades_option, *store_of(tmp_path)).out.split())
    assert f"GRADING NOT FINISHED (tiers): {11 - len(done)} of 11 answers not graded by all raters" in text
    assert "text: graded answers alone, NOT all" in text and "drawn by seed 7" in text


def scores_cases(folder: Path) -> Sequence[Mapping[str, Any]]:
    lines = (folder / "data" / "cases.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]

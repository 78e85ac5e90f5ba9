"""`harness compare`: whom its words mean, what is refused, what it prints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply, status_reply
from scripted_server import ScriptedServer
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, build, case
from sweep_kit import (
    Done,
    answer_text,
    case_number,
    harness,
    labels_of,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

from harness.benchmarks.triage.taxonomy import answer_of
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.outcomes import UnitOutcome

N = 12
IDS = [f"c{number:02}" for number in range(N)]
CASES = [case(id, SCALING if number % 2 else EXTRACTION) for number, id in enumerate(IDS)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)


async def answered(built: Built, model: str, right: int, total: int = N, *, repeats: int = 1) -> None:
    """Answer the first `right` cases rightly, the next up to `total` wrongly, and leave the others open."""
    for number, id in enumerate(IDS[:total]):
        truth = SCALING if number % 2 else EXTRACTION
        for repeat in range(1, repeats + 1):
            unit = UnitId(model, "both", id, repeat)
            await built.valid(unit, truth if number < right else FILLING)


def stored(folder: Path, runs: Mapping[str, Mapping[str, Any]]) -> Path:
    """Make a store: run -> its models with how many cases they answer rightly, or (right, answered)."""

    async def make() -> None:
        async with await Store.open(str(folder / "store.sqlite3")) as store:
            for name, wanted in runs.items():
                models = {key: value for key, value in wanted.items() if key != "plan"}
                plan = Plan(**({"cases": CASES, "models": list(models)} | wanted.get("plan", {})))
                built = await build(store, plan, name=name)
                for model, how in models.items():
                    right, total = how if isinstance(how, tuple) else (how, N)
                    await answered(built, model, right, total, repeats=plan.repeats)

    asyncio.run(make())
    return folder / "store.sqlite3"


def compare(store: Path, *words: str) -> Done:
    return harness("compare", *words, "--store", store)


def labels(store: Path, *words: str) -> list[str]:
    done = compare(store, *words, "--json")
    assert done.code == 0, done.err
    return sorted(one["label"] for one in done.json["contenders"])


TWO_RUNS: Mapping[str, Mapping[str, Any]] = {
    "night": {"alpha": 12, "beta": 2, "gamma": 6},
    "day": {"alpha": 11, "delta": 4, "plan": {"attempts": 2}},
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("two-runs"), TWO_RUNS)


def test_words_name_runs_and_models(two_runs: Path) -> None:
    for words, expected in {
        (): ["alpha", "delta"],
        ("night",): ["alpha", "beta", "gamma"],
        ("latest",): ["alpha", "delta"],
        ("alpha", "beta"): ["alpha", "beta"],
        ("night", "alpha", "gamma"): ["alpha", "gamma"],
        ("night", "day", "alpha"): ["day:alpha", "night:alpha"],
        ("night:alpha", "day:alpha"): ["day:alpha", "night:alpha"],
        ("night:beta", "day:delta"): ["beta", "delta"],
        ("night", "day"): ["beta", "day:alpha", "delta", "gamma", "night:alpha"],
        ("night", "baseline:nothing"): ["alpha", "baseline:nothing", "beta", "gamma"],
        ("night", "night:alpha", "model:alpha", "beta"): ["alpha", "beta"],
        ("run:night", "day:baseline:nothing"): ["alpha", "baseline:nothing", "beta", "gamma"],
    }.items():
        assert labels(two_runs, *words) == expected, words


def test_models_without_a_run_are_those_of_the_latest_that_has_them_all(two_runs: Path) -> None:
    runs = {one["run"]["name"] for one in compare(two_runs, "alpha", "beta", "--json").json["contenders"]}
    assert runs == {"night"}
    done = compare(two_runs, "beta", "delta")
    assert done.code == 2
    assert (
        "no run asks all of these models (beta in night; delta in day); write each as RUN:MODEL" in done.err
    )


@pytest.mark.parametrize(("words", "told"), [
    (("nigth",), "'nigth' is no run and no model of any run; did you mean 'night'?"),
    (("night:bete",), "run 'night' has no model 'bete'; did you mean 'beta'?"),
    (("night", "delta"), "no model 'delta' in night; it is in: day; write RUN:MODEL"),
    (("nobody",), "`harness status RUN` the models of one; raters and baselines are rater:NAME and baseline"),
    (("night:alpha",), "a comparison takes two at least, and there is 'alpha'; name another"),
    (("alpha", "alpha"), "takes two at least, and there is 'alpha', named 2 times; name another"),
    (("night", "rater:nobody"), "run 'night' has no rater 'nobody' to compare in condition 'both'; known: "),
    (("night", "baseline:nothin"), "'both'; did you mean 'nothing'?"),
    (("night", "baseline:prevalence"), "'both': it is computed as a whole, so that no case has"),
    (("night", "--baseline", "night"), "--baseline 'night' is a run; name one of its models"),
    (("night", "day", "--baseline", "alpha"), "--baseline 'alpha' is in several of these runs; say"),
    (("night", "--metric", "fine.makro_f1"), "did you mean 'fine.macro_f1'"),
    (("night", "--condition", "opg"), "condition 'opg' is not scored in every run that is compared"),
    (("night", "--convention", "nope=1"), "unknown convention 'nope'"),
])  # fmt: skip
def test_what_nobody_can_mean_ends_with_2_and_a_way_out(
    two_runs: Path, words: Sequence[str], told: str
) -> None:
    done = compare(two_runs, *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_name_that_is_both_says_how_to_be_exact(tmp_path: Path) -> None:
    store = stored(tmp_path, {"alpha": {"alpha": 12, "beta": 3}, "other": {"alpha": 6, "a:b": 3}})
    done = compare(store, "alpha")
    assert done.code == 2
    assert "'alpha' is both a run and a model; write run:alpha for the run" in done.err
    assert labels(store, "run:alpha") == ["alpha", "beta"]
    assert labels(store, "model:alpha", "a:b") == ["a:b", "alpha"]
    assert labels(store, "other:alpha", "other:a:b") == ["a:b", "alpha"]


def test_the_beginning_of_a_run_is_no_model_of_that_name(tmp_path: Path) -> None:
    store = stored(tmp_path, {"alphabet": {"alpha": 12, "beta": 3}})
    assert labels(store, "alpha", "beta") == ["alpha", "beta"]
    assert labels(store, "alphab") == ["alpha", "beta"]


def test_the_baseline_is_found_among_those_compared_or_added(two_runs: Path) -> None:
    done = compare(two_runs, "night", "--baseline", "beta", "--json").json
    assert (done["family"]["against"], done["family"]["tests"]) == ("beta", 2)
    done = compare(two_runs, "night", "--baseline", "baseline:nothing", "--json").json
    assert (done["family"]["against"], done["family"]["tests"]) == ("baseline:nothing", 3)
    done = compare(two_runs, "night:beta", "night:gamma", "--baseline", "day:alpha", "--json").json
    assert (done["family"]["against"], done["family"]["tests"]) == ("alpha", 2)


def test_an_incomplete_model_is_left_out_unless_it_is_named(tmp_path: Path) -> None:  # F19
    store = stored(tmp_path, {"night": {"alpha": 12, "beta": 2, "gamma": (5, 5)}})
    done = compare(store, "night", "--json")
    assert [one["label"] for one in done.json["contenders"]] == ["alpha", "beta"]
    assert done.json["not_compared"] == ["gamma of run night (incomplete: 7 units)"]
    assert done.json["cases"]["common"] == N
    (tmp_path / "alone").mkdir()
    alone = compare(stored(tmp_path / "alone", {"night": {"alpha": 12, "gamma": (5, 5)}}), "night")
    assert alone.code == 2
    assert "'alpha'; name another; not compared unless named as RUN:MODEL: gamma of run " in alone.err
    named = compare(store, "night", "alpha", "beta", "gamma", "--json").json
    assert named["cases"]["common"] == 5
    assert named["cases"]["without"] == {"gamma": N}
    assert named["warnings"][0].startswith("INCOMPLETE: nobody answered 7 units of gamma")
    left_out = [(one["why"], one["whose"], one["cases"]) for one in named["cases"]["left_out"]]
    assert left_out == [("no answer yet", ["gamma"], IDS[5:])]
    ranks = {one["label"]: one["rank"] for one in named["metrics"][0]["values"]}
    assert ranks["gamma"] is None
    n = {one["n"] for one in named["metrics"][0]["values"]}
    assert n == {5}


def test_runs_that_asked_differently_say_so(two_runs: Path) -> None:
    warnings = compare(two_runs, "night:alpha", "day:alpha", "--json").json["warnings"]
    assert warnings == [
        "ASKED DIFFERENTLY: attempts: 2 in day; 3 in night; a difference is that of models and of attempts "
        "together"
    ]
    assert compare(two_runs, "night", "--json").json["warnings"] == []


def test_other_cases_under_the_same_ids_are_left_out_and_listed(tmp_path: Path) -> None:  # F3
    changed = [
        case("c00", SCALING, complaint="Something else."), case("c01", FILLING), *CASES[2:],
        case("c99", SCALING),
    ]  # fmt: skip
    store = stored(
        tmp_path, {"night": {"alpha": 12}, "day": {"beta": 4, "plan": {"cases": changed, "models": ["beta"]}}}
    )
    found = compare(store, "night:alpha", "day:beta", "--json").json
    assert (found["cases"]["common"], found["cases"]["wanted"]) == (10, 13)
    assert {one["why"]: one["cases"] for one in found["cases"]["left_out"]} == {
        "another content or reference under the same id": ["c00", "c01"],
        "not among the cases of its run": ["c99"],
        "no answer yet": ["c99"],
    }


def test_runs_of_two_benchmarks_have_nothing_to_compare(tmp_path: Path) -> None:
    store = stored(tmp_path, {"night": {"alpha": 12}})

    async def add() -> None:
        async with await Store.open(str(store)) as opened:
            run = await opened.find_run("night")
            manifest = {**run.manifest, "benchmark": "medlay"}
            await opened.save_run("other", "ef" * 32, "medlay", manifest)

    asyncio.run(add())
    done = compare(store, "night", "other")
    assert done.code == 2
    assert "runs of medlay and triage have nothing to compare" in done.err


def test_a_rater_who_answered_once_stands_beside_each_repeat(tmp_path: Path) -> None:
    ratings = {id: answer_of([SCALING if number % 2 else EXTRACTION]) for number, id in enumerate(IDS)}
    plan = {"repeats": 2, "raters": {"expert": ratings}, "models": ["alpha", "beta"]}
    store = stored(tmp_path, {"night": {"alpha": 12, "beta": 3, "plan": plan}})
    found = compare(store, "night", "rater:expert", "--metric", "fine.exact_match", "--json").json
    assert (found["cases"]["repeats"], found["cases"]["units"], found["cases"]["clusters"]) == (2, 2 * N, N)
    values = {one["label"]: one["value"] for one in found["metrics"][0]["values"]}
    assert values == {"alpha": 1, "beta": 0.25, "rater:expert": 1}
    assert found["warnings"] == []


def test_valid_only_compares_on_equal_cases_and_says_that_it_selects(tmp_path: Path) -> None:
    async def make() -> None:
        async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
            built = await build(store, Plan(CASES, models=("alpha", "beta"), attempts=1), name="night")
            await answered(built, "alpha", 12)
            await answered(built, "beta", 6, 10)
            for id in IDS[10:]:
                await built.answers(UnitId("beta", "both", id), UnitOutcome.UNPARSABLE, "I cannot tell.")

    asyncio.run(make())
    store = tmp_path / "store.sqlite3"
    metric = ("--metric", "over_referral.mean_count")
    found = compare(store, "night", *metric, "--json").json
    assert [one["n"] for one in found["metrics"][0]["values"]] == [12, 10]
    assert found["metrics"][0]["notes"][0].startswith("DIFFERENT DENOMINATORS")
    found = compare(store, "night", *metric, "--reading", "valid_only", "--json").json
    assert [one["n"] for one in found["metrics"][0]["values"]] == [10, 10]
    assert found["metrics"][0]["notes"] == []
    assert any(one.startswith("VALID ANSWERS ONLY") for one in found["warnings"])
    assert found["cases"]["left_out"] == [
        {"why": "no usable answer", "whose": ["beta"], "cases": IDS[10:]},
    ]


def test_the_values_are_those_of_score(two_runs: Path) -> None:
    score = harness("score", "night", "--json", "--store", two_runs).json
    paths = ["fine.macro_f1", "fine.exact_match", "coarse.macro_f1", "under_referral.mean_count"]
    found = compare(
        two_runs, "night", *(word for path in paths for word in ("--metric", path)), "--json"
    ).json
    for metric in found["metrics"]:
        for one in metric["values"]:
            row = next(row for row in score["rows"] if row["model"] == one["label"])
            there = row["as_answered"][metric["path"]]
            assert one["value"] == pytest.approx(there["value"], abs=1e-12)
            assert one["n"] == there["n"]


def test_the_json_is_the_same_bytes_from_stored_scores_and_in_any_order(tmp_path: Path) -> None:
    store = stored(tmp_path, TWO_RUNS)
    first, again, turned = (
        compare(store, *words, "--json") for words in (("night", "day"), ("night", "day"), ("day", "night"))
    )
    assert "scoring run" in first.err and "scoring run" not in again.err
    assert first.out == again.out == turned.out


def shares(arrival: Arrival) -> Reply:
    """Answer rightly, as model `good` each case and as `poor` one in three."""
    number, model = case_number(arrival), arrival.json["model"]
    if model == "broken" and number >= 20:
        return status_reply(400)
    if model == "good" or number % 3 == 0:
        return right_answer(arrival)
    wrong = [label for label in labels_of(number + 1) if label not in labels_of(number)]
    return chat_reply(answer_text(wrong[:1]), model=model)


def test_two_runs_that_were_really_asked_are_compared_from_their_answers(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 30)
    prompt = tmp_path / "mine.txt"
    prompt.write_text("CASE: {chief_complaint} Answer as JSON.", encoding="utf-8")
    with ScriptedServer(shares) as server:
        write_config(tmp_path, server.url, ("good", "poor", "broken"))
        first = harness(*run_args(tmp_path, "--name", "ours", models="good,poor,broken"))
        second = harness(*run_args(tmp_path, "--name", "mine", "--prompt", prompt, models="poor"))
    assert (first.code, second.code) == (3, 0), first.err + second.err
    store = tmp_path / "store.sqlite3"
    found = compare(store, "ours", "mine:poor", "--metric", "fine.exact_match", "--json").json
    assert found["family"]["tests"] == 3
    assert found["not_compared"] == ["broken of run ours (incomplete: 10 units)"]
    by_pair = {(one["a"], one["b"]): one for one in found["metrics"][0]["differences"]}
    better = by_pair["good", "ours:poor"]
    assert better["difference"] == pytest.approx(20 / 30)
    assert (better["effect"]["a_only"], better["effect"]["b_only"]) == (20, 0)
    assert better["p"] == pytest.approx(2 * 0.5**20)
    assert better["p_adjusted"] == pytest.approx(3 * 2 * 0.5**20)
    assert better["verdict"] == "A higher"
    same = by_pair["mine:poor", "ours:poor"]
    assert (same["difference"], same["verdict"], same["notes"]) == (
        0,
        "within noise",
        ["the same in every case"],
    )
    assert any(
        one.startswith("ASKED DIFFERENTLY: prompt: ") and "mine.txt" in one for one in found["warnings"]
    )
    text = compare(store, "ours", "mine:poor", "--metric", "fine.exact_match").out
    assert max(map(len, text.splitlines())) <= 80
    assert text.index("family: 3 tests") < text.index("+0.667")
    assert "*** ASKED DIFFERENTLY: prompt:" in text
    json.dumps(found, allow_nan=False)

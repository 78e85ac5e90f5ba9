"""`harness step`: what a step asks about, what it sees, and that it goes on like any other run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, status_reply
from scripted_server import ScriptedServer
from step_examples import (
    SECRET,
    SmallJudge,
    answering,
    answering_server,
    ask_source,
    install,
    is_judging,
    judged,
    judgement,
    ready_source,
    step_args,
    store_of,
    with_small_judge,
)
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    outcomes,
    records,
    run_args,
    write_cases,
    write_config,
)

from harness.benchmarks.triage.task import Triage

CASES = 4

small_judge = pytest.fixture(autouse=True)(with_small_judge)
server = pytest.fixture(answering_server)


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    """A folder with cases, and settings for two models and a judge."""
    write_cases(tmp_path / "data", CASES, rationale=SECRET)
    write_config(tmp_path, server.url, ["a", "b", "j", "k"])
    return tmp_path


def step_of(folder: Path, run: str = "latest") -> dict[str, Any]:
    """Return what the scores say of a step."""
    found: dict[str, Any] = harness("score", run, "--json", *store_of(folder)).json["step"]
    return found


def not_shown(folder: Path) -> Counter[tuple[str, str]]:
    return Counter({(one["model"], one["why"]): one["units"] for one in step_of(folder)["not_shown"]})


def test_a_step_makes_one_case_of_each_usable_answer_and_counts_the_others(  # F5 F14
    folder: Path, server: ScriptedServer
) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if is_judging(arrival) or arrival.json["model"] == "a":
            return answering(arrival)
        match case_number(arrival):
            case 0:
                return chat_reply("I cannot say")
            case 1:
                return status_reply(400, "no such thing")
            case 2:
                return chat_reply(answer_text(reasoning="SKIP"))
            case _:
                return chat_reply(f"Here: {answer_text(reasoning='b on 003')} there.")

    server.script = script
    ask_source(folder, models="a,b", code=3)
    done = harness(*step_args(folder, "--json"))
    assert done.code == 0, done.err
    assert "the step looks at 5 answers of run 'night'" in done.err
    assert "it does not look at 3 others: no reasoning 1, rejected 1, unparsable 1" in done.err
    assert "without an answer so far: 1; " in done.err and "`harness resume night`" in done.err
    rows = {(row["model"], row["condition"]): row for row in done.json["rows"]}
    assert {key: row["n_units"] for key, row in rows.items()} == {("a", "both"): 4, ("b", "both"): 1}
    assert rows["a", "both"]["as_answered"]["share"]["value"] == 0.5
    assert rows["b", "both"]["as_answered"]["share"]["value"] == 1.0  # of case 3, which is odd
    assert not_shown(folder) == {("b", "unparsable"): 1, ("b", "rejected"): 1, ("b", "no reasoning"): 1}
    assert len(judged(server.arrivals)) == 5


def test_a_step_sees_nothing_of_the_reference_and_only_what_it_shows(  # F9 F13
    folder: Path, server: ScriptedServer
) -> None:
    ask_source(folder, models="a,b")
    assert harness(*step_args(folder)).code == 0
    bodies = [json.dumps(body) for body in judged(server.arrivals)]
    assert len(bodies) == 2 * CASES
    assert not any(SECRET in body or "image" in body for body in bodies)
    assert SECRET not in "".join(arrival.body.decode() for arrival in server.arrivals)
    shown = Counter(text for body in bodies for text in ("a on 001", "b on 001", "a on 002") if text in body)
    assert shown == {"a on 001": 1, "b on 001": 1, "a on 002": 1}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--cases", "c001,c003", "--of", "a", "--conditions", "both"), 2),
        (("--cases", "c003,c001", "--limit", "1"), 2),
    ],
)
def test_options_choose_whose_answers_are_looked_at(
    folder: Path, server: ScriptedServer, options: tuple[str, ...], expected: int
) -> None:
    ready_source(folder, CASES, "a,b")
    done = harness(*step_args(folder, "--json", *options))
    assert done.code == 0, done.err
    assert sum(row["n_units"] for row in done.json["rows"]) == expected == len(judged(server.arrivals))
    if "--cases" in options:
        asked = {case_number(one) for one in server.arrivals if is_judging(one)}
        assert asked == ({1} if "--limit" in options else {1, 3})


def test_an_unknown_model_is_refused_with_the_nearest_and_nothing_is_sent(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES)
    wrong = {("--of", "A"): "'night' has no model 'A'; did you mean 'a'?", ("--model", "jj"): "'j'"}
    for options, told in wrong.items():
        done = harness(*step_args(folder, *options))
        assert done.code == 2 and told in done.err, done.err
    assert judged(server.arrivals) == []


def test_a_step_has_the_model_that_its_paper_names_or_wants_one(
    folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_source(folder, CASES)
    args = [one for one in step_args(folder) if one not in ("--model", "j")]
    done = harness(*args)
    assert done.code == 2 and "give --model NAME" in done.err
    judge = SmallJudge()
    judge.default_model = "k"
    install(monkeypatch, judge)
    assert harness(*args).code == 0
    assert {body["model"] for body in judged(server.arrivals)} == {"k"}


def test_runs_that_a_step_cannot_be_about_are_refused_with_the_way_out(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    done = harness(*step_args(folder, run="verdicts"))
    assert done.code == 2 and "`harness step judge night`" in done.err
    done = harness(*step_args(folder, run="nought"))
    assert done.code == 2 and "unknown run 'nought'" in done.err
    assert harness("step", "judge", "--model", "j", "--store", folder / "none.sqlite3").code != 0
    assert not (folder / "none.sqlite3").exists()


def test_latest_is_the_run_that_a_step_follows_also_after_the_step(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES)
    for _ in range(2):
        done = harness("step", "judge", "--model", "j", *store_of(folder))
        assert done.code == 0, done.err
    assert "is a step over 'night', which is taken" in done.err
    assert len(judged(server.arrivals)) == CASES


def test_a_run_without_usable_answers_is_refused_and_nothing_is_sent(
    folder: Path, server: ScriptedServer
) -> None:
    server.script = lambda arrival: chat_reply("no idea")
    ask_source(folder)
    sent = len(server.arrivals)
    done = harness(*step_args(folder))
    assert done.code == 2 and "unparsable 4" in done.err and "`harness resume night`" in done.err
    assert len(server.arrivals) == sent


def test_repeats_are_cases_of_their_own_and_equal_answers_are_asked_about_once(  # F10
    folder: Path, server: ScriptedServer
) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if is_judging(arrival):
            return judgement(arrival)
        # Both models say the same of each case; the second repeat of case 0 differs.
        nth = arrival.nth if case_number(arrival) == 0 and arrival.json["model"] == "a" else 1
        return chat_reply(answer_text(reasoning=f"equal {nth}"), model=arrival.json["model"])

    server.script = script
    ask_source(folder, "--repeats", "2", models="a,b")
    done = harness(*step_args(folder, "--json"))
    assert done.code == 0, done.err
    assert [row["n_units"] for row in done.json["rows"]] == [2 * CASES, 2 * CASES]
    assert len(judged(server.arrivals)) == CASES + 1
    rows = records(folder)
    assert len(rows) == 4 * CASES == len({row["case_id"] for row in rows})
    assert {row["step"]["about"]["repeat"] for row in rows} == {1, 2}


@pytest.mark.slow
def test_a_source_that_grows_is_asked_about_only_where_it_is_new(  # F24
    folder: Path, server: ScriptedServer
) -> None:
    ask_source(folder, "--limit", "2")
    assert harness(*step_args(folder)).code == 0
    assert len(judged(server.arrivals)) == 2
    done = harness(*run_args(folder, "--name", "day", models="a,b"))
    assert done.code == 0, done.err
    assert harness(*step_args(folder, run="day")).code == 0
    assert len(judged(server.arrivals)) == 2 * CASES
    assert harness(*step_args(folder, run="day")).code == 0
    assert len(judged(server.arrivals)) == 2 * CASES


@pytest.mark.slow
def test_a_source_that_moved_on_is_said_with_the_command_that_goes_on(
    folder: Path, server: ScriptedServer
) -> None:
    def script(arrival: Arrival) -> Behaviour:
        bad = not is_judging(arrival) and case_number(arrival) == 3
        return status_reply(400, "no such thing") if bad else answering(arrival)

    server.script = script
    ask_source(folder, code=3)
    assert harness(*step_args(folder, "--of", "a", "--name", "verdicts", "--param", "seed=1")).code == 0
    server.script = answering
    assert harness(*run_args(folder, models="a")).code == 0
    done = harness("resume", "verdicts", *store_of(folder))
    assert done.code == 2 and "(3 could be looked at then, 4 now)" in done.err
    command = done.err.split("to go on: `")[1].split("`")[0]
    config, store = str(folder / "harness.toml"), str(folder / "store.sqlite3")
    words = f"harness step judge night --model j --of a --param seed=1 --config {config} --store {store}"
    assert command == words
    before = len(server.arrivals)
    assert harness(*command.split()[1:]).code == 0
    assert len(server.arrivals) == before + 1
    assert outcomes(folder, "verdicts") == {"valid": 3} and outcomes(folder) == {"valid": 4}


def test_a_step_that_itself_was_changed_is_said_too(folder: Path, server: ScriptedServer) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    write_config(folder, server.url, ["a", "b", "j"], params={"temperature": 0})
    config = (folder / "harness.toml").read_text().replace('params = {"temperature": 0}', "")
    (folder / "harness.toml").write_text(config + "\n[models.j.params]\ntemperature = 0\n")
    done = harness("resume", "verdicts", *store_of(folder))
    assert done.code == 2 and "models: j" in done.err and "harness step judge night --model j" in done.err


@pytest.mark.slow
def test_a_newer_reader_of_the_source_makes_new_cases_and_pays_for_no_old_one(
    folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if is_judging(arrival) or case_number(arrival) != 1:
            return answering(arrival)
        return chat_reply(answer_text().replace('"reasoning"', '"why"'))

    server.script = script
    ask_source(folder)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    first = harness("score", "verdicts", "--json", *store_of(folder)).out
    old = Triage.aliases

    def newer(self: Triage, value: Any) -> Any:
        found = dict(old(self, value))
        return found | {"reasoning": f"read anew: {found.pop('why')}"} if "why" in found else found

    monkeypatch.setattr(Triage, "aliases", newer)
    # The step's own cases are kept as they were asked about: its scores do not move.
    assert harness("score", "verdicts", "--json", *store_of(folder)).out == first
    done = harness("resume", "verdicts", *store_of(folder))
    assert done.code == 2 and "harness step judge night" in done.err
    before = len(server.arrivals)
    assert harness(*step_args(folder)).code == 0
    assert len(server.arrivals) == before + 1 and "read anew" in server.arrivals[-1].text


def test_an_imported_source_is_followed_and_stays_marked(folder: Path, server: ScriptedServer) -> None:
    rows = [{"id": f"c{number:03}", "output": answer_text(reasoning=f"old {number}")} for number in range(3)]
    (folder / "old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = ("--data", folder / "data", *store_of(folder))
    done = harness(
        "import", folder / "old.jsonl", "--benchmark", "triage", "--model", "old", "--run", "night",
        "--map", "answer=output", *where,
    )  # fmt: skip
    assert done.code == 3, done.err
    done = harness(*step_args(folder, "--json"))
    assert done.code == 0, done.err
    assert done.json["imported"] is True and done.json["rows"][0]["imported"] is False
    assert len(server.arrivals) == 3 == len(judged(server.arrivals))
    assert "harness resume night" not in done.err


def test_ids_of_a_step_are_unique_and_tell_their_unit_with_odd_names(
    folder: Path, server: ScriptedServer
) -> None:
    name = "a|b%7C c/100%"
    odd = ["x|y", "x%7Cy", "x%257Cy", "|", "a|both|c|1"]
    lines = (folder / "data" / "cases.jsonl").read_text().splitlines()
    cases = [json.loads(lines[0]) | {"id": one} for one in odd]
    (folder / "data" / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    quoted = json.dumps(name)
    config = (folder / "harness.toml").read_text().replace("[models.a]", f"[models.{quoted}]")
    (folder / "harness.toml").write_text(config)
    ask_source(folder, models=name)
    done = harness(*step_args(folder))
    assert done.code == 0, done.err
    rows = records(folder)
    assert len({row["case_id"] for row in rows}) == len(odd) == len(rows)
    fields = ("model", "condition", "case_id", "repeat")
    units = [[row["step"]["about"][key] for key in fields] for row in rows]
    assert sorted(units) == [[name, "both", one, 1] for one in sorted(odd)]
    for row in rows:
        shown = harness("explain", "--case", row["case_id"], "--json", *store_of(folder))
        assert shown.code == 0 and shown.json["step"]["about"]["case_id"] == row["step"]["about"]["case_id"]


def test_a_step_scores_the_same_for_ever_without_network_and_from_a_copy(  # F29 F49
    folder: Path, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ready_source(folder, CASES, "a,b")
    first = harness(*step_args(folder, "--json"))
    assert first.code == 0
    arrived = len(server.arrivals)
    name = first.json["run"]["name"]
    assert harness("score", "--json", *store_of(folder)).out == first.out
    again = harness(*step_args(folder, "--json"))
    assert again.code == 0 and again.out == first.out
    assert harness("resume", name, "--json", *store_of(folder)).out == first.out
    assert len(server.arrivals) == arrived
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "copy.sqlite3"
    server.refuse()
    assert harness("store", "backup", elsewhere, *store_of(folder)).code == 0
    for file in (folder / "data").rglob("*.*"):
        file.unlink()
    assert harness("score", name, "--json", "--store", elsewhere).out == first.out
    server.accept()


def test_the_default_name_of_a_step_tells_its_kind_and_its_run(folder: Path, server: ScriptedServer) -> None:
    ready_source(folder, CASES)
    first = harness(*step_args(folder, "--json")).json["run"]
    assert first["name"] == f"judge-of-night-{first['digest'][:8]}"
    assert harness("score", "judge-of", "--json", *store_of(folder)).json["run"] == first
    assert harness("score", "nig", "--json", *store_of(folder)).json["run"]["name"] == "night"


def test_a_step_may_ask_several_times_and_its_attempts_are_its_own(
    folder: Path, server: ScriptedServer
) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if is_judging(arrival) and arrival.nth == 1 and case_number(arrival) == 2:
            return chat_reply("1")  # no digit hunting: that is no judgement
        return answering(arrival)

    server.script = script
    ready_source(folder, CASES)
    assert harness(*step_args(folder)).code == 0
    stages = {row["step"]["about"]["case_id"]: row["stage"] for row in records(folder)}
    assert stages == {"c000": "attempt-1", "c001": "attempt-1", "c002": "attempt-2", "c003": "attempt-1"}


NO_JUDGEMENTS = (
    "1",
    "Score: 1",
    "The score is 0.",
    "1/1",
    '{"score": "1", "reason": "x"}',
    '{"score": 2, "reason": "x"}',
    '{"score": true, "reason": "x"}',
    '{"score": 1}',
    '{"score": 1, "reason": null}',
    '{"score": 1, "reason": "x", "also": 0}',
    '[1, "x"]',
    '{"score": 0, "reason": "a"} or {"score": 1, "reason": "b"}',
)


def test_a_judgement_is_what_fits_the_schema_and_never_a_digit_in_a_text(  # F12
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, 1 + len(NO_JUDGEMENTS))
    server.script = lambda arrival: (
        chat_reply(NO_JUDGEMENTS[case_number(arrival) - 1]) if case_number(arrival) else judgement(arrival)
    )
    done = harness(*step_args(folder, "--json", "--attempts", "1"))
    assert done.code == 0, done.err
    (row,) = done.json["rows"]
    bad = len(NO_JUDGEMENTS)
    assert row["outcomes"] == {"unparsable": bad, "valid": 1} and row["n_units"] == bad + 1
    assert row["as_answered"]["share"] == row["valid_only"]["share"]
    assert (row["as_answered"]["share"]["value"], row["as_answered"]["share"]["n"]) == (0.0, 1)
    found = {one["step"]["about"]["case_id"]: one["prediction"] for one in records(folder)}
    assert found.pop("c000") == {"score": 0, "reason": "as told"}
    assert list(found.values()) == [None] * bad


def test_a_judge_that_answers_nothing_usable_is_null_with_a_reason(  # F12
    folder: Path, server: ScriptedServer
) -> None:
    ask_source(folder, "--limit", "1")
    server.script = lambda arrival: chat_reply("yes, 1")
    done = harness(*step_args(folder, "--json"))
    assert done.code == 0
    (row,) = done.json["rows"]
    share = row["as_answered"]["share"]
    assert (share["value"], share["n"], share["reason"]) == (None, 0, "nothing was judged")
    assert len(judged(server.arrivals)) == 3


def test_a_prompt_of_ones_own_must_show_what_the_step_is_about_and_makes_another_step(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES)
    own = folder / "own.txt"
    own.write_text("JUDGE<{complaint}>")
    done = harness(*step_args(folder, "--prompt", own))
    assert done.code == 2 and "'own.txt' lacks {reasoning}, which the step 'judge' is about" in done.err
    own.write_text("JUDGE<{complaint}> {reasoning} {labels}")
    done = harness(*step_args(folder, "--prompt", own))
    assert done.code == 2 and "'{labels}'" in done.err and server.arrivals == []
    own.write_text("JUDGE<{complaint}> my way: {reasoning}")
    for prompt in ((), ("--prompt", own)):
        assert harness(*step_args(folder, *prompt)).code == 0
    assert len(judged(server.arrivals)) == 2 * CASES
    assert harness("resume", *store_of(folder)).code == 0 and len(judged(server.arrivals)) == 2 * CASES

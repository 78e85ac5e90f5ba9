"""`harness import` end to end: imported answers are scored as asked ones, marked, and serve nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from sweep_kit import Done, answer_text, harness, labels_of, right_answer, write_cases, write_config

from harness.cache.rows import Exchange, UnitState
from harness.cache.store import Store
from harness.errors import UnsupportedInputError
from harness.imports import comparing
from harness.imports.imported_run import PROVIDER
from harness.imports.importing import Importer
from harness.messages import Message, Request, TextPart
from harness.offline.export import read_jsonl
from harness.providers.base import ADAPTERS, get_adapter
from harness.settings import IMPORTED, Model

CASES = 6


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six cases with their configuration, and nothing asked yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)
    write_cases(tmp_path / "data", CASES)
    (tmp_path / "harness.toml").write_text('[benchmarks.triage]\ndata = "data"\n', encoding="utf-8")
    return tmp_path


def right(number: int) -> str:
    return answer_text(labels_of(number))


def line(number: int, answer: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": f"c{number:03}", "answer": right(number) if answer is None else answer, **more}


def write(name: str, lines: Sequence[Mapping[str, Any] | str]) -> Path:
    path = Path(name)
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def bring(*args: str | Path, model: str = "old") -> Done:
    return harness("import", *args, "--benchmark", "triage", "--model", model)


def stored(work: Callable[[Store], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        async with await Store.open(".harness/store.sqlite3", create=False) as store:
            return await work(store)

    return asyncio.run(inside())


def exchanges() -> list[Exchange]:
    async def work(store: Store) -> list[Exchange]:
        last = await store.last_exchange_id()
        return list((await store.exchanges(range(1, last + 1))).values())

    return list(stored(work))


def units() -> dict[str, UnitState]:
    async def work(store: Store) -> dict[str, UnitState]:
        states = await store.unit_states((await store.find_run()).id)
        return {unit.case_id: state for unit, state in states.items()}

    found: dict[str, UnitState] = stored(work)
    return found


def records(*args: str) -> list[Any]:
    assert harness("export", *args, "--out", "records.jsonl", "--force").code == 0
    return list(read_jsonl(Path("records.jsonl")))


def model_row(score: Any, name: str) -> Any:
    return next(row for row in score["rows"] if row["model"] == name)


def test_imported_answers_get_the_numbers_that_asked_ones_get(folder: Path) -> None:
    with ScriptedServer(right_answer) as server:
        write_config(folder, server.url)
        args = ("--benchmark", "triage", "--models", "m", "--reformatter", "none", "--data", "data", "--json")
        asked = harness("run", *args).json
    texts = {record["case_id"]: record["exchanges"][0]["text"] for record in records()}
    write("a.jsonl", [{"id": case, "text": text} for case, text in texts.items()])
    done = bring("a.jsonl", "--data", "data", model="m")
    assert (done.code, done.err.count("note: ")) == (0, 0)
    score = harness("score", "--json").json
    theirs, ours = model_row(score, "m"), model_row(asked, "m")
    assert theirs.pop("imported") is True and ours.pop("imported") is False
    assert (theirs.pop("served_as"), [one["model"] for one in ours.pop("served_as")]) == ([], ["m"])
    assert theirs == ours
    assert theirs["as_answered"]["fine.exact_match"]["value"] == 1


def test_an_imported_answer_never_serves_a_request(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    with ScriptedServer(right_answer) as server:
        write_config(folder, server.url)
        assert bring("a.jsonl", "--data", "data", model="m").code == 0
        args = ("--benchmark", "triage", "--models", "m", "--reformatter", "none", "--data", "data")
        done = harness("run", *args)
        assert done.code == 0
        assert len(server.arrivals) == CASES
        # Not as something that nearly fits either.
        assert "differ only" not in done.err
    found = exchanges()
    assert {one.data.adapter for one in found} == {"imported", "openai"}
    # By no key of its own, and by no other.
    served = stored(lambda store: store.served([one.data.key for one in found]))
    assert {one.data.adapter for one in served.values()} == {"openai"}
    assert len(served) == CASES
    assert len({one.data.twin for one in found}) == 2 * CASES


def test_the_same_file_again_adds_nothing(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    first = bring("a.jsonl", "--json").json
    assert (first["added"], first["known"], first["changed"]["count"]) == (CASES, 0, 0)
    score = harness("score", "--json").out
    write("b.jsonl", [line(number) for number in reversed(range(CASES))])
    for name in ("a.jsonl", "b.jsonl"):
        again = bring(name, "--json").json
        assert (again["added"], again["known"], again["run"]) == (0, CASES, first["run"])
    assert len(exchanges()) == CASES
    assert harness("score", "--json").out == score


def test_a_changed_row_is_added_said_and_counts(folder: Path) -> None:
    write("a.jsonl", [line(0, "prose"), *map(line, range(1, CASES))])
    assert bring("a.jsonl").code == 0
    assert units()["c000"].outcome == "unparsable"
    write("a.jsonl", [line(number) for number in range(CASES)])
    done = bring("a.jsonl")
    assert "1  changed since: c000" in done.out
    assert units()["c000"].outcome == "valid"
    # And back: the last import counts, although its row is in the store already.
    write("a.jsonl", [line(0, "prose"), *map(line, range(1, CASES))])
    assert bring("a.jsonl", "--json").json["added"] == 1
    assert units()["c000"].outcome == "unparsable"
    [record] = [one for one in records() if one["case_id"] == "c000"]
    assert [(one["attempt"], one["used"]) for one in record["exchanges"]] == [
        (0, False),
        (0, False),
        (1, True),
    ]


def test_failures_missing_and_foreign_rows_are_counted_and_named(folder: Path) -> None:  # F5 F14
    lines = [
        line(0),
        line(1, "Failed to obtain answer via API."),
        line(2, "None"),
        {"id": "x", "answer": "?"},
    ]
    write("a.jsonl", [*lines, line(3)])
    done = bring("a.jsonl")
    assert done.code == 3
    assert "1  a failure stored as text (vlmevalkit): c001" in done.out
    assert "1  rows of no case: x" in done.out
    assert "2  units without a row in these files: c004, c005" in done.out
    assert "1 answers were kept and may be failures (a word for nothing): c002" in done.err
    assert "outcomes of the run: not_attempted 2, provider_error 1, unparsable 1, valid 2" in done.out
    row = model_row(harness("score", "--json").json, "old")
    assert (row["rank"], row["to_complete"], row["n_cases"]) == (None, 3, 3)
    assert row["rank_reason"] == "incomplete: the files hold no answer for 3 units"
    [failed] = [one for one in records() if one["case_id"] == "c001"]
    assert failed["exchanges"][0]["text"] is None
    assert failed["error"]["kind"] == "unknown"


def test_a_failure_named_later_changes_only_the_answers_it_is_about(folder: Path) -> None:
    write("a.jsonl", [line(0, " None "), *map(line, range(1, CASES))])
    bring("a.jsonl")
    again = bring("a.jsonl", "--failure-text", "None", "--json").json
    assert (again["added"], again["known"], again["changed"]["first"]) == (1, CASES - 1, ["c000"])
    assert units()["c000"].outcome == "provider_error"
    # The hint is kept with the answer: every later score reads it so.
    assert model_row(harness("score", "--json").json, "old")["outcomes"] == {"provider_error": 1, "valid": 5}


def test_imported_answers_are_marked_wherever_they_are_shown(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    done = bring("a.jsonl", "--run", "theirs")
    assert "old (imported), run theirs" in done.out
    score = harness("score").out
    assert "old (imported)" in score
    assert "imported: read from other tools' files" in score
    assert max(map(len, score.splitlines())) <= 80
    as_json = harness("score", "--json").json
    assert as_json["imported"] is True
    assert [row["imported"] for row in as_json["rows"] if row["kind"] == "model"] == [True]
    assert not any(row["imported"] for row in as_json["rows"] if row["kind"] != "model")
    assert [one["imported"] for one in records()] == [True] * CASES
    assert "triage (imported)" in harness("status").out
    status = harness("status", "theirs").out
    assert "IMPORTED answers" in status
    assert "imported 'a.jsonl' (jsonl, sha256 " in status
    facts = harness("status", "theirs", "--json").json
    [file] = facts["sessions"][0]["import"]["files"]
    assert (facts["imported"], file["name"], len(file["sha256"])) == (True, "a.jsonl", 64)
    assert str(folder) not in json.dumps(facts)


def test_cost_and_usage_of_the_file_are_evidence_and_nothing_is_spent(folder: Path) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10}
    more = {"usage": usage, "cost_usd": 0.25, "latency_s": 3.5, "served_model": "m-1"}
    write("a.jsonl", [line(0, **more), *map(line, range(1, CASES))])
    bring("a.jsonl")
    stated, unstated, *_ = records()
    assert (stated["evidence_cost_usd"], stated["spent_usd"]) == (0.25, 0.0)
    [exchange] = stated["exchanges"]
    assert (exchange["cost_usd"], exchange["latency_s"], exchange["cached"]) == (0.25, 3.5, True)
    assert exchange["usage"]["output_tokens"] == 10
    assert (unstated["evidence_cost_usd"], unstated["spent_usd"]) == (None, 0.0)
    assert unstated["exchanges"][0]["latency_s"] is None
    assert (stated["prompt"], stated["params"], stated["media"]) == (None, None, [])
    session = harness("status", "latest", "--json").json["sessions"][0]
    assert (session["sends"], session["spent_usd"]) == (0, 0.0)


def test_the_row_is_kept_as_it_stood(folder: Path) -> None:
    row = '{ "id":"c000",  "answer": "x \\ud800", "whatever": 1e3 }'
    write("a.jsonl", [row])
    bring("a.jsonl")
    [exchange] = exchanges()
    assert exchange.data.raw.body == row.encode()
    about = json.loads(exchange.data.request)
    assert (about["imported"]["file"], about["imported"]["row"]) == ("a.jsonl", 1)


def test_the_command_that_scores_it_finds_the_same_store(folder: Path) -> None:
    file, config = write("a.jsonl", [line(0)]), folder / "harness.toml"
    said = bring(file, "--run", "old", "--store", "b.sqlite3", "--config", config).err
    assert f"to score it: harness score old --config {config} --store b.sqlite3" in said


def test_a_key_in_a_row_reaches_no_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # F46
    key = "sk-verysecretkey-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    write("a.jsonl", [line(0, f"my key is {key}", log={"authorization": f"Bearer {key}"})])
    bring("a.jsonl")
    [exchange] = exchanges()
    assert exchange.data.masked
    assert key.encode() not in exchange.data.raw.body
    assert b"[masked key]" in exchange.data.raw.body
    assert key not in json.dumps(records("--raw"))


def test_a_note_on_the_prompt_is_part_of_the_run_and_no_prompt(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    plain = bring("a.jsonl", "--json").json
    # Braces and an example that answers repeat: a note is read by nobody.
    noted = bring("a.jsonl", "--prompt-note", f"as in {right(1)} {{x", "--json").json
    assert noted["digest"] != plain["digest"]
    assert (noted["added"], noted["known"]) == (0, CASES)
    assert noted["outcomes"] == {"valid": CASES}
    assert records()[0]["prompt"]["id"] == "noted"
    assert bring("a.jsonl", "--json").json["digest"] == plain["digest"]


def test_attempts_and_repeats_of_the_file_count_as_they_do_in_a_run(folder: Path) -> None:  # F10 F11
    lines = [
        line(0, "prose", attempt=1),
        line(0, attempt=2),
        line(1, "Error: 503 unavailable", attempt=1),
        line(1, attempt=2),
        line(2, "prose", attempt=1),
        line(2, "prose again", attempt=3),
        line(3, repeat=2),
    ]
    write("a.jsonl", lines)
    bring("a.jsonl")
    found = {(one["case_id"], one["repeat"]): one for one in records()}
    assert {key: (one["outcome"], one["stage"]) for key, one in found.items() if one["exchanges"]} == {
        ("c000", 1): ("valid", "attempt-2"),
        # As in a run, a send that failed is no attempt.
        ("c001", 1): ("valid", "attempt-1"),
        ("c002", 1): ("unparsable", None),
        ("c003", 2): ("valid", "attempt-1"),
    }
    assert len(found) == 2 * CASES
    assert [one["attempt"] for one in found["c002", 1]["exchanges"]] == [1, 2]
    assert harness("score", "--json").json["gaps"] == []


def test_more_repeats_are_added_to_the_same_run(folder: Path) -> None:
    write("one.jsonl", [line(number) for number in range(CASES)])
    write("two.jsonl", [line(number, "prose") for number in range(CASES)])
    first = bring("one.jsonl", "--repeat", "1", "--repeats", "2", "--json")
    second = bring("two.jsonl", "--repeat", "2", "--repeats", "2", "--json")
    assert (first.code, second.code) == (3, 0)
    assert first.json["run"] == second.json["run"]
    assert second.json["outcomes"] == {"unparsable": CASES, "valid": CASES}
    assert bring("two.jsonl", "--repeat", "2", "--repeats", "1").code == 2


def test_nothing_is_stored_before_every_row_was_checked(folder: Path) -> None:
    write("a.jsonl", [*map(line, range(CASES)), '{"id": "c000", '])
    done = bring("a.jsonl")
    assert (done.code, "'a.jsonl' line 7: it is no JSON" in done.err) == (2, True)
    assert not Path(".harness").exists()
    done = bring("a.jsonl", "--skip-bad")
    assert done.code == 0
    assert "1  rows skipped as bad: 'a.jsonl' line 7" in done.out


def test_a_dry_run_counts_and_stores_nothing(folder: Path) -> None:
    write("a.jsonl", [line(0)])
    done = bring("a.jsonl", "--dry-run", "--json")
    assert (done.code, done.json["answers"], done.json["missing"]["count"]) == (3, 1, CASES - 1)
    assert "run" not in done.json
    assert not Path(".harness").exists()


def test_files_without_a_matching_row_are_refused(folder: Path) -> None:
    write("a.jsonl", [{"id": "other", "answer": "x"}])
    done = bring("a.jsonl")
    assert (done.code, "no row belongs to a case: their ids ('other')" in done.err) == (2, True)
    assert not Path(".harness").exists()


@pytest.mark.parametrize("command", [["resume"], ["resume", "theirs"]])
def test_an_imported_run_cannot_be_resumed(command: list[str], folder: Path) -> None:
    write("a.jsonl", [line(0)])
    bring("a.jsonl", "--run", "theirs")
    done = harness(*command)
    assert done.code == 2
    assert "run 'theirs' holds imported answers, and nobody can be asked for the rest" in done.err


def test_a_name_held_by_an_imported_run_is_refused_to_another(folder: Path) -> None:
    write("a.jsonl", [line(0)])
    bring("a.jsonl", "--run", "theirs")
    done = harness(
        "run", "--benchmark", "triage", "--models", "sim/steady", "--name", "theirs", "--limit", "1"
    )
    assert (done.code, "'theirs' is held by a run that wants something else" in done.err) == (2, True)
    assert bring("a.jsonl", "--run", "theirs", model="another").code == 2


def test_an_import_that_was_killed_is_finished_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F23
    write("a.jsonl", [line(number) for number in range(CASES)])
    async def killed(self: Importer) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Importer, "finish", killed)
        assert bring("a.jsonl").code == 130
    assert {state.outcome for state in units().values()} == {None}
    done = bring("a.jsonl", "--json").json
    assert (done["added"], done["known"], done["outcomes"]) == (0, CASES, {"valid": CASES})
    assert len(exchanges()) == CASES


def test_a_changed_answer_that_was_never_finished_is_nobodys_until_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F23
    write("a.jsonl", [line(number) for number in range(CASES)])
    bring("a.jsonl")

    async def killed(self: Importer) -> int:
        raise KeyboardInterrupt

    write("a.jsonl", [line(0, "Error: 500"), line(1, attempt=2), *map(line, range(1, CASES))])
    with monkeypatch.context() as patch:
        patch.setattr(Importer, "finish", killed)
        assert bring("a.jsonl").code == 130
    assert {case for case, state in units().items() if state.outcome is None} == {"c000", "c001"}
    assert bring("a.jsonl", "--json").json["outcomes"] == {"provider_error": 1, "valid": CASES - 1}
    assert [one["attempt"] for one in records()[0]["exchanges"]] == [0, 1]


def test_an_import_that_was_cut_off_in_the_middle_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F23
    write("a.jsonl", [line(number) for number in range(CASES)])
    monkeypatch.setattr(comparing, "BATCH", 2)
    add, calls = Importer._add, []

    async def killed(self: Importer, *args: Any) -> None:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        await add(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Importer, "_add", killed)
        assert bring("a.jsonl").code == 130
    assert len(exchanges()) == 4
    done = bring("a.jsonl", "--json").json
    assert (done["added"], done["known"], done["outcomes"]) == (2, 4, {"valid": CASES})


def test_a_file_that_changes_under_the_import_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.jsonl", [line(number) for number in range(CASES)])
    add = Importer.add

    async def added(self: Importer, reader: Any) -> Any:
        stored = await add(self, reader)
        path.write_text("", encoding="utf-8")
        return stored

    monkeypatch.setattr(Importer, "add", added)
    done = bring("a.jsonl")
    assert (done.code, "it changed while it was imported; import it again" in done.err) == (2, True)
    assert harness("status", "latest", "--json").json["sessions"][0]["exit"] == 1


def test_the_adapter_of_imports_asks_nobody(folder: Path) -> None:
    wire = get_adapter(IMPORTED)
    request = Request((Message("user", (TextPart("?"),)),))
    with pytest.raises(UnsupportedInputError, match="'old' was imported from files; it cannot be asked"):
        wire.build(request, Model(name="old", provider=PROVIDER, model="old"))
    assert IMPORTED not in ADAPTERS
    assert wire.auth_headers(PROVIDER, "secret") == {}


def test_other_references_are_another_run_over_the_same_exchanges(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    first = bring("a.jsonl", "--json").json
    lines = [json.loads(one) for one in Path("data/cases.jsonl").read_text(encoding="utf-8").splitlines()]
    lines[0]["labels"] = []
    Path("data/cases.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    second = bring("a.jsonl", "--json").json
    assert first["run"] != second["run"]
    assert (second["added"], second["known"]) == (0, CASES)
    assert second["outcomes"] == {"valid": CASES}


@pytest.mark.slow
def test_a_log_of_another_tool_goes_all_the_way(folder: Path) -> None:
    samples = [
        {"id": f"c{number:03}", "epoch": 1, "output": {"choices": [
            {"message": {"content": right(number)}, "stop_reason": "stop"}]}}
        for number in range(CASES)
    ]  # fmt: skip
    log = {"status": "success", "eval": {"model": "openai/x", "packages": {"inspect_ai": "0.3.9"}}}
    Path("log.json").write_text(json.dumps(log | {"samples": samples}), encoding="utf-8")
    lm = [
        {"doc_id": number, "resps": [[right(number)]], "filtered_resps": ["x"], "arguments": {}}
        for number in range(CASES)
    ]
    write("samples_dental.jsonl", lm)
    Path("ids.txt").write_text("\n".join(f"c{number:03}" for number in range(CASES)), encoding="utf-8")
    assert bring("log.json", model="inspected").code == 0
    assert bring("samples_dental.jsonl", "--ids", "ids.txt", model="sampled").code == 0
    assert bring("samples_dental.jsonl", model="sampled").code == 2
    for ref in [run["run"] for run in harness("status", "--json").json["runs"]]:
        [row] = [row for row in harness("score", ref, "--json").json["rows"] if row["kind"] == "model"]
        assert (row["rank"], row["as_answered"]["fine.exact_match"]["value"]) == (1, 1)
    assert "says that its model is 'openai/x'" in bring("log.json", model="inspected").err
    assert "(inspect 0.3.9, sha256 " in harness("status", "latest").out


def test_files_of_two_models_are_refused(folder: Path) -> None:
    for name in ("a", "b"):
        log = {"status": "success", "eval": {"model": name}, "samples": []}
        Path(f"{name}.json").write_text(json.dumps(log), encoding="utf-8")
    done = bring("a.json", "b.json")
    assert (done.code, "of different models (a, b)" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--map", "id"], "not FIELD=NAME"),
        (["--map", "anser=x"], "unknown field 'anser'; did you mean 'answer'"),
        (["--map", "id=a", "--map", "id=b"], "given twice"),
        (["--format", "lmeval"], "unknown format 'lmeval'; did you mean 'lm-eval'"),
        (["--condition", "xray"], "unknown condition 'xray'"),
        (["--model", " "], "is no name"),
        (["--ids", "gone"], "no such file"),
    ],
)
def test_what_the_user_wrote_wrongly_is_said(args: list[str], told: str, folder: Path) -> None:
    write("a.jsonl", [line(0)])
    done = bring("a.jsonl", *args) if "--model" not in args else harness(
        "import", "a.jsonl", "--benchmark", "triage", *args
    )  # fmt: skip
    assert (done.code, told in done.err) == (2, True), done.err


def test_nobody_can_configure_a_provider_of_imports(folder: Path) -> None:
    Path("harness.toml").write_text('[providers.x]\nadapter = "imported"\n', encoding="utf-8")
    done = harness("models")
    assert (done.code, "nobody is asked by the adapter 'imported'" in done.err) == (2, True)


def test_the_condition_of_the_answers_is_the_users_word(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    bring("a.jsonl", "--condition", "complaint")
    assert {row["condition"] for row in harness("score", "--json").json["rows"]} == {"complaint"}


def test_explain_says_that_nobody_is_asked_for_an_imported_unit(folder: Path) -> None:
    write("a.jsonl", [line(number) for number in range(CASES)])
    assert bring("a.jsonl", "--data", "data").code == 0
    done = harness("explain", "--case", "c000")
    assert done.code == 0, done.err
    assert "its answers are imported, and nobody is asked for it" in " ".join(done.out.split())
    for misleading in ("nothing can be sent", "--conditions", "harness run", "paid by"):
        assert misleading not in " ".join(done.out.split())
    facts = harness("explain", "--case", "c000", "--json").json
    assert facts["next"]["asks"] is False
    assert facts["exchanges"][0]["imported"] is True

"""Each format's rows, from fixtures in the forms that the tools write: ids, answers, and what is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFileError
from harness.imports.documents import BadRowError, parse
from harness.imports.format import Format, Place
from harness.imports.hints import Hints, read_hints
from harness.imports.registry import FORMATS, detect, get_format
from harness.imports.source import SourceFile
from harness.imports.stated import Stated, meaning
from harness.messages import Fault, Reply, Usage
from harness.settings import Provider

PROVIDER = Provider(name="imported", adapter="imported")


@pytest.fixture
def fixtures(checkout: Path) -> Path:
    return checkout / "tests" / "fixtures" / "imports"


def read(path: Path, **paths: str) -> tuple[Format, list[tuple[Place, Stated]]]:
    """Return the detected format, and what each of its answers states."""
    source = SourceFile(path)
    form = detect(source)
    found = []
    for row in form.rows(source):
        assert row.problem is None
        document = parse(row.body)
        hints = Hints(form.name, paths)
        for place in form.places(document, hints):
            found.append((place, form.state(document, hints.for_answer(place.choice, None))))
    return form, found


def state(name: str, row: Mapping[str, Any], **paths: str) -> Stated:
    return get_format(name).state(row, Hints(name, paths))


def means(stated: Stated) -> Reply | Fault:
    return meaning(stated, (), PROVIDER)


def test_lmms_evals_raw_answer_is_read_and_not_what_its_filters_made(fixtures: Path) -> None:
    form, found = read(fixtures / "lmms_eval_samples.jsonl")
    assert form.name == "lmms-eval"
    assert [(place.id, place.repeat, stated.text) for place, stated in found] == [
        (0, None, '<think>hm</think> {"a": 1}'),
        (1, None, "second answer"),
        (2, None, "third answer"),
        (3, 1, "one"),
        (3, 2, "two"),
        (3, 3, "three"),
    ]
    assert found[2][1].usage == Usage(700, 12)
    assert found[0][1].prompt_sha256 == found[1][1].prompt_sha256 is not None


def test_an_id_within_a_line_is_found_by_its_path(fixtures: Path) -> None:
    _, found = read(fixtures / "lmms_eval_samples.jsonl", id="dental_score.question_id")
    assert [place.id for place, _ in found] == ["c000", "c001", "c002", "c003", "c003", "c003"]
    _, found = read(fixtures / "lm_eval_samples.jsonl", id="doc.case")
    assert [place.id for place, _ in found] == ["c000", "c000", "c001"]


def test_lm_evals_lines_of_several_filters_hold_the_same_answer(fixtures: Path) -> None:
    form, found = read(fixtures / "lm_eval_samples.jsonl")
    assert form.name == "lm-eval"
    texts = [stated.text for _, stated in found]
    assert texts == ["first answer #### 7", "first answer #### 7", "second answer"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"doc_id": 1, "resps": [[["-1.5", "False"]], [["-0.2", "True"]]]}, "holds 2 requests"),
        ({"doc_id": 1, "resps": [[["-1.5", "False"]]]}, "log-likelihoods"),
        ({"doc_id": 1, "resps": {"a": 1}}, "an object"),
        ({"doc_id": 1}, "neither 'resps' nor 'filtered_resps'"),
    ],
)
def test_samples_that_hold_no_one_text_are_refused(row: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRowError, match=told):
        state("lm-eval", row)


@pytest.mark.parametrize("name", ["vlmevalkit.tsv", "vlmevalkit.xlsx"])
def test_vlmevalkits_table_is_read_cell_by_cell(name: str, fixtures: Path, tmp_path: Path) -> None:
    path = fixtures / "vlmevalkit.tsv"
    form, expected = read(path)
    if name.endswith(".xlsx"):
        path = tmp_path / name
        write_spreadsheet(path, [("index", "question", "prediction", "thinking"), *(
            (place.id, "Which referral?", stated.text or None, stated.reasoning) for place, stated in expected
        )])  # fmt: skip
    form, found = read(path)
    assert form.name == "vlmevalkit"
    assert [(place.id, stated.text or None) for place, stated in found] == [
        ("c000", 'an answer\non two lines, with a "quote"'),
        ("c001", "Failed to obtain answer via API."),
        ("c002", None),
        ("c003", "=SUM(1)"),
    ]
    assert found[0][1].reasoning == "I thought"


def write_spreadsheet(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    book.save(path)


def test_vlmevalkits_records_keep_numbers_as_ids_and_agents_answers(fixtures: Path) -> None:
    form, found = read(fixtures / "vlmevalkit.json")
    assert form.name == "vlmevalkit"
    assert [(place.id, stated.text) for place, stated in found] == [
        (0, "first answer"),
        (1, "an agent's answer"),
        (2, None),
    ]


def as_archive(log: Path, path: Path, *, old: bool = False) -> Path:
    """Write an Inspect log as the archive that Inspect would have made of it."""
    data = json.loads(log.read_text(encoding="utf-8"))
    samples = data.pop("samples")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {name: data[name] for name in ("version", "eval", "plan")}
        archive.writestr("start.json" if old else "_journal/start.json", json.dumps(start))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("_journal/summaries/1.json", "[]")
        if not old:
            archive.writestr("header.json", json.dumps(data))
    return path


@pytest.mark.parametrize("kind", ["json", "eval", "old eval"])
def test_inspects_samples_are_read_alike_from_every_kind_of_log(
    kind: str, fixtures: Path, tmp_path: Path
) -> None:
    log = fixtures / "inspect_log.json"
    if kind != "json":
        log = as_archive(log, tmp_path / "log.eval", old=kind == "old eval")
    form, found = read(log)
    assert form.name == "inspect"
    assert [(place.id, place.repeat) for place, _ in found] == [
        ("c000", 1), ("c000", 2), ("c001", 1), ("c001", 2), ("c002", 1)
    ]  # fmt: skip
    first, second, failed, blocked, stopped = (stated for _, stated in found)
    assert (first.text, first.finish_reason, first.served_model) == (
        "first answer", "stop", "gpt-4o-2024-08-06"
    )  # fmt: skip
    # The total tells that cached tokens are counted beside the others.
    assert first.usage == Usage(150, 20, 8, 50)
    assert (first.cost_usd, first.total_s, first.started_at_us) == (0.0125, 1.5, 1741064768250000)
    assert (second.text, second.reasoning) == ("second answer and more", "it is a molar")
    assert [str(means(one).outcome) for one in (first, second, failed, blocked, stopped)] == [
        "answered", "truncated", "unknown", "filtered", "unknown"
    ]  # fmt: skip
    assert "RateLimitError" in means(failed).message  # type: ignore[union-attr]
    assert "limit of 'time'" in means(stopped).message  # type: ignore[union-attr]
    head = form.head(SourceFile(log))
    assert (head.model, head.tool_version) == ("openai/gpt-4o-2024-08-06", "0.3.70")
    assert head.notes == (() if kind == "old eval" else head.notes)
    assert ("status 'error'" in str(head.notes)) is (kind != "old eval")


def test_of_an_inspect_sample_nothing_is_kept_but_its_answer(fixtures: Path) -> None:
    source = SourceFile(fixtures / "inspect_log.json")
    bodies = b"".join(row.body for row in detect(source).rows(source))
    for left_out in (b"Which referral", b"data:image", b"sample_init", b"Exodontia", b"traceback"):
        assert left_out not in bodies


def test_of_a_name_that_stands_twice_in_an_archive_the_last_counts(fixtures: Path, tmp_path: Path) -> None:
    log = as_archive(fixtures / "inspect_log.json", tmp_path / "log.eval")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(log, "a") as archive:
        again = {"id": "c002", "epoch": 1, "output": {"choices": [{"message": {"content": "at last"}}]}}
        archive.writestr("samples/c002_epoch_1.json", json.dumps(again))
    _, found = read(log)
    assert [stated.text for place, stated in found if place.id == "c002"] == ["at last"]


def test_a_sample_marked_as_invalid_has_no_answer() -> None:
    sample = {"id": 1, "output": {"choices": [{"message": {"content": "x"}, "stop_reason": "stop"}]}}
    assert isinstance(means(state("inspect", sample)), Reply)
    assert isinstance(means(state("inspect", {**sample, "invalidation": {"author": "me"}})), Fault)


def test_plain_lines_take_the_usual_names_and_others_by_map() -> None:
    row = {
        "id": "c000",
        "text": "an answer",
        "repeat": 2,
        "attempt": 3,
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 7, "completion_tokens": 5},
        "cost_usd": 0.5,
        "latency_s": 2,
        "served_model": "m-1",
        "reasoning": "because",
        "meta": {"said": ["no", "mapped"]},
    }
    found = state("jsonl", row)
    assert (found.text, found.finish_reason, found.reasoning) == ("an answer", "stop", "because")
    assert (found.usage, found.cost_usd, found.total_s) == (Usage(7, 5), 0.5, 2)
    assert found.served_model == "m-1"
    assert get_format("jsonl").places(row, Hints("jsonl")) == (Place("c000", repeat=2, attempt=3),)
    assert state("jsonl", row, answer="meta.said.1").text == "mapped"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "a", "answer": "gold", "prediction": "said"}, "'answer' and 'prediction'; --map answer=NAME"),
        ({"id": "a"}, "none of answer, text"),
        ({"id": "a", "answer": 5}, "a number, and no text"),
        ({"answer": "x"}, "no 'id'; --map id=PATH"),
        ({"id": True, "answer": "x"}, "true or false"),
        ({"id": 1.5, "answer": "x"}, "a number, and neither"),
        ({"id": "", "answer": "x"}, "an empty text"),
        ({"id": "a", "answer": "x", "repeat": 0}, "repeat is no whole number"),
        ({"id": "a", "answer": "x", "attempt": "first"}, "attempt is no whole number"),
    ],
)
def test_a_plain_line_that_leaves_something_open_is_refused(row: dict[str, Any], told: str) -> None:
    form = get_format("jsonl")
    with pytest.raises(BadRowError, match=told):
        form.places(row, Hints("jsonl"))
        form.state(row, Hints("jsonl"))


def test_a_path_that_leads_nowhere_is_an_error_and_not_a_missing_answer() -> None:
    with pytest.raises(BadRowError, match=r"no 'pred.txt' \(--map answer=pred.txt\)"):
        state("jsonl", {"id": "a", "pred": {"text": "x"}}, answer="pred.txt")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.pkl", b"\x80\x04N.", "is a pickle, and reading one runs"),
        ("renamed.tsv", b"\x80\x04N.", "is a pickle"),
        ("notes.txt", b"hello", "of no known format: looked for"),
        ("a.json", b'"text"', "of no known format"),
        ("empty.jsonl", b" \n", "is empty"),
        ("a.tsv", b"index\tindex\n1\t2\n", "names 'index' twice"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_what_was_looked_for(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportFileError, match=told):
        read(path)


def test_a_spreadsheet_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spreadsheet(tmp_path / "a.xlsx", [("index", "prediction"), ("c000", "x")])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportFileError, match="install the extra `xlsx`, or save the table"):
        read(tmp_path / "a.xlsx")


def test_hints_come_back_from_their_header() -> None:
    for hints in (Hints("jsonl"), Hints("inspect", {"id": "a.b"}, 3, ("\ud800 failed",))):
        assert read_hints(hints.header()) == hints
    with pytest.raises(BadRowError, match="nothing says how"):
        read_hints({})


def test_every_format_has_the_name_under_which_it_is_known() -> None:
    assert {name: form.name for name, form in FORMATS.items()} == {name: name for name in FORMATS}
    assert list(FORMATS)[-1] == "jsonl"

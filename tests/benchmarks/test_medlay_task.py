"""The benchmark medlay as the engine sees it: conditions, prompts, what is shown, form, and its whole way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from medlay_examples import EXPERT, LAY, SAID, line, write
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import harness, write_config

from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.medlay import baselines
from harness.benchmarks.medlay.baselines import NOTES, baseline_rows
from harness.benchmarks.medlay.cases import load_cases
from harness.benchmarks.medlay.lay_numbers import layout_of
from harness.benchmarks.medlay.lay_scores import lay_metrics
from harness.benchmarks.medlay.task import MedLay
from harness.benchmarks.medlay.three_parts import has_three_parts
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.scored import BaselineUnits, MetricValue, Scored
from harness.canonical import sha256_hex
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.messages import ImagePart, TextPart
from harness.outcomes import UnitOutcome

SECRETS = ("REFERENCE-SENTINEL", "CONCEPT-SENTINEL", "TAG-SENTINEL")


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    secret = {"lay_caption": SECRETS[0], "concepts": [SECRETS[1]], "tags": [SECRETS[2]]}
    write(tmp_path, line("a", **secret), line("b", roi=None, **secret))
    return [*load_cases(tmp_path).cases]


def parts(case: Case, condition: str) -> tuple[str, list[ImagePart]]:
    benchmark = MedLay()
    [message] = benchmark.render(case, condition, benchmark.prompt(condition))
    text, *images = message.parts
    assert message.role == "user"
    assert isinstance(text, TextPart)
    assert all(isinstance(one, ImagePart) for one in images)
    return text.text, [one for one in images if isinstance(one, ImagePart)]


def test_it_is_known_by_name_with_its_steps() -> None:
    assert get_benchmark("medlay").name == "medlay"
    assert get_benchmark("medlay.verify").conditions == ("verify",)
    assert get_benchmark("medlay.evaluate").conditions == ("evaluate",)


def test_conditions_and_parameters_are_the_papers() -> None:
    benchmark = MedLay()
    assert (benchmark.conditions, benchmark.main_conditions) == (("A", "B", "C"), ("A",))
    assert dict(benchmark.default_params) == {"temperature": 0, "max_tokens": 1024}
    assert benchmark.image_recipe is None
    assert benchmark.reformatter is None
    assert [benchmark.schema(name) for name in benchmark.conditions] == [None] * 3
    with pytest.raises(UnknownNameError, match="unknown condition 'D' of medlay; known: A, B, C"):
        benchmark.prompt("D")


def test_each_condition_shows_what_it_is_named_for_and_nothing_else(cases: list[Case]) -> None:
    shown = {name: parts(cases[0], name) for name in ("A", "B", "C")}
    assert [EXPERT in text for text, _ in shown.values()] == [False, True, True]
    assert [len(images) for _, images in shown.values()] == [1, 1, 0]
    for text, _ in shown.values():
        assert not any(secret in text for secret in SECRETS)
        assert all(f"\n{number}. " in text for number in (1, 2, 3))
        assert "parentheses" in text
        assert "CT" not in text.replace(EXPERT, "")  # the modality is what an answer has to say


def test_the_region_is_drawn_where_it_has_coordinates_and_not_twice(cases: list[Case]) -> None:
    for condition in ("A", "B"):
        assert [one.recipe for one in parts(cases[0], condition)[1]] == ["roi:box=2,3,12,9"]
        assert [one.recipe for one in parts(cases[1], condition)[1]] == ["original"]


def test_a_case_without_its_image_is_not_asked_about_it(cases: list[Case]) -> None:  # F16
    blind = Case("x", cases[0].fields, {}, cases[0].reference, problem="cannot read 'x.png'")
    with pytest.raises(MediaError, match=r"case 'x' has no usable image: cannot read 'x\.png'"):
        parts(blind, "A")


def test_braces_of_a_caption_are_plain_text(cases: list[Case]) -> None:
    odd = Case("x", {**cases[0].fields, "expert_caption": "{lay_caption} {{x}}"}, {}, {})
    assert "{lay_caption} {{x}}" in parts(odd, "C")[0]


@pytest.mark.parametrize(
    ("text", "condition", "told"),
    [
        ("{expert_caption}", "A", "unknown placeholder"),
        ("{lay_caption}", "B", "unknown placeholder"),
        ("{modality} {expert_caption}", "C", "unknown placeholder"),
        ("explain", "B", "lacks {expert_caption}"),
        ("explain", "C", "lacks {expert_caption}"),
    ],
)
def test_a_prompt_that_shows_too_much_or_too_little_is_refused(text: str, condition: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MedLay().check_prompt(Prompt("own.txt", sha256_hex(text.encode()), text), condition)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (SAID, True),
        ("**1. Kind**\nA scan.\n\n**2. Where**\nThere.\n\n**3. Meaning**\nWell.", True),
        ("## 1) Kind\nA scan\n## 2) Where\nThere\n## 3) Meaning\nWell", True),
        ("Part 1: a\nPart 2: b\nPart 3: c", True),
        ("Hello!\n 1 . a\n2. b\n3. c", False),
        ("1. a\n2. b", False),
        ("1. a\n3. b\n2. c", False),
        ("1. a\n2. b\n3. c\n4. d", False),
        ("1. a 2. b 3. c", False),
        ("1. a\n2.\n3. c", False),
        ("1.5 cm\n2.5 cm\n3.5 cm", False),
        ("1. a\r\n2. b\r\n3. c", True),
        ("", False),
    ],
)
def test_three_parts_are_lines_that_begin_with_1_2_and_3(text: str, has: bool) -> None:
    assert has_three_parts(text) is has


# Baselines


def of_sample() -> list[Case]:
    return [*load_cases(MedLay().sample_dir()).cases]


def metrics_of_baselines(cases: Iterable[Case]) -> dict[str, Mapping[str, MetricValue]]:
    layout = layout_of("hf")
    return {
        name: lay_metrics(row.numbers, layout) if isinstance(row, BaselineUnits) else row
        for name, row in baseline_rows(cases, layout).items()
    }


def test_baselines_of_one_text_a_case_have_units_and_what_is_drawn_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = of_sample()
    rows = baseline_rows(cases, layout_of("hf"))
    with_units = {name: row for name, row in rows.items() if isinstance(row, BaselineUnits)}
    assert set(with_units) == {"nothing", "fixed template", "expert copy"}
    task = MedLay()
    for row in with_units.values():
        assert row.ids == sorted(case.id for case in cases)
    copied = with_units["expert copy"]
    for case in cases:
        said = Scored(case, "B", UnitOutcome.VALID, case.fields["expert_caption"], {})
        assert copied.numbers[copied.ids.index(case.id)].tolist() == [*task.unit_numbers(said)]
    monkeypatch.setattr(baselines, "MOST", len(cases) - 1)
    assert not any(isinstance(row, BaselineUnits) for row in baseline_rows(cases, layout_of("hf")).values())


def test_baselines_do_not_depend_on_the_order_of_cases_and_say_what_they_are() -> None:
    cases = of_sample()
    found = metrics_of_baselines(cases)
    assert found == metrics_of_baselines(cases[::-1])
    assert set(found) == set(NOTES) == {"nothing", "fixed template", "expert copy", "prevalence"}
    assert {row["sari"].n for row in found.values()} == {24}
    assert found["nothing"]["three_parts.share"].value == 1
    assert found["expert copy"]["fk.reduction"].value == 0


def test_copied_expert_captions_beat_a_template_in_what_the_paper_says_rewards_copying() -> None:
    found = metrics_of_baselines(of_sample())
    for path in ("bleu4", "rouge_l", "sari"):
        copied, fixed = found["expert copy"][path].value, found["fixed template"][path].value
        assert copied is not None and fixed is not None
        assert copied > fixed


def test_of_very_many_cases_baselines_take_the_same_ones_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = of_sample()
    monkeypatch.setattr(baselines, "MOST", 10)
    found = metrics_of_baselines(cases)
    assert found == metrics_of_baselines(iter(cases[::-1]))
    assert {row["bleu4"].n for row in found.values()} == {10}


def test_of_a_single_case_there_is_no_other_reference() -> None:
    assert set(metrics_of_baselines(of_sample()[:1])) == {
        "nothing", "fixed template", "expert copy",
    }  # fmt: skip


# The whole way


def answering(arrival: Arrival) -> Reply:
    model = arrival.json["model"]
    number = len(arrival.text)
    if model == "thinker" and "CASE<001>" in arrival.text:
        return chat_reply("I think and think", finish="length", model=model)
    return chat_reply(SAID if number % 2 else LAY, model=model)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("medlay")
    lines = [
        line(f"c{n}", expert_caption=f"CASE<{n:03}> {EXPERT}", modality=("CT", "PET")[n % 2])
        for n in range(4)
    ]
    write(folder / "data", *lines)
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["plain", "thinker"], inputs=["text", "image"])
        done = harness(
            "run", "--benchmark", "medlay", "--models", "plain,thinker", "--conditions", "all",
            "--attempts", "1", "--data", folder / "data", "--name", "night",
            "--config", folder / "harness.toml", "--store", folder / "store.sqlite3",
        )  # fmt: skip
    assert done.code == 0, done.err
    return folder


def scored(folder: Path, *more: str) -> Any:
    done = harness("score", "night", "--json", "--store", folder / "store.sqlite3", *more)
    assert done.code == 0, done.err
    return done.json


def test_an_answer_that_ran_out_of_tokens_is_counted_and_named_in_the_table(ready: Path) -> None:
    text = harness("score", "night", "--store", ready / "store.sqlite3").out
    assert "thinker: truncated 1, valid 3 (of 4)" in " ".join(text.split())
    rows = {(row["model"], row["condition"]): row for row in scored(ready)["rows"]}
    row = rows["thinker", "B"]
    assert (row["outcomes"], row["coverage"]) == ({"truncated": 1, "valid": 3}, 0.75)
    assert row["as_answered"]["rouge_l"]["n"] == 4
    assert row["valid_only"]["rouge_l"]["n"] == 3
    assert row["as_answered"]["rouge_l"]["value"] == pytest.approx(
        row["valid_only"]["rouge_l"]["value"] * 0.75
    )


def test_the_requests_carry_the_papers_parameters_and_the_drawn_region(ready: Path) -> None:
    done = harness("export", "night", "--store", ready / "store.sqlite3")
    records = [json.loads(one) for one in done.out.splitlines()]
    assert {json.dumps(one["params"], sort_keys=True) for one in records} == {
        '{"max_tokens": 1024, "temperature": 0}'
    }
    recipes = {(one["condition"], *(medium["recipe"] for medium in one["media"])) for one in records}
    assert recipes == {("A", "roi:box=2,3,12,9"), ("B", "roi:box=2,3,12,9"), ("C",)}


def test_nobody_is_ranked_unless_a_convention_says_by_what(ready: Path) -> None:
    found = scored(ready)
    assert set(found["ranked_by"].values()) == {None}
    assert {row["rank"] for row in found["rows"]} == {None}
    ranked = scored(ready, "--convention", "rank=rouge_l")
    assert (ranked["ranked_by"]["A"], ranked["ranked_by"]["ablation"]) == ("rouge_l", None)
    places = {row["model"]: row["rank"] for row in ranked["rows"] if row["condition"] == "B" and row["rank"]}
    assert places == {"plain": 1, "thinker": 2}
    text = harness("score", "night", "--store", ready / "store.sqlite3", "--convention", "rank=sari").out
    head = next(one for one in text.splitlines() if "SARI" in one)
    assert head.index("SARI") < head.index("R-L")
    assert "ranks: by the first column" in text
    assert "convention rank=sari (usually none): compare like with like" in " ".join(text.split())


def test_columns_of_grades_are_not_there_without_grades_and_the_table_fits_80_columns(ready: Path) -> None:
    text = harness("score", "night", "--store", ready / "store.sqlite3").out
    tables = text.split("0 to 100, as the paper prints them")[0]
    assert "MLE" not in tables and "rubric" not in tables
    assert max(map(len, text.splitlines())) <= 80
    assert "the paper ranks by MedLayEval" in " ".join(text.split())


def test_imported_grades_count_under_the_name_of_the_tool(ready: Path, tmp_path: Path) -> None:
    rows = [
        {"model": model, "condition": "A", "case_id": f"c{n}", "rater": "MedLayEval 1.0",
         "question": f"medlayeval.{name}", "value": 0.1 * n + (0.5 if model == "plain" else 0.4)}
        for model in ("plain", "thinker") for n in range(4)
        for name in ("modality", "anatomy", "finding", "factual", "readability")
    ]  # fmt: skip
    ready = Path(shutil.copytree(ready, tmp_path / "graded"))
    file = tmp_path / "grades.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store = ready / "store.sqlite3"
    assert harness("grades", "import", "night", file, "--store", store).code == 0
    found = scored(ready, "--convention", "rank=medlayeval")
    by_model = {
        row["model"]: row for row in found["rows"] if row["condition"] == "A" and row["kind"] == "model"
    }
    assert by_model["plain"]["as_answered"]["medlayeval.overall"]["value"] == pytest.approx(65)
    assert by_model["plain"]["as_answered"]["medlayeval.overall"]["n"] == 4
    assert [by_model[name]["rank"] for name in ("plain", "thinker")] == [1, 2]
    text = harness("score", "night", "--store", store, "--convention", "rank=medlayeval").out
    assert "grades: imported, of MedLayEval 1.0" in text
    assert "MLE" in text
    bad = file.with_name("bad.jsonl")
    bad.write_text(json.dumps({**rows[0], "value": 65}) + "\n")
    done = harness("grades", "import", "night", bad, "--store", store)
    assert done.code != 0 and "a number from 0 to 1" in done.err


@pytest.mark.parametrize("count", [2, 3, 10, 500])
def test_no_case_is_given_its_own_caption_by_chance(count: int) -> None:
    given = baselines._others(count)
    assert len(given) == count
    assert all(other != place and 0 <= other < count for place, other in enumerate(given))


def test_baselines_of_one_text_a_case_have_intervals_and_are_compared(ready: Path) -> None:
    found = scored(ready)["rows"]
    rows = {row["model"]: row["as_answered"]["sari"] for row in found if row["condition"] == "B"}
    names = ("nothing", "fixed template", "expert copy")
    whole = "none is made of a baseline that is computed as a whole"
    assert [name for name, sari in rows.items() if sari.get("ci_reason") == whole] == ["prevalence"]
    words = ("compare", "night", *(f"baseline:{name}" for name in names), "--condition", "B", "--json")
    done = harness(*words, "--metric", "sari", "--store", ready / "store.sqlite3")
    assert done.code == 0, done.err
    values = {one["label"]: one["value"] for one in done.json["metrics"][0]["values"]}
    assert {f"baseline:{name}" for name in names} | {"plain", "thinker"} == set(values)
    for name in names:
        assert values[f"baseline:{name}"] == pytest.approx(rows[name]["value"], abs=1e-12)
    assert {row["kind"] for row in found if row["condition"] == "ablation"} == {"model"}

"""What people are asked, benchmark by benchmark: sheets, questions that are declared, and who sees what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import pytest
from sweep_kit import answer_text

from harness.benchmarks.base import Benchmark, Case, Question
from harness.benchmarks.registry import BENCHMARKS, get_benchmark
from harness.benchmarks.sheets import COMMENT, GradingTask, Sheet
from harness.benchmarks.steps import Answer, NoCase, Step, StepCase, step_case_of, steps_of
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.catalogue import read_catalogue
from harness.outcomes import UnitOutcome

REPORT = "Tooth 36 has caries.\u2028<b>Teeth</b> 18 and 28 are missing.\r\nNo bone loss."
RESTATED = "Caries is found in 36. 缺失18和28。"
DIAGNOSES = ["Angioedema", "小肠血管性水肿", "Crohn's disease", "<script>", "Ischaemia\u2028of the gut"]


def all_tasks() -> Iterator[tuple[Benchmark | Step, str, GradingTask]]:
    for name in BENCHMARKS:
        for one in chain([get_benchmark(name)], steps_of(name)):
            for task_name, task in one.gradings.items():
                yield one, task_name, task


TASKS = list(all_tasks())
EACH = pytest.mark.parametrize(
    ("owner", "name", "task"), TASKS, ids=[f"{owner.name}-{name}" for owner, name, _ in TASKS]
)


def declared(owner: Benchmark | Step) -> dict[str, Question]:
    """Return the questions that `harness grades import` takes for a run of this kind."""
    of_steps = {name: one for step in steps_of(owner.name) for name, one in step.questions.items()}
    own = owner.own_questions if isinstance(owner, Step) else owner.questions
    return {**of_steps, **own}


def test_each_benchmark_has_the_tasks_that_its_paper_describes() -> None:
    found = {(owner.name, name) for owner, name, _ in TASKS}
    assert found == {
        ("radm", "tiers"), ("triage", "judge"), ("pandent.normalise", "audit"),
        ("medlay", "expert"), ("medlay", "reader"),
    }  # fmt: skip


@EACH
def test_every_possible_grade_is_one_that_scores_take(
    owner: Benchmark | Step, name: str, task: GradingTask
) -> None:
    assert task.name == name and task.title and set(task.pooled) <= {one.name for one in task.questions}
    known = declared(owner)
    for question in task.questions:
        assert question.name != COMMENT
        assert [option.value for option in question.options] == list(known[question.name].values)
        keys = [option.key for option in question.options]
        assert len(set(keys)) == len(keys) and all(len(key) == 1 for key in keys)


@EACH
def test_instructions_name_their_source_and_no_model_or_vendor(
    owner: Benchmark | Step, name: str, task: GradingTask
) -> None:
    said = "\n".join((task.title, *task.instructions, json.dumps([str(one) for one in task.questions])))
    assert "Source" in task.instructions[-1]
    catalogue = read_catalogue()
    hidden = {*catalogue.providers, *catalogue.models} - {"local"}
    words = set(said.casefold().split())
    assert not words & {one.casefold() for one in hidden}
    assert not any(maker in said for maker in ("Gemini", "GPT", "Claude", "Qwen", "OpenAI", "Google"))


def answer(case: Case, prediction: JSON, model: str = "m", condition: str = "x") -> Answer:
    return Answer(UnitId(model, condition, case.id), case, UnitOutcome.VALID, prediction)


def triaged(reasoning: str) -> JSON:
    found = json.loads(answer_text(reasoning=reasoning))
    assert isinstance(found, dict)
    return found


def sample_case(benchmark: str) -> Case:
    owner = get_benchmark(benchmark)
    return next(case for case in owner.load(owner.sample_dir()).cases)


def texts(sheet: Sheet | NoCase) -> str:
    assert isinstance(sheet, Sheet)
    return "\n".join([*(part.text for part in sheet.parts), *sheet.subjects.values()])


def test_graders_of_tiers_see_history_reference_and_the_five_in_order() -> None:
    task = get_benchmark("radm").gradings["tiers"]
    case = sample_case("radm")
    sheet = task.sheet(answer(case, {"diagnoses": DIAGNOSES}))
    assert isinstance(sheet, Sheet)
    assert [(part.kind, part.text) for part in sheet.parts] == [
        ("context", case.fields["history"]), ("reference", case.reference["diagnosis"]),
    ]  # fmt: skip
    assert dict(sheet.subjects) == {f"tier_{rank}": text for rank, text in enumerate(DIAGNOSES, 1)}
    assert sheet.media == case.media and task.items is None
    assert (task.calibration, task.threshold, task.pooled_as) == (50, 0.75, "diagnoses")
    assert [option.value for option in task.questions[0].options] == [0, 1, 2, 3]


@EACH
def test_a_sheet_is_the_same_whoever_answered_in_whichever_condition(
    owner: Benchmark | Step, name: str, task: GradingTask
) -> None:
    case, prediction = example(owner)
    first = task.sheet(answer(case, prediction, "gemini-3-flash", task_condition(owner)))
    second = task.sheet(answer(case, prediction, "o3", task_condition(owner)))
    assert isinstance(first, Sheet) and first == second
    assert case.id not in texts(first) and "gemini-3-flash" not in texts(first)


def task_condition(owner: Benchmark | Step) -> str:
    return owner.main_conditions[0]


def example(owner: Benchmark | Step) -> tuple[Case, JSON]:
    """Return a case with an answer that fits."""
    match owner.name:
        case "radm":
            return sample_case("radm"), {"diagnoses": [*DIAGNOSES]}
        case "triage":
            return sample_case("triage"), triaged("Tooth 36 is tender.")
        case "medlay":
            return sample_case("medlay"), "1. An MRI of the head."
        case _:
            case = replace(sample_case("pandent"), fields={"report": REPORT})
            made = StepCase({"report": REPORT}, {"report": "x"})
            return step_case_of(answer(case, REPORT), made), RESTATED


def test_dentists_see_what_the_judge_is_shown_and_skip_what_it_skips() -> None:
    benchmark = get_benchmark("triage")
    task = benchmark.gradings["judge"]
    (judge,) = steps_of("triage")
    case = sample_case("triage")
    given = answer(case, triaged("Tooth 36 is tender."), condition="both")
    made, sheet = judge.step_case(given), task.sheet(given)
    assert isinstance(made, StepCase) and isinstance(sheet, Sheet)
    texts = {part.title: part.text for part in sheet.parts}
    labels = {texts.pop(title) for title in tuple(texts) if title.startswith("Labels that ")}
    told = {name: text for name, text in made.fields.items() if name.endswith("_labels")}
    assert sorted(texts.values()) == sorted(made.fields[name] for name in made.fields.keys() - told)
    assert labels == {
        text if text == "none" else "\n".join(f"- {label}" for label in json.loads(text))
        for text in told.values()
    }
    [candidate] = [part for part in sheet.parts if part.kind == "candidate"]
    assert candidate.text == "Tooth 36 is tender."
    assert task.sheet(answer(case, triaged(" "), condition="both")) == NoCase("no rationale")
    silent = replace(case, reference={**case.reference, "rationale": ""})
    assert task.sheet(answer(silent, triaged("x"))) == NoCase("the case has no expert rationale")
    assert [task.follows(condition) for condition in ("both", "image", "complaint")] == [True, False, False]
    assert (task.items, task.per_case) == (60, 3)


def test_auditors_see_both_reports_as_they_stand_and_no_reference() -> None:
    (step,) = steps_of("pandent")
    task = step.gradings["audit"]
    case, prediction = example(step)
    sheet = task.sheet(answer(case, prediction))
    assert isinstance(sheet, Sheet)
    assert [part.text for part in sheet.parts] == [REPORT, RESTATED]
    assert {part.kind for part in sheet.parts} == {"candidate"} and not sheet.media
    blank = replace(case, fields={"report": "\u2028 "})
    assert task.sheet(answer(blank, prediction)) == NoCase("the report is blank")
    assert task.items == 200


def test_radiologists_have_the_experts_caption_and_lay_readers_the_text_alone() -> None:
    tasks = get_benchmark("medlay").gradings
    case = next(
        one for one in get_benchmark("medlay").load(get_benchmark("medlay").sample_dir()).cases
        if one.fields["roi"]
    )  # fmt: skip
    given = answer(case, "1. A picture.")
    expert, reader = tasks["expert"].sheet(given), tasks["reader"].sheet(given)
    assert isinstance(expert, Sheet) and isinstance(reader, Sheet)
    assert [(part.kind, part.text) for part in expert.parts] == [
        ("reference", case.fields["expert_caption"]), ("candidate", "1. A picture."),
    ]  # fmt: skip
    assert [part.text for part in reader.parts] == ["1. A picture."]
    for sheet in (expert, reader):
        assert sheet.media == case.media
        assert ",".join(map(str, sheet.region or ())) == case.fields["roi"]
        assert str(case.reference["lay_caption"]) not in texts(sheet)
    for task in tasks.values():
        assert task.stratum(case) == case.reference["modality"] and task.items == 100
        assert [option.value for option in task.questions[0].options] == [1, 2, 3, 4, 5]
    assert [one.name for one in tasks["expert"].questions] == [
        "expert.completeness", "expert.fluency", "expert.simplicity", "expert.factual_correctness",
    ]  # fmt: skip
    assert [one.name for one in tasks["reader"].questions] == [
        "reader.understandability", "reader.fluency", "reader.trustworthiness",
    ]  # fmt: skip

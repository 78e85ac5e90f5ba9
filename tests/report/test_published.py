"""What the papers printed: every number of the listings is here or left out, at a path that scores have."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.benchmarks.scored import UnitTable
from harness.catalogue import read_catalogue
from harness.report.published import PublishedValue, conditions, left_out, published

TABLES = Path(__file__).parents[2].parent / "shared" / "spec" / "paper-tables"
needs_listings = pytest.mark.skipif(not TABLES.is_dir(), reason="the listings of the papers are not here")
EVERY = [(benchmark, condition) for benchmark, condition in conditions()]


def listing(name: str) -> Sequence[Mapping[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def values(benchmark: str, condition: str, subject: str) -> Mapping[str, float]:
    found = [one for one in published(benchmark, condition) if one.subject == subject]
    assert len({one.path for one in found}) == len(found)
    return {one.path: one.value for one in found}


def named(row: Mapping[str, str]) -> str:
    return row["model"] + (" (fine-tuned)" if row["citation"] == "Ours" else "")


def members(benchmark: str, condition: str) -> tuple[str, ...]:
    asked = get_benchmark(benchmark)
    return tuple(asked.unions(asked.conditions).get(condition, (condition,)))


@pytest.mark.parametrize(("benchmark", "condition"), EVERY)
def test_each_path_is_one_that_scores_have(benchmark: str, condition: str) -> None:
    one = get_benchmark(benchmark)
    of = members(benchmark, condition)
    table = one.table(condition)
    none = np.zeros(0, np.int64)
    few = np.zeros(0, np.int32)
    units = UnitTable(np.zeros((0, len(table.numbers))), none, none, few, few, of)
    paths = set(one.metrics(units, condition, chosen_conventions(one, {})))
    if condition == "attributes":
        paths |= {f"exact_match.{name.partition(':')[2]}" for name in of} | {"exact_match.mean"}
    assert {value.path for value in published(benchmark, condition)} <= paths


@pytest.mark.parametrize(("benchmark", "condition"), EVERY)
def test_no_model_has_two_numbers_at_a_path_and_each_is_finite(benchmark: str, condition: str) -> None:
    found = published(benchmark, condition)
    assert len({(one.subject, one.path) for one in found}) == len(found)
    with_model = [(one.model, one.path) for one in found if one.model is not None]
    assert len(set(with_model)) == len(with_model)
    assert all(math.isfinite(one.value) for one in found)
    assert all(one.low is None or one.high is None or one.low <= one.value <= one.high for one in found)


def test_models_are_the_catalogues_as_the_list_of_the_papers_models_has_them(checkout: Path) -> None:
    catalogue = read_catalogue().models
    text = (checkout / "docs" / "models.md").read_text(encoding="utf-8")
    listed = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and (here := re.search(r"`([^`]+)`", cells[1])):
            listed |= {name.strip(): here[1] for name in cells[0].split(";")}
    for benchmark, condition in EVERY:
        for one in published(benchmark, condition):
            assert one.model == listed.get(one.subject)
            assert one.model is None or one.model in catalogue


def test_who_is_no_model_of_the_catalogue_has_no_name_in_it() -> None:
    found = [one for key in EVERY for one in published(*key) if one.model is None]
    assert {one.subject for one in found if one.kind == "model"} == {
        "Qwen3-VL-4B-Instruct (fine-tuned)",
        "Qwen3.5-4B-Instruct (fine-tuned)",
    }
    assert {one.subject for one in found if one.kind == "rater"} == {"junior dentists (mean of three)"}
    assert all("trained on" in one.note for one in found if one.kind == "model")


def test_a_snapshot_that_the_paper_does_not_name_is_said_and_is_the_catalogues() -> None:
    catalogue = read_catalogue().models
    dated = re.compile(r"\d{4}-\d\d-\d\d$|-20\d{6}$|-\d{4}-reasoning$")
    for key in EVERY:
        for one in published(*key):
            ours = "" if one.model is None else str(catalogue[one.model].table["model"])
            told = re.search(r"the paper names no snapshot; here it is (\S+)", one.note)
            assert told is None or told[1] == ours
            provider = "" if one.model is None else str(catalogue[one.model].table.get("provider"))
            if dated.search(ours) and provider != "vllm" and one.model != ours:
                assert told is not None or one.subject == "GPT-4o", one


@needs_listings
def test_every_number_of_pandents_table_1_is_here() -> None:
    columns = {
        "BLEU-1": "bleu_1", "BLEU-2": "bleu_2", "BLEU-3": "bleu_3", "BLEU-4": "bleu_4",
        "METEOR": "meteor15", "ROUGE-L": "rouge_l", "Average": "average",
    }  # fmt: skip
    rows = listing("pandent-table1-nlg.csv")
    assert len(rows) == 33
    for row in rows:
        raw = values("pandent", "report", named(row))
        step = values("pandent.normalise", "normalise", named(row))
        assert len(raw) == 7 and len(step) == 21
        for printed, path in columns.items():
            assert raw[path] == step[f"raw.{path}"] == float(row[f"{printed}_raw"])
            assert step[f"delta.{path}"] == float(row[f"{printed}_delta"])
            total = round(1000 * float(row[f"{printed}_raw"])) + round(1000 * float(row[f"{printed}_delta"]))
            assert step[f"normalised.{path}"] == total / 1000


@needs_listings
def test_every_number_of_pandents_table_2_is_here() -> None:
    columns = {
        "GCBL-M": "gcbl_mandible", "GCBL-X": "gcbl_maxilla", "NMPP": "non_metal_post_core",
        "Peri": "periapical_lesion", "RCT": "root_canal_treatment", "Amal": "metallic_restoration",
        "Caries": "caries", "NMR": "non_metal_restoration", "Crown": "artificial_crown", "Average": "mean",
    }  # fmt: skip
    rows = listing("pandent-table2-exact-match.csv")
    assert len(rows) == 33
    for row in rows:
        union = values("pandent", "attributes", named(row))
        assert len(union) == 10
        for printed, finding in columns.items():
            assert union[f"exact_match.{finding}"] == float(row[printed])
            if finding != "mean":
                alone = values("pandent", f"attribute:{finding}", named(row))
                assert alone == {"exact_match": float(row[printed])}


def test_printed_means_are_those_of_the_printed_numbers() -> None:
    for one in published("pandent", "report"):
        if one.path == "average":
            six = [v for path, v in values("pandent", "report", one.subject).items() if path != "average"]
            assert abs(sum(six) / 6 - one.value) < 0.0011
    for one in published("pandent", "attributes"):
        if one.path == "exact_match.mean":
            nine = [v for path, v in values("pandent", "attributes", one.subject).items() if path != one.path]
            assert len(nine) == 9
            assert abs(sum(nine) / 9 - one.value) < 0.0011


_TRIAGE = {
    "Macro-F1": "macro_f1",
    "Micro-F1": "micro_f1",
    "Exact-Match": "exact_match",
    "Macro-Recall": "macro_recall",
}
_MEDLAY = {
    "MedLayEval S": "medlayeval.overall", "Modality": "medlayeval.modality", "Factual": "medlayeval.factual",
    "Readability": "medlayeval.readability", "GREEN": "green", "BLEU-4": "bleu4", "ROUGE-L": "rouge_l",
    "FK grade": "fk.answer",
}  # fmt: skip
_RADM = {
    "text": "text",
    "text_images": "text_images",
    "fps2": "text_volume_fps2",
    "fps10": "text_volume_fps10",
}
_STEPS = {
    "text to images": "text_to_text_images",
    "images to fps2": "text_images_to_text_volume_fps2",
    "images to fps10": "text_images_to_text_volume_fps10",
}
_NAMES = {"001": "triage", "002": "medlay", "003": "radm"}


def places(row: Mapping[str, str]) -> list[tuple[str, str, float]]:
    """Where a row of the listing should be: condition, path, value, written from the listing alone."""
    condition, metric, printed = row["condition"], row["metric"], row["value"]
    if row["seed"] == "001":
        level = condition.partition(" ")[0]
        return [("both", f"{level}.{_TRIAGE[metric]}", float(printed))]
    if row["seed"] == "002":
        if metric == "MedLayEval S delta":
            return [("ablation", "C-B.medlayeval.overall", float(printed))]
        return [("A", _MEDLAY[metric], float(printed))]
    if metric == "relative pct":
        return [
            (_STEPS[f"images to {condition.split()[1]}"], "RealClin.relative_change", float(printed) / 100)
        ]
    if metric == "score delta":
        return [("languages", "mean_difference", float(printed))]
    if metric == "cases":
        step, _, kinds = condition.rpartition(" ")
        counts = zip(kinds.split("/"), printed.split("/"), strict=True)
        return [(_STEPS[step], f"RealClin.{kind}.count", float(count)) for kind, count in counts]
    subset, _, shown = condition.partition(" ")
    if shown == "text translated en":
        return [("text_translated", f"{subset}.score", float(printed))]
    if shown.endswith(" rare"):
        inputs = _RADM[shown.removesuffix(" rare")]
        common = float(row["note"].removeprefix("common "))
        return [
            (inputs, f"{subset}.rare.score", float(printed)),
            (inputs, f"{subset}.common.score", common),
        ]
    return [(_RADM[shown], f"{subset}.score", float(printed))]


def held(row: Mapping[str, str]) -> list[PublishedValue]:
    benchmark = _NAMES[row["seed"]]
    subject = row["subject"].replace("junior dentists mean", "junior dentists (mean of three)")
    return [
        one
        for condition, path, value in places(row)
        for one in published(benchmark, condition)
        if (one.subject, one.path) == (subject, path) and abs(one.value - value) < 1e-9
    ]


@needs_listings
def test_every_number_in_the_papers_sentences_is_here_or_left_out_with_a_reason() -> None:
    out = {(one.benchmark, one.section, one.subject, one.condition, one.metric): one for one in left_out()}
    seen = 0
    for row in listing("prose-numbers.csv"):
        key = (_NAMES[row["seed"]], *(row[name] for name in ("section", "subject", "condition", "metric")))
        if key in out:
            printed = row["value"] or f"{row['ci_low']} to {row['ci_high']}"
            assert out.pop(key).value == printed
            continue
        found = held(row)
        assert len(found) == len(places(row)), row
        seen += len(found)
        if row["ci_low"]:
            assert (found[0].low, found[0].high) == (float(row["ci_low"]), float(row["ci_high"])), row
        else:
            assert all(one.low is None for one in found)
    assert seen > 120
    assert [key for key in out if key[0] != "pandent"] == []
    assert [one.section for one in out.values()] == ["Table 4"]
    assert all(one.reason for one in left_out())


def test_changes_agree_with_the_scores_that_they_are_changes_of() -> None:
    """Printed scores have two decimals, so a relative change is known to some .02 of itself."""
    steps = {
        "text_to_text_images": ("text", "text_images"),
        "text_images_to_text_volume_fps2": ("text_images", "text_volume_fps2"),
        "text_images_to_text_volume_fps10": ("text_images", "text_volume_fps10"),
        "text_to_text_volume_fps2": ("text", "text_volume_fps2"),
        "text_to_text_volume_fps10": ("text", "text_volume_fps10"),
    }
    checked = 0
    for condition, (before, after) in steps.items():
        for one in published("radm", condition):
            subset, _, measure = one.path.partition(".")
            first = values("radm", before, one.subject).get(f"{subset}.score")
            second = values("radm", after, one.subject).get(f"{subset}.score")
            if measure == "relative_change" and first and second:
                assert abs((second - first) / first - one.value) < 0.03
                checked += 1
    assert checked >= 8
    for one in published("radm", "text_images_to_text_volume_fps2"):
        if one.path.endswith(".count"):
            share = values("radm", "text_images_to_text_volume_fps2", one.subject)[one.path[:-5] + "share"]
            assert share == round(one.value / 360, 3)


def test_of_what_nothing_was_printed_there_is_nothing() -> None:
    assert published("triage", "complaint") == ()
    assert published("no such benchmark", "A") == ()

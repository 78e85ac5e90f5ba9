"""The metric paths of the triage benchmark, counted by hand, and its baselines."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from harness.benchmarks.base import Case
from harness.benchmarks.scored import MetricValue, Scored, UnitNumbers, UnitTable
from harness.benchmarks.triage import baselines as baselines_module
from harness.benchmarks.triage.baselines import baselines
from harness.benchmarks.triage.intervals import all_sums
from harness.benchmarks.triage.task import Triage
from harness.benchmarks.triage.taxonomy import DOMAINS, LABELS, answer_of, code_of, code_of_labels
from harness.benchmarks.triage.unit_scores import NUMBERS
from harness.outcomes import UnitOutcome
from harness.scoring.resampling import Resampling

GINGIVITIS, SEVERE, FILLING, MOLAR, EXTRACT, MINOR = (LABELS[i] for i in (0, 2, 3, 6, 19, 20))
CONVENTIONS = {"zero_division": "0", "case_f1_empty": "1"}


def case(name: str, *labels: str) -> Case:
    return Case(name, {}, {}, {"labels": list(labels), "rationale": ""})


def unit(of: Case, *labels: str) -> Scored:
    return Scored(of, "both", UnitOutcome.VALID, answer_of(labels))


def failed(of: Case) -> Scored:
    return Scored(of, "both", UnitOutcome.UNPARSABLE, None)


def numbers(units: Sequence[Scored]) -> UnitNumbers:
    found = [Triage().unit_numbers(one) for one in units]
    return np.array(found, dtype=np.float64).reshape(len(units), len(NUMBERS))


def table(units: Sequence[Scored], clusters: Sequence[int] | None = None) -> UnitTable:
    places = np.arange(len(units))
    whose = places if clusters is None else np.array(clusters)
    first = np.ones(len(units), dtype=np.int32)
    return UnitTable(numbers(units), places, whose, first, 0 * first)


def score(units: Sequence[Scored], conventions: Mapping[str, str]) -> Mapping[str, MetricValue]:
    return Triage().metrics(table(units), "both", conventions)


TOY = (
    unit(case("one", EXTRACT), EXTRACT),
    unit(case("two", GINGIVITIS, EXTRACT), SEVERE, EXTRACT, MOLAR),
    unit(case("none")),
    failed(case("lost", GINGIVITIS, FILLING)),
)
BINS = ("0", "1", "2", "3", "4", "5+")


def counted_case(needed: str, named: int, too_many: int = 0) -> Mapping[str, tuple[float, int]]:
    """Return the domain counts of the one answered case that needs so many domains."""
    values = {
        "predicted_mean": named, "absolute_error": too_many, "share_exact": float(not too_many),
        "share_over": float(too_many > 0), "share_under": 0.0,
        **{f"predicted.{n}": float(n == str(named)) for n in BINS},
    }  # fmt: skip
    return {f"domain_count.true.{needed}.{path}": (value, 1) for path, value in values.items()}


# Fine: extraction tp 2; gingivitis fn 2; filling fn 1; severe fp 1; molar fp 1.
# Coarse: OMFS tp 2; Perio tp 1 fn 1; Cariology fn 1; Endo fp 1.
GOLDEN = {
    "fine.macro_f1": (1 / 22, 4),
    "fine.micro_f1": (2 * 2 / (2 * 2 + 2 + 3), 4),
    "fine.macro_recall": (1 / 22, 4),
    "fine.exact_match": (2 / 4, 4),
    "coarse.macro_f1": ((1 + 2 / 3) / 8, 4),
    "coarse.micro_f1": (2 * 3 / (2 * 3 + 1 + 2), 4),
    "coarse.macro_recall": ((1 + 1 / 2) / 8, 4),
    "coarse.exact_match": (2 / 4, 4),
    "domain.Perio.f1": (2 / 3, 4),
    "domain.Cariology.f1": (0.0, 4),
    "domain.Endo.f1": (0.0, 4),
    "domain.Crowns.f1": (0.0, 4),
    "domain.Bridges.f1": (0.0, 4),
    "domain.Denture.f1": (0.0, 4),
    "domain.Implants.f1": (0.0, 4),
    "domain.OMFS.f1": (1.0, 4),
    "case_f1": ((1 + 2 / 5 + 1 + 0) / 4, 4),
    "over_referral.mean_count": (2 / 3, 3),
    "over_referral.case_share": (1 / 3, 3),
    "over_referral.label_share": (2 / 4, 3),
    "under_referral.mean_count": (3 / 4, 4),
    "under_referral.case_share": (2 / 4, 4),
    "under_referral.label_share": (3 / 5, 4),
    "by_domains.1.case_f1": (1.0, 1),
    "by_domains.1.fine.exact_match": (1.0, 1),
    "by_domains.1.fine.micro_f1": (1.0, 1),
    "by_domains.1.over_referral.mean_count": (0.0, 1),
    "by_domains.1.under_referral.mean_count": (0.0, 1),
    "by_domains.2.case_f1": (1 / 5, 2),
    "by_domains.2.fine.exact_match": (0.0, 2),
    "by_domains.2.fine.micro_f1": (2 / (2 + 2 + 3), 2),
    "by_domains.2.over_referral.mean_count": (2.0, 1),
    "by_domains.2.under_referral.mean_count": (3 / 2, 2),
    # Domains needed and named by the three that were answered: 1 and 1, 2 and 3, 0 and 0.
    "domain_count.true_mean": (1.0, 3),
    "domain_count.predicted_mean": (4 / 3, 3),
    "domain_count.absolute_error": (1 / 3, 3),
    "domain_count.share_exact": (2 / 3, 3),
    "domain_count.share_over": (1 / 3, 3),
    "domain_count.share_under": (0.0, 3),
    **{f"domain_count.predicted.{n}": (1 / 3 if n in ("0", "1", "3") else 0.0, 3) for n in BINS},
    **counted_case("0", named=0),
    **counted_case("1", named=1),
    **counted_case("2", named=3, too_many=1),
}
UNANSWERED = ("3", "4", "5+")


def is_confusion(path: str) -> bool:
    """Tell whether a path is a cell of the confusion matrix of domain counts, which has no interval."""
    return path.startswith("domain_count.true.") and path.split(".")[3] == "predicted"


def test_toy_cases_score_as_counted_by_hand() -> None:
    found = score(TOY, CONVENTIONS)
    empty = {path for path in found if path.startswith("by_domains.") and path.split(".")[1] in UNANSWERED}
    uncounted = {
        path for path in found if path.startswith("domain_count.true.") and path.split(".")[2] in UNANSWERED
    }
    assert set(found) == set(GOLDEN) | empty | uncounted
    assert (len(empty), len(uncounted)) == (15, 33)
    for path, (value, n) in GOLDEN.items():
        assert found[path].value == pytest.approx(value, abs=1e-12), path
        assert (found[path].n, found[path].reason) == (n, None), path
    assert all(found[path] == MetricValue(None, 0, "no such case was scored") for path in empty)
    assert all(found[path] == MetricValue(None, 0, "no such case was answered") for path in uncounted)


def test_conventions_change_what_they_name() -> None:
    found = score(TOY, {"zero_division": "skip-empty", "case_f1_empty": "0"})
    assert found["fine.macro_f1"].value == pytest.approx(1 / 3)
    assert found["coarse.macro_f1"].value == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert found["domain.Endo.f1"] == MetricValue(None, 4, "the domain is not positive in the reference")
    assert found["case_f1"].value == pytest.approx((1 + 2 / 5 + 0 + 0) / 4)
    ones = score(TOY, {"zero_division": "1", "case_f1_empty": "1"})
    # Seventeen labels that nobody needed or named count as the 3 in 4 units that were answered.
    assert ones["fine.macro_f1"].value == pytest.approx((1 + 17 * 0.75) / 22)


def test_an_unusable_unit_is_worst_and_left_out_of_over_referral() -> None:
    found = score([failed(case("a", EXTRACT)), failed(case("b"))], CONVENTIONS)
    assert found["fine.exact_match"].value == 0
    assert found["case_f1"].value == 0
    assert found["under_referral.label_share"].value == 1
    for share in ("mean_count", "case_share", "label_share"):
        assert found[f"over_referral.{share}"] == MetricValue(None, 0, "no unit was answered")


def test_nothing_predicted_or_needed_gives_null_with_a_reason() -> None:
    found = score([unit(case("a"))], CONVENTIONS)
    assert found["over_referral.label_share"] == MetricValue(None, 1, "no label was predicted")
    assert found["under_referral.label_share"] == MetricValue(
        None, 1, "no label is positive in the reference"
    )
    assert found["over_referral.mean_count"].value == 0


@pytest.mark.parametrize("zero_division", ["0", "1", "skip-empty"])
def test_no_units_keep_every_path_with_a_reason(zero_division: str) -> None:
    conventions = {"zero_division": zero_division, "case_f1_empty": "1"}
    found = score([], conventions)
    assert set(found) == set(score(TOY, conventions))
    assert all(metric.value is None and metric.n == 0 and metric.reason for metric in found.values())


@pytest.mark.parametrize("empty", ["0", "1"])
def test_a_rows_values_are_the_means_of_what_its_units_score_by_themselves(empty: str) -> None:
    generator = random.Random(11)
    conventions = {"zero_division": "0", "case_f1_empty": empty}
    units = [*TOY, failed(case("nothing lost")), unit(case("same domain", GINGIVITIS), SEVERE)]
    for number in range(60):
        of = case(str(number), *generator.sample(LABELS, number % 5))
        given = generator.sample(LABELS, generator.randrange(4))
        units.append(failed(of) if number % 7 == 0 else unit(of, *given))
    row = score(units, conventions)
    scores = [Triage().score_unit(one, "both", conventions) for one in numbers(units).tolist()]
    assert len(scores[0]) == 5
    for path in scores[0]:
        values = [value for one in scores if (value := one[path]) is not None]
        assert row[path].value == pytest.approx(sum(values) / len(values), abs=1e-12), path
        assert row[path].n == len(values), path


def test_no_metric_is_ever_nan() -> None:
    rows: tuple[Sequence[Scored], ...] = ([], TOY, TOY[:1], TOY[2:3], TOY[3:])
    for units in rows:
        json.dumps([metric.value for metric in score(units, CONVENTIONS).values()], allow_nan=False)


def test_the_order_of_units_does_not_change_a_digit() -> None:
    generator = random.Random(5)
    units = [
        unit(case(str(number), *generator.sample(LABELS, 4)), *generator.sample(LABELS, 3))
        for number in range(200)
    ]
    first = score(units, CONVENTIONS)
    generator.shuffle(units)
    assert score(units, CONVENTIONS) == first


def test_a_whole_number_written_as_a_float_is_a_flag() -> None:
    answer = json.loads(json.dumps(answer_of([EXTRACT])).replace(": 1", ": 1.0"))
    assert code_of(answer) == code_of(answer_of([EXTRACT])) == 1 << LABELS.index(EXTRACT)


def test_a_reference_with_a_text_that_is_no_label_is_never_scored_without_it() -> None:
    with pytest.raises(ValueError, match="no label"):
        code_of_labels([EXTRACT, "Extraction"])


def test_the_case_with_five_or_more_domains_is_in_the_last_group() -> None:
    labels = [members[0] for members in DOMAINS.values()]
    found = score([unit(case("a", *labels[:5])), unit(case("b", *labels))], CONVENTIONS)
    assert found["by_domains.5+.under_referral.mean_count"] == MetricValue(6.5, 2)


def test_domain_counts_are_those_of_a_plain_count() -> None:
    units = [one for one in longer_row(6) if one.prediction is not None]
    whose = {label: domain for domain, labels in DOMAINS.items() for label in labels}
    pairs = []
    for one in units:
        answer: Any = one.prediction
        labels: Any = one.case.reference["labels"]
        named = sum(any(members.values()) for members in answer["triage_output"].values())
        pairs.append((len({whose[label] for label in labels}), named))
    found = score([*units, failed(case("lost", EXTRACT, FILLING))], CONVENTIONS)

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    for name, chosen in {
        "": pairs,
        **{f"true.{n}.": [pair for pair in pairs if pair[0] == n] for n in range(5)},
        "true.5+.": [pair for pair in pairs if pair[0] >= 5],
    }.items():
        assert len(chosen) > 0, name
        for path, value in {
            "predicted_mean": mean([b for _, b in chosen]),
            "absolute_error": mean([abs(a - b) for a, b in chosen]),
            "share_exact": mean([a == b for a, b in chosen]),
            "share_over": mean([b > a for a, b in chosen]),
            "share_under": mean([b < a for a, b in chosen]),
            **{f"predicted.{n}": mean([b == n for _, b in chosen]) for n in range(5)},
            "predicted.5+": mean([b >= 5 for _, b in chosen]),
        }.items():
            metric = found[f"domain_count.{name}{path}"]
            assert metric.value == pytest.approx(value, abs=1e-12), (name, path)
            assert metric.n == len(chosen)


def test_a_curve_over_complexity_and_both_sides_of_referral_have_intervals() -> None:
    found = Triage().intervals(table(longer_row(3)), "both", CONVENTIONS, Resampling(resamples=200))
    curve = [f"by_domains.{n}.{path}" for n in ("1", "2", "3", "4", "5+")
             for path in ("case_f1", "fine.exact_match")]
    sides = [f"{side}.{path}" for side in ("over_referral", "under_referral")
             for path in ("mean_count", "case_share", "label_share")]
    for path in (*curve, *sides, "domain_count.predicted_mean", "domain_count.true.3.predicted_mean"):
        assert found[path].low is not None and found[path].high is not None, path
    exact = [path for path in found if found[path].method == "clopper-pearson"]
    assert "domain_count.share_under" in exact and "domain_count.true.2.share_exact" in exact


def test_the_baseline_that_refers_no_one() -> None:
    cases = [one.case for one in TOY]
    constant = Triage().constant_answers(cases, "both")
    drawn = Triage().baselines({"both": cases}, CONVENTIONS)
    assert {*constant, *drawn} == set(Triage().table("both").baseline_notes) == {"nothing", "prevalence"}
    found = score([Scored(one, "both", UnitOutcome.VALID, constant["nothing"]) for one in cases], CONVENTIONS)
    assert found == score([unit(one) for one in cases], CONVENTIONS)
    assert found["fine.exact_match"].value == 0.25


def test_the_prevalence_baseline_guesses_by_the_shares_of_the_references() -> None:
    cases = [case(str(n), EXTRACT, *([MINOR] if n % 4 == 0 else [])) for n in range(40)]
    found = baselines(cases, CONVENTIONS)["prevalence"]
    # A label in every case is always guessed; one in a quarter is right a quarter of the time.
    assert found["fine.exact_match"].value == pytest.approx(0.25**2 + 0.75**2, abs=0.01)
    assert found["over_referral.mean_count"].value == pytest.approx(0.75 * 0.25, abs=0.01)
    assert found["under_referral.mean_count"].value == pytest.approx(0.25 * 0.75, abs=0.01)
    assert found["domain.OMFS.f1"].value == 1
    assert found["case_f1"].n == 40


def test_the_prevalence_baseline_is_the_same_in_any_order() -> None:
    cases = [case(str(n), *random.Random(n).sample(LABELS, 3)) for n in range(30)]
    first = baselines(cases, CONVENTIONS)
    assert baselines(cases[::-1], CONVENTIONS) == first


PREVALENCE = {
    ("0", "1"): "bd2ed852346894e7c711b453017d98e41461ce857caf93c22e9b9a2077a05b8e",
    ("1", "0"): "1c71ac7660cb46258884b08ed230114b618602938239ad3c9b8ca307ba63807a",
    ("skip-empty", "1"): "e7229c30c1c470676866ce241ad40096db6c57427d1c4ee2f29449984f4a2a33",
}


@pytest.mark.parametrize(("zero_division", "empty"), PREVALENCE)
def test_the_prevalence_baseline_keeps_every_digit(zero_division: str, empty: str) -> None:
    cases = [case(f"{n}", *random.Random(n).sample(LABELS[:18], n % 6)) for n in range(90)]
    conventions = {"zero_division": zero_division, "case_f1_empty": empty}
    found = baselines(cases, conventions)["prevalence"]
    if zero_division == "0":
        assert found["case_f1"].value == 0.1253920334603668
        assert found["by_domains.5+.fine.micro_f1"] == MetricValue(0.1853557407153748, 3)
    # Of all values, counted flag by flag when this test was written.
    values = sorted(
        (path, one.value, one.n, one.reason) for path, one in found.items() if "domain_count" not in path
    )
    everything = hashlib.sha256(repr(values).encode()).hexdigest()
    assert everything == PREVALENCE[zero_division, empty]


@pytest.mark.slow
def test_the_prevalence_baseline_does_not_depend_on_what_is_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [case(str(n), *random.Random(n).sample(LABELS, 3)) for n in range(40)]
    first = baselines(cases, CONVENTIONS)
    monkeypatch.setattr(baselines_module, "_CODES_AT_ONCE", 90)
    monkeypatch.setattr(baselines_module, "_ROWS_AT_ONCE", 7)
    assert baselines(cases, CONVENTIONS) == first


def test_baselines_of_no_cases_are_null() -> None:
    for row in baselines([], CONVENTIONS).values():
        assert all(metric.value is None and metric.reason for metric in row.values())


def test_raters_of_the_sample_score_by_the_same_paths() -> None:
    triage = Triage()
    cases = triage.load(triage.sample_dir())
    for ratings in cases.raters.values():
        units = [Scored(one, "both", UnitOutcome.VALID, ratings[one.id]) for one in cases.cases]
        found = score(units, CONVENTIONS)
        assert 0.3 < (found["fine.micro_f1"].value or 0) < 1
        assert found["fine.micro_f1"].n == 24


def longer_row(seed: int, n: int = 300) -> list[Scored]:
    generator = random.Random(seed)
    units = [*TOY]
    for number in range(n):
        of = case(str(number), *generator.sample(LABELS, number % 6))
        given = generator.sample(LABELS, generator.randrange(5))
        units.append(failed(of) if number % 9 == 0 else unit(of, *given))
    return units


@pytest.mark.parametrize("zero_division", ["0", "skip-empty", "1"])
@pytest.mark.parametrize("empty", ["1", "0"])
def test_intervals_rest_on_sums_that_give_the_values_again(zero_division: str, empty: str) -> None:
    conventions = {"zero_division": zero_division, "case_f1_empty": empty}
    for units in (longer_row(1), longer_row(2, 12), list(TOY), list(TOY[:1]), list(TOY[2:3]), list(TOY[3:])):
        values = score(units, conventions)
        summed, statistic = all_sums(table(units), conventions)
        again = statistic(summed.total())
        assert again.keys() == {path for path in values if not is_confusion(path)}
        for path, metric in values.items():
            if is_confusion(path):
                continue
            expected = np.nan if metric.value is None else metric.value
            assert again[path] == pytest.approx(expected, abs=1e-12, nan_ok=True), path


def test_every_value_lies_within_its_interval_and_every_path_has_one() -> None:
    units = longer_row(3)
    found = Triage().intervals(table(units), "both", CONVENTIONS, Resampling(resamples=500))
    values = score(units, CONVENTIONS)
    assert found.keys() == {path for path in values if not is_confusion(path)}
    for path, interval in found.items():
        metric = values[path]
        assert metric.value is not None and interval.low is not None and interval.high is not None, path
        assert interval.low <= metric.value <= interval.high, path
    assert found["fine.exact_match"].method == "clopper-pearson"
    assert found["fine.macro_f1"].method == "bootstrap-t"
    assert found["fine.micro_f1"].method == "bca"


def test_cases_of_one_patient_are_drawn_together_and_no_share_of_them_is_exact() -> None:
    units = longer_row(4, 296)
    alone = Triage().intervals(table(units), "both", CONVENTIONS, Resampling())
    groups = [place // 10 for place in range(300)]
    by_labels = sorted(units, key=lambda one: len(str(one.case.reference["labels"])))
    together = Triage().intervals(table(by_labels, groups), "both", CONVENTIONS, Resampling())
    assert together["fine.exact_match"].method == "bca"
    one, other = alone["under_referral.mean_count"], together["under_referral.mean_count"]
    assert None not in (one.low, one.high, other.low, other.high)
    assert other.high - other.low > 2 * (one.high - one.low)  # type: ignore[operator] # looked at above


def test_a_row_without_units_has_no_interval_and_says_why() -> None:
    found = Triage().intervals(table([]), "both", CONVENTIONS, Resampling())
    assert all(interval.low is None and interval.reason for interval in found.values())


def test_a_mean_over_labels_warns_where_some_are_very_rare() -> None:
    often = [unit(case(str(n), EXTRACT), *([EXTRACT] if n % 3 else [])) for n in range(40)]
    rare = [unit(case(f"rare {n}", GINGIVITIS, EXTRACT), EXTRACT) for n in range(4)]
    plain = Triage().intervals(table(often + rare + rare[:1]), "both", CONVENTIONS, Resampling())
    warned = Triage().intervals(table(often + rare), "both", CONVENTIONS, Resampling())
    assert plain["fine.macro_f1"].note is None
    assert warned["fine.macro_f1"].note == (
        "1 of 22 labels have fewer than 5 positive units: it may be too narrow"
    )
    assert warned["coarse.macro_recall"].note is not None and warned["fine.micro_f1"].note is None

"""Every number of `harness score` for triage, from export and case files, by scikit-learn and by hand.

Tolerances: values 1e-12 (sums in another order); BCa intervals on the documented draws and Clopper-Pearson by
scipy 2e-9 (both are printed to 1e-9).
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recomputed import (
    USABLE,
    Numbers,
    Recomputed,
    asked,
    averaged,
    chance,
    clustered,
    failing,
    image_number,
    intervals_differing,
    rescored,
    values_differing,
)
from scipy.stats import binomtest, bootstrap
from scripted_replies import Arrival, Reply, chat_reply
from sklearn.metrics import f1_score, recall_score
from sweep_kit import answer_text, write_image

from harness.benchmarks.triage.taxonomy import DOMAINS, LABELS

CASES = 120
NEVER = ("Combination case (Edentulous in one arch only)", "Overdenture (incl. complete or partial)")
"""Labels that no reference has; the second is predicted now and then, the first never."""
SPOKEN = [label for label in LABELS if label not in NEVER]
MODELS = ("noisy", "same", "holes")
CONDITIONS = ("both", "complaint", "opg")
KINDS = ("refused", "filtered", "truncated", "empty")


def truth_of(number: int) -> list[str]:
    """Return a case's labels: some need nothing at all."""
    chosen = chance("truth", number)
    return sorted(chosen.sample(SPOKEN, 0 if number % 40 == 7 else min(7, 1 + int(chosen.expovariate(0.7)))))


def given_by(model: str, number: int, condition: str, repeat: int) -> Reply:
    """Return what a model says of a case."""
    if model == "same":
        return chat_reply(answer_text(("Exodontia", "Simple operative (Class I to V)")))
    dice = chance("answer", model, number, condition, repeat)
    kind = dice.random()
    if model == "holes" and number % 17 == 3:
        return failing("rejected")
    if kind < 0.16:
        return failing(KINDS[int(kind * 25)])
    if kind < 0.2:
        return chat_reply("The patient should see a dentist.")
    skill = 0.8 if condition == "both" else 0.5
    kept = [label for label in truth_of(number) if dice.random() < skill]
    added = [label for label in (*SPOKEN, NEVER[1]) if dice.random() < 0.04 and label not in kept]
    text = answer_text(sorted(kept + added), "\u2028 \r because")
    return chat_reply(f"```json\n{text}\n```" if kind > 0.8 else text)


def script(arrival: Arrival) -> Reply:
    """Answer by the image or the complaint, and by how often the same was asked before."""
    words = "CASE<" in arrival.text
    image = image_number(arrival)
    number = int(arrival.text.split("CASE<", 1)[1][:3]) if words else image
    assert number is not None
    condition = "both" if words and image is not None else "complaint" if words else "opg"
    return given_by(arrival.json["model"], number, condition, arrival.nth)


def write_triage_cases(folder: Path, *, groups: bool) -> None:
    """Write the cases, three raters' labels beside them; one rater left some cases out."""
    lines = []
    raters: dict[str, list[str]] = {"ann": [], "ben": []}
    for number in range(CASES):
        write_image(folder / "images" / f"{number:03}.png", number)
        case: dict[str, Any] = {
            "id": f"c{number:03}",
            "chief_complaint": f"CASE<{number:03}> it hurts",
            "image": f"images/{number:03}.png",
            "labels": truth_of(number),
            "rationale": "made up",
        }
        if groups and number % 3:
            case["group"] = f"g{number % 50}"
        lines.append(json.dumps(case))
        for name, skill in (("ann", 0.9), ("ben", 0.6)):
            dice = chance(name, number)
            labels = [label for label in truth_of(number) if dice.random() < skill]
            labels += [label for label in SPOKEN if dice.random() < 0.02 and label not in labels]
            if name == "ann" or number % 11:
                raters[name].append(json.dumps({"id": f"c{number:03}", "labels": labels}))
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "raters").mkdir()
    for name, rows in raters.items():
        (folder / "raters" / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, three conditions, three repeats, cases of the same patients."""
    folder = tmp_path_factory.mktemp("grouped")
    write_triage_cases(folder / "data", groups=True)
    return asked(folder, "triage", script, MODELS, "--conditions", "all", "--repeats", "3", "--name", "run")


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without groups and repeats."""
    folder = tmp_path_factory.mktemp("single")
    write_triage_cases(folder / "data", groups=False)
    return asked(folder, "triage", script, MODELS, "--conditions", "all", "--name", "run")


# -- the definitions, unit by unit -----------------------------------------------------------------


class Unit:
    """One unit: 0/1 rows of truth and prediction; no prediction where the unit is unusable."""

    def __init__(self, number: int, labels: Sequence[str] | None) -> None:
        self.number = number
        self.truth = np.array([label in truth_of(number) for label in LABELS], dtype=int)
        self.given = None if labels is None else np.array([label in labels for label in LABELS], dtype=int)


def predicted(record: Mapping[str, Any]) -> list[str] | None:
    """Return the labels of an exported prediction."""
    if record["outcome"] not in USABLE:
        return None
    by_domain = record["prediction"]["triage_output"]
    return [label for labels in by_domain.values() for label, value in labels.items() if value == 1]


def scored_units(records: Sequence[Mapping[str, Any]], repeat: int, *, valid_only: bool) -> list[Unit]:
    """Return the units that a reading counts: what nobody answered is in neither."""
    units = []
    for record in records:
        if record["repeat"] != repeat or record["outcome"] in ("rejected", "provider_error", "not_attempted"):
            continue
        labels = predicted(record)
        if labels is not None or not valid_only:
            units.append(Unit(int(record["case_id"][1:]), labels))
    return units


def coarse(row: Numbers | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the 8 domains of rows of 22 labels: 1 where any label is."""
    ends = np.cumsum([len(labels) for labels in DOMAINS.values()])[:-1]
    return np.stack([part.max(axis=-1) for part in np.split(row, ends, axis=-1)], axis=-1)


def case_f1(unit: Unit, empty: float = 1.0) -> float:
    """Return the F1 of one case's label sets."""
    if unit.given is None:
        return 0.0
    both = int(unit.truth.sum() + unit.given.sum())
    return 2 * int((unit.truth & unit.given).sum()) / both if both else empty


def sk(score: Any, truth: Any, given: Any, average: Any, zero: str, answered: float) -> Any:
    """Return a score of scikit-learn with the zero division that a convention asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_label = score(truth, given, average=average, zero_division=0)
        if zero == "0":
            return by_label
        undefined = np.isnan(score(truth, given, average=average, zero_division=np.nan))
        if zero == "1":
            return np.where(undefined, answered, by_label)
        return np.where(undefined, np.nan, by_label)


def metrics(
    units: Sequence[Unit], zero: str = "0", empty: float = 1.0
) -> dict[str, tuple[float | None, int]]:
    """Return every path of a condition's row: path -> (value, n)."""
    none = np.zeros(len(LABELS), dtype=int)
    truth = np.array([unit.truth for unit in units]).reshape(-1, len(LABELS))
    given = np.array([none if unit.given is None else unit.given for unit in units]).reshape(-1, len(LABELS))
    there = np.array([unit.given is not None for unit in units], dtype=bool)
    n, answered = len(units), int(there.sum())
    share = answered / n if n else 0.0
    found: dict[str, tuple[float | None, int]] = {}

    def mean(values: Any, count: int) -> tuple[float | None, int]:
        values = [float(value) for value in values if not np.isnan(value)]
        return (math.fsum(values) / len(values) if values else None), count

    for name, t, g in (("fine", truth, given), ("coarse", coarse(truth), coarse(given))):
        seen = t.any(axis=0)
        for path, score in (("macro_f1", f1_score), ("macro_recall", recall_score)):
            by_label = sk(score, t, g, None, zero, share)
            by_label = np.where(seen, by_label, np.nan) if zero == "skip-empty" else by_label
            found[f"{name}.{path}"] = mean(by_label, n)
            if name == "coarse" and path == "macro_f1":
                for domain, value in zip(DOMAINS, by_label, strict=True):
                    found[f"domain.{domain}.f1"] = mean([value], n)
        found[f"{name}.micro_f1"] = mean([sk(f1_score, t, g, "micro", zero, share)], n)
        found[f"{name}.exact_match"] = mean((t == g).all(axis=1) & there, n)
    found["case_f1"] = mean([case_f1(unit, empty) for unit in units], n)
    found |= referrals(truth, given, there)
    need, named = coarse(truth).sum(axis=1), coarse(given).sum(axis=1)
    for bin_name in ("1", "2", "3", "4", "5+"):
        inside = need >= 5 if bin_name == "5+" else need == int(bin_name)
        some = [unit for unit, is_in in zip(units, inside, strict=True) if is_in]
        t, g, h = truth[inside], given[inside], there[inside]
        start = f"by_domains.{bin_name}"
        found[f"{start}.case_f1"] = mean([case_f1(unit, empty) for unit in some], len(some))
        found[f"{start}.fine.exact_match"] = mean((t == g).all(axis=1) & h, len(some))
        inner = float(h.mean()) if len(some) else 0.0
        micro = sk(f1_score, t, g, "micro", zero, inner) if len(some) else np.nan
        found[f"{start}.fine.micro_f1"] = mean([micro], len(some))
        for path in ("over_referral.mean_count", "under_referral.mean_count"):
            found[f"{start}.{path}"] = referrals(t, g, h)[path]
    found |= domain_counts(need[there], named[there])
    return found


def referrals(truth: Any, given: Any, there: Any) -> dict[str, tuple[float | None, int]]:
    """Return labels added, over answered units, and missed, over all."""
    found: dict[str, tuple[float | None, int]] = {}
    added, missed = ((given == 1) & (truth == 0))[there], (truth == 1) & (given == 0)
    for name, wrong, total in (("over", added, given[there].sum()), ("under", missed, truth.sum())):
        n = len(wrong)
        found[f"{name}_referral.mean_count"] = (float(wrong.sum()) / n if n else None), n
        found[f"{name}_referral.case_share"] = (float(wrong.any(axis=1).sum()) / n if n else None), n
        found[f"{name}_referral.label_share"] = (float(wrong.sum()) / float(total) if total else None), n
    return found


def domain_counts(need: Any, named: Any) -> dict[str, tuple[float | None, int]]:
    """Return how many domains answered units name beside how many they need."""
    found: dict[str, tuple[float | None, int]] = {}

    def block(start: str, a: Any, b: Any, *, matrix: bool) -> None:
        n = len(a)
        rows = {
            "predicted_mean": b,
            "absolute_error": abs(a - b),
            "share_exact": a == b,
            "share_over": b > a,
            "share_under": b < a,
        }
        if matrix or start == "domain_count":
            rows |= {f"predicted.{k}": np.minimum(b, 5) == k for k in range(5)}
            rows |= {"predicted.5+": b >= 5}
        for name, values in rows.items():
            found[f"{start}.{name}"] = (float(np.mean(values)) if n else None), n

    block("domain_count", need, named, matrix=False)
    found["domain_count.true_mean"] = (float(np.mean(need)) if len(need) else None), len(need)
    for k in range(6):
        inside = need >= 5 if k == 5 else need == k
        name = "5+" if k == 5 else str(k)
        block(f"domain_count.true.{name}", need[inside], named[inside], matrix=True)
    return found


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "conventions",
    [("0", "1"), ("1", "0"), ("skip-empty", "1")],
    ids=lambda pair: f"zero {pair[0]} empty {pair[1]}",
)
def test_every_value_of_every_row_is_sklearns(grouped: Path, conventions: tuple[str, str]) -> None:
    zero, empty = conventions
    options = ("--convention", f"zero_division={zero}", "--convention", f"case_f1_empty={empty}")
    run = rescored(grouped, "run", *options)
    for model in MODELS:
        for condition in CONDITIONS:
            row = run.row(model, condition)
            for reading in ("as_answered", "valid_only"):
                by_repeat = [
                    metrics(
                        scored_units(run.units(model, condition), k, valid_only=reading == "valid_only"),
                        zero,
                        float(empty),
                    )
                    for k in (1, 2, 3)
                ]
                wrong, _ = values_differing(row[reading], averaged(by_repeat), 1e-12)
                assert not wrong, (model, condition, reading, len(wrong), wrong[:10])
                assert set(row[reading]) == set(by_repeat[0])


@pytest.mark.slow
def test_raters_and_baselines_are_scored_like_models(grouped: Path) -> None:
    run = rescored(grouped, "run")
    for rater in ("ann", "ben"):
        lines = (grouped / "data" / "raters" / f"{rater}.jsonl").read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        units = [Unit(int(row["id"][1:]), row["labels"]) for row in rows]
        row = run.row(rater, "both")
        wrong, _ = values_differing(row["as_answered"], metrics(units), 1e-12)
        assert not wrong, (rater, wrong[:10])
        assert row["n_cases"] == len(rows)
    nobody = [Unit(number, ()) for number in range(CASES)]
    for condition in CONDITIONS:
        wrong, _ = values_differing(run.row("nothing", condition)["as_answered"], metrics(nobody), 1e-12)
        assert not wrong, wrong[:10]


@pytest.mark.slow
def test_guesses_by_prevalence_are_the_mean_of_the_documented_draws(single: Path) -> None:
    """1,000 draws of PCG64 with seed 13060, by draw, case (by id) and label; expectations beside them."""
    found = rescored(single, "run").row("prevalence", "both")["as_answered"]
    truth = np.array([Unit(number, ()).truth for number in range(CASES)])
    share = truth.mean(axis=0)
    stream = np.random.Generator(np.random.PCG64(13060))
    drawn = np.stack([(stream.random(truth.shape) < share).astype(int) for _ in range(1000)])
    both, total = (truth & drawn).sum(axis=2), truth.sum(axis=1) + drawn.sum(axis=2)
    f1 = np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)
    exact = (truth == drawn).all(axis=2)
    expected = {"case_f1": f1.mean()}
    for name, t, g in (("fine", truth, drawn), ("coarse", coarse(truth), coarse(drawn))):
        tp, fp, fn = (t & g).sum(axis=1), ((1 - t) & g).sum(axis=1), (t & (1 - g)).sum(axis=1)
        by_label = np.where(2 * tp + fp + fn > 0, 2 * tp / np.maximum(2 * tp + fp + fn, 1), 0)
        recall = np.where(tp + fn > 0, tp / np.maximum(tp + fn, 1), 0)
        expected |= {f"{name}.macro_f1": by_label.mean(), f"{name}.macro_recall": recall.mean()}
        a, b, c = (one.sum(axis=1) for one in (tp, fp, fn))
        expected[f"{name}.micro_f1"] = (2 * a / (2 * a + b + c)).mean()
        expected[f"{name}.exact_match"] = (t == g).all(axis=2).mean()
        if name == "fine":
            for way, wrong, of in (("over", b, a + b), ("under", c, a + c)):
                expected[f"{way}_referral.mean_count"] = wrong.mean() / CASES
                expected[f"{way}_referral.label_share"] = (wrong / of).mean()
    need, named = coarse(truth).sum(axis=1), coarse(drawn).sum(axis=2)
    for k in range(1, 5):
        expected[f"by_domains.{k}.case_f1"] = f1[:, need == k].mean()
        expected[f"by_domains.{k}.fine.exact_match"] = exact[:, need == k].mean()
        expected[f"domain_count.true.{k}.predicted_mean"] = named[:, need == k].mean()
        expected[f"domain_count.predicted.{k}"] = (named == k).mean()
    for path, value in expected.items():
        assert found[path]["value"] == pytest.approx(value, abs=1e-12), path
    spread = ((truth == drawn).all(axis=2).mean(axis=1)).std() / math.sqrt(1000)
    closed = np.where(truth == 1, share, 1 - share).prod(axis=1).mean()
    assert abs(found["fine.exact_match"]["value"] - closed) < 4.5 * spread
    spread = (named * 0 + ((1 - truth) & drawn).sum(axis=2)).mean(axis=1).std() / math.sqrt(1000)
    closed = ((1 - truth) * share).sum(axis=1).mean()
    assert abs(found["over_referral.mean_count"]["value"] - closed) < 4.5 * spread


# -- ablation --------------------------------------------------------------------------------------


def gains(
    run: Recomputed, model: str, repeat: int, *, valid_only: bool
) -> dict[str, tuple[float | None, int]]:
    """Return every path of the row `ablation`, in fractions so that .6 - .5 is .1."""
    by = {
        condition: {
            unit.number: unit
            for unit in scored_units(run.units(model, condition), repeat, valid_only=valid_only)
        }
        for condition in CONDITIONS
    }
    found: dict[str, tuple[float | None, int]] = {}
    for name, without in (
        ("opg", ("complaint",)),
        ("complaint", ("opg",)),
        ("over_better", ("complaint", "opg")),
    ):
        parts = [by["both"], *(by[one] for one in without)]
        numbers = sorted(set.intersection(*map(set, parts)))
        anywhere = set.union(*map(set, parts))
        with_it = [fraction_f1(by["both"][k]) for k in numbers]
        lack = [max(fraction_f1(by[one][k]) for one in without) for k in numbers]
        gain = [a - b for a, b in zip(with_it, lack, strict=True)]
        bad = [any(part[k].given is None for part in parts) for k in numbers]
        n = len(numbers)

        def share(values: Sequence[bool], n: int = n) -> tuple[float | None, int]:
            return (sum(values) / n if n else None), n

        def mean(values: Sequence[Fraction], n: int = n) -> tuple[float | None, int]:
            return (float(sum(values, Fraction(0)) / n) if n else None), n

        start = f"gain.{name}"
        found[f"{start}.mean"] = mean(gain)
        found[f"{start}.share_positive"] = share([g > 0 for g in gain])
        found[f"{start}.share_above_0.1"] = share([g > Fraction(1, 10) for g in gain])
        found[f"{start}.share_above_0.2"] = share([g > Fraction(1, 5) for g in gain])
        found[f"{start}.share_negative"] = share([g < 0 for g in gain])
        found[f"{start}.case_f1"] = mean(with_it)
        found[f"{start}.case_f1_without"] = mean(lack)
        found[f"{start}.unusable_share"] = share(bad)
        found[f"{start}.unpaired"] = float(len(anywhere) - n), len(anywhere)
    return found


def fraction_f1(unit: Unit) -> Fraction:
    """Return the case F1 of a unit as a fraction."""
    if unit.given is None:
        return Fraction(0)
    both = int(unit.truth.sum() + unit.given.sum())
    return Fraction(2 * int((unit.truth & unit.given).sum()), both) if both else Fraction(1)


@pytest.mark.slow
def test_the_ablation_is_counted_in_fractions(grouped: Path) -> None:
    run = rescored(grouped, "run")
    for model in MODELS:
        row = run.row(model, "ablation")
        for reading in ("as_answered", "valid_only"):
            by_repeat = [gains(run, model, k, valid_only=reading == "valid_only") for k in (1, 2, 3)]
            wrong, _ = values_differing(row[reading], averaged(by_repeat), 1e-12)
            assert not wrong, (model, reading, wrong[:10])
            assert set(row[reading]) == set(by_repeat[0])


# -- intervals -------------------------------------------------------------------------------------


def summands(unit: Unit) -> list[float]:
    """Return what one unit adds: tp, fp, fn of 22 and 8 labels, by bin of needed domains too, and counts."""
    none = np.zeros(len(LABELS), dtype=int)
    given = none if unit.given is None else unit.given
    there = float(unit.given is not None)
    row: list[float] = [1.0, there]
    for t, g in ((unit.truth, given), (coarse(unit.truth), coarse(given))):
        row += [*(t & g), *((1 - t) & g), *(t & (1 - g)), float(there and (t == g).all())]
    need, named = int(coarse(unit.truth).sum()), int(coarse(given).sum())
    added, missed = int(((1 - unit.truth) & given).sum()), int((unit.truth & (1 - given)).sum())
    hit = int((unit.truth & given).sum())
    tail = [case_f1(unit), float(added > 0), float(missed > 0)]
    row += tail
    for k in range(1, 6):
        inside = need >= 5 if k == 5 else need == k
        exact = float(there and (unit.truth == given).all())
        block = [1.0, there, case_f1(unit), exact, hit, added, missed]
        row += [value if inside else 0.0 for value in block]
    for k in range(7):
        inside = there and (k == 6 or (need >= 5 if k == 5 else need == k))
        block = [1.0, need, named, abs(named - need), named == need, named > need, named < need]
        block += [min(named, 5) == j for j in range(6)]
        row += [float(value) if inside else 0.0 for value in block]
    return row


def of_sums(sums: Numbers) -> dict[str, Numbers]:
    """Return the metrics that have intervals, from sums in the order of `summands` (zero_division 0)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        at = 2
        n, answered = sums[..., 0], sums[..., 1]
        found: dict[str, Numbers] = {}
        counts = {}
        for name, labels in (("fine", 22), ("coarse", 8)):
            tp, fp, fn = (sums[..., at + k * labels : at + (k + 1) * labels] for k in range(3))
            at += 3 * labels
            counts[name] = tp, fp, fn
            f1 = np.where(2 * tp + fp + fn > 0, 2 * tp / (2 * tp + fp + fn), 0)
            recall = np.where(tp + fn > 0, tp / (tp + fn), 0)
            a, b, c = (one.sum(axis=-1) for one in (tp, fp, fn))
            found[f"{name}.macro_f1"], found[f"{name}.macro_recall"] = f1.mean(axis=-1), recall.mean(axis=-1)
            # Of Poisson counts by the delta method, F1 being 2 tp / (2 tp + off).
            off = fp + fn
            spread = np.where(tp * off > 0, 4 * tp * off * (tp + off) / (2 * tp + off) ** 4, 0)
            found[f"{name}.macro_f1 error"] = np.sqrt(spread.sum(axis=-1)) / labels
            spread = np.where(tp * fn > 0, tp * fn / (tp + fn) ** 3, 0)
            found[f"{name}.macro_recall error"] = np.sqrt(spread.sum(axis=-1)) / labels
            found[f"{name}.micro_f1"] = np.where(2 * a + b + c > 0, 2 * a / (2 * a + b + c), 0)
            found[f"{name}.exact_match"] = sums[..., at] / n
            at += 1
            if name == "coarse":
                found |= {f"domain.{domain}.f1": f1[..., k] for k, domain in enumerate(DOMAINS)}
        tp, fp, fn = (one.sum(axis=-1) for one in counts["fine"])
        found["case_f1"] = sums[..., at] / n
        found["over_referral.mean_count"], found["under_referral.mean_count"] = fp / answered, fn / n
        found["over_referral.case_share"] = sums[..., at + 1] / answered
        found["under_referral.case_share"] = sums[..., at + 2] / n
        found["over_referral.label_share"] = fp / (fp + tp)
        found["under_referral.label_share"] = fn / (fn + tp)
        at += 3
        for k in range(1, 6):
            start = f"by_domains.{k}{'+' if k == 5 else ''}"
            m, h, f, e, hit, added, missed = (sums[..., at + j] for j in range(7))
            at += 7
            found[f"{start}.case_f1"], found[f"{start}.fine.exact_match"] = f / m, e / m
            total = 2 * hit + added + missed
            found[f"{start}.fine.micro_f1"] = np.where(m > 0, np.where(total > 0, 2 * hit / total, 0), np.nan)
            found[f"{start}.over_referral.mean_count"] = added / h
            found[f"{start}.under_referral.mean_count"] = missed / m
        for k in range(7):
            start = "domain_count" if k == 6 else f"domain_count.true.{k}{'+' if k == 5 else ''}"
            m = sums[..., at]
            names = (
                "true_mean",
                "predicted_mean",
                "absolute_error",
                "share_exact",
                "share_over",
                "share_under",
            )
            found |= {f"{start}.{name}": sums[..., at + 1 + j] / m for j, name in enumerate(names)}
            if k == 6:
                found |= {
                    f"{start}.predicted.{j}{'+' if j == 5 else ''}": sums[..., at + 7 + j] / m
                    for j in range(6)
                }
            at += 13
    return found


@pytest.mark.slow
def test_intervals_of_groups_with_their_repeats_are_efrons(grouped: Path) -> None:
    run = rescored(grouped, "run")
    lines = (grouped / "data" / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    groups = list(dict.fromkeys(case["group"] for case in cases if "group" in case))
    # Draws number cases without a group by their place, and then groups as they come.
    cluster = {
        case["id"]: f"1-{groups.index(case['group']):03}" if "group" in case else f"0-{place:03}"
        for place, case in enumerate(cases)
    }
    held = 0
    for model in ("noisy", "holes"):
        for reading in ("as_answered", "valid_only"):
            units = [
                (cluster[f"c{unit.number:03}"], k, summands(unit))
                for k in (1, 2, 3)
                for unit in scored_units(run.units(model, "both"), k, valid_only=reading == "valid_only")
            ]
            row = run.row(model, "both")[reading]
            wrong, more, furthest = intervals_differing(row, clustered(units, 3), of_sums, 2e-9)
            assert not wrong, (model, reading, len(wrong), more, furthest, wrong[:10])
            assert all(there.get("ci_method") != "clopper-pearson" for there in row.values())
            held += more
    assert held > 200


SHARES = {"exact_match", "case_share", "share_exact", "share_over", "share_under"}


@pytest.mark.slow
def test_intervals_of_single_cases_are_exact_for_shares_and_efrons_for_the_rest(single: Path) -> None:
    run = rescored(single, "run")
    held = exact = 0
    for model in ("noisy", "holes"):
        for reading in ("as_answered", "valid_only"):
            units = [
                (f"c{unit.number:03}", 1, summands(unit))
                for unit in scored_units(run.units(model, "both"), 1, valid_only=reading == "valid_only")
            ]
            row = run.row(model, "both")[reading]
            wrong, more, furthest = intervals_differing(row, clustered(units, 1), of_sums, 2e-9)
            assert not wrong, (model, reading, len(wrong), more, furthest, wrong[:10])
            held += more
            for path, there in row.items():
                if path.split(".")[-1] in SHARES and there["value"] is not None and there["ci"]:
                    assert there["ci_method"] == "clopper-pearson", (path, there)
                if there.get("ci_method") == "clopper-pearson":
                    count = round(there["value"] * there["n"])
                    assert count / there["n"] == pytest.approx(there["value"], abs=1e-12)
                    ends = binomtest(count, there["n"]).proportion_ci(method="exact")
                    assert there["ci"] == pytest.approx([ends.low, ends.high], abs=2e-9), path
                    exact += 1
    assert held > 60 and exact > 60


@pytest.mark.slow
def test_intervals_of_other_draws_agree_within_their_error(single: Path) -> None:
    """scipy's BCa of 9,999 resamples: ends within .35 standard errors (2,000 draws wobble by .1)."""
    run = rescored(single, "run")
    units = [
        (f"c{unit.number:03}", 1, summands(unit))
        for unit in scored_units(run.units("noisy", "both"), 1, valid_only=False)
    ]
    sums = clustered(units, 1)[:, 0]
    row = run.row("noisy", "both")["as_answered"]
    for path in ("fine.micro_f1", "case_f1", "over_referral.label_share", "under_referral.mean_count"):

        def value(index: Any, axis: int = -1, path: str = path) -> Any:
            return of_sums(sums[np.moveaxis(np.asarray(index), axis, -1)].sum(axis=-2))[path]

        found = bootstrap(
            (np.arange(len(sums)),), value, vectorized=True, n_resamples=9999, method="BCa", batch=500,
            rng=np.random.default_rng(2),
        )  # fmt: skip
        low, high = row[path]["ci"]
        error = float(found.standard_error)
        assert abs(found.confidence_interval.low - low) < 0.35 * error, path
        assert abs(found.confidence_interval.high - high) < 0.35 * error, path

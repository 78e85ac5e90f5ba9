"""Every number of `harness score` for PanDent's 21 questions and their pool, by sets and loops.

Tolerances: values 1e-12; BCa intervals on the documented draws 2e-9, Clopper-Pearson (scipy) 2e-9: both are
printed to 1e-9.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from recomputed import (
    USABLE,
    Numbers,
    Recomputed,
    asked,
    averaged,
    clustered,
    intervals_differing,
    rescored,
    values_differing,
)
from recomputed_pandent import BINARY, KINDS, TEETH, case_lines, said, script, truth_of, write_pandent_cases
from scipy.stats import binomtest

from harness.benchmarks.pandent.findings import FINDINGS

CASES = 70
IDS = tuple(finding.id for finding in FINDINGS)
SOME = ("caries", "bridge", "gcbl_maxilla")

Pair: TypeAlias = tuple[Any, Any]
"""What is right and what was said: true or false, or a set of teeth; said None is unusable."""
Row: TypeAlias = dict[str, tuple[float | None, int]]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, all 21 questions."""
    folder = tmp_path_factory.mktemp("single")
    write_pandent_cases(folder / "data", CASES, groups=False)
    conditions = ",".join(f"attribute:{finding}" for finding in IDS)
    return asked(folder, "pandent", script, ("one", "two"), "--conditions", conditions, "--name", "run")


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three questions, three repeats, cases of the same patients."""
    folder = tmp_path_factory.mktemp("grouped")
    write_pandent_cases(folder / "data", CASES, groups=True)
    conditions = ",".join(f"attribute:{finding}" for finding in SOME)
    return asked(
        folder, "pandent", script, ("one",), "--conditions", conditions, "--repeats", "3", "--name", "run"
    )


def value_of(prediction: Any) -> Any:
    """Return an exported prediction as it is compared."""
    return prediction if isinstance(prediction, bool) else frozenset(prediction)


def pairs_of(
    records: Sequence[Mapping[str, Any]], finding: str, repeat: int, *, valid_only: bool
) -> list[Pair]:
    """Return the pairs of a row that enter a reading: nobody's look is no reference."""
    found = []
    for record in records:
        usable = record["outcome"] in USABLE
        truth = truth_of(int(record["case_id"][1:]), finding)
        if record["repeat"] != repeat or truth is None or (valid_only and not usable):
            continue
        found.append((truth, value_of(record["prediction"]) if usable else None))
    return found


def share(right: float, of: float) -> float | None:
    """Return a quotient, None of nothing."""
    return right / of if of else None


def f1(hit: float, named: float, true: float) -> float | None:
    """Return 2 tp / (named + true)."""
    return share(2 * hit, named + true)


def metrics(pairs: Sequence[Pair], kind: str) -> Row:
    """Return the paths of one question's row."""
    n = len(pairs)
    right = [said == truth for truth, said in pairs]
    positive = [bool(truth) for truth, _ in pairs]
    found: Row = {"exact_match": (share(sum(right), n), n)}
    for name, wanted in (("positives", True), ("negatives", False)):
        some = [hit for hit, is_there in zip(right, positive, strict=True) if is_there is wanted]
        found[f"{name}.exact_match"] = share(sum(some), len(some)), len(some)
    hit, named, true = (sum(one) for one in zip((0, 0, 0), *map(counts, pairs), strict=True))
    found[f"{kind}.precision"], found[f"{kind}.recall"] = (share(hit, named), n), (share(hit, true), n)
    found[f"{kind}.f1"] = f1(hit, named, true), n
    return found


def counts(pair: Pair) -> tuple[int, int, int]:
    """Return of teeth, or of yes: right ones, named ones, true ones."""
    truth, given = pair
    if isinstance(truth, bool):
        return int(truth and given is True), int(given is True), int(truth)
    return len(truth & (given or frozenset())), len(given or ()), len(truth)


def pooled(by_finding: Mapping[str, Sequence[Pair]]) -> Row:
    """Return the paths of the pool's row."""
    found: Row = {}
    rates = {}
    for finding, pairs in by_finding.items():
        rates[finding] = metrics(pairs, kind_of(finding))["exact_match"]
        found[f"exact_match.{finding}"] = rates[finding]
    values = [value for value, _ in rates.values() if value is not None]
    mean = math.fsum(values) / len(values) if len(values) == len(rates) else None
    found["exact_match.mean"] = mean, min(n for _, n in rates.values())
    for kind in ("tooth", "yes"):
        some = [pair for name, pairs in by_finding.items() if kind_of(name) == kind for pair in pairs]
        if any(kind_of(name) == kind for name in by_finding):
            found |= {path: one for path, one in metrics(some, kind).items() if path.startswith(kind)}
    everything = metrics([pair for pairs in by_finding.values() for pair in pairs], "any")
    return found | {path: everything[path] for path in ("positives.exact_match", "negatives.exact_match")}


def kind_of(finding: str) -> str:
    """Return what the answers about a finding are made of."""
    return "yes" if finding in BINARY else "tooth"


def by_finding(
    run: Recomputed, model: str, repeat: int, *, valid_only: bool, findings: Sequence[str] = IDS
) -> dict[str, list[Pair]]:
    """Return the pairs of all questions."""
    return {
        finding: pairs_of(run.units(model, f"attribute:{finding}"), finding, repeat, valid_only=valid_only)
        for finding in findings
    }


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_predictions_are_what_was_said(single: Path) -> None:
    for record in rescored(single, "run").records:
        finding = record["condition"].removeprefix("attribute:")
        told = said(record["model"], int(record["case_id"][1:]), finding, 1)
        if isinstance(told, str):
            assert record["outcome"] == (told if told in KINDS else "unparsable")
        else:
            assert record["outcome"] == "valid" and value_of(record["prediction"]) == told


@pytest.mark.slow
def test_every_value_of_21_questions_and_their_pool_is_that_of_sets(single: Path) -> None:
    run = rescored(single, "run")
    for model in ("one", "two"):
        for reading in ("as_answered", "valid_only"):
            pairs = by_finding(run, model, 1, valid_only=reading == "valid_only")
            rows = {f"attribute:{name}": metrics(some, kind_of(name)) for name, some in pairs.items()}
            for condition, expected in {**rows, "attributes": pooled(pairs)}.items():
                row = run.row(model, condition)[reading]
                wrong, _ = values_differing(row, expected, 1e-12)
                assert not wrong, (condition, reading, wrong[:10])
                assert set(row) == set(expected)


@pytest.mark.slow
def test_repeats_are_averaged_one_by_one(grouped: Path) -> None:
    run = rescored(grouped, "run")
    for reading in ("as_answered", "valid_only"):
        by_repeat = [
            by_finding(run, "one", k, valid_only=reading == "valid_only", findings=SOME) for k in (1, 2, 3)
        ]
        for name in SOME:
            expected = averaged([metrics(pairs[name], kind_of(name)) for pairs in by_repeat])
            wrong, _ = values_differing(run.row("one", f"attribute:{name}")[reading], expected, 1e-12)
            assert not wrong, wrong
        wrong, _ = values_differing(
            run.row("one", "attributes")[reading], averaged([pooled(pairs) for pairs in by_repeat]), 1e-12
        )
        assert not wrong, wrong


# -- baselines -------------------------------------------------------------------------------------


def usual(values: Sequence[Any]) -> Any:
    """Return the usual value as `fixed template` reports it: see `constant_reports.usual_value`."""
    positive = [value for value in values if value]
    if isinstance(values[0], bool):
        return 2 * len(positive) > len(values)
    if 2 * len(positive) <= len(values):
        return frozenset()
    often = Counter(tooth for value in positive for tooth in value)
    half = frozenset(tooth for tooth, count in often.items() if 2 * count >= len(positive))
    most = max(often.values())
    return half or frozenset({min(tooth for tooth, count in often.items() if count == most)})


def majority(values: Sequence[Any]) -> Any:
    """Return the most frequent answer; of several the one with the least code."""

    def code(value: Any) -> int:
        return int(value) if isinstance(value, bool) else sum(1 << TEETH.index(tooth) for tooth in value)

    often = Counter(values)
    return min((value for value in often if often[value] == max(often.values())), key=code)


@pytest.mark.slow
def test_constant_baselines_are_scored_like_models(single: Path) -> None:
    run = rescored(single, "run")
    truths = {name: [truth_of(number, name) for number in range(CASES)] for name in IDS}
    truths = {name: [value for value in values if value is not None] for name, values in truths.items()}
    none = {name: False if name in BINARY else frozenset() for name in IDS}
    for baseline, says in (
        ("nothing", none),
        ("majority", {name: majority(values) for name, values in truths.items()}),
        ("fixed template", {name: usual(values) for name, values in truths.items() if name != "bridge"}),
    ):
        for name in says:
            expected = metrics([(truth, says[name]) for truth in truths[name]], kind_of(name))
            row = run.row(baseline, f"attribute:{name}")["as_answered"]
            wrong, _ = values_differing(row, expected, 1e-12)
            assert not wrong, (baseline, name, wrong)
        if len(says) == len(IDS):
            pairs = {name: [(truth, says[name]) for truth in truths[name]] for name in IDS}
            wrong, _ = values_differing(run.row(baseline, "attributes")["as_answered"], pooled(pairs), 1e-12)
            assert not wrong, (baseline, wrong)


@pytest.mark.slow
def test_guesses_by_prevalence_are_worth_their_expectation(single: Path) -> None:
    run = rescored(single, "run")
    total = Counter[str]()
    exact = []
    for name in IDS:
        truths = [truth_of(number, name) for number in range(CASES)]
        truths = [truth for truth in truths if truth is not None]
        keys: Sequence[Any] = (True,) if name in BINARY else TEETH
        table = np.array([[(t is True) if name in BINARY else key in t for key in keys] for t in truths])
        rate = table.mean(axis=0)
        right = np.where(table, rate, 1 - rate).prod(axis=1)
        positive = table.any(axis=1)
        hit, named, true = (table * rate).sum(), rate.sum() * len(table), table.sum()
        row = run.row("prevalence", f"attribute:{name}")["as_answered"]
        kind = kind_of(name)
        expected = {
            "exact_match": (float(right.mean()), len(table)),
            "positives.exact_match": (share(right[positive].sum(), positive.sum()), int(positive.sum())),
            "negatives.exact_match": (
                share(right[~positive].sum(), (~positive).sum()),
                int((~positive).sum()),
            ),
            f"{kind}.precision": (share(hit, named), len(table)),
            f"{kind}.recall": (share(hit, true), len(table)),
            f"{kind}.f1": (share(2 * hit, named + true), len(table)),
        }
        wrong, _ = values_differing(row, expected, 1e-12)
        assert not wrong, (name, wrong)
        exact.append(float(right.mean()))
        total.update({f"{kind} hit": hit, f"{kind} named": named, f"{kind} true": true})  # type: ignore[dict-item]
    row = run.row("prevalence", "attributes")["as_answered"]
    assert row["exact_match.mean"]["value"] == pytest.approx(math.fsum(exact) / 21, abs=1e-12)
    for kind in ("tooth", "yes"):
        f = 2 * total[f"{kind} hit"] / (total[f"{kind} named"] + total[f"{kind} true"])
        assert row[f"{kind}.f1"]["value"] == pytest.approx(f, abs=1e-12)


# -- intervals -------------------------------------------------------------------------------------


def summands(finding: str, place: int, places: int, pair: Pair) -> list[float]:
    """Return what a unit adds, in the block of its question: n, right, both of positives, teeth or yes."""
    right = float(pair[0] == pair[1])
    positive = float(bool(pair[0]))
    row = [0.0] * (7 * places)
    row[7 * place : 7 * place + 7] = [1.0, right, positive, right * positive, *map(float, counts(pair))]
    return row


def of_sums(sums: Numbers, findings: Sequence[str], *, pool: bool) -> dict[str, Numbers]:
    """Return the paths of a question's row, or of the pool's."""
    blocks = sums.reshape(*sums.shape[:-1], len(findings), 7)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: dict[str, Numbers] = {}
        by_question = blocks[..., 1] / blocks[..., 0]
        if pool:
            found |= {f"exact_match.{name}": by_question[..., k] for k, name in enumerate(findings)}
            found["exact_match.mean"] = by_question.mean(axis=-1)
        else:
            found["exact_match"] = by_question[..., 0]
        n, right, positive, both = (blocks[..., k].sum(axis=-1) for k in range(4))
        found["positives.exact_match"] = both / positive
        found["negatives.exact_match"] = (right - both) / (n - positive)
        for kind in ("tooth", "yes"):
            places = [k for k, name in enumerate(findings) if kind_of(name) == kind]
            hit, named, true = (blocks[..., places, k].sum(axis=-1) for k in (4, 5, 6))
            found[f"{kind}.precision"], found[f"{kind}.recall"] = hit / named, hit / true
            found[f"{kind}.f1"] = 2 * hit / (named + true)
        return found


def units_of(
    run: Recomputed, findings: Sequence[str], clusters: Mapping[str, str], repeats: int, *, valid_only: bool
) -> Numbers:
    """Return (clusters, repeats, sums); cases that enter no number of these questions take no part."""
    units = []
    for place, finding in enumerate(findings):
        for record in run.units("one", f"attribute:{finding}"):
            truth = truth_of(int(record["case_id"][1:]), finding)
            usable = record["outcome"] in USABLE
            if valid_only and not usable:
                continue
            row = [0.0] * (7 * len(findings))
            if truth is not None:
                given = value_of(record["prediction"]) if usable else None
                row = summands(finding, place, len(findings), (truth, given))
            units.append((clusters[record["case_id"]], record["repeat"], row))
    return clustered(units, repeats)


@pytest.mark.slow
def test_intervals_of_groups_with_their_repeats_are_efrons(grouped: Path) -> None:
    run = rescored(grouped, "run")
    cases = case_lines(grouped)
    groups = list(dict.fromkeys(case["group"] for case in cases if "group" in case))
    clusters = {
        case["id"]: f"1-{groups.index(case['group']):03}" if "group" in case else f"0-{place:03}"
        for place, case in enumerate(cases)
    }
    held = 0
    for reading in ("as_answered", "valid_only"):
        for condition, some in (*((f"attribute:{name}", (name,)) for name in SOME), ("attributes", SOME)):
            sums = units_of(run, some, clusters, 3, valid_only=reading == "valid_only")
            row = run.row("one", condition)[reading]

            def statistic(values: Numbers, some: Sequence[str] = some) -> dict[str, Numbers]:
                return of_sums(values, some, pool=len(some) > 1)

            wrong, more, _ = intervals_differing(row, sums, statistic, 2e-9)
            assert not wrong, (condition, reading, more, wrong)
            held += more
    assert held > 40


@pytest.mark.slow
def test_shares_of_single_cases_are_exact_and_the_rest_efrons(single: Path) -> None:
    run = rescored(single, "run")
    clusters = {case["id"]: case["id"] for case in case_lines(single)}
    held = exact = 0
    for reading in ("as_answered", "valid_only"):
        for condition, some in (*((f"attribute:{name}", (name,)) for name in IDS), ("attributes", IDS)):
            sums = units_of(run, some, clusters, 1, valid_only=reading == "valid_only")
            row = run.row("one", condition)[reading]

            def statistic(values: Numbers, some: Sequence[str] = some) -> dict[str, Numbers]:
                return of_sums(values, some, pool=len(some) > 1)

            wrong, more, _ = intervals_differing(row, sums, statistic, 2e-9)
            assert not wrong, (condition, reading, more, wrong)
            held += more
            for path, there in row.items():
                if there.get("ci_method") == "clopper-pearson":
                    count = round(there["value"] * there["n"])
                    ends = binomtest(count, there["n"]).proportion_ci(method="exact")
                    assert there["ci"] == pytest.approx([ends.low, ends.high], abs=2e-9), (condition, path)
                    exact += 1
    assert held > 100 and exact > 100

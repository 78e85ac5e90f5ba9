from __future__ import annotations

from typing import Any

import pytest

from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.benchmarks.triage.task import Triage
from harness.cli.score_table import render


def metric(value: float | None, n: int) -> dict[str, Any]:
    return {"value": value, "n": n, "ci": None, "reason": None if value is not None else "none"}


def row(name: str, value: float | None, **changes: Any) -> dict[str, Any]:
    n = changes.pop("n", 250)
    metrics = {
        path: metric(value, n)
        for path in (
            "fine.macro_f1", "fine.micro_f1", "fine.macro_recall", "fine.exact_match", "coarse.macro_f1",
            "over_referral.mean_count", "under_referral.mean_count",
        )
    }  # fmt: skip
    whole = {
        "model": name, "kind": "model", "condition": "both", "imported": False, "served_as": [], "rank": None,
        "rank_reason": None, "n_cases": n, "n_units": n, "outcomes": {"valid": n}, "incomplete": False,
        "to_complete": 0, "coverage": 1.0,
        "not_applicable": [], "not_rated": [], "as_answered": metrics, "valid_only": metrics,
    }  # fmt: skip
    return whole | changes


def score(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = {
        "benchmark": "triage",
        "run": {"name": "night", "digest": "0123456789abcdef"},
        "synthetic": False,
        "simulated": False,
        "imported": False,
        "intervals": {"level": 0.95, "resamples": 2000, "seed": 20050},
        "conventions": {}, "repeats": 1, "ranked_by": {"both": "fine.macro_f1"},
        "references": {"corrected": []},
        "case_errors": {},
        "gaps": [],
        "changed_since_run": {"units": 0, "steps": {}},
        "common_cases": {},
        "rows": list(rows),
    }
    return whole | changes


def line_with(text: str, part: str) -> str:
    return next(line for line in text.splitlines() if part in line)


def test_the_heading_says_what_the_numbers_are_not() -> None:
    text = render(score(row("a", 0.5), synthetic=True, simulated=True))
    assert "SYNTHETIC DATA - SIMULATED MODELS" in text.splitlines()[1]
    assert "SYNTHETIC" not in render(score(row("a", 0.5), simulated=True))
    assert "***" not in render(score(row("a", 0.5)))


def test_no_line_is_wider_than_eighty_columns() -> None:
    rows = [row(f"provider/model-with-a-long-name-{n}", n / 10, n=120_000, rank=n) for n in range(1, 4)]
    rows += [row("junior-1", 0.5, kind="rater", not_rated=[f"case-{n}" for n in range(50)])]
    for line in render(score(*rows, synthetic=True)).splitlines():
        assert len(line) <= 80


def test_models_stand_in_the_order_of_their_ranks_and_the_incomplete_below() -> None:
    text = render(
        score(row("third", 0.2, rank=3), row("broken", 0.9, incomplete=True, to_complete=7),
              row("first", 0.8, rank=1), row("second", 0.5, rank=2))
    )  # fmt: skip
    places = [text.index(f" {name} ") for name in ("first", "second", "third", "broken")]
    assert places == sorted(places)
    assert line_with(text, " broken ").startswith("  - ")
    assert "incomplete: resume to complete: 7 units" in text


def test_of_models_without_ranks_those_without_a_value_come_last() -> None:
    text = render(score(row("worse", -0.2), row("none", None), row("better", 0.1)))
    places = [text.index(f" {name} ") for name in ("better", "worse", "none")]
    assert places == sorted(places)


def test_raters_and_baselines_stand_below_a_rule_and_without_a_rank() -> None:
    others = row("junior", 0.9, kind="rater"), row("nothing", 0, kind="baseline")
    text = render(score(row("m", 0.5, rank=1), *others))
    lines = text.splitlines()
    rule = [place for place, line in enumerate(lines) if line.startswith("---")][1]
    assert lines[rule - 1].split()[:2] == ["1", "m"]
    assert lines[rule + 1].split() == ["raters:"]
    assert lines[rule + 2].split()[:2] == ["junior", "250"]
    assert lines[rule + 3].split() == ["baselines:"]
    assert lines[rule + 4].split()[:2] == ["nothing", "250"]


def test_every_number_has_its_n() -> None:  # F12 F19
    one = row("m", 0.5, rank=1)
    one["as_answered"]["over_referral.mean_count"] = metric(1.5, 240)
    text = render(score(one))
    assert line_with(text, "  1 m").split()[2] == "250"
    assert "m: over/case n=240" in text


def test_a_value_that_is_missing_is_a_dash_and_no_zero() -> None:
    assert line_with(render(score(row("m", None, rank=1))), "  1 m").split()[4:] == ["-"] * 7


def test_incomplete_coverage_is_never_rounded_to_a_hundred() -> None:
    text = render(score(row("m", 0.5, rank=1, coverage=0.99996), row("k", 0.5, rank=1)))
    assert line_with(text, "  1 m").split()[3] == "99.9"
    assert line_with(text, "  1 k").split()[3] == "100"


def test_the_valid_only_reading_has_its_own_table() -> None:
    one = row("m", 0.5, rank=1)
    one["valid_only"] = {path: metric(0.75, 200) for path in one["as_answered"]}
    below = render(score(one)).split("valid answers only")[1]
    assert line_with(below, " m ").split() == ["m", "200", "100", "0.750", "-", *["0.750"] * 4, "0.75"]


def test_outcomes_are_counted_for_each_model() -> None:
    one = row("m", 0.5, rank=1, outcomes={"refused": 2, "valid": 248})
    assert "  m: refused 2, valid 248 (of 250)" in render(score(one))


def test_left_out_cases_and_gaps_and_changes_are_said() -> None:
    text = render(
        score(
            row("m", 0.5, rank=1, not_applicable=["c1"]),
            case_errors={"both": ["c9"]},
            gaps=[{"case_id": "c2"}],
            changed_since_run={"units": 3, "steps": {"unparsable -> valid": 3}},
            references={"corrected": ["c5"]},
            common_cases={
                "both": {
                    "metric": "fine.macro_f1", "n_cases": 249,
                    "rows": [{"model": "m", "value": 0.5, "n": 249, "rank": 1}],
                }
            },
        )
    )  # fmt: skip
    assert "left out for all models (case_error): 1: c9" in text
    assert "m: not applicable: 1: c1" in text
    assert "1 gap:" in text
    assert "read differently than in the run: 3 units (unparsable -> valid: 3)" in text
    assert "references of 1 case were corrected" in text
    assert "fine.macro_f1 on the 249 common cases" in text


def test_a_name_cannot_reach_the_terminal_with_an_escape_sequence() -> None:
    assert "\x1b" not in render(score(row("evil\x1b[2Jname", 0.5, rank=1, not_applicable=["\x1b[31m"])))


class Other(Triage):
    """A benchmark of its own, as far as a table can tell."""

    def table(self, condition: str) -> ScoreTable:
        if condition == "unseen":
            return ScoreTable((), "bleu.four")
        columns = (MetricColumn("bleu.four", ("BLEU", "4"), 1),)
        return ScoreTable(
            (), "bleu.four", columns, "BLEU: overlap of words", {"echo": "repeats the question"}
        )


def test_a_benchmark_brings_its_columns_and_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("score_table", "score_notes"):
        monkeypatch.setattr(f"harness.cli.{module}.get_benchmark", lambda name: Other())
    rows = row("m", 0.5, rank=1), row("echo", 0.1, kind="baseline")
    for one in rows:
        one["as_answered"] = one["valid_only"] = {"bleu.four": metric(0.25, 250) | {"ci": [-0.125, 0.5]}}
    unseen = rows[0] | {"condition": "unseen", "model": "hidden"}
    text = render(score(*rows, unseen, benchmark="other"))
    assert line_with(text, "  1 m").split()[4:] == ["0.2", "-0.1,0.5"]
    assert "hidden" not in text and "in the JSON only: unseen" in text
    assert "BLEU: overlap of words" in text and "echo: repeats the question" in text


def test_baselines_that_stand_in_the_table_are_explained_and_no_others() -> None:
    text = " ".join(render(score(row("m", 0.5), row("prevalence", 0.2, kind="baseline"))).split())
    assert "prevalence: guesses each label" in text and "it uses the references" in text
    assert "refers no one" not in text


def ablated(name: str, gain: float, low: float, high: float) -> dict[str, Any]:
    found = row(name, None, condition="ablation")
    metrics = {f"gain.opg.{path}": metric(gain, 250) for path in ("mean", "share_above_0.1")}
    metrics["gain.opg.mean"]["ci"] = [low, high]
    return found | {"as_answered": metrics, "valid_only": metrics}


def test_negative_numbers_and_their_intervals_keep_their_gaps() -> None:
    text = render(score(ablated("m", -0.009, -0.165, -0.119), ablated("long-model-name", 0.5, 0.1, 0.9)))
    assert line_with(text, " m ").split() == ["-", "m", "250", "100", "-0.009", "-0.165,-0.119", "-0.009"]
    assert len({len(line) for line in text.splitlines() if line.startswith("----")}) == 1
    assert max(map(len, text.splitlines())) <= 80


def test_zero_has_no_sign() -> None:
    text = render(score(ablated("m", -0.0002, -0.0003, 0.0)))
    assert line_with(text, " m ").split() == ["-", "m", "250", "100", "0.000", "0.000-0.000", "0.000"]


def test_a_column_of_a_condition_that_was_not_asked_is_not_there() -> None:
    text = render(score(ablated("m", 0.2, 0.1, 0.3)))
    assert "+opg" in text.split("ablation: valid")[0]
    assert "+compl" not in text.split("gain: mean;")[0].split("ablation: case F1")[0]


def test_where_both_readings_are_one_there_is_one_table() -> None:
    verdicts = {"failure.any.case_share": metric(0.25, 240)}
    judged = row("m", None) | {"as_answered": verdicts, "valid_only": verdicts}
    source = {"source": "0123456789abcdef", "not_shown": [], "answers_changed": 0}
    step = {"kind": "judge", "model": "j", **source}
    text = render(score(judged, benchmark="triage.judge", step=step))
    assert "both: judged (an answer without a verdict is in no number)" in text
    assert "worst value" not in text and "valid answers only" not in text
    assert line_with(text, " m ").split() == ["-", "m", "240", "100", "0.250", "-"]


def test_agreement_with_people_is_told_by_dimension() -> None:
    def said(value: float | None) -> dict[str, Any]:
        return metric(value, 60)

    dimension = {
        "n": 60, "confusion": {"tp": 0, "fp": 0, "fn": 0, "tn": 60}, "accuracy": said(1.0),
        "kappa": said(None), "note": "agreement is about absence",
    }  # fmt: skip
    found = {
        "n_graded": 62, "not_judged": 2, "dimensions": {"D1_Neglect": dimension},
        "mean_accuracy": said(0.953) | {"ci": [0.91, 0.98]},
    }  # fmt: skip
    text = render(score(row("m", 0.5, rank=1), agreement={"raters": {"ann": found}}))
    assert "agreement with ann: mean accuracy 0.953 (95% CI 0.910-0.980), n=60 of 62" in text
    assert "  D1_Neglect: 1.000, kappa undefined; tp 0, fp 0, fn 0, tn 60 (agreement is" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_to_be_said_of_several_rows_is_said_once() -> None:
    rows = [row(name, 0.5, rank=1) for name in ("a", "b", "c")]
    for one in rows:
        one["as_answered"]["over_referral.mean_count"] = metric(1.5, 240)
    text = render(score(*rows))
    assert text.count("  all: over/case n=240") == text.count("n=240") == 2  # in both readings
    rows[2]["as_answered"]["over_referral.mean_count"] = metric(1.5, 230)
    text = render(score(*rows))
    assert "  a, b: over/case n=240" in text and "  c: over/case n=230" in text


def test_a_baseline_that_is_another_in_another_table_is_told_for_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Both(Other):
        def table(self, condition: str) -> ScoreTable:
            note = {"echo": f"repeats the {condition}"}
            return ScoreTable((), "bleu.four", (MetricColumn("bleu.four", ("BLEU", "4")),), "", note)

    for module in ("score_table", "score_notes"):
        monkeypatch.setattr(f"harness.cli.{module}.get_benchmark", lambda name: Both())
    one = row("echo", 0.1, kind="baseline")
    text = render(score(one, one | {"condition": "opg"}, benchmark="other"))
    assert "echo (both): repeats the both" in text and "echo (opg): repeats the opg" in text


def test_a_column_without_any_value_says_why() -> None:
    rows = [row("a", 0.5, rank=1), row("b", 0.25, rank=2)]
    for one in rows:
        one["as_answered"]["fine.micro_f1"] = metric(None, 250) | {"reason": "it needs Java"}
    rows[0]["as_answered"]["fine.macro_recall"] = metric(None, 250)
    text = render(score(*rows))
    assert "  fine miF1: no value: it needs Java" in text and text.count("no value") == 1


def test_the_first_column_says_for_which_models_it_has_no_value() -> None:
    rows = [row("a", 0.5, rank=1), row("b", None), row("c", None)]
    for one, reason in zip(rows[1:], ("3 of 9 are not graded", "9 of 9 are not graded"), strict=True):
        for path in one["as_answered"]:
            one["as_answered"][path] = metric(None, 250) | {"reason": reason}
    text = render(score(*rows))
    assert "  b: fine maF1: no value: 3 of 9 are not graded" in text
    assert "  c: fine maF1: no value: 9 of 9 are not graded" in text
    assert text.count("no value") == 2


def test_a_tiny_p_is_not_printed_as_0_and_a_verdict_is_a_word() -> None:
    def control(name: str, p: float, adjusted: float) -> dict[str, Any]:
        metrics = {
            "mean_difference": metric(-0.19, 360),
            "wilcoxon.p": metric(p, 360),
            "wilcoxon.p_adjusted": metric(adjusted, 360),
            "wilcoxon.significant": metric(float(adjusted <= 0.05), 360),
        }
        return row(name, None, condition="languages") | {"as_answered": metrics, "valid_only": metrics}

    text = render(score(control("o3", 0.0, 0.00099), control("llama", 0.001, 0.38), benchmark="radm"))
    assert line_with(text, " o3 ").split()[-3:] == ["<0.001", "<0.001", "signif."]
    assert line_with(text, " llama ").split()[-3:] == ["0.001", "0.380", "n.s."]
    assert "n.s.: not significant" in " ".join(text.split())

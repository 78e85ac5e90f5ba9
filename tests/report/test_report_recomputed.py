"""Numbers of a report from raw exchanges alone: bodies as they arrived, case files, other people's formulas.

Nothing here imports `harness.scoring`, a benchmark's scores, or `harness.offline`: labels are the JSON keys
of the answer, read here by `json` alone.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sklearn.metrics import f1_score
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    labels_of,
    records,
    run_args,
    write_cases,
    write_config,
)

from harness.benchmarks.triage.taxonomy import DOMAINS, LABELS
from harness.cache.store import Store
from harness.report.building import build_report
from harness.report.document import Report, Section, Table

CASES = 60
MODELS = ("alpha", "beta")
PRICE = {"input": 3.0, "output": 15.0}


def said_by(model: str, number: int) -> list[str]:
    """Return the labels that a model gives: some of the case's, some others."""
    true = labels_of(number)
    if model == "alpha":
        return true if number % 3 else sorted({*true[:-1], sorted(LABELS)[number % 22]})
    return sorted({*true[:1], sorted(LABELS)[(7 * number) % 22]})


def script(arrival: Arrival) -> Reply:
    number, model = case_number(arrival), arrival.json["model"]
    usage = (1000 + number, 50 + number)
    if model == "beta" and number % 10 < 2:  # prose, however often it is asked
        return chat_reply("I see a tooth.", usage=usage)
    return chat_reply(answer_text(said_by(model, number)), usage=usage, model=model)


@dataclass(frozen=True)
class Reported:
    """A report, and all that its store exports of the same run."""

    report: Report
    records: Sequence[Mapping[str, Any]]

    def cell(self, table_id: str, name: str, column: str) -> Any:
        """Return one cell of a table."""
        table = next(one for one in self.tables(self.report.sections) if one.id == table_id)
        place = [one.id for one in table.columns].index(column)
        return next(row for row in table.rows if row.name == name).cells[place]

    def tables(self, sections: Sequence[Section]) -> Iterator[Table]:
        for section in sections:
            yield from (part for part in section.parts if isinstance(part, Table))
            yield from self.tables(section.sections)

    def bodies(self, model: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the case and the body of each answer of a model, as they came over the wire."""
        for record in self.records:
            if record["model"] == model:
                yield from ((record["case_id"], json.loads(one["body"])) for one in record["exchanges"])

    def given(self, model: str) -> Mapping[str, set[str]]:
        """Return case -> the labels of the first body that holds an answer; without any, no entry."""
        found: dict[str, set[str]] = {}
        for case, body in self.bodies(model):
            try:
                answer = json.loads(body["choices"][0]["message"]["content"])
            except ValueError:
                continue
            marked = {
                label
                for labels in answer["triage_output"].values()
                for label, value in labels.items()
                if value == 1
            }
            found.setdefault(case, marked)
        return found


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp("reported")
    write_cases(folder / "data", CASES)
    with ScriptedServer(script) as server:
        write_config(folder, server.url, MODELS)
        config = folder / "harness.toml"
        rates = f"price = {{ input = {PRICE['input']}, output = {PRICE['output']} }}"
        text = config.read_text(encoding="utf-8").replace('provider = "lab"', f'provider = "lab"\n{rates}')
        config.write_text(text, encoding="utf-8")
        done = harness(*run_args(folder, "--name", "night", models=",".join(MODELS)))
    assert done.code == 0, done.err
    return Reported(asyncio.run(_report(folder)), records(folder, raw=True))


async def _report(folder: Path) -> Report:
    async with await Store.open(str(folder / "store.sqlite3"), create=False) as store:
        return await build_report(store, [await store.find_run("night")])


def matrices(reported: Reported, model: str, names: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return truth and answers as (cases, labels); a case without an answer missed all its labels."""
    given = reported.given(model)
    truth = np.zeros((CASES, len(names)), dtype=int)
    said = np.zeros_like(truth)
    for number in range(CASES):
        truth[number] = [name in labels_of(number) for name in names]
        said[number] = [name in given.get(f"c{number:03}", set()) for name in names]
    return truth, said


@pytest.mark.parametrize("model", MODELS)
def test_scores_are_those_of_the_raw_bodies(reported: Reported, model: str) -> None:
    truth, said = matrices(reported, model, sorted(LABELS))
    answered = np.array([f"c{number:03}" in reported.given(model) for number in range(CASES)])
    right = (truth == said).all(axis=1) & answered
    expected = {
        "fine.macro_f1": f1_score(truth, said, average="macro", zero_division=0),
        "fine.micro_f1": f1_score(truth, said, average="micro", zero_division=0),
        "fine.exact_match": right.mean(),
        "under_referral.mean_count": (truth & ~said & 1).sum(axis=1).mean(),
        "over_referral.mean_count": (said & ~truth & 1)[answered].sum(axis=1).mean(),
    }
    for path, value in expected.items():
        cell = reported.cell("night-both", model, path)
        assert cell.value == pytest.approx(value, abs=1e-12), path
        assert float(cell.text) == pytest.approx(value, abs=0.051), path
        assert cell.n == (answered.sum() if path.startswith("over") else CASES), path


@pytest.mark.parametrize("model", MODELS)
def test_domains_are_those_of_the_raw_bodies(reported: Reported, model: str) -> None:
    truth, said = matrices(reported, model, sorted(LABELS))
    names = sorted(LABELS)
    for domain, labels in DOMAINS.items():
        places = [names.index(label) for label in labels]
        value = f1_score(truth[:, places].any(axis=1), said[:, places].any(axis=1), zero_division=0)
        cell = reported.cell("night-both-domains", model, f"domain.{domain}.f1")
        assert cell.value == pytest.approx(value, abs=1e-12)


def test_an_interval_of_a_share_is_clopper_pearson_s(reported: Reported) -> None:
    truth, said = matrices(reported, "alpha", sorted(LABELS))
    found = binomtest(int((truth == said).all(axis=1).sum()), CASES).proportion_ci(method="exact")
    cell = reported.cell("night-both", "alpha", "fine.exact_match")
    assert (cell.low, cell.high) == pytest.approx((found.low, found.high), abs=2e-9)


def test_unusable_answers_attempts_tokens_and_costs_are_those_of_the_raw_bodies(reported: Reported) -> None:
    bodies = [body for _, body in reported.bodies("beta")]
    given = reported.given("beta")
    assert len(bodies) == CASES + 2 * (CASES - len(given))  # three attempts each
    read, written = (
        sum(body["usage"][key] for body in bodies) for key in ("prompt_tokens", "completion_tokens")
    )
    assert reported.cell("night-both-outcomes", "beta", "unparsable").value == CASES - len(given) == 12
    assert reported.cell("night-both-outcomes", "beta", "unusable.share").text == "20.0 %"
    assert reported.cell("night-both-stages", "beta", "attempt-1").value == len(given)
    assert reported.cell("night-sends", "beta", "sends").value == len(bodies)
    assert reported.cell("night-tokens", "beta", "input_tokens").value == read
    assert reported.cell("night-tokens", "beta", "output_tokens").value == written
    usd = (read * PRICE["input"] + written * PRICE["output"]) / 1e6
    assert reported.cell("night-costs", "beta", "evidence_cost_usd").value == pytest.approx(usd, rel=1e-12)
    per_units = reported.cell("night-both-cost-score", "beta", "per_1000_units_usd")
    assert per_units.value == pytest.approx(usd / CASES * 1000, rel=1e-12)


def test_seconds_are_those_of_the_exchanges(reported: Reported) -> None:
    taken = [
        one["latency_s"]
        for record in reported.records
        if record["model"] == "alpha"
        for one in record["exchanges"]
    ]
    cells = {
        key: reported.cell("night-latency", "alpha", f"latency_s.{key}") for key in ("mean", "p50", "max")
    }
    assert cells["mean"].value == pytest.approx(statistics.fmean(taken), rel=1e-9)
    assert cells["p50"].value == pytest.approx(statistics.median(taken), rel=1e-9)
    assert (cells["max"].value, cells["mean"].n) == (max(taken), CASES)


def test_the_difference_of_two_models_is_that_of_their_scores(reported: Reported) -> None:
    values = {
        model: f1_score(*matrices(reported, model, sorted(LABELS)), average="macro", zero_division=0)
        for model in MODELS
    }
    cell = reported.cell("triage-both-differences-fine-macro-f1", "alpha - beta", "fine.macro_f1.difference")
    assert cell.value == pytest.approx(values["alpha"] - values["beta"], abs=1e-9)
    assert cell.n == CASES
    assert reported.cell("night-both", "alpha", "rank").text == "1"
    row_notes = next(
        row.notes for table in reported.tables(reported.report.sections) if table.id == "night-both"
        for row in table.rows if row.name == "beta"
    )  # fmt: skip
    assert any("12 of 60 answers (20.0 %) are unusable (unparsable 12)" in note for note in row_notes)

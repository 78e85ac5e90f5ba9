"""Every number of `harness score` for the triage judge, counted from the export of its step.

Tolerances: values 1e-12, BCa intervals on the documented draws 2e-9.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recomputed import USABLE, Numbers, asked, chance, clustered, failing, intervals_differing, rescored
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import answer_text, harness, write_cases, write_config

DIMENSIONS = (
    "D1_Neglect", "D2_Omission", "D3_Misinterpretation", "D4_Protocol_Confusion", "D5_Hallucination",
)  # fmt: skip
KINDS = ("refused", "truncated", "empty", "filtered")


def answered(arrival: Arrival) -> Reply:
    """Answer each case with a rationale of its own in each repeat, so that no two verdicts are one ask."""
    name = arrival.text.split("CASE<", 1)[1][:3]
    dice = chance("judged", arrival.json["model"], name, arrival.nth)
    if dice.random() < 0.1:
        return failing("refused")
    return chat_reply(answer_text(dice.choice((["Exodontia"], [])), f"because {name} {dice.random()}"))


def verdict(arrival: Arrival) -> Reply:
    """Judge an answer: some verdicts fail, some contradict themselves, D1 never fails."""
    dice = chance("verdict", ascii(arrival.text))
    kind = dice.random()
    if kind < 0.12:
        return failing(KINDS[int(kind * 33)])
    if kind < 0.16:
        return chat_reply('{"D1_Neglect": {"score": 2, "reason": "x"}}')
    value = {}
    for place, name in enumerate(DIMENSIONS):
        score = int(place > 0 and dice.random() < 0.12 * place)
        reason = "seen" if score else "N/A"
        if dice.random() < 0.05:
            reason = dice.choice(("", "N/A", "n/a", "  ")) if score else "there is none"
        value[name] = {"score": score, "reason": reason}
    return chat_reply(json.dumps(value))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models' answers in two repeats, judged once each."""
    folder = tmp_path_factory.mktemp("judged")
    write_cases(folder / "data", 120)
    asked(folder, "triage", answered, ("one", "two"), "--repeats", "2", "--name", "run")
    with ScriptedServer(verdict) as server:
        config = write_config(folder, server.url, ("one", "two", "judge"), max_in_flight=32)
        done = harness(
            *("step", "judge", "run", "--model", "judge", "--name", "judged", "--attempts", "1"),
            *("--store", folder / "store.sqlite3", "--config", config),
        )
    assert done.code in (0, 3), done.err
    return folder


def row_of(prediction: Mapping[str, Any]) -> list[float]:
    """Return what a verdict adds: 1, each dimension, any, both contradictions."""
    scores = [prediction[name]["score"] for name in DIMENSIONS]
    unexplained = any(
        one["score"] == 1 and one["reason"].strip().lower() in ("", "n/a") for one in prediction.values()
    )
    explained = any(
        one["score"] == 0 and one["reason"].strip().lower() not in ("", "n/a") for one in prediction.values()
    )
    return [1.0, *map(float, scores), float(any(scores)), float(unexplained), float(explained)]


def of_sums(sums: Numbers) -> dict[str, Numbers]:
    """Return every metric path of sums over verdicts."""
    n, fails = sums[..., 0], sums[..., 1:6]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = {f"failure.{name}.case_share": fails[..., k] / n for k, name in enumerate(DIMENSIONS)}
        total = fails.sum(axis=-1)
        found |= {f"failure.{name}.failure_share": fails[..., k] / total for k, name in enumerate(DIMENSIONS)}
        found["failure.any.case_share"], found["failure.mean_count"] = sums[..., 6] / n, total / n
        found["contradiction.unexplained"] = sums[..., 7] / n
        found["contradiction.explained_absence"] = sums[..., 8] / n
    return found


@pytest.mark.slow
@pytest.mark.parametrize("model", ["one", "two"])
def test_every_number_of_the_judge_is_a_count_of_its_verdicts(folder: Path, model: str) -> None:
    step = rescored(folder, "judged")
    units: list[tuple[str, int, Sequence[float]]] = []
    for record in step.records:
        whose, _, case, _ = record["case_id"].split("|")
        if whose == model and record["outcome"] in USABLE:
            units.append((case, 1, row_of(record["prediction"])))
    assert 100 < len(units) < 240
    (row,) = (row for row in step.scores["rows"] if row["model"] == model and row["kind"] == "model")
    expected = of_sums(np.sum([one for _, _, one in units], axis=0))
    for reading in ("as_answered", "valid_only"):
        assert set(row[reading]) == set(expected)
        for path, value in expected.items():
            there = row[reading][path]
            assert there["value"] == pytest.approx(float(value), abs=1e-12), path
            assert there["n"] == len(units) or path.endswith("failure_share"), path
            assert there.get("ci_method") != "clopper-pearson", path
        wrong, held, _ = intervals_differing(row[reading], clustered(units, 1), of_sums, 2e-9)
        assert not wrong, (held, wrong)
        assert held >= 10

"""Metrics made ready: what is told where one cannot be, how values are rounded, and whose they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.grading.text_metrics import BertScoreF, MetricOptions, open_metric
from harness.scoring.bertscore import BertScorer, BertScores, model_digest


class _Encoder:
    """Stands for a model of one layer that gives these values of F, or fails."""

    layer, max_tokens = 17, 512

    def __init__(self, *values: float, fault: Exception | None = None) -> None:
        self.values, self.fault = values, fault

    def scored(self, pairs: Sequence[tuple[str, str]], batch_size: int, name: str) -> BertScores:
        if self.fault is not None:
            raise self.fault
        return BertScores(tuple((0.0, 0.0, one) for one in self.values), 17, 512, 0, 2, name)


def model(folder: Path, weights: bytes = b"w") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def metric(folder: Path, encoder: _Encoder) -> BertScoreF:
    return BertScoreF(BertScorer(encoder, folder, 16))  # type: ignore[arg-type]


def test_values_have_six_decimals_and_what_rounding_put_above_one_is_one(tmp_path: Path) -> None:
    found = metric(model(tmp_path / "m"), _Encoder(0.12345678, 1.0000002, 1.5, -0.25, 1.0))
    assert found.values([("a", "b")] * 5) == [0.123457, 1.0, 1.5, -0.25, 1.0]
    assert [*found.notes()] == ["pairs with a text that is too long for the model: 2; its end was not seen"]


def test_the_rater_tells_models_apart_by_every_byte_of_them(tmp_path: Path) -> None:
    raters = {
        metric(model(tmp_path / "1" / "roberta large\u2028"), _Encoder()).rater,
        metric(model(tmp_path / "2" / "roberta large\u2028", b"x"), _Encoder()).rater,
        metric(model(tmp_path / "3" / "roberta"), _Encoder()).rater,
    }
    assert len(raters) == 3 and all(one.isprintable() and "," not in one for one in raters)
    large, other = tmp_path / "1" / "roberta large\u2028", tmp_path / "3" / "roberta"
    digest = model_digest(large)
    assert f"bertscore-1/roberta-large-@{digest[:12]}/layer-17/512-tokens" in raters
    (large / "README.md").write_text("no part of the model")
    assert model_digest(large) == digest == model_digest(other)
    (other / "vocab.txt").write_text("a")
    assert model_digest(other) != digest


def test_what_torch_says_becomes_one_line_with_the_way_out(tmp_path: Path) -> None:
    fault = RuntimeError("CUDA out of memory. Tried 2 GiB\nmore")
    full = metric(model(tmp_path / "m"), _Encoder(fault=fault))
    with pytest.raises(ConfigError) as told:
        full.values([("a", "b")])
    assert str(told.value) == (
        "the model fails: CUDA out of memory. Tried 2 GiB; a lower --batch takes less memory"
    )


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"pip install 'mllm-harness\[bertscore\]'"):
        open_metric("bertscore", MetricOptions(model(tmp_path / "m")))


@pytest.mark.parametrize(
    ("path", "told"),
    [(None, "give --model-path DIR"), (Path("nowhere"), "'nowhere' is no folder of a model")],
)
def test_a_model_has_to_be_given(path: Path | None, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_metric("bertscore", MetricOptions(path))


def test_a_misspelt_metric_is_pointed_to_its_name() -> None:
    with pytest.raises(ConfigError, match="did you mean 'bertscore'"):
        open_metric("bertscor", MetricOptions())

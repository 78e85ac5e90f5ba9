"""BERTScore by a tiny model made here, against torchmetrics; skipped where torch is not installed.

Tolerance 1e-5: both compute in float32.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.scoring.bertscore import BertScoreMissing, bert_scores

TOLERANCE = 1e-5
WORDS = [f"word{place}" for place in range(60)]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tiny-bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=40)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def made_pairs(count: int, longest: int = 30) -> list[tuple[str, str]]:
    rng = random.Random(3)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, longest)))

    return [(text(), text()) for _ in range(count)]


def by_torchmetrics(pairs: list[tuple[str, str]], folder: Path, layer: int) -> list[tuple[float, ...]]:
    """Return its values of one pair after the other.

    Of several at once 1.9.0 scores candidates against other pairs' references: it undoes its sorting by
    length with the order it was sorted by, which is right only where that is its own inverse.
    """
    text: Any = pytest.importorskip("torchmetrics.functional.text")
    values = []
    for candidate, reference in pairs:
        options = {"num_layers": layer, "max_length": 40, "truncation": True}
        found = text.bert_score([candidate], [reference], model_name_or_path=str(folder), **options)
        values.append(tuple(float(found[name]) for name in ("precision", "recall", "f1")))
    return values


@pytest.mark.parametrize("layer", [1, 3])
def test_pairs_score_as_by_torchmetrics(tiny_model: Path, layer: int) -> None:
    pairs = made_pairs(40)
    found = bert_scores(pairs, tiny_model, layer=layer, batch_size=7)
    expected = by_torchmetrics(pairs, tiny_model, layer)
    for value, other in zip(found.values, expected, strict=True):
        assert value == pytest.approx(other, abs=TOLERANCE)
    assert (found.empty, found.truncated, found.layer, found.max_tokens) == (0, 0, layer, 40)
    assert found.signature == (
        f"bertscore|model:{tiny_model.name}|layer:{layer}|idf:no|rescaled:no|max_tokens:40"
    )


def test_long_texts_are_cut_and_counted(tiny_model: Path) -> None:
    pairs = [(" ".join(WORDS), WORDS[0]), (" ".join(WORDS[:38]), WORDS[0]), (WORDS[0], " ".join(WORDS[:39]))]
    found = bert_scores(pairs, tiny_model, layer=2)
    assert found.truncated == 2
    for value, other in zip(found.values, by_torchmetrics(pairs, tiny_model, 2), strict=True):
        assert value == pytest.approx(other, abs=TOLERANCE)


def test_empty_texts_score_nothing_and_change_no_other(tiny_model: Path) -> None:
    pairs = [("", "word1"), ("word1 word2", "word1 word2"), ("word1", " \n"), ("", "")]
    found = bert_scores(pairs, tiny_model, layer=3)
    assert [found.values[place] for place in (0, 2, 3)] == [(0, 0, 0)] * 3
    assert found.values[1] == pytest.approx((1, 1, 1), abs=TOLERANCE)
    assert found.empty == 3
    assert bert_scores([], tiny_model, layer=3).values == ()


def test_batches_do_not_change_values(tiny_model: Path) -> None:
    pairs = made_pairs(20)
    one, many = (bert_scores(pairs, tiny_model, layer=3, batch_size=size).values for size in (1, 20))
    for value, other in zip(one, many, strict=True):
        assert value == pytest.approx(other, abs=TOLERANCE)


def test_a_layer_that_nobody_knows_has_to_be_given(tiny_model: Path) -> None:
    with pytest.raises(ValueError, match="bert of 3 layers to take is not known; give one of 1 to 3"):
        bert_scores([("a", "b")], tiny_model)
    with pytest.raises(ValueError, match="no layer 4"):
        bert_scores([("a", "b")], tiny_model, layer=4)


def test_a_folder_without_a_model_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder of a model"):
        bert_scores([("a", "b")], tmp_path)
    with pytest.raises(ValueError, match="no folder of a model"):
        bert_scores([("a", "b")], "roberta-large")


def test_without_its_libraries_it_says_which_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(BertScoreMissing, match=r"mllm-harness\[bertscore\]"):
        bert_scores([("a", "b")], tmp_path)

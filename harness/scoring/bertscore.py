"""BERTScore of pairs of texts by a model that lies in a local folder: an optional extra, never a download.

Zhang et al. 2020: each token of one text is matched with the token of the other whose vector, of one layer of
the model, is the most similar (cosine); precision is the mean over the candidate's tokens, recall over the
reference's. Without IDF weights and without baseline rescaling, so that even unrelated texts score high with
common models. Tokens that the model adds ([CLS], [SEP]) do not count. Values equal those of torchmetrics
1.9.0 of one pair at a time within 1e-5 (float32) by our tests; of several pairs at once it scores candidates
against the references of others. Values by another model or layer are another metric: publish
`BertScores.signature` beside them.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MISSING: Final = (
    "BERTScore needs torch and transformers, of which one is not installed: pip install "
    "'mllm-harness[bertscore]'"
)
MOST_TOKENS: Final = 512
"""Tokens of a text that are looked at, the model's own limit if that is smaller."""

WAY: Final = 1
"""Counts the ways in which this module has computed; a higher one gives other values of the same model."""

_LONGEST_NAME: Final = 60
_MODEL_FILES: Final = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
_LAYERS: Final = {
    ("bert", 12): 9,
    ("bert", 24): 18,
    ("roberta", 12): 10,
    ("roberta", 24): 17,
    ("distilbert", 6): 5,
}
"""The layer that bert-score 0.3.13 takes for BERT, RoBERTa and DistilBERT of the usual sizes."""

_OFFSET_TYPES: Final = frozenset({"roberta", "xlm-roberta", "camembert", "longformer", "mpnet"})
"""Models that count positions from behind the number of their padding token."""


@dataclass(frozen=True)
class BertScores:
    """Precision, recall and F of each pair, in order, and what made them.

    `empty`: pairs of which a text has no token, all of whose values are 0. `truncated`: pairs of which a text
    was longer than `max_tokens`, whose rest was not looked at.
    """

    values: tuple[tuple[float, float, float], ...]
    layer: int
    max_tokens: int
    empty: int
    truncated: int
    model: str

    @property
    def signature(self) -> str:
        """What has to be published beside the values, e.g. `bertscore|model:roberta-large|layer:17|...`."""
        return (
            f"bertscore|model:{self.model}|layer:{self.layer}|idf:no|rescaled:no|max_tokens:{self.max_tokens}"
        )


class BertScoreMissing(Exception):
    """torch or transformers is not there, or does not load; the text says how to get them."""


def bert_scores(
    pairs: Sequence[tuple[str, str]],
    model_path: str | Path,
    *,
    layer: int | None = None,
    device: str = "cpu",
    batch_size: int = 16,
    max_tokens: int = MOST_TOKENS,
) -> BertScores:
    """Return BERTScore of pairs of candidate and reference by the model in the folder `model_path`.

    `layer` counts from 1, the first behind the embeddings (0); it may be left out for BERT, RoBERTa and
    DistilBERT of the usual sizes, whose layer is bert-score's. `device`: `cpu`, `cuda`, `cuda:1`. Memory
    grows with `batch_size`, not with the number of pairs. Raises BertScoreMissing without torch and
    transformers, and ValueError for a folder that holds no model and for a layer that has to be given or does
    not exist.
    """
    scorer = open_bert_scorer(
        model_path, layer=layer, device=device, batch_size=batch_size, max_tokens=max_tokens
    )
    return scorer.scores(pairs)


def open_bert_scorer(
    model_path: str | Path,
    *,
    layer: int | None = None,
    device: str = "cpu",
    batch_size: int = 16,
    max_tokens: int = MOST_TOKENS,
) -> BertScorer:
    """Load a model for many calls; arguments and errors are those of `bert_scores`."""
    if not (Path(model_path) / "config.json").is_file():
        raise ValueError(
            f"{str(model_path)!r} is no folder of a model: it has no config.json; save a model "
            "and its tokenizer there, nothing is downloaded"
        )
    if batch_size < 1 or max_tokens < 3:
        raise ValueError(
            "a batch has at least 1 pair, and a text at least 3 tokens, two of which the model adds"
        )
    torch, transformers = _libraries()
    path = str(model_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(path, local_files_only=True).to(device).eval()
    encoder = _Encoder(
        torch,
        tokenizer,
        model,
        _layer(model.config, layer),
        min(max_tokens, _limit(tokenizer, model)),
        device,
    )
    return BertScorer(encoder, Path(model_path).resolve(), batch_size)


@dataclass(frozen=True)
class BertScorer:
    """A loaded model, ready to score pairs; `folder` is where it lies."""

    _encoder: _Encoder
    folder: Path
    batch_size: int

    def scores(self, pairs: Sequence[tuple[str, str]]) -> BertScores:
        """Return BERTScore of pairs of candidate and reference."""
        return self._encoder.scored(pairs, self.batch_size, self.folder.name)

    def name(self) -> str:
        """Return what tells these values from others: bertscore-1/roberta-large@DIGEST/layer-17/512-tokens.

        The first number is `WAY`; DIGEST is the start of `model_digest`. Reads all files of the model.
        """
        folder = re.sub(r"[^\w.+-]+", "-", self.folder.name)[:_LONGEST_NAME]
        digest = model_digest(self.folder)[:12]
        encoder = self._encoder
        return f"bertscore-{WAY}/{folder}@{digest}/layer-{encoder.layer}/{encoder.max_tokens}-tokens"


def model_digest(folder: Path) -> str:
    """Return the SHA-256 over configuration, tokenizer and weights in a model's folder, whatever its name.

    Of every file in it that a model may be loaded from, by name: two models that differ in one weight differ
    here.
    """
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _MODEL_FILES and path.is_file():
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
            found.update(f"{path.name}\0{content}\n".encode())
    return found.hexdigest()


@dataclass(frozen=True)
class _Encoder:
    torch: Any
    tokenizer: Any
    model: Any
    layer: int
    max_tokens: int
    device: str

    def scored(self, pairs: Sequence[tuple[str, str]], batch_size: int, name: str) -> BertScores:
        values = [(0.0, 0.0, 0.0)] * len(pairs)
        lengths = [self._lengths(pair) for pair in pairs]
        full = sorted((max(both), place) for place, both in enumerate(lengths) if min(both))
        for start in range(0, len(full), batch_size):
            places = [place for _, place in full[start : start + batch_size]]
            for place, value in zip(places, self._batch([pairs[one] for one in places]), strict=True):
                values[place] = value
        added = self.tokenizer.num_special_tokens_to_add()
        truncated = sum(1 for both in lengths if max(both) + added > self.max_tokens)
        return BertScores(tuple(values), self.layer, self.max_tokens, len(pairs) - len(full), truncated, name)

    def _lengths(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Return how many tokens candidate and reference have, without those that the model adds."""
        candidate, reference = (
            len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]) for text in pair
        )
        return candidate, reference

    def _batch(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[float, float, float]]:
        candidates, of_candidates = self._vectors([candidate for candidate, _ in pairs])
        references, of_references = self._vectors([reference for _, reference in pairs])
        for place in range(len(pairs)):
            alike = candidates[place][of_candidates[place]] @ references[place][of_references[place]].T
            precision, recall = float(alike.amax(1).mean()), float(alike.amax(0).mean())
            both = precision + recall
            yield precision, recall, 2 * precision * recall / both if both else 0.0

    def _vectors(self, texts: list[str]) -> tuple[Any, Any]:
        """Return unit vectors (texts, tokens, width), and which of them are tokens of the text."""
        batch = self.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self.max_tokens,
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = batch["special_tokens_mask"].bool()
        shown = {name: batch[name].to(self.device) for name in ("input_ids", "attention_mask")}
        with self.torch.inference_mode():
            layers = self.model(**shown, output_hidden_states=True).hidden_states
            vectors = self.torch.nn.functional.normalize(layers[self.layer].float(), dim=-1)
        return vectors.cpu(), batch["attention_mask"].bool() & ~special


def _layer(config: Any, layer: int | None) -> int:
    layers = int(config.num_hidden_layers)
    if layer is None:
        if (config.model_type, layers) not in _LAYERS:
            raise ValueError(
                f"which layer of a {config.model_type} of {layers} layers to take is not known; "
                f"give one of 1 to {layers}"
            )
        return _LAYERS[config.model_type, layers]
    if not 1 <= layer <= layers:
        raise ValueError(f"the model has no layer {layer}; it has 1 to {layers}")
    return layer


def _limit(tokenizer: Any, model: Any) -> int:
    """Return how many tokens the model takes, its own included."""
    found = int(min(tokenizer.model_max_length, MOST_TOKENS * 1000))
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions and positions > 0:
        offset = (model.config.pad_token_id or 0) + 1 if model.config.model_type in _OFFSET_TYPES else 0
        found = min(found, int(positions) - offset)
    return found


def _libraries() -> tuple[Any, Any]:
    """Import torch and transformers, which look at the network no more once they are told so at import."""
    try:
        with _offline():
            torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
            transformers.logging.set_verbosity_error()
            transformers.logging.disable_progress_bar()
    except (ImportError, OSError, AttributeError) as error:
        raise BertScoreMissing(MISSING) from error
    return torch, transformers


@contextmanager
def _offline() -> Iterator[None]:
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

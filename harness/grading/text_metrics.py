"""Metrics of a text answer against the expert's text that can be computed here, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from harness.errors import ConfigError
from harness.nearest import nearest_or_known
from harness.scoring.bertscore import BertScoreMissing, BertScorer, open_bert_scorer


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """What a metric is computed with: the folder of its model, the device, pairs at once, the layer."""

    model_path: Path | None = None
    device: str = "cpu"
    batch: int = 16
    layer: int | None = None


class TextMetric(Protocol):
    """A metric, ready to compute."""

    question: str
    """The question that its values are grades of."""
    rater: str
    """What tells its values from those of any other model, layer or way to compute; printable."""

    def values(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return the value of each pair of answer and reference. Raises ConfigError."""
        ...

    def notes(self) -> Iterator[str]:
        """Yield what should be known of the values so far."""
        ...


class BertScoreF:
    """The F of BERTScore, by the model in a local folder."""

    question = "bertscore"

    def __init__(self, scorer: BertScorer) -> None:
        self._scorer = scorer
        self._truncated = 0
        self.rater = scorer.name()

    def values(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return F to 6 decimals, as float32 has them; what rounding puts above 1 is 1."""
        with _told_plainly("the model fails"):
            found = self._scorer.scores(pairs)
        self._truncated += found.truncated
        return [1.0 if 1.0 < f < 1.0 + 1e-5 else round(f, 6) for _, _, f in found.values]

    def notes(self) -> Iterator[str]:
        """Say how many texts were longer than the model takes."""
        if self._truncated:
            yield f"pairs with a text that is too long for the model: {self._truncated}; its end was not seen"


def _open_bertscore(options: MetricOptions) -> TextMetric:
    if options.model_path is None:
        raise ConfigError("bertscore needs the folder of a model: give --model-path DIR")
    with _told_plainly(f"the model in {str(options.model_path)!r} cannot be used"):
        scorer = open_bert_scorer(
            options.model_path, layer=options.layer, device=options.device, batch_size=options.batch
        )
        return BertScoreF(scorer)


@contextmanager
def _told_plainly(what: str) -> Iterator[None]:
    """Raise what torch and transformers say as ConfigError, in its first line."""
    try:
        yield
    except (BertScoreMissing, ValueError) as error:
        raise ConfigError(_first_line(error)) from error
    except (RuntimeError, AssertionError, OSError) as error:
        way = "; a lower --batch takes less memory" if "out of memory" in str(error) else ""
        raise ConfigError(f"{what}: {_first_line(error)}{way}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


METRICS: Final[MutableMapping[str, Callable[[MetricOptions], TextMetric]]] = {"bertscore": _open_bertscore}
"""Name of a metric -> what makes it ready."""


def open_metric(name: str, options: MetricOptions) -> TextMetric:
    """Make a metric ready. Raises ConfigError for an unknown one, and where it lacks what it needs."""
    known: Mapping[str, Callable[[MetricOptions], TextMetric]] = METRICS
    if name not in known:
        raise ConfigError(
            f"no metric {name!r} can be computed here{nearest_or_known(name, tuple(known))}; of other tools "
            "use `harness grades texts` and `harness grades import`"
        )
    return known[name](options)

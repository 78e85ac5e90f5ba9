"""`harness step verify` of MedLayXPlain: a vision model scores lay texts by the verifier's rubric.

Source: the paper, section G.2: five criteria of 0 to 2 with their anchors, the verdicts and the keys of the
answer, the image (longest side at most 1,024, Lanczos, JPEG of quality 85), temperature 0.1 and 2,048 tokens.
The words are ours. There it filtered the lay captions of the data, and its teacher's scores, halved, are what
MedLayEval was trained on; here any vision model may stand in for MedLayEval, whose weights few have. **Its
scores are those of a rubric by that model, not MedLayEval**: they have names of their own. The paper's model
is Qwen3.5-27B without thinking; nothing switches thinking off but a parameter of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from harness.benchmarks.base import Case, Prompt, Question
from harness.benchmarks.medlay.attributes import RUBRIC, questions_of
from harness.benchmarks.medlay.cases import EXPERT
from harness.benchmarks.medlay.evaluators import LAY, STATED, Evaluator
from harness.benchmarks.medlay.roi import image_part
from harness.benchmarks.medlay.rubric import FLAGS, attribute_scores, flags
from harness.benchmarks.prompts import load_prompt, load_schema, render
from harness.benchmarks.quoting import quoted
from harness.benchmarks.scored import MetricColumn
from harness.canonical import JSON
from harness.messages import Message, Schema, TextPart

_QUOTED: Final = (EXPERT, LAY)


class Verify(Evaluator):
    """The verifier as the engine sees it."""

    kind: ClassVar[str] = "verify"
    title: str = "Lay texts scored by the five criteria of a rubric, by a vision model"
    no_default: str = "since the paper's verifier, Qwen3.5-27B, is a model that one serves oneself"
    fields: ClassVar[frozenset[str]] = frozenset({EXPERT, LAY, STATED})
    scorer: str = "medlay-verify-1"
    default_params: Mapping[str, JSON] = MappingProxyType({"temperature": 0.1, "max_tokens": 2048})
    image_recipe: str | None = "fit:max_side=1024+jpeg:quality=85"
    evaluator: ClassVar[str] = RUBRIC
    questions: Mapping[str, Question] = MappingProxyType(questions_of(RUBRIC))
    flags: ClassVar[tuple[str, ...]] = FLAGS
    columns: ClassVar[tuple[MetricColumn, ...]] = (
        MetricColumn("verdict.pass.share", ("", "PASS")),
        MetricColumn("expert_error.share", ("expert", "error"), better=None, best=None),
        MetricColumn("contradiction.verdict.share", ("verdict", "wrong"), better="lower", best=0),
        MetricColumn("contradiction.total.share", ("total", "wrong"), better="lower", best=0),
    )
    legend: ClassVar[str] = (
        "rubric by the model named above, 0 to 100, no MedLayEval: mean of 5, and its criteria: modality, "
        "anatomy, finding, factual, readability; PASS: share of answers that it passed; expert error: share "
        "in which it finds the expert wrong; wrong: share of its answers whose verdict or total does not "
        "follow from its own scores"
    )

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt."""
        return load_prompt("medlay-verify-v1")

    def schema(self, condition: str) -> Schema | None:
        """Return the schema of an answer: scores, total, verdict, reasons, revision, the expert's errors."""
        return load_schema("medlay-verify-v1")

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case: the text, its two captions quoted, then the image."""
        texts = quoted({name: case.fields[name] for name in _QUOTED})
        text = render(prompt, {name: texts.get(name, case.fields[name]) for name in self.fields})
        return (Message("user", (TextPart(text), image_part(case))),)

    def attribute_scores(self, prediction: Mapping[str, JSON]) -> Mapping[str, float]:
        """Return the five scores, halved."""
        return attribute_scores(prediction)

    def flag_values(self, prediction: Mapping[str, JSON]) -> Sequence[float]:
        """Return the verdict, and where the answer contradicts itself."""
        return flags(prediction)

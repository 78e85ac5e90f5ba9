"""RadM-Bench: five ranked differential diagnoses of a radiology case, from its history, key images or clips.

Source of its rules: "A Bilingual Benchmark for Evaluating Diagnostic Performance of Multimodal Large
Language Models in Radiology (RadM-Bench)", "the paper" in this package. Its prompts and the form of its
answers stand in an appendix that we do not have: both are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from harness.benchmarks.base import Case, CaseSet, Filled, Prompt
from harness.benchmarks.prompts import load_prompt, load_schema
from harness.benchmarks.radm import conditions as shown
from harness.benchmarks.radm.answer_forms import in_our_form
from harness.benchmarks.radm.cases import check_cases, load_cases
from harness.benchmarks.radm.restating import fill_answer
from harness.benchmarks.radm.scored_task import ScoredTask
from harness.canonical import JSON
from harness.media_reading import MediaReader
from harness.messages import Message, Schema


class RadM(ScoredTask):
    """RadM-Bench as the engine sees it.

    It has no reformatter by default, as the paper names none: `--reformatter MODEL` gives it one.
    """

    name: str = "radm"
    title: str = "RadM-Bench: five ranked diagnoses of a radiology case, in English or Chinese"
    conditions: tuple[str, ...] = tuple(shown.CONDITIONS)
    main_conditions: tuple[str, ...] = (shown.TEXT_IMAGES,)
    default_params: Mapping[str, JSON] = MappingProxyType({"temperature": 0, "top_k": 1, "top_p": 1})
    """The paper's for all models but o3, which it asked with none of them ("Model Selection")."""
    partial_conditions: frozenset[str] = shown.PARTIAL
    strata: Sequence[str] = ("subset", "subspecialty", "language", "rare")

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Read a folder of case files. Raises CaseFileError that names the line and the mend."""
        return load_cases(folder, media)

    def check(self, folder: Path) -> list[str]:
        """Return everything that is wrong with a folder of case files, unusable media included."""
        return check_cases(folder)

    def asks(self, case: Case, condition: str) -> bool:
        """Tell whether a case has what a condition shows; see `radm.conditions`."""
        return shown.asks(case, condition)

    def schema(self, condition: str) -> Schema | None:
        """Return the schema that an answer must fit: ours, as the paper's is not public."""
        shown.known(condition)
        return load_schema("radm-v1")

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt of a condition, with its English and its Chinese parts."""
        return load_prompt(shown.known(condition).prompt)

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError where a prompt cannot serve a condition."""
        shown.check_prompt(prompt, condition)

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the turns of a case, in its language. Raises ConfigError, MediaError."""
        return shown.messages(case, condition, prompt)

    def aliases(self, value: JSON) -> JSON:
        """Return an answer of another documented form in ours; see `radm.answer_forms`."""
        return in_our_form(value)

    def reformat_schema(self, condition: str) -> Schema | None:
        """Return the reformatter's schema, which takes more diagnoses, fewer, and null."""
        shown.known(condition)
        return load_schema("radm-reformat-v1")

    def reformat_prompt(self, condition: str) -> Prompt:
        """Return the reformatter's prompt, with the placeholder {answer}."""
        shown.known(condition)
        return load_prompt("radm-reformat-v1")

    def fill(self, value: JSON, answer: str) -> Filled:
        """Take a restated answer that has five diagnoses, and no other; see `radm.restating`."""
        return fill_answer(value, answer)

"""Clinical reports made of findings: one sentence a section, in the paper's order (section 3.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from harness.benchmarks.pandent.finding_values import is_positive, teeth_in
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS
from harness.benchmarks.pandent.templates import JAWS_NORMAL, NOTES, PAIRS, WORDINGS, PairWording, Wording
from harness.canonical import JSON

Choice: TypeAlias = Callable[[str, int], int]
"""(section, number of its sentences) -> the index of the one to take."""

_JAWS: Final = ("maxillary_abnormality", "mandibular_abnormality")


def first(section: str, count: int) -> int:
    """Choose the first sentence of each section."""
    return 0


def drawn(seed: str) -> Choice:
    """Return a choice that is even over each section's sentences and the same for the same seed."""

    def choose(section: str, count: int) -> int:
        digest = hashlib.sha256(f"{seed}\0{section}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % count

    return choose


def compose(findings: Mapping[str, JSON], choice: Choice = first, note: str | None = None) -> str:
    """Return the clinical report of all 21 findings, each in its one form (`finding_values.value_of`).

    A finding that is null has no sentence. Sides that say the same share one sentence, and so may jaws
    without abnormality: that is part of the choice. Raises KeyError where a finding is left out.
    """
    sentences = [sentence for finding in FINDINGS for sentence in _section(finding.id, findings, choice)]
    if note is not None and note.strip():
        sentences.append(_filled(NOTES[choice("auxiliary_note", len(NOTES))], note))
    return " ".join(sentences)


def teeth_text(teeth: Sequence[int]) -> str:
    """Return teeth as clinical reports name them: "tooth #18", "teeth #18 and #28"."""
    numbers = [f"#{tooth}" for tooth in teeth]
    if len(numbers) < 2:
        return f"tooth {numbers[0]}" if numbers else "no tooth"
    comma = "," if len(numbers) > 2 else ""
    return f"teeth {', '.join(numbers[:-1])}{comma} and {numbers[-1]}"


def bridges_text(patterns: Sequence[str]) -> str:
    """Return bridge patterns as clinical reports print them: "#25-#26-X"."""
    return "; ".join(
        "-".join(unit if unit == "X" else f"#{unit}" for unit in pattern.split("-")) for pattern in patterns
    )


def _section(name: str, findings: Mapping[str, JSON], choice: Choice) -> Iterator[str]:
    """Yield the sentences that stand where a finding has its place."""
    pair, _, side = name.rpartition("_")
    if pair in PAIRS:
        if side == "left":
            yield from _sides(pair, findings, choice)
        return
    if name in _JAWS and all(findings[jaw] is not None for jaw in _JAWS):
        normal = not any(is_positive(BY_ID[jaw], findings[jaw]) for jaw in _JAWS)
        if normal and choice("jaws", 2) == 0:
            if name == _JAWS[0]:
                yield JAWS_NORMAL[choice("jaws_normal", len(JAWS_NORMAL))]
            return
    if findings[name] is not None:
        yield _sentence(name, WORDINGS[name], name, findings[name], choice)


def _sides(pair: str, findings: Mapping[str, JSON], choice: Choice) -> Iterator[str]:
    """Yield one sentence for both sides where they say the same, else one a side, the left one first."""
    wording: PairWording = PAIRS[pair]
    left, right = f"{pair}_left", f"{pair}_right"
    if findings[left] is not None and findings[left] == findings[right]:
        yield _sentence(pair, wording.both, left, findings[left], choice)
        return
    for name in (left, right):
        if findings[name] is not None:
            yield _sentence(name, wording.one, name, findings[name], choice)


def _sentence(section: str, wording: Wording, name: str, value: JSON, choice: Choice) -> str:
    finding = BY_ID[name]
    if not is_positive(finding, value):
        template = wording.negative[choice(f"{section} -", len(wording.negative))]
        return template.replace("{side}", name.rpartition("_")[2])
    description = str(value["description"]) if isinstance(value, Mapping) else ""
    pool = wording.described if description else wording.positive
    text = pool[choice(f"{section} +", len(pool))].replace("{side}", name.rpartition("_")[2])
    text = text.replace("{teeth}", teeth_text(teeth_in(finding, value)))
    if finding.type == "bridge_patterns":
        text = text.replace("{bridge_patterns}", bridges_text(cast("list[str]", value)))
    return _filled(text, description)


def _filled(template: str, description: str) -> str:
    """Put a description in last, so that braces in it stay what they are."""
    return template.replace("{description}", " ".join(description.split()).rstrip(".; "))

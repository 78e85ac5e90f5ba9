"""Answers of the four benchmarks beside their references: labels, ranks, teeth, texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.cases import EXPERT
from harness.benchmarks.pandent.finding_values import answer_code
from harness.benchmarks.pandent.findings import BY_ID, QUADRANTS, Finding, teeth_of, tooth_code
from harness.benchmarks.pandent.questions import REPORT, finding_of
from harness.benchmarks.radm.answer_forms import KEY
from harness.benchmarks.radm.ranking import FIFTHS, QUESTION_NAMES, RANKS, fifths, tier_of, tiers_of
from harness.benchmarks.radm.tiers import TIER_OPTIONS
from harness.benchmarks.triage.taxonomy import DOMAINS, LABELS, code_of, code_of_labels
from harness.canonical import JSON
from harness.phrases import count, listed
from harness.web.viewing.difference_parts import Difference, LabelGroup, Labels, Part, Rank, Ranked, Texts
from harness.web.viewing.word_differences import word_difference

TIERS: Final[Mapping[int, str]] = {
    cast("int", one.value): f"tier {one.key}, {one.label}: {one.help}" for one in TIER_OPTIONS
}
"""What the tiers of RadM-Bench mean, in the words that people grade by."""


def triage(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Compare labels by domain, and the domains themselves; the two rationales stand below."""
    truth = _labels(code_of_labels(case.reference["labels"]))
    given = None if prediction is None else _labels(code_of(prediction))
    groups = [_group(domain, [one for one in members if one in truth],
                     None if given is None else [one for one in members if one in given])
              for domain, members in DOMAINS.items()]  # fmt: skip
    labels = Labels(
        title="labels by domain",
        groups=_filled(groups),
        noun="label",
        nouns="labels",
        answered=given is not None,
        notes=() if given is None else (_coarse(truth, given),),
    )
    expert = str(case.reference.get("rationale") or "")
    said = "" if prediction is None else str(cast("Mapping[str, JSON]", prediction).get("reasoning") or "")
    parts: list[Part] = [labels]
    if expert or said:
        parts.append(beside("rationales", "the expert's rationale", expert, "the model's rationale", said))
    return Difference(tuple(parts), label_summary(labels))


def _labels(code: int) -> frozenset[str]:
    return frozenset(label for place, label in enumerate(LABELS) if code >> place & 1)


def _coarse(truth: frozenset[str], given: frozenset[str]) -> str:
    """Say how the domains compare: the coarse reading, in which any label of a domain names it."""
    ours, theirs = ([name for name, all_ in DOMAINS.items() if side & {*all_}] for side in (truth, given))
    missing = [name for name in ours if name not in theirs]
    extra = [name for name in theirs if name not in ours]
    if not missing and not extra:
        return f"domains (coarse): exactly the reference ({listed(ours) or 'none'})"
    said = [f"missing {listed(missing)}"] * bool(missing) + [f"extra {listed(extra)}"] * bool(extra)
    return f"domains (coarse): {'; '.join(said)}"


def ranked(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Show the five diagnoses in order beside the reference diagnosis, with their tiers where graded."""
    reference = str(case.reference["diagnosis"])
    if prediction is None:
        return Difference((Ranked("diagnoses in order", reference, ()),), "")
    answers = cast("Mapping[str, Sequence[JSON]]", prediction)[KEY]
    return ranks_of(reference, list(map(str, answers)), grades)


def ranks_of(
    reference: str | None, answers: Sequence[str], grades: Mapping[str, JSON], remarks: Sequence[str] = ()
) -> Difference:
    """Return five diagnoses with their tiers, and what they are worth where all have one."""
    found = [tier_of(name, grades[name]) if grades.get(name) is not None else None for name in QUESTION_NAMES]
    ranks = tuple(
        Rank(place + 1, text, None if tier is None else TIERS[tier], None if tier is None else tier >= 1)
        for place, (text, tier) in enumerate(zip(answers, found, strict=False))
    )
    tiers = tiers_of(grades)
    graded = [tier for tier in found if tier is not None]
    if tiers is not None:
        hit = next((rank for rank, tier in enumerate(tiers, 1) if tier >= 1), None)
        where = "no diagnosis names the disease" if hit is None else f"rank {hit} names the disease first"
        summary = f"score {fifths(tiers) / FIFTHS:g} of 3: {where}"
    elif graded:
        summary = f"{len(graded)} of {RANKS} diagnoses have a tier"
    else:
        summary = "not graded yet: whether a diagnosis is right is for graders to say"
    return Difference((Ranked("diagnoses in order", reference, ranks, tuple(remarks)),), summary)


def lay_text(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Compare the lay text with the lay caption, word by word, and with the expert's caption besides."""
    answer = None if prediction is None else str(prediction)
    caption = str(case.reference["lay_caption"])
    lay = compared("against the lay caption", "lay caption", caption, "answer", answer)
    expert = case.fields.get(EXPERT)
    parts: list[Part] = [lay]
    if expert and answer is not None:
        parts.append(compared("against the expert's caption", "expert caption", expert, "answer", answer))
    return Difference(tuple(parts), text_summary(lay))


def panoramic(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Compare a clinical report word by word, or what is said of one finding: teeth, or yes and no."""
    if condition == REPORT:
        report = cast("str | None", case.reference.get("report"))
        answer = None if prediction is None else str(prediction)
        part = compared("clinical reports", "reference report", report, "answer", answer)
        return Difference((part,), text_summary(part))
    finding = BY_ID[finding_of(condition)]
    value = cast("Mapping[str, JSON]", case.reference["findings"])[finding.id]
    compare = _binary if finding.answer == "binary" else _teeth
    labels = compare(finding, value, prediction)
    if value is None and prediction is None:
        labels = replace(labels, notes=("nobody looked for this finding",))
    if value is None:
        return Difference((labels,), "nobody looked for this finding: the answer is in no score")
    if finding.answer == "binary" and labels.extra:
        (group,) = labels.groups
        return Difference((labels,), f"the answer is {group.extra[0]}, the reference {group.missing[0]}")
    return Difference((labels,), label_summary(labels))


def _teeth(finding: Finding, value: JSON, prediction: JSON) -> Labels:
    truth = teeth_of(answer_code(finding, value) or 0)
    given = None if prediction is None else teeth_of(tooth_code(cast("Sequence[int]", prediction)))
    groups = [
        _group(
            f"{name}, {quadrant}1-{quadrant}8",
            [str(tooth) for tooth in truth if tooth // 10 == quadrant],
            None if given is None else [str(tooth) for tooth in given if tooth // 10 == quadrant],
        )
        for quadrant, name in QUADRANTS.items()
    ]
    patterns = cast("Sequence[str]", value or ()) if finding.type == "bridge_patterns" else ()
    told = f"bridges of the reference: {', '.join(patterns)}; their numbered units are compared"
    notes = (told,) if patterns else ()
    return Labels(finding.label, _filled(groups), "tooth", "teeth", given is not None, notes)


def _binary(finding: Finding, value: JSON, prediction: JSON) -> Labels:
    truth = answer_code(finding, value)
    words = {0: "no", 1: "yes"}
    ours = [] if truth is None else [words[truth]]
    theirs = None if prediction is None else [words[int(bool(prediction))]]
    told = str(value.get("description") or "") if isinstance(value, Mapping) else ""
    notes = (f"the reference describes it: {told}",) if told else ()
    groups = _filled([_group("is it there?", ours, theirs)])
    return Labels(finding.label, groups, "answer", "answers", theirs is not None, notes)


def _group(name: str, truth: Sequence[str], given: Sequence[str] | None) -> LabelGroup:
    if given is None:
        return LabelGroup(name, missing=tuple(truth))
    return LabelGroup(
        name,
        missing=tuple(one for one in truth if one not in given),
        extra=tuple(one for one in given if one not in truth),
        same=tuple(one for one in truth if one in given),
    )


def _filled(groups: Iterable[LabelGroup]) -> tuple[LabelGroup, ...]:
    return tuple(group for group in groups if group.missing or group.extra or group.same)


def label_summary(labels: Labels) -> str:
    """Return in a sentence how two sets of labels compare."""
    if not labels.missing and not labels.extra:
        both = f"{labels.same:,} {labels.noun if labels.same == 1 else labels.nouns}"
        return f"exactly the reference ({both})" if labels.same else "exactly the reference: both are empty"
    return f"{labels.missing:,} missing, {labels.extra:,} extra, {labels.same:,} the same"


def compared(title: str, ours: str, reference: str | None, theirs: str, answer: str | None) -> Texts:
    """Return two texts compared word by word, if both are there."""
    if reference is None or answer is None:
        return beside(title, ours, reference, theirs, answer)
    return Texts(title, ours, reference, theirs, answer, word_difference(reference, answer))


def beside(title: str, ours: str, reference: str | None, theirs: str, answer: str | None) -> Texts:
    """Return two texts that are not compared: worded by different people, they share next to nothing."""
    return Texts(title, ours, reference or None, theirs, answer or None, None)


def text_summary(texts: Texts) -> str:
    """Return in a sentence how two texts compare."""
    found = texts.difference
    if found is None:
        return f"the case has no {texts.reference_title}" if texts.reference is None else ""
    if texts.reference == texts.answer:
        return f"the {texts.answer_title} is the {texts.reference_title}, to the letter"
    if found.spacing_only:
        return f"the words of the {texts.reference_title}; only blanks and line breaks differ"
    return (
        f"{found.shared:,} of the {texts.reference_title}'s {count(found.reference_words, 'word')} stand in "
        f"the {texts.answer_title} ({count(found.answer_words, 'word')}) in the same order"
    )

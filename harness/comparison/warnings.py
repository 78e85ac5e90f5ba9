"""What a reader must be told of a comparison: before its numbers, beside a value, beside a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.comparison.common_cases import CommonCases, Reading
from harness.comparison.contenders import Contender
from harness.comparison.measuring import Measured
from harness.comparison.pair_tests import FEW_DIFFER, PairTest
from harness.phrases import count, listed, llm_graded, no_evidence


def warnings_of(
    contenders: Sequence[Contender], common: CommonCases, reading: Reading
) -> tuple[str, ...]:
    """Return what makes the numbers evidence of less than they look like, the worst first."""
    return tuple(
        [
            *_made_up(contenders),
            *_graded(contenders),
            *_incomplete(contenders),
            *_settings(contenders),
            *_cases(contenders, common, reading),
        ]
    )


def value_notes(
    contenders: Sequence[Contender], sides: Sequence[Measured], path: str, reading: Reading
) -> tuple[str, ...]:
    """Say it where a metric counts other numbers of units for different contenders."""
    counts: dict[int, list[str]] = {}
    for contender, side in zip(contenders, sides, strict=True):
        if side.values[path].reason is None:
            counts.setdefault(side.values[path].n, []).append(contender.label)
    if len(counts) < 2:
        return ()
    told = "; ".join(f"n={n}: {listed(labels)}" for n, labels in sorted(counts.items()))
    way = "" if reading == "valid_only" else "; --reading valid_only compares on equal ones"
    return (f"DIFFERENT DENOMINATORS: this metric leaves out what has no value of it ({told}){way}",)


def pair_notes(found: PairTest) -> tuple[str, ...]:
    """Return what a reader must know of one difference."""
    if found.p is None:
        return (f"not compared: {found.reason}",)
    if not found.differ:
        return ("the same in every case",)
    told = list(found.notes)
    if found.differ < FEW_DIFFER:
        told.append(f"they differ in {count(found.differ, 'case')} only: too few to tell much")
    return tuple(told)


def _made_up(contenders: Sequence[Contender]) -> Iterator[str]:
    told = no_evidence(
        synthetic=any(one.provenance.synthetic for one in contenders),
        simulated=any(one.provenance.simulated for one in contenders),
    )
    if told is not None:
        yield told


def _graded(contenders: Sequence[Contender]) -> Iterator[str]:
    graders = {one.provenance.graded_by for one in contenders}
    models = sorted(grader for grader in graders if grader is not None)
    if models:
        yield llm_graded(models)


def _incomplete(contenders: Sequence[Contender]) -> Iterator[str]:
    for one in contenders:
        if one.incomplete:
            yield (
                f"INCOMPLETE: nobody answered {count(one.to_complete, 'unit')} of {one.label}; the cases "
                "that are left may be no fair sample of the benchmark, and it has no rank"
            )


def _settings(contenders: Sequence[Contender]) -> Iterator[str]:
    """Say in what contenders were asked differently: then a difference is that of models and of settings."""
    names = dict.fromkeys(name for one in contenders for name in one.provenance.settings)
    for name in names:
        values: dict[str, list[Contender]] = {}
        for one in contenders:
            if one.kind == "model":
                values.setdefault(one.provenance.settings.get(name, "unknown"), []).append(one)
        if len(values) > 1:
            told = "; ".join(f"{value} {_where(these, values)}" for value, these in values.items())
            yield f"ASKED DIFFERENTLY: {name}: {told}; a difference is that of models and of {name} together"
    by_name: dict[str, dict[str, list[str]]] = {}
    for one in contenders:
        if one.kind == "model":
            by_name.setdefault(one.name, {}).setdefault(one.provenance.parameters, []).append(one.run)
    for model, parameters in by_name.items():
        if len(parameters) > 1:
            told = "; ".join(f"{value or 'none'} in {listed(runs)}" for value, runs in parameters.items())
            yield f"ASKED DIFFERENTLY: parameters of {model}: {told}"


def _where(these: Sequence[Contender], values: Mapping[str, Sequence[Contender]]) -> str:
    """Return who was asked so: by run, unless another one of its models was asked otherwise."""
    runs = {one.run for one in these}
    others = {one.run for rest in values.values() if rest is not these for one in rest}
    return f"for {listed(one.label for one in these)}" if runs & others else f"in {listed(sorted(runs))}"


def _cases(contenders: Sequence[Contender], common: CommonCases, reading: Reading) -> Iterator[str]:
    if reading == "valid_only":
        yield (
            "VALID ANSWERS ONLY: cases that anybody failed to answer are left out for all, which may favour "
            "whoever fails at the hard ones; --reading as_answered counts failures"
        )
    if common.clusters < 2:
        yield "ONE CLUSTER: all common cases belong to one group, so that nothing can be told from chance"
    if len({one.repeats for one in contenders}) > 1:
        kept = "first repeats" if common.repeats == 1 else f"first {common.repeats} repeats"
        yield f"REPEATS DIFFER: the {kept} of each case are compared, the others left out"
    if not common.grouped_alike:
        yield (
            "GROUPED DIFFERENTLY: runs do not put the same cases into groups; all that any of them groups is "
            "drawn together"
        )

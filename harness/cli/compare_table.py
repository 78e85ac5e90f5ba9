"""A comparison as text for a terminal: what was tested before what came out, every number with its n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.cli.score_words import Json, printable, some, wrap
from harness.cli.tables import display_width
from harness.comparison.result import CORRECTIONS, TESTS
from harness.phrases import IMPORTED_NOTE, count, listed
from harness.report import rounding

_READINGS: Final = {
    "as_answered": "as answered (an unusable answer counts as the worst value)",
    "valid_only": "valid answers only",
}
_DIFFERENCES: Final = (("diff", 9), ("95% CI", 16), ("p", 8), ("adj. p", 8))
_VERDICT: Final = 13
_VALUES: Final = (("value", 9), ("first", 8), ("ranks", 8))
_LEAST_NAME: Final = 12

_LEGEND: Final = (
    "diff: the value of the row less that of the one it is against; 95% CI: of that difference by itself, by "
    "the percentiles of a paired bootstrap; adj. p: over the whole family, and decides the verdict, "
    "even where the interval leaves out 0",
    "within noise: these cases cannot tell the two apart, which is no evidence that they are equal",
)
_RANKS: Final = (
    "first: share of resamples in which a model has rank 1; ranks: those in the middle 95% of resamples; of "
    "complete models"
)


def render(found: Json, *, width: int = 80) -> str:
    """Return a comparison as text of at most `width` columns (at least 60), without a last line feed."""
    width = max(width, 60)
    lines = [*_heading(found, width), "", *_family(found, width), *_cases(found, width)]
    for metric in found["metrics"]:
        lines += ["", *_metric(metric, found, width)]
    lines += ["", *_notes(found, width)]
    return "\n".join(lines).rstrip()


def _heading(found: Json, width: int) -> Iterator[str]:
    compared = found["contenders"]
    yield from wrap(f"{found['benchmark']}  {found['condition']}: {len(compared)} compared", width)
    runs = dict.fromkeys((one["run"]["name"], one["run"]["digest"]) for one in compared)
    word = "run" if len(runs) == 1 else "runs"
    yield from wrap(f"{word} {', '.join(f'{name} ({digest[:12]})' for name, digest in runs)}", width)
    yield from wrap(_READINGS[found["reading"]], width)
    for warning in found["warnings"]:
        yield from wrap(f"*** {warning} ***", width)


def _family(found: Json, width: int) -> Iterator[str]:
    family = found["family"]
    metrics, pairs = len(family["metrics"]), family["pairs"]
    yield from wrap(
        f"family: {count(family['tests'], 'test')} ({count(pairs, 'pair')} x {count(metrics, 'metric')}), "
        f"whatever comes out; {CORRECTIONS[family['correction']]}, level {family['level']:g}",
        width,
    )
    against = family["against"]
    if family["chosen_by_looking"]:
        yield from wrap(
            f"  shown are those of {against}, whose value is the best here; since that was found by looking, "
            "the family is all pairs (the JSON has them); --baseline names one before, for fewer tests",
            width,
        )
    elif against is not None:
        yield from wrap(f"  each against {against}", width)
    if family["correction"] == "none" and family["tests"] > 1:
        yield from wrap(
            f"  without a correction, {family['tests']} tests of nothing call about "
            f"{family['tests'] * family['level']:.1f} of them a difference",
            width,
        )


def _cases(found: Json, width: int) -> Iterator[str]:
    cases, k = found["cases"], len(found["contenders"])
    each = "both" if k == 2 else f"all {k}"
    yield from wrap(f"cases: {cases['common']} common to {each}, of {cases['wanted']} asked", width)
    if cases["clusters"] != cases["common"]:
        yield from wrap(
            f"  in {count(cases['clusters'], 'group')} of cases, each drawn as one", width, indent="    "
        )
    if cases["repeats"] > 1:
        yield from wrap(f"  values are means of {cases['repeats']} repeats", width, indent="    ")
    for one in cases["left_out"]:
        whose = "all" if len(one["whose"]) == k else listed(one["whose"])
        yield from wrap(f"  left out, {one['why']} ({whose}): {some(one['cases'])}", width, indent="    ")
    for label, n in cases["without"].items():
        yield from wrap(f"  without {label} there would be {n} common cases", width, indent="    ")
    shared = cases["shared"]
    if shared and k > 2:
        most = max(one["n"] for one in shared)
        yield from wrap(
            f"  {count(len(shared), 'pair')} would have more by itself, up to {most} (the JSON has each)",
            width,
            indent="    ",
        )
    for text in found["not_compared"]:
        yield from wrap(f"not compared unless named: {text}", width)


def _metric(metric: Json, found: Json, width: int) -> Iterator[str]:
    head = f" ({metric['head']})" if metric["head"] else ""
    better = "no better end is known" if metric["better"] is None else f"{metric['better']} is better"
    yield from wrap(f"{metric['path']}{head}: {better}", width)
    yield from wrap(f"test: {TESTS[metric['test']]}: {metric['test_because']}", width)
    for note in metric["notes"]:
        yield from wrap(f"*** {note} ***", width)
    yield ""
    yield from _value_lines(metric, width)
    yield ""
    yield from _difference_lines(metric, found, width)


def _value_lines(metric: Json, width: int) -> Iterator[str]:
    values = metric["values"]
    is_ranked = any(one["rank"] is not None for one in values)
    columns = _VALUES if is_ranked else _VALUES[:1]
    n_width = max(len(str(one["n"])) for one in values) + 2
    taken = 4 + n_width + sum(size for _, size in columns)
    name = _name_width([one["label"] for one in values], width - taken)
    yield f"{'#' if is_ranked else '':>3} {'':<{name}}{'n':>{n_width}}" + "".join(
        f"{title:>{size}}" for title, size in columns
    )
    yield "-" * (taken + name)
    for one in values:
        cells = [_number(one["value"], metric["decimals"])]
        if is_ranked:
            ranks = one["ranks"]
            cells += [_share(one["share_at_rank_1"]), "-" if ranks is None else f"{ranks[0]}-{ranks[1]}"]
        line = f"{one['n']:>{n_width}}" + "".join(
            f" {cell:>{size - 1}}" for cell, (_, size) in zip(cells, columns, strict=True)
        )
        rank = "-" if one["rank"] is None else str(one["rank"])
        yield from _named(f"{rank if is_ranked else '':>3} ", one["label"], name, line)
        if one["reason"] is not None:
            yield from wrap(f"    no value: {one['reason']}", width, indent="      ")


def _difference_lines(metric: Json, found: Json, width: int) -> Iterator[str]:
    shown = [one for one in metric["differences"] if one["shown"]]
    against = found["family"]["against"]
    rows = [_towards(one, against) for one in shown]
    taken = 2 + sum(size for _, size in _DIFFERENCES) + 2 + _VERDICT
    name = _name_width([one["a"] for one in rows], width - taken, least=0)
    yield f"  {'':<{name}}" + "".join(f"{title:>{size}}" for title, size in _DIFFERENCES) + "  verdict"
    yield "-" * min(width, taken + name)
    for other in dict.fromkeys(one["b"] for one in rows):
        yield f"against {printable(other)}:"  # whole, also where it is longer than a line
        for one in rows:
            if one["b"] == other:
                yield from _difference(one, metric, name, width)


def _towards(one: Json, against: str | None) -> Json:
    """Return a difference with the one that all are shown against as B."""
    if against is None or one["b"] == against:
        return one
    effect, turned = one["effect"], {"A higher": "A lower", "A lower": "A higher"}
    if effect is not None:
        odds = effect["odds_ratio"]
        effect = {
            "d_z": None if effect["d_z"] is None else -effect["d_z"],
            "rank_biserial": None if effect["rank_biserial"] is None else -effect["rank_biserial"],
            "a_only": effect["b_only"],
            "b_only": effect["a_only"],
            "odds_ratio": 1 / odds if odds else None,
        }
    return {
        **one,
        "a": one["b"],
        "b": one["a"],
        "difference": None if one["difference"] is None else -one["difference"],
        "ci": None if one["ci"] is None else [-one["ci"][1], -one["ci"][0]],
        "verdict": turned.get(one["verdict"], one["verdict"]),
        "effect": effect,
    }


def _difference(one: Json, metric: Json, name: int, width: int) -> Iterator[str]:
    decimals, value = metric["decimals"], one["difference"]
    interval = one["ci"]
    cells = [
        "-" if value is None else rounding.shown(value, decimals=decimals, signed=True)[0],
        "-" if interval is None else ",".join(_number(end, decimals) for end in interval),
        _p(one["p"]),
        _p(one["p_adjusted"]),
    ]
    line = "".join(f" {cell:>{size - 1}}" for cell, (_, size) in zip(cells, _DIFFERENCES, strict=True))
    yield from _named("  ", one["a"], name, f"{line}  {_verdict(one['verdict'], metric['better'])}")
    told = [*_effect(one), *one["notes"]]
    said = {value["reason"] for value in metric["values"] if value["reason"] is not None}
    if any(note.removeprefix("not compared: ") in said for note in one["notes"]):
        told = ["not compared: no value, see above"]
    if told:
        yield from wrap(f"      {'; '.join(told)}", width, indent="      ")


def _verdict(verdict: str, better: str | None) -> str:
    """Return a verdict about the row, which says what it means where the better end is not the usual one."""
    word = verdict.removeprefix("A ")
    if better != "lower" or word == verdict:
        return word
    return f"{word}, {'better' if word == 'lower' else 'worse'}"


def _effect(one: Json) -> Iterator[str]:
    effect = one["effect"]
    if effect is None:
        return
    if effect["a_only"] is not None:
        odds = effect["odds_ratio"]
        ratio = "" if odds is None else f" (odds {odds:.2f})"
        if effect["a_only"] or effect["b_only"]:
            yield f"1 here alone in {effect['a_only']}, there alone in {effect['b_only']}{ratio}"
        return
    if effect["d_z"] is not None:
        yield f"d_z {rounding.rounded(effect['d_z'], 2)}"
    if effect["rank_biserial"] is not None:
        yield f"rank-biserial {rounding.rounded(effect['rank_biserial'], 2)}"


def _notes(found: Json, width: int) -> Iterator[str]:
    for text in _LEGEND:
        yield from wrap(text, width)
    metrics = found["metrics"]
    if any(one["rank"] is not None for metric in metrics for one in metric["values"]):
        yield from wrap(_RANKS, width)
    effects = [one["effect"] for metric in metrics for one in metric["differences"] if one["effect"]]
    if any(metric["test"] == "bootstrap" for metric in metrics):
        yield from wrap(
            "p of a bootstrap: twice the share of resamples beyond 0; below 0.001, which so few cannot "
            "count, that of Student's t by their SD",
            width,
        )
    if any(effect["a_only"] is None for effect in effects):
        yield from wrap("d_z: mean over SD of the differences by case; rank-biserial: from -1 to 1", width)
    facts = found["intervals"]
    yield from wrap(f"{facts['resamples']:,} resamples, seed {facts['seed']}", width)
    yield from _conventions(found["conventions"], found["benchmark"], width)
    if any(one["imported"] for one in found["contenders"]):
        yield from wrap(IMPORTED_NOTE, width)
    for one in found["contenders"]:
        for note in one["notes"]:
            yield from wrap(f"{one['label']}: {note}", width)


def _conventions(chosen: Mapping[str, str], benchmark: str, width: int) -> Iterator[str]:
    from harness.benchmarks.registry import get_benchmark

    for name, (usual, *_) in get_benchmark(benchmark).conventions.items():
        value = chosen.get(name, usual)
        if value != usual:
            yield from wrap(f"convention {name}={value} (usually {usual}): compare like with like", width)


def _named(before: str, name: str, size: int, line: str) -> Iterator[str]:
    """Yield a row with its name; one that is too long stands above its numbers, and none is cut."""
    shown = printable(name)
    space = size - display_width(shown)
    if space < 0:
        yield f"{before}{shown}"
        shown, space, before = "", size, " " * len(before)
    yield f"{before}{shown}{' ' * space}{line}"


def _name_width(names: Sequence[str], room: int, *, least: int = _LEAST_NAME) -> int:
    longest = max(display_width(printable(name)) for name in names)
    return max(least, min(max(longest + 1, _LEAST_NAME), room))


def _number(value: float | None, decimals: int) -> str:
    return "-" if value is None else rounding.rounded(value, decimals)


def _p(p: float | None) -> str:
    return "-" if p is None else rounding.shown_p(p)


def _share(share: float | None) -> str:
    if share is None:
        return "-"
    return "100%" if share == 1 else f"{min(share * 100, 99.9):.1f}%"

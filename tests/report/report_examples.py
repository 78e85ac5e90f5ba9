"""Reports made by hand: a rich one with every kind of part, and a hostile one whose texts try to be code.

`rich_report()` and `hostile_report()` are pure; `REPORTS` names all. The numbers are drawn from a fixed
seed and mean nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from harness.report.document import (
    Alluvial,
    Cell,
    Column,
    Facts,
    Figure,
    HeatMap,
    Intervals,
    Joined,
    Lines,
    Paragraph,
    Part,
    Point,
    Report,
    RowKind,
    Scatter,
    Section,
    Stacked,
    Table,
    TableRow,
)

SYNTHETIC = "SYNTHETIC DATA - SIMULATED MODELS: no evidence about real models"
SYSTEMS = ("google", "openai", "anthropic", "mistral", "qwen", "internlm", "meta", "deepseek")
NAMES: Sequence[str] = (
    "sim/steady",
    "sim/messy",
    "openrouter/very-long-organisation-name/medical-vision-language-instruct-72b-preview-2026-03-31-int4-awq",
    "本地/医学影像大模型-二十四亿参数-预览版",
    *(f"{SYSTEMS[at % 8]}/model-{at:02}-{('mini', 'large', 'vision-preview')[at % 3]}" for at in range(29)),
)
"""33 models: short, long without a blank, Chinese, and ordinary ones."""

CLASSES: Sequence[str] = (
    "Endodontics",
    "Oral surgery",
    "Periodontics",
    "Orthodontics",
    "Prosthodontics",
    "Oral medicine and radiology",
    "Paediatric dentistry",
    "Restorative",
)
LONG = "x" * 200_000
"""A text as long as the longest that a model may answer with."""

HOSTILE: Mapping[str, str] = {
    "script": "<script>document.title='owned'</script>",
    "image": '<img src=x onerror="alert(1)"> <svg onload=alert(1)>',
    "style_end": "</style></script></title></textarea><style>*{display:none}</style>",
    "comment": "<!-- --> <![CDATA[ ]]> &amp; &lt;b&gt; &#x3c;",
    "template": "{{ 7*7 }} {% raw %} ${7*7} #{7}",
    "javascript": "javascript:alert(1)",
    "link": "[click](javascript:alert(1)) ![x](http://127.0.0.1:9/x.png) <http://127.0.0.1:9/>",
    "heading": "# heading",
    "rule": "---",
    "table": "a | b \\| c || d",
    "code": "`one` ``two`` ```\nthree\n```",
    "marks": "*stars* _lines_ ~~struck~~ ***x*** __y__ :tada: @octocat #1 www.example.invalid",
    "list": "1. one\n- two\n+ three\n> four\n    five",
    "formula": "=cmd|'/c calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(A1:A9)",
    "full_width": "\uff1d1+1",
    "tab_formula": "\t=1+1",
    "quotes": '"a",\'b\';c,""',
    "latex": "\\input{/etc/passwd} $x^2$ 100 % _ & # ~ ^ { } \\end{tabular} \\write18{id} ^^41",
    "rtl": "abc \u202eevil\u202c \u2067isolate\u2069 \u200fmark \u0645\u0631\u062d \u05e9\u05dc\u05d5",
    "unclosed_rtl": "never closed \u202e\u2067 txt.exe",
    "controls": "nul\x00 bell\x07 escape\x1b[31mred\x1b[0m delete\x7f c1\x85\x9b",
    "surrogates": "high \ud800 low \udfff swapped \udc00\ud800",
    "breaks": "lf\n crlf\r\n cr\r ls\u2028 ps\u2029 vt\x0b ff\x0c nel\x85",
    "blanks": "  two  blanks \u00a0nbsp \u200bzero width \ufeffmark\u00ad soft ",
    "cjk": "患者男\uff0c六十二岁\uff0c左下颌疼痛三天。",
    "emoji": "\U0001f9b7 tooth, \U0001f468\u200d\U0001f469\u200d\U0001f467 family, \U0001f1e9\U0001f1ea flag",
    "combining": "Z\u0351\u0346\u030da\u0335l\u0321g\u0488o \U0001d53c\U0001d4b6 \ufffe\uffff\U0010ffff",
    "empty": "",
    "blank": " ",
    "path": "../../etc/passwd",
    "long": LONG,
}
"""What the text is about -> a text that must come back as text from every format."""


def number(value: float, n: int, half: float | None = None, decimals: int = 3) -> Cell:
    """Return a cell of a share, with an interval where there is a half-width."""
    if half is None:
        return Cell(f"{value:.{decimals}f}", value, n)
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    shown = f"{low:.{decimals}f}-{high:.{decimals}f}"
    return Cell(f"{value:.{decimals}f}", value, n, low, high, shown)


@cache
def rich_report() -> Report:
    """Return a report with every kind of part and of drawing, 33 rows, notes and empty cells."""
    draw = random.Random(7)
    leaderboard = _leaderboard(draw)
    heat = _heat_table(draw)
    counts = _plain_table()
    triage = Section(
        "triage",
        "triage (Dental-TriageBench), condition both",
        [
            Paragraph("250 cases, each asked once; the main metric is the exact match of all 22 labels."),
            Paragraph("No model is ranked whose answers are incomplete.", "note"),
            Paragraph("Whoever refers to all domains has a higher recall than 31 of the models.", "warning"),
            leaderboard,
            Figure(
                "triage-both-intervals",
                "Exact match with 95 % intervals",
                "Exact match of 33 models with intervals; the best has 0.61, the baseline prevalence 0.12.",
                Intervals("exact match", _interval_points(leaderboard)),
                "triage-both-leaderboard",
                "Models in the order of the table; open marks are baselines and raters.",
            ),
        ],
        [
            Section("triage-domains", "By domain", [heat, *_domain_figures(draw, heat)]),
            Section("triage-stages", "How answers were read", [counts, *_shares_figures(draw)]),
        ],
    )
    empty = Section("nothing", "Nothing to compare", [Paragraph("One run has one model.", "note")])
    methods = Section("methods", "Methods", [_facts()])
    return Report(
        "Runs demo and night-2 (triage)",
        [triage, empty, methods],
        [SYNTHETIC],
        {"runs": [{"name": "demo", "digest": "0f" * 32}], "seed": 20240501, "nothing": None, "share": 0.1},
    )


@cache
def hostile_report() -> Report:
    """Return a report in which every text is one of `HOSTILE`; only ids are harmless, as they always are."""
    texts = list(HOSTILE.values())
    columns = [Column(f"column.{text[:40]}", text[:200], text, numeric=False) for text in texts[:3]]
    rows = [
        TableRow(
            text,
            [
                Cell(text, text, note=text),
                Cell("0.500", 0.5, 3, 0.1, 0.9, "0.100-0.900"),
                Cell("", note=text),
            ],
            "model",
            [text],
            marked=True,
        )
        for text in texts
    ]
    table = Table(
        "hostile-table", HOSTILE["script"], columns, rows, HOSTILE["marks"], HOSTILE["latex"], texts
    )
    facts = Facts("hostile-facts", HOSTILE["heading"], [(text, text) for text in texts])
    figures = [
        Figure(f"hostile-{kind}", text, text, drawing, "hostile-table", text)
        for (kind, drawing), text in zip(_hostile_drawings().items(), texts, strict=False)
    ]
    paragraphs = [Paragraph(text, tone) for text in texts for tone in ("plain", "warning")]
    inner = [Section(f"hostile-{at}", text[:300], [Paragraph(text)]) for at, text in enumerate(texts)]
    section = Section("hostile", HOSTILE["style_end"], [*paragraphs, table, facts, *figures], inner)
    return Report(HOSTILE["script"], [section], texts, {"texts": texts})


REPORTS: Mapping[str, Callable[[], Report]] = {"rich": rich_report, "hostile": hostile_report}


def parts_of(report: Report) -> Iterator[Part]:
    """Yield every part of a report, in the order in which it is read."""
    pending = list(reversed(report.sections))
    while pending:
        section = pending.pop()
        yield from section.parts
        pending.extend(reversed(section.sections))


def figures_of(report: Report) -> Sequence[Figure]:
    """Return the figures of a report in order."""
    return [part for part in parts_of(report) if isinstance(part, Figure)]


def tables_of(report: Report) -> Sequence[Table]:
    """Return the tables of a report in order."""
    return [part for part in parts_of(report) if isinstance(part, Table)]


def _leaderboard(draw: random.Random) -> Table:
    columns = [
        Column("rank", "#", "rank among complete models"),
        Column("n", "n", "units that the first metric counts"),
        Column("exact_match.fine", "EMR", "exact match of all 22 labels"),
        Column("micro_f1.domain", "micro F1", "micro F1 of the 8 domains"),
        Column("over_referral", "over-referral", "domains named that were not needed; lower is better"),
        Column("without_reformatter", "without reformatter"),
        Column("outcomes", "outcomes", "units by how they ended", numeric=False),
    ]
    rows = [_model(draw, at, name) for at, name in enumerate(NAMES)]
    rows += [_other("expert A", "rater", 0.71, 0.06), _other("prevalence", "baseline", 0.12, 0.02)]
    rows += [_other("unrelated references", "baseline", 0.0, None)]
    rows += [
        _printed(f"{name} (paper, Table 2)", value)
        for name, value in zip(NAMES[:3], (0.5, 0.41, 0.3), strict=True)
    ]
    rows += [TableRow("mean of models", [_no("never ranked")] * 6 + [Cell("")], "other")]
    return Table(
        "triage-both-leaderboard",
        "Leaderboard, condition both",
        columns,
        rows,
        caption="As answered: an unusable answer counts as the worst value. 95 % intervals below each value.",
        notes=["EMR: exact match ratio.", "Draws of cases, 2,000 with seed 20240501."],
    )


def _model(draw: random.Random, at: int, name: str) -> TableRow:
    value, incomplete, marked = 0.61 - at * 0.015, at == 5, at in (2, 5, 9)
    rank = _no("incomplete: resume to complete 12 units") if incomplete else Cell(str(at + 1), at + 1)
    without = _no("no answer was restated") if at % 4 == 0 else number(value - 0.04, 250, 0.05, 2)
    notes = [f"{3 * at} of 250 answers are unusable, more than 1 in 20"] if marked else []
    notes += ["the baseline `prevalence` has a higher recall"] if at > 20 else []
    cells = [
        rank,
        Cell("250", 250),
        number(value, 250, 0.06, 2),
        number(min(value + 0.2, 1), 250, draw.uniform(0.01, 0.06)),
        Cell(
            "0.42", 0.4166666666666667, 96, 0.1, 0.7, "0.10-0.70", "96 of 250 have a domain too many", "note"
        ),
        without,
        Cell(f"valid {250 - at}, refused {at}", f"valid {250 - at}, refused {at}"),
    ]
    return TableRow(name, cells, "model", notes, marked)


def _other(name: str, kind: RowKind, value: float, half: float | None) -> TableRow:
    first = number(value, 250, half, 2)
    cells = [Cell(""), Cell("250", 250), first, number(value, 250), _no("not defined"), Cell(""), Cell("")]
    return TableRow(name, cells, kind, ["answers the most frequent labels"] if kind == "baseline" else [])


def _printed(name: str, value: float) -> TableRow:
    cells = [
        Cell(""),
        Cell("1,200", 1200),
        Cell(f"{value:.2f}", value, note="as printed: 50.0 %"),
        Cell("+0.021", 0.0213, tone="note", note="ours less theirs"),
        _no("not printed"),
        _no("not printed"),
        Cell(""),
    ]
    return TableRow(name, cells, "published", ["Table 2 of the paper; other cases than these"])


def _no(reason: str) -> Cell:
    return Cell("-", None, note=reason)


def _interval_points(table: Table) -> Sequence[Point]:
    found = []
    for row in table.rows:
        cell = row.cells[2]
        if isinstance(cell.value, float):
            found.append(Point(row.name, cell.value, 0.0, cell.low, cell.high, row.kind))
    return found


def _heat_table(draw: random.Random) -> Table:
    columns = [Column(f"f1.{name}", name, f"F1 of {name}") for name in CLASSES]
    rows = [
        TableRow(
            name, [_no("no case needs it") if at == 6 else number(draw.random(), 250) for at in range(8)]
        )
        for name in NAMES
    ]
    return Table(
        "triage-both-domains", "F1 by domain", columns, rows, caption="Domains in the order of the paper."
    )


def _domain_figures(draw: random.Random, heat: Table) -> Sequence[Figure]:
    values = [
        [cell.value if isinstance(cell.value, float) else None for cell in row.cells] for row in heat.rows
    ]
    texts = [[cell.text for cell in row.cells] for row in heat.rows]
    lines = {name: [0.9 - 0.2 * at - draw.random() / 5 for at in range(3)] + [None] for name in NAMES[:6]}
    counted = {name: [1.5, 1.8 + at / 9, 2.2, 2.4 + at / 5] for at, name in enumerate(NAMES)}
    scatter = [Point(name, draw.uniform(0.02, 90), draw.random()) for name in NAMES]
    points = [
        *scatter,
        Point("prevalence", 0.01, 0.12, mark="baseline"),
        Point("expert A", 40.0, 0.71, mark="rater"),
    ]
    return [
        Figure(
            "triage-both-heat",
            "F1 by domain",
            "A heat map of F1 by model and domain.",
            HeatMap(NAMES, CLASSES, values, texts, "domain", "F1", 0.0, 1.0),
            heat.id,
        ),
        Figure(
            "triage-both-complexity",
            "Score against complexity",
            "Exact match falls with the number of domains.",
            Lines(["1", "2", "3", "4 or more"], lines, "domains needed", "exact match"),
            heat.id,
            "Six models.",
        ),
        Figure(
            "triage-both-counts",
            "Named against needed",
            "Most models name two domains whatever is needed.",
            Lines(["1", "2", "3", "4"], counted, "domains needed", "domains named", diagonal=True),
            heat.id,
        ),
        Figure(
            "triage-both-cost",
            "Cost against score",
            "Cost in USD against exact match, with the Pareto front.",
            Scatter(points, "USD for 250 cases", "exact match", _front(scatter), log_x=True),
            heat.id,
        ),
        Figure(
            "triage-both-referral",
            "Over-referral against omission",
            "Points by model.",
            Scatter([Point(p.name, p.y, p.y / 2) for p in points], "omission", "over-referral"),
            heat.id,
        ),
    ]


def _front(points: Sequence[Point]) -> Sequence[str]:
    front, best = [], float("-inf")
    for point in sorted(points, key=lambda one: (one.x, -one.y)):
        if point.y > best:
            front.append(point.name)
            best = point.y
    return front


def _plain_table() -> Table:
    columns = [Column("attempt-1", "attempt 1"), Column("attempt-2", "attempt 2"), Column("failed", "failed")]
    rows = [
        TableRow(name, [Cell(str(200 - at), 200 - at), Cell("40", 40), Cell(str(10 + at), 10 + at)])
        for at, name in enumerate(NAMES)
    ]
    return Table(
        "triage-both-stages", "Units by stage", columns, rows, "asked model", notes=["Counts of units."]
    )


def _shares_figures(draw: random.Random) -> Sequence[Figure]:
    valid = [draw.uniform(0.5, 0.9) for _ in NAMES]
    parts = {
        "valid": valid,
        "refused": [(1 - share) / 2 for share in valid],
        "truncated": [0.04] * len(NAMES),
    }
    pairs = {name: (share - 0.3, share) for name, share in zip(NAMES, valid, strict=True)}
    flow = [[[30, 5, 2], [4, 20, 9], [0, 8, 22]], [[25, 9, 0], [3, 27, 3], [1, 0, 32]]]
    panels = {name: flow for name in NAMES[:5]}
    table = "triage-both-stages"
    return [
        Figure(
            "triage-both-failures",
            "Failures by kind",
            "Shares of units by how they ended.",
            Stacked(NAMES, parts, "share of units"),
            table,
        ),
        Figure(
            "triage-both-normalised",
            "Raw against normalised",
            "All gain by it.",
            Joined(pairs, "raw", "normalised", "BLEU-4"),
            table,
        ),
        Figure(
            "triage-both-flow",
            "From condition to condition",
            "Most cases keep their level.",
            Alluvial(["text", "text and images", "all"], ["missed", "in part", "hit"], panels),
            table,
        ),
    ]


def _facts() -> Facts:
    return Facts(
        "methods-facts",
        "What was asked",
        [
            ("harness", "0.1.0"),
            ("prompt triage-v1", "sha256 " + "ab" * 32),
            (
                "parameters of sim/steady",
                "temperature 0; max_tokens 4096; left out: seed (not taken by this model)",
            ),
            ("conventions", "zero_division=zero; rank=exact_match"),
            ("dates", "2026-05-01 to 2026-05-03"),
        ],
    )


def _hostile_drawings() -> Mapping[str, Intervals | HeatMap | Lines | Scatter | Joined | Stacked | Alluvial]:
    names = [text[:500] for text in HOSTILE.values()]
    others = [HOSTILE[name] for name in ("surrogates", "controls", "rtl", "latex", "cjk", "long")]
    some = [*names[:4], *others]
    points = [
        Point(name, at + 1.0, at / 40, at + 0.5, at + 1.5) for at, name in enumerate(dict.fromkeys(names))
    ]
    title = HOSTILE["style_end"]
    return {
        "intervals": Intervals(title, points),
        "heat": HeatMap(
            some, some, [[0.5] * len(some)] * len(some), [some] * len(some), title, title, 0.0, 1.0
        ),
        "lines": Lines(some, {name: [0.5] * len(some) for name in some}, title, title, diagonal=True),
        "scatter": Scatter(points, title, title, [one.name for one in points], log_x=True),
        "joined": Joined({name: (0.25, 0.75) for name in some}, title, title, title),
        "stacked": Stacked(some, {name: [0.1] * len(some) for name in names[:8]}, title),
        "alluvial": Alluvial(some[:2], some[:3], {name: [[[1, 2, 3]] * 3] for name in some[:6]}, title),
    }

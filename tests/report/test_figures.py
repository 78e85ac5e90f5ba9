"""Figures: every kind, as SVG in a page, as a file and as PNG, whatever the names are."""

from __future__ import annotations

import io
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from report.figure_examples import EVERY, HOSTILE, NAMES, drawings, figure

from harness.report.document import Figure, HeatMap, Intervals, Lines, Point, Scatter, Stacked
from harness.report.figures import drawn, figure_css, forms
from harness.report.figures.canvas import Canvas
from harness.report.figures.heat_map import step_of
from harness.report.figures.labels import fitted, text_width
from harness.report.figures.lines import coloured
from harness.report.figures.palette import COLOURS, HATCHES, SERIES
from harness.report.figures.scales import Scale, linear, logarithmic, tick_text
from harness.report.figures.spread import Plane, apart

XMLNS = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
EVERY_KIND = pytest.mark.parametrize("name", EVERY)


def svg(one: Figure, report_id: str) -> str:
    return drawn(one).svg(report_id)


def png(one: Figure) -> bytes:
    return drawn(one).png()


@cache
def inline(name: str) -> str:
    return svg(figure(EVERY[name]), "p7")


def tree(markup: str) -> ET.Element:
    return ET.fromstring(markup.replace("<svg ", f"<svg {XMLNS} ", 1) if XMLNS not in markup else markup)


def texts(markup: str) -> list[str]:
    return [one.text or "" for one in tree(markup).iter("text")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear_ = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear_[0] + 0.7152 * linear_[1] + 0.0722 * linear_[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@EVERY_KIND
def test_every_drawing_is_well_formed_svg_whose_bytes_do_not_change(name: str) -> None:
    first = drawn(figure(replace(EVERY[name])))
    assert first.svg("p7") == inline(name)
    assert ET.fromstring(first.svg_file()).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("name", [name for name in EVERY if not name.endswith("many")])
def test_every_drawing_is_a_png_at_200_dpi_that_names_no_program(name: str) -> None:
    image = png(figure(EVERY[name]))
    assert Image.open(io.BytesIO(image)).info["dpi"] == pytest.approx((200, 200), abs=0.1)
    assert b"matplotlib" not in image
    if name.endswith("one"):
        assert image == png(figure(EVERY[name]))


@EVERY_KIND
def test_svg_in_a_page_brings_nothing_but_shapes_and_texts_in_the_pages_colours(name: str) -> None:
    markup = inline(name)
    root = tree(markup)
    allowed = {"svg", "title", "desc", "defs", "g", "path", "text", "pattern", "rect", "use", "clipPath"}
    assert {one.tag for one in root.iter()} <= allowed
    assert not [key for one in root.iter() for key in one.attrib if key.startswith("on")]
    assert "width" not in root.attrib and "height" not in root.attrib
    bare = re.sub(
        r"var\(--fig-[a-z0-9-]+, #[0-9a-f]{6}\)", "", re.sub(r"<(text|title|desc).*?</\1>", "", markup)
    )
    assert not re.search(r"(fill|stroke): #[0-9a-f]{3}", bare)
    named = set(re.findall(r"var\(--fig-([a-z0-9-]+),", markup))
    assert named <= set(COLOURS)
    assert all(f"--fig-{one}: " in figure_css() for one in named)
    ids = [one.attrib["id"] for one in root.iter() if "id" in one.attrib]
    assert max(Counter(ids).values()) == 1
    assert all(one.startswith("p7-figure-1-") for one in ids)
    referred = set(re.findall(r"url\(#([^)]+)\)", bare)) | set(re.findall(r'href="#([^"]+)"', bare))
    assert referred <= set(ids)


@EVERY_KIND
def test_nothing_is_drawn_outside_the_figure_but_by_the_slack_of_a_fonts_width(name: str) -> None:
    root = tree(inline(name))
    width, height = (float(one) for one in root.attrib["viewBox"].split()[2:])
    for one in root.iter("text"):
        assert one.text is not None
        size = float(re.search(r"font-size: ([\d.]+)px", one.attrib["style"])[1])  # type: ignore[index]
        x, y, wide = float(one.attrib["x"]), float(one.attrib["y"]), text_width(one.text, size)
        if "rotate" in one.attrib.get("transform", ""):
            continue
        align = re.search(r"text-anchor: (\w+)", one.attrib["style"])
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[align[1] if align else "start"]
        assert left >= -1 and left + wide <= width + 1, one.text
        assert 0 < y <= height, one.text


def test_an_image_has_a_name_and_a_description_for_who_cannot_see_it() -> None:
    markup = svg(figure(EVERY["intervals, one"], "Best & worst", "The <best> has 0.6."), "p")
    root = tree(markup)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "p-figure-1-title p-figure-1-desc"
    assert [(one.attrib["id"], one.text) for one in root if one.tag in ("title", "desc")] == [
        ("p-figure-1-title", "Best & worst"),
        ("p-figure-1-desc", "The <best> has 0.6."),
    ]


def test_a_file_stands_alone_in_light_colours() -> None:
    text = drawn(figure(EVERY["stacked, many"])).svg_file().decode()
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"')
    assert "var(" not in text
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    hatched = re.findall(r"fill: url\(#([^)]+)\)", text)
    assert hatched and all(f'<pattern id="{one}"' in text for one in hatched)


@pytest.mark.parametrize("kind", ["intervals", "heat map", "joined", "stacked"])
def test_names_are_text_whatever_is_in_them(kind: str) -> None:
    found = texts(svg(figure(drawings(HOSTILE)[kind]), "p"))
    assert "<script>alert(1)</script>" in found
    assert "$x_1$ \\frac{1}{2} %_&#" in found
    assert "nul\ufffd escape\ufffd half\ufffd last\ufffd" in found
    assert "evil \ufffdexe.txt" in found
    assert "line one  two three" in found
    assert "\u672c\u5730/\u5927\u6a21\u578b" in found
    assert any(re.fullmatch("x+\u2026x+", one) for one in found)


def test_a_figure_is_drawn_once_and_written_once_as_svg_for_all_its_forms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    for module, name in ((forms, "draw"), (Canvas, "to_svg")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda one, name=name, real=real: made.append(name) or real(one))
    one = drawn(figure(Intervals("kept", [Point("m", 0.5)])))
    assert "kept" in texts(one.svg("p")) and "kept" in texts(one.svg("q"))
    assert b">kept<" in one.svg_file() and one.png()
    assert made == ["draw", "to_svg"]


def test_every_row_is_there_from_the_top() -> None:
    points = [Point(name, at / 40, 0.0, at / 50, at / 30) for at, name in enumerate(NAMES)]
    root = tree(svg(figure(Intervals("share", points)), "p"))
    heights = {one.text: float(one.attrib["y"]) for one in root.iter("text")}
    assert sorted(NAMES, key=lambda name: heights[name]) == list(NAMES)
    few = tree(svg(figure(Intervals("share", points[:5])), "p"))
    tall, small = (float(one.attrib["viewBox"].split()[3]) for one in (root, few))
    assert tall > small + 28 * 20


def test_a_row_without_a_value_says_so() -> None:
    points = [Point("a", math.nan), Point("b", 0.5, 0.0, math.nan, 1.0), Point("c", math.inf)]
    assert texts(svg(figure(Intervals("x", points)), "p")).count("no value") == 2


def test_cells_show_their_texts_and_where_there_is_no_value_a_hatch() -> None:
    one = HeatMap(["m"], ["a", "b", "c"], [[0.0, None, 1.0]], [["0.00", "none", "1.00"]], "x", "F1", 0.0, 1.0)
    markup = svg(figure(one), "p")
    assert {"0.00", "none", "1.00", "no value"} <= set(texts(markup))
    assert "--fig-heat-ink-0" in markup and "--fig-heat-ink-8" in markup and "url(#p-" in markup


def test_of_many_series_the_best_are_named_and_the_figure_says_how_they_were_chosen() -> None:
    series = {name: [at / 33, at / 40] for at, name in enumerate(NAMES)}
    best = Lines(["a", "b"], series, "x", "y")
    assert coloured(best) == list(reversed(NAMES[-6:]))
    assert coloured(Lines(["a", "b"], dict(list(series.items())[:8]), "x", "y")) == list(NAMES[:8])
    found = texts(svg(figure(best), "p"))
    assert "Coloured: the 6 highest on average over the groups; grey: the other 27." in found
    counts = {name: [1.0 + at, 2.0 + at, None] for at, name in enumerate(NAMES)}
    nearest = Lines(["1", "2", "3 or more"], counts, "x", "y", diagonal=True)
    assert coloured(nearest) == list(NAMES[:6])


def test_free_models_stand_apart_on_a_logarithmic_axis() -> None:
    one = Scatter(
        [Point("free", 0.0, 0.2), Point("a", 0.1, 0.3), Point("b", 10.0, 0.5)], "USD", "F1", log_x=True
    )
    found = texts(svg(figure(one), "p"))
    assert {"0", "0.1", "1", "10", "free", "USD (logarithmic)"} <= set(found)


def test_a_name_that_finds_no_room_is_counted() -> None:
    crowd = [Point(f"vendor/model-with-a-long-name-{at}", 0.5, 0.5) for at in range(120)]
    note = next(one for one in texts(svg(figure(Scatter(crowd, "x", "y")), "p")) if "want of room" in one)
    named = len(
        [one for one in texts(svg(figure(Scatter(crowd, "x", "y")), "p")) if one.startswith("vendor")]
    )
    assert note.startswith(f"{120 - named} of the points")


def test_names_of_points_do_not_overlap() -> None:
    plane = Plane((0.0, 0.0, 600.0, 400.0))
    spots = [(300.0 + at % 5 * 9, 200.0 + at // 5 * 9) for at in range(20)]
    placed = [plane.put(x, y, 70.0, 11.0) for x, y in spots]
    boxes = [(one.x, one.y, one.x + 70, one.y + 11) for one in placed if one is not None]
    assert len(boxes) > 8
    for a, b in combinations(boxes, 2):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


def test_labels_at_an_edge_keep_their_order_and_distance() -> None:
    found = apart([10.0, 11.0, 12.0, 90.0, 300.0], 15.0, 0.0, 100.0)
    assert all(b - a >= 15.0 - 1e-9 for a, b in pairwise(found))
    assert min(found) >= 0.0 and max(found) <= 100.0
    tight = apart([50.0] * 11, 15.0, 0.0, 100.0)
    assert tight == pytest.approx([10.0 * at for at in range(11)])


def test_a_long_text_keeps_both_ends_within_its_room() -> None:
    name = "openrouter/" + "very-long-" * 20 + "int4"
    shown = fitted(name, 150, 12)
    assert shown.startswith("openrouter/") and shown.endswith("int4") and "\u2026" in shown
    assert text_width(shown, 12) <= 150
    assert fitted("short", 150, 12) == "short"


@pytest.mark.parametrize("text", [name for name in HOSTILE if 0 < len(name) < 100])
def test_no_text_of_a_png_is_wider_than_was_reckoned_with(text: str) -> None:
    canvas = Canvas(900)
    canvas.text(10, 20, text)
    canvas.finish(40)
    alone = Image.open(io.BytesIO(canvas.to_png())).convert("L")
    ink = alone.point(lambda shade: 255 if shade < 200 else 0).getbbox()
    assert ink is not None
    assert ink[2] * 72 / 200 <= 10 + text_width(fitted(text, 900, 12), 12) + 1


def test_ticks_are_round_and_hold_the_values() -> None:
    scale = linear([0.31, 0.58], 0.0, 100.0)
    assert scale.low <= 0.31 and scale.high >= 0.58
    assert [text for _, text in scale.ticks(7)] == ["0.30", "0.35", "0.40", "0.45", "0.50", "0.55", "0.60"]
    assert (scale.at(scale.low), scale.at(scale.high)) == (0.0, 100.0)
    assert linear([], 0.0, 1.0).low == 0.0
    assert linear([5.0, 5.0], 0.0, 1.0).at(5.0) == pytest.approx(0.5)
    decades = logarithmic([0.01, 900.0], 0.0, 100.0)
    assert [text for _, text in decades.ticks(9)] == ["0.01", "0.1", "1", "10", "100"] + (
        ["1000"] if decades.high >= 1000 else []
    )
    assert tick_text(-0.0001, 2) == "0.00"
    assert Scale(0.0, 1.0, 0.0, 10.0).at(7.0) == 10.0


def test_steps_of_a_heat_map_cover_its_scale() -> None:
    assert [step_of(one, 0.0, 1.0) for one in (-1.0, 0.0, 0.5, 1.0, 2.0)] == [0, 0, 4, 8, 8]
    assert step_of(0.3, 0.3, 0.3) == 0


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_read_and_told_apart(theme: int) -> None:
    shades = {name: pair[theme] for name, pair in COLOURS.items()}
    for step in range(9):
        assert contrast(shades[f"heat-{step}"], shades[f"heat-ink-{step}"]) >= 4.5
    assert all(
        contrast(shades[one], shades[on]) >= 4.5 for one in ("ink", "soft") for on in ("paper", "band")
    )
    assert all(contrast(shades[one], shades["paper"]) >= 3 for one in SERIES)
    assert all(contrast(shades["ink"], shades["empty"]) >= 4.5 for _ in "a")
    steps = [luminance(shades[f"heat-{step}"]) for step in range(9)]
    assert steps in (sorted(steps), sorted(steps, reverse=True))


def test_a_light_colour_stands_for_one_name_and_parts_differ_without_colour() -> None:
    assert len({light for light, _ in COLOURS.values()}) == len(COLOURS)
    pairs = [(at % len(SERIES), at % len(HATCHES)) for at in range(56)]
    assert len(set(pairs)) == 56
    one = Stacked(["m"], {f"part {at}": [0.125] for at in range(7)}, "share")
    markup = svg(figure(one), "p")
    assert len(set(re.findall(r"url\(#([^)]+)\)", markup))) == 6


def test_nothing_of_the_users_matplotlib_reaches_figures_nor_back() -> None:
    import matplotlib as mpl

    one = figure(EVERY["stacked, one"])
    plain = (svg(one, "p"), png(one))
    again = replace(one, drawing=replace(one.drawing))
    before = dict(mpl.rcParams)
    changes = {
        "font.weight": "bold",
        "hatch.linewidth": 4.0,
        "lines.antialiased": False,
        "path.sketch": (3.0, 10.0, 2.0),
        "savefig.bbox": "tight",
        "savefig.facecolor": "red",
        "svg.fonttype": "path",
        "text.usetex": True,
    }
    with mpl.rc_context(changes):
        inside = dict(mpl.rcParams)
        assert (svg(again, "p"), png(again)) == plain
        assert dict(mpl.rcParams) == inside
    assert dict(mpl.rcParams) == before


def _child(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_matplotlib_is_imported_when_the_first_figure_is_drawn_and_never_pyplot() -> None:
    code = (
        "import sys, harness.report.figures as f; f.figure_css(); print('matplotlib' in sys.modules);"
        "from harness.report.document import *;"
        "f.drawn(Figure('a', 'a', 'a', Intervals('x', [Point('m', 0.5)]), 't')).png();"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    assert _child(code).stdout.split() == ["False", "True", "False"]


def test_a_cache_folder_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    code = (
        "import harness.report.figures as f; from harness.report.document import *;"
        "print(len(f.drawn(Figure('a', 'a', 'a', Intervals('x', [Point('m', 0.5)]), 't')).png()))"
    )
    done = _child(code, MPLCONFIGDIR=str(tmp_path / "file" / "x"), TMPDIR=str(tmp_path / "temporary"))
    assert int(done.stdout) > 1000
    assert done.stderr == ""
    assert list((tmp_path / "temporary").iterdir()) == []


def _mathematical() -> Iterator[str]:
    yield from ("$", "$$", "$x", r"$\frac", "a$b$c", r"\$", "$\ud800$", "{", "_", "^")


@pytest.mark.parametrize("text", list(_mathematical()))
def test_formulas_are_never_parsed(text: str) -> None:
    canvas = Canvas(200)
    canvas.text(10, 20, text)
    canvas.finish(40)
    assert canvas.to_png().startswith(b"\x89PNG")
    shown = text.replace("\ud800", "\ufffd")
    assert [one.text for one in ET.fromstring(canvas.to_svg()).iter("{http://www.w3.org/2000/svg}text")] == [
        shown
    ]

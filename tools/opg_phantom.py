"""Phantom panoramic radiographs: jaws, sinuses, spine shadow and up to 32 teeth with drawn findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 900, 450
SCALE: Final = 2
"""Drawn this much larger, then reduced: the only smoothing of edges."""

Point: TypeAlias = tuple[float, float]
Field: TypeAlias = NDArray[np.float64]

_WIDTHS: Final = {
    "upper": (33, 26, 29, 27, 26, 40, 38, 34),
    "lower": (21, 23, 27, 27, 28, 43, 42, 40),
}
"""Mesiodistal widths in pixels, from the central incisor to the wisdom tooth."""
_ROOT_LENGTH: Final = (58, 56, 72, 60, 58, 56, 52, 42)
_CROWN_LENGTH: Final = (36, 33, 37, 31, 30, 30, 29, 27)
_GLYPHS: Final = {
    "S": "01111 10000 10000 01110 00001 00001 11110",
    "Y": "10001 10001 01010 00100 00100 00100 00100",
    "N": "10001 11001 10101 10011 10001 10001 10001",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "I": "01110 00100 00100 00100 00100 00100 01110",
    "C": "01111 10000 10000 10000 10000 10000 01111",
    "L": "10000 10000 10000 10000 10000 10000 11111",
}
"""Letters of 5 x 7 dots: no font, so the same on every machine."""


@dataclass(frozen=True, slots=True)
class Tooth:
    """One tooth: where its biting edge is, its axis, and its size in pixels of the finished picture."""

    fdi: int
    edge: Point
    angle: float
    """Radians by which its axis leans from the vertical."""
    width: float
    crown: float
    root: float

    @property
    def upper(self) -> bool:
        """True in the upper jaw."""
        return self.fdi < 30

    @property
    def place(self) -> int:
        """1 is the central incisor, 8 the wisdom tooth."""
        return self.fdi % 10

    def at(self, across: float, along: float) -> Point:
        """Return a point: `across` in half widths, `along` in pixels from the biting edge to the root."""
        side, down = across * self.width / 2, -along if self.upper else along
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        return self.edge[0] + side * cos - down * sin, self.edge[1] + side * sin + down * cos

    def roots(self) -> tuple[float, ...]:
        """Return where its roots end, across."""
        if self.place >= 6:
            return (-0.62, 0.0, 0.62) if self.upper else (-0.5, 0.5)
        return (-0.3, 0.3) if self.fdi in (14, 24) else (0.0,)


class Drawing:
    """A picture being drawn, in coordinates of the finished one."""

    def __init__(self, base: Field) -> None:
        grey = Image.fromarray(np.clip(base, 0, 255).astype(np.uint8))
        self.image = grey.resize((WIDTH * SCALE, HEIGHT * SCALE), Image.Resampling.BILINEAR)

    def shape(self, points: Sequence[Point], grey: int, *, blur: float = 0.8, alpha: float = 1.0) -> None:
        """Fill a polygon with soft edges; `blur` in pixels."""
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        pad = 4 * blur + 3
        box = (
            max(0, int((min(xs) - pad) * SCALE)),
            max(0, int((min(ys) - pad) * SCALE)),
            min(WIDTH * SCALE, int((max(xs) + pad) * SCALE)),
            min(HEIGHT * SCALE, int((max(ys) + pad) * SCALE)),
        )
        if box[0] >= box[2] or box[1] >= box[3]:
            return
        mask = Image.new("L", (box[2] - box[0], box[3] - box[1]))
        moved = [(x * SCALE - box[0], y * SCALE - box[1]) for x, y in points]
        ImageDraw.Draw(mask).polygon(moved, fill=round(255 * alpha))
        self.image.paste(grey, box, mask.filter(ImageFilter.GaussianBlur(blur * SCALE)))

    def blob(self, centre: Point, radii: Point, grey: int, *, blur: float = 1.0, alpha: float = 1.0) -> None:
        """Fill an ellipse."""
        steps = [2 * math.pi * step / 40 for step in range(40)]
        ring = [(centre[0] + radii[0] * math.cos(a), centre[1] + radii[1] * math.sin(a)) for a in steps]
        self.shape(ring, grey, blur=blur, alpha=alpha)

    def line(
        self, points: Sequence[Point], width: float, grey: int, *, blur: float = 0.8, alpha: float = 1.0
    ) -> None:
        """Draw a line of even width."""
        for (x0, y0), (x1, y1) in pairwise(points):
            length = math.hypot(x1 - x0, y1 - y0) or 1.0
            dx, dy = (y1 - y0) / length * width / 2, (x0 - x1) / length * width / 2
            ring = [(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)]
            self.shape(ring, grey, blur=blur, alpha=alpha)


More: TypeAlias = Callable[[Drawing, Mapping[int, Tooth]], None]


def draw_radiograph(findings: Mapping[str, Any], *, seed: int, more: More | None = None) -> Image.Image:
    """Return a grey picture with the findings of one case drawn into it, and then what `more` draws."""
    generator = np.random.Generator(np.random.PCG64(seed))
    drawing = Drawing(_background(generator))
    teeth = {tooth.fdi: tooth for tooth in _dentition(findings, generator)}
    _jaws(drawing, teeth, findings)
    for tooth in teeth.values():
        _tooth(drawing, tooth, findings)
    _crest(drawing, teeth, findings)
    for tooth in teeth.values():
        _tooth_findings(drawing, tooth, findings)
    _jaw_findings(drawing, findings)
    if more is not None:
        more(drawing, teeth)
    return _exposed(drawing.image, generator)


def _arch(t: float, upper: bool) -> Point:
    """Return the biting line at t from -1 (left edge of the picture) to 1."""
    return WIDTH / 2 + 268 * t, 226 - 46 * t * t + (-5 if upper else 5)


def _dentition(findings: Mapping[str, Any], generator: np.random.Generator) -> Iterator[Tooth]:
    missing = set(findings.get("missing", ()))
    tilts = {int(fdi): float(angle) for fdi, angle in findings.get("impacted", {}).items()}
    for quadrant, sign in ((1, -1), (2, 1), (3, 1), (4, -1)):
        arch = "upper" if quadrant < 3 else "lower"
        reach = 1.0
        for place, width in enumerate(_WIDTHS[arch], start=1):
            lean, longer, shift = generator.normal(0, [0.025, 0.04, 0.8])
            middle, reach = (reach + width / 2) / 268, reach + width + 0.6
            fdi = quadrant * 10 + place
            if fdi in missing:
                continue
            x, y = _arch(sign * middle, arch == "upper")
            angle = -sign * 0.34 * middle * (1 if arch == "lower" else 0.5) + lean
            if fdi in tilts:
                y += 34 if arch == "lower" else -30
                angle = math.radians(tilts[fdi])
            length = (1 + longer) * (1.0 if arch == "upper" else 0.94)
            yield Tooth(
                fdi,
                (x, y + shift),
                angle,
                width * 0.97,
                _CROWN_LENGTH[place - 1] * length,
                _ROOT_LENGTH[place - 1] * length,
            )


def _background(generator: np.random.Generator) -> Field:
    ys, xs = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    field = np.full((HEIGHT, WIDTH), 62.0)
    spine = np.exp(-(((xs - WIDTH / 2) / 75) ** 2))
    field += 30 * spine * (0.55 + 0.45 * ys / HEIGHT)
    for side in (18, WIDTH - 18):
        field += 58 * np.exp(-(((xs - side) / 42) ** 2)) * (0.6 + 0.4 * np.sin(ys / 17))
    # Air behind the palate and beside the tongue.
    curve = 168 - 34 * ((xs - WIDTH / 2) / 330) ** 2
    field -= 26 * np.exp(-(((ys - curve) / 13) ** 2)) * (1 - 0.7 * spine)
    field -= 40 * np.clip((ys - 408) / 42, 0, 1)
    return field + _texture(generator, 26) * 5


def _texture(generator: np.random.Generator, size: int) -> Field:
    """Return smooth noise of about unit height with grains of `size` pixels."""
    coarse = generator.normal(0, 1, (HEIGHT // size + 2, WIDTH // size + 2)).astype(np.float32)
    grains = Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    return np.asarray(grains, dtype=np.float64)


def _jaws(drawing: Drawing, teeth: Mapping[int, Tooth], findings: Mapping[str, Any]) -> None:
    drawing.shape(_mandible(), 116, blur=3)
    lower = _mandible()[: len(_mandible()) // 2]
    drawing.line(lower[4:], 5, 168, blur=1.6, alpha=0.8)
    upper = [(178, 120), (220, 66), (330, 40), (450, 34), (570, 40), (680, 66), (722, 120), (726, 176)]
    ridge = [_arch(t / 10, True) for t in range(10, -11, -1)]
    drawing.shape([*upper, *((x, y - 22) for x, y in ridge), (174, 176)], 110, blur=5)
    for sign in (-1, 1):
        x = WIDTH / 2 + sign * 165
        drawing.blob((x, 82), (92, 45), 142, blur=2, alpha=0.55)
        drawing.blob((x, 82), (88, 41), 70, blur=2.5, alpha=0.9)
        drawing.blob((WIDTH / 2 + sign * 24, 62), (19, 38), 58, blur=3, alpha=0.9)
        canal = [(WIDTH / 2 + sign * (330 - 24 * k), 238 + 104 * math.sin(k / 9 * 1.45)) for k in range(10)]
        drawing.line(canal, 6, 96, blur=2, alpha=0.6)
        _condyle(drawing, sign, worn=findings.get("condyle") == ("left" if sign > 0 else "right"))
    drawing.line([(WIDTH / 2, 14), (WIDTH / 2, 104)], 5, 138, blur=1.5)
    palate = [(WIDTH / 2 + 22 * k, 112 + 0.05 * k * k) for k in range(-12, 13)]
    drawing.line(palate, 4, 172, blur=1.5, alpha=0.8)


def _mandible() -> list[Point]:
    """Return the outline of the lower jaw: the outer border from left to right, then the ridge back."""
    half = [
        (356, 96),
        (372, 150),
        (371, 205),
        (362, 262),
        (340, 310),
        (290, 352),
        (200, 386),
        (100, 403),
        (0, 408),
    ]
    outer = [(WIDTH / 2 - x, y) for x, y in half] + [(WIDTH / 2 + x, y) for x, y in reversed(half[:-1])]
    inner = [(300, 120), (292, 176), (281, 214)]
    ridge = [(x, y + 24) for x, y in (_arch(t / 10, False) for t in range(10, -11, -1))]
    right = [(WIDTH / 2 + x, y) for x, y in inner]
    left = [(WIDTH / 2 - x, y) for x, y in reversed(inner)]
    return [*outer, *right, *ridge, *left]


def _condyle(drawing: Drawing, sign: int, *, worn: bool) -> None:
    x = WIDTH / 2 + sign * 340
    drawing.blob((x, 84), (27, 12 if worn else 21), 132, blur=2)
    drawing.shape([(x - 17, 88), (x + 17, 88), (x + 20, 130), (x - 22, 130)], 122, blur=3)
    drawing.line([(x - 44, 60), (x - 20, 49), (x + 20, 49), (x + 44, 66)], 5, 150, blur=1.5, alpha=0.8)
    drawing.shape([(x - sign * 52, 118), (x - sign * 30, 168), (x - sign * 58, 178)], 112, blur=3)


def _tooth(drawing: Drawing, tooth: Tooth, findings: Mapping[str, Any]) -> None:
    neck, end = tooth.crown, tooth.crown + tooth.root
    stump = tooth.fdi in findings.get("roots", ())
    spread = 0.8 / len(tooth.roots())
    for apex in tooth.roots():
        base = apex * 0.72
        ring = [
            tooth.at(base - spread, neck - 2),
            tooth.at(apex - 0.2, neck + tooth.root * 0.72),
            tooth.at(apex, end),
            tooth.at(apex + 0.2, neck + tooth.root * 0.72),
            tooth.at(base + spread, neck - 2),
        ]
        drawing.line(ring, 3.4, 66, blur=0.9, alpha=0.85)
        drawing.shape(ring, 160, blur=1.0)
        drawing.line([tooth.at(base, neck), tooth.at(apex, end - 6)], 2.4, 112, blur=0.8, alpha=0.8)
    if stump:
        broken = [(-0.8, neck - 5), (0.7, neck - 1), (0.8, neck + 6), (-0.8, neck + 6)]
        drawing.shape([tooth.at(*point) for point in broken], 150)
        return
    drawing.shape([tooth.at(*point) for point in crown_outline(tooth)], 212, blur=0.8)
    inside = [(across * 0.74, 6 + (along - 4) * 0.94) for across, along in crown_outline(tooth)]
    drawing.shape([tooth.at(*point) for point in inside], 172, blur=1.3)
    chamber = 0.42 if tooth.place >= 6 else 0.2
    low = chamber * 0.7
    pulp = [(-chamber, neck * 0.62), (chamber, neck * 0.62), (low, neck + 3), (-low, neck + 3)]
    drawing.shape([tooth.at(*point) for point in pulp], 108, blur=1.2)


def crown_outline(tooth: Tooth) -> list[Point]:
    """Return the outline of a tooth's crown, as `Tooth.at` takes it."""
    neck = tooth.crown
    if tooth.place <= 3:
        tip = 0.0 if tooth.place == 3 else 2.0
        half = [(0.3, tip), (0.86, 3), (0.98, neck * 0.4), (0.76, neck + 2)]
    else:
        half = [(0, 4), (0.45, 0), (0.8, 2), (1.0, neck * 0.45), (0.84, neck + 2)]
    return half + [(-across, along) for across, along in reversed(half)]


def _crest(drawing: Drawing, teeth: Mapping[int, Tooth], findings: Mapping[str, Any]) -> None:
    """Draw the bone's edge between neighbours, lowered by the share of the root that has lost its bone."""
    bone = findings.get("bone", 0.03)
    for fdi, tooth in teeth.items():
        loss = float(bone["upper" if tooth.upper else "lower"] if isinstance(bone, Mapping) else bone)
        if str(fdi) in findings.get("impacted", {}):
            continue
        share = 0.92 if fdi in findings.get("floating", ()) else loss
        depth = tooth.crown + 4 + share * tooth.root
        for side in (-1, 1):
            top = tooth.crown - 2
            if share > 0.1:
                gap = [(side * 0.86, top), (side * 1.12, top), (side * 1.04, depth), (side * 0.62, depth)]
                drawing.shape([tooth.at(*point) for point in gap], 68, blur=1.6, alpha=0.75)
            edge = [tooth.at(side * 0.6, depth + 1), tooth.at(side * 1.14, depth)]
            drawing.line(edge, 2, 170, blur=0.9, alpha=0.7)


def _tooth_findings(drawing: Drawing, tooth: Tooth, findings: Mapping[str, Any]) -> None:
    fdi, neck, end = tooth.fdi, tooth.crown, tooth.crown + tooth.root
    if (depth := findings.get("caries", {}).get(str(fdi))) is not None:
        _cavity(drawing, tooth, depth)
    if fdi in findings.get("filling", ()):
        metal = [(-0.5, 2), (0.5, 2), (0.32, neck * 0.5), (-0.36, neck * 0.46)]
        drawing.shape([tooth.at(*point) for point in metal], 250)
    if fdi in findings.get("rct", ()):
        for apex in tooth.roots():
            filled = [tooth.at(apex * 0.72, neck * 0.8), tooth.at(apex * 0.95, neck + tooth.root * 0.66)]
            drawing.line(filled, 3, 246, blur=0.6)
    if fdi in findings.get("periapical", ()):
        for apex in tooth.roots()[:2]:
            drawing.blob(tooth.at(apex, end + 2), (11, 10), 58, blur=2.2, alpha=0.92)
    if fdi in findings.get("furcation", ()):
        drawing.blob(tooth.at(0, neck + 12), (6, 9), 60, blur=1.8)
    if fdi in findings.get("calculus", ()):
        for edge in (-1, 1):
            drawing.blob(tooth.at(edge * 0.98, neck * 0.86), (3.6, 4.6), 236, blur=0.8)


def _cavity(drawing: Drawing, tooth: Tooth, depth: int) -> None:
    """Draw decay of depth 1 (enamel and a little more) to 3 (into the pulp)."""
    side = -1 if tooth.fdi % 2 else 1
    reach = (0.34, 0.5, 0.85)[depth - 1]
    radii = (tooth.width * reach * 0.42, tooth.crown * (0.18 + 0.08 * depth))
    drawing.blob(tooth.at(side * (1.0 - reach * 0.6), tooth.crown * 0.5), radii, 74, blur=1.6)


def _jaw_findings(drawing: Drawing, findings: Mapping[str, Any]) -> None:
    for fdi in findings.get("cyst", ()):
        x = WIDTH / 2 + (1 if fdi // 10 in (2, 3) else -1) * 135
        drawing.blob((x, 330), (50, 31), 186, blur=1.2, alpha=0.9)
        drawing.blob((x, 330), (47, 28), 66, blur=1.6)
    for fdi in findings.get("fracture", ()):
        x = WIDTH / 2 + (1 if fdi // 10 in (2, 3) else -1) * 112
        crack = [(x, 262), (x + 9, 300), (x + 4, 330), (x + 20, 366), (x + 16, 398)]
        drawing.line(crack, 5, 44, blur=1.0)
        drawing.line([(a + 9, b) for a, b in crack], 2, 176, blur=1.0, alpha=0.6)


def _exposed(image: Image.Image, generator: np.random.Generator) -> Image.Image:
    """Reduce, add the grain of film and bone, darken the corners, and burn in what the picture is."""
    small = image.filter(ImageFilter.GaussianBlur(1.2)).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    field = np.asarray(small, dtype=np.float64)
    ys, xs = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    # The spine lies behind the front teeth and lightens everything there.
    field += 24 * np.exp(-((xs / 0.13) ** 2)) * (0.6 + 0.4 * ys)
    bone = np.clip((field - 80) / 40, 0, 1) * np.clip((190 - field) / 40, 0, 1)
    field = field + bone * (4.5 * _texture(generator, 5) + 3 * _texture(generator, 11))
    field += 2.2 * _texture(generator, 2)
    field += 1.6 * generator.normal(0, 1, (1, WIDTH))
    field = 24 + (field - 56) * 1.2
    field *= 1 - 0.55 * np.clip(np.hypot(xs * 0.92, ys * 0.86) - 0.72, 0, 1)
    write_text(field, "SYNTHETIC", (14, HEIGHT - 32), dot=3)
    write_text(field, "L", (WIDTH - 40, 200), dot=3)
    return Image.fromarray(np.clip(np.rint(field), 0, 255).astype(np.uint8))


def write_text(field: Field, text: str, corner: tuple[int, int], *, dot: int) -> None:
    """Write capital letters into a field, each of 5 x 7 squares of `dot` pixels; `corner` is (x, y)."""
    for place, letter in enumerate(text):
        rows = [[bit == "1" for bit in row] for row in _GLYPHS[letter].split()]
        dots = np.kron(np.array(rows), np.ones((dot, dot))).astype(bool)
        x, y = corner[0] + place * 6 * dot, corner[1]
        field[y : y + dots.shape[0], x : x + dots.shape[1]][dots] = 238

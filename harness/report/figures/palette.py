"""Colours of figures, for a light and a dark page: safe for the colour-blind, told apart without colour too.

The hues are those of Okabe and Ito ("Color Universal Design", 2008), darkened for white paper until each has
a contrast of 3 to 1; shapes, hatches and names tell apart what two greys would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "paper": ("#ffffff", "#14171a"),
    "ink": ("#1f2328", "#e8eaed"),
    "soft": ("#59616a", "#a9b1ba"),
    "axis": ("#8a929b", "#7d858e"),
    "grid": ("#e3e6ea", "#2c3238"),
    "band": ("#f5f6f8", "#1b1f24"),
    "quiet": ("#c3c8cf", "#4a525b"),
    "empty": ("#e9ebee", "#22272d"),
    "blue": ("#0072b2", "#56a8e6"),
    "vermilion": ("#d55e00", "#ff8a3d"),
    "green": ("#008a64", "#2fc195"),
    "purple": ("#a8478a", "#e79ac8"),
    "orange": ("#b07500", "#f0b73a"),
    "sky": ("#2a8cc4", "#8cd0f5"),
    "indigo": ("#5b4fb0", "#a79cf0"),
    "grey": ("#6b6b6b", "#b5b5b5"),
    "heat-0": ("#eff5fb", "#1c2733"),
    "heat-1": ("#d4e5f4", "#20384e"),
    "heat-2": ("#b2d2eb", "#244a6c"),
    "heat-3": ("#88bade", "#29608b"),
    "heat-4": ("#5c9ccc", "#3a7cad"),
    "heat-5": ("#347cb7", "#529acd"),
    "heat-6": ("#185c98", "#7cb8e2"),
    "heat-7": ("#0a4177", "#abd4f1"),
    "heat-8": ("#062a55", "#def0fc"),
    "heat-ink-0": ("#010101", "#fefefe"),
    "heat-ink-1": ("#010102", "#fefefe"),
    "heat-ink-2": ("#010103", "#fefefe"),
    "heat-ink-3": ("#010104", "#fefefe"),
    "heat-ink-4": ("#010105", "#010101"),
    "heat-ink-5": ("#010106", "#010101"),
    "heat-ink-6": ("#fefefe", "#010101"),
    "heat-ink-7": ("#fefefd", "#010101"),
    "heat-ink-8": ("#fefefc", "#010101"),
}
"""Name -> colour on a light page, on a dark one. No two light ones are equal: they stand for their names."""

STEPS: Final = 9
"""Steps of the scale of a heat map."""

SERIES: Final = ("blue", "vermilion", "green", "purple", "orange", "sky", "indigo", "grey")
HATCHES: Final = ("", "////", "\\\\\\\\", "....", "xxxx", "----", "||||")
"""Seven, so that with eight colours fifty-six parts differ."""

_NAMES: Final[Mapping[str, str]] = {light: name for name, (light, _) in COLOURS.items()}


def light(name: str) -> str:
    """Return the colour of that name on a light page."""
    return COLOURS[name][0]


def variable(colour: str) -> str | None:
    """Return the CSS value that follows the page's theme for a light colour, None for one not ours."""
    name = _NAMES.get(colour)
    return None if name is None else f"var(--fig-{name}, {colour})"


def figure_css() -> str:
    """Return the variables that inline figures are coloured by, for a page's own style sheet.

    The dark values hold on screens that wish for them; paper is always light, and no figure wider than it.
    """
    lights = "\n".join(f"  --fig-{name}: {one};" for name, (one, _) in COLOURS.items())
    darks = "\n".join(f"    --fig-{name}: {one};" for name, (_, one) in COLOURS.items())
    wish = "@media screen and (prefers-color-scheme: dark)"
    paper = "@media print {\n  .figure-drawing {\n    min-width: 0 !important;\n  }\n}"
    return f":root {{\n{lights}\n}}\n{wish} {{\n  :root {{\n{darks}\n  }}\n}}\n{paper}\n"

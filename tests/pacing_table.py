"""Print the figures of all simulations as a table, or put them into the documentation.

    python tests/pacing_table.py            prints Markdown
    python tests/pacing_table.py --write    replaces the table in docs/pacing.md
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from pacing.figures import Figure
from pacing.scenario import SCENARIOS, Scenario

PAGE = Path(__file__).parent.parent / "docs" / "pacing.md"
BEGIN, END = "<!-- table: made by tests/pacing_table.py -->\n", "<!-- end of table -->\n"
_HEAD = "| situation | figure | seen | promised |\n|---|---|---:|---|\n"

for _part in ("rates", "waits", "concurrency", "faults"):
    import_module(f"pacing.scenarios_{_part}")


def rows(scenario: Scenario, figures: list[Figure]) -> str:
    """Return the lines of one situation."""
    titles = [scenario.title, *[""] * (len(figures) - 1)]
    return "".join(
        f"| {title} | {one.name} | {one.shown()} | {one.promised()} |\n"
        for title, one in zip(titles, figures, strict=True)
    )


def table(page: str) -> str:
    """Return the table within a page."""
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)]


def main() -> int:
    """Run everything; 1 where a promise is not kept."""
    found = [(one, one.run()) for one in SCENARIOS]
    made = _HEAD + "".join(rows(one, figures) for one, figures in found)
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(before + BEGIN + made + END + after, encoding="utf-8")
    else:
        sys.stdout.write(made)
    broken = [one.title for one, figures in found if not all(figure.kept for figure in figures)]
    for title in broken:
        sys.stderr.write(f"not kept: {title}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())

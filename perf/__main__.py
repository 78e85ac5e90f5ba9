"""`python -m perf`: measure every row of the performance budget on this machine, and print one table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from perf.processes import MeasurementError, loopback
from perf.rows import QUICK, Row, Sizes, all_rows
from perf.table import as_json, as_text


def main() -> int:
    """Measure what the arguments ask for; 0 if every budget is met, 3 if one is not."""
    known = all_rows()
    wanted = _arguments(list(known))
    sizes = QUICK if wanted.quick else Sizes()
    if not (Path.cwd() / "perf" / "loopback.py").is_file():
        print("perf: run it from the checkout: python -m perf", file=sys.stderr)
        return 2
    rows: dict[str, Row] = {}
    with loopback() as server:
        for name in wanted.only or known:
            print(f"perf: {name} ...", file=sys.stderr, flush=True)
            try:
                rows[name] = known[name](server, sizes)
            except MeasurementError as error:
                print(f"perf: {name}: {error}", file=sys.stderr)
                return 1
    print((as_json if wanted.json else as_text)(rows, quick=wanted.quick))
    return 0 if wanted.quick or all(row.met for row in rows.values()) else 3


def _arguments(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="ROW", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="small sizes: a number for each row, no verdict")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

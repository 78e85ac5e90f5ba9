"""Plays scenarios: `python tests/faults/play.py 17 18` by seed, or `kill_9 ctrl_c` of the table by name.

Prints one line a scenario as it ends: a JSON object with `name`, `seconds` and `failure` (null: all held).
Exits with 1 if any failed. `--keep` keeps the folders of those that failed and says where they are.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.invariants import Undisturbed
from faults.scenario import Scenario, drawn, play, undisturbed_run, write_data
from faults.table import TABLE


def main(arguments: Sequence[str]) -> int:
    """Play what the arguments name, one after the other."""
    names = [one for one in arguments if one != "--keep"]
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    failed = 0
    try:
        data = write_data(folder / "data")

        @cache
        def undisturbed(models: tuple[str, ...]) -> Undisturbed:
            return undisturbed_run(_made(folder / "-".join(("good", *models))), data, models)

        for name in names:
            signal.signal(signal.SIGTERM, _leave)  # again each time: a run in this process takes it over
            began = time.monotonic()
            scenario = drawn(int(name)) if name.isdecimal() else TABLE[name]
            failure = _played(scenario, _made(folder / name), data, undisturbed(scenario.models))
            failed += failure is not None
            line = {"name": name, "seconds": round(time.monotonic() - began, 1), "failure": failure}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    finally:
        if failed and "--keep" in arguments:
            sys.stderr.write(f"kept: {folder}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def _leave(number: int, _: object) -> None:
    """End in good order, taking all processes along."""
    sys.exit(128 + number)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def _played(scenario: Scenario, folder: Path, data: Path, undisturbed: Undisturbed) -> str | None:
    try:
        play(scenario, folder, data, undisturbed)
    except Exception:  # noqa: BLE001 (told in the line; the next scenario is played)
        return f"{scenario}\n{traceback.format_exc()}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

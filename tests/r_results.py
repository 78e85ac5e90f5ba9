"""What R computes, for tests that hold ours against it: one call a module, skipped where there is no R."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

PATIENCE_S = 120


def r_results(
    folder: Path, script: str, data: Mapping[str, Sequence[float]], packages: Sequence[str] = ()
) -> Mapping[str, list[float]]:
    """Run a script that finds each vector of `data` by its name; return what it put by `give(name, values)`.

    Skips the test where R or one of the packages is absent; nothing is ever installed.
    """
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    lines = [f'if (!requireNamespace("{name}", quietly = TRUE)) quit(status = 77)' for name in packages]
    for name, values in data.items():
        # A text file of numbers that R reads to the last bit (17 digits).
        source = folder / f"{name}.txt"
        source.write_text("".join(f"{value:.17g}\n" for value in values), encoding="ascii")
        lines.append(f'{name} <- scan("{source}", quiet = TRUE)')
    lines.append('give <- function(name, values) cat(name, format(values, digits = 17), "\\n")')
    path = folder / "script.R"
    path.write_text("\n".join([*lines, script]), encoding="utf-8")
    ran = subprocess.run(
        ["Rscript", "--vanilla", str(path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if ran.returncode == 77:
        pytest.skip(f"R lacks one of {', '.join(packages)}")
    assert ran.returncode == 0, ran.stderr
    rows = [line.split() for line in ran.stdout.splitlines() if line.strip()]
    return {name: [float(value) for value in values] for name, *values in rows}

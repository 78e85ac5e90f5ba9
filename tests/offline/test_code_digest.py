"""The digests that stand beside every number: complete lists, and no name that stands for nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness.benchmarks.registry import BENCHMARKS
from harness.offline.code_digest import (
    READS_ANSWERS,
    SCORES,
    code_digest,
    parser_digest,
    scorer_digest,
)
from harness.providers.base import ADAPTERS, READ_ONLY

EXCUSED = {
    "__init__.py": "the version",
    "benchmarks/__init__.py": "empty",
    "benchmarks/case_files.py": "reads case files; what a run keeps of them is its own snapshot",
    "benchmarks/case_loading.py": "reads case files; what a run keeps of them is its own snapshot",
    "benchmarks/details.py": "forms of what a report shows beside its tables",
    "cache": "hands over stored bytes as they are",
    "benchmarks/quoting.py": "puts quoted texts into what is asked",
    "case_spool.py": "holds case files while they are read",
    "errors.py": "exceptions",
    "exit_codes.py": "how the command ends",
    "file_json.py": "reads lines of case files",
    "foreign_files.py": "tells what a file is that is no image",
    "frames": "takes frames out of videos before they are sent",
    "image_conversion.py": "opens images before they are sent",
    "image_structure.py": "opens images before they are sent",
    "line_spool.py": "holds lines of bytes as they are",
    "imports/__init__.py": "empty",
    "media.py": "opens images before they are sent",
    "media_reading.py": "opens images before they are sent",
    "moments.py": "tells the time, and shows one",
    "nearest.py": "suggestions in messages",
    "new_folder.py": "writes folders of case files",
    "offline/__init__.py": "empty",
    "offline/code_digest.py": "makes the digests themselves",
    "pools": "waits while asking; nothing waits offline",
    "providers/__init__.py": "empty",
    "recipes.py": "makes images ready before they are sent",
    "video_structure.py": "opens videos before they are sent",
}


def listed(names: Iterable[str], path: str) -> bool:
    return any(path == name or path.startswith(f"{name}/") for name in names)


def imported(package: Path, *starts: str) -> set[str]:
    """Return the files of the package that modules import, directly or through others."""
    found: set[str] = set()
    ahead = list(starts)
    while ahead:
        path = source_of(package, ahead.pop())
        if path is None or path.relative_to(package).as_posix() in found:
            continue
        found.add(path.relative_to(package).as_posix())
        ahead += named_in(ast.parse(path.read_text(encoding="utf-8")))
    return found


def source_of(package: Path, module: str) -> Path | None:
    if module.split(".")[0] != "harness":
        return None
    place = package.joinpath(*module.split(".")[1:])
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)


def named_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def packages() -> tuple[str, ...]:
    return tuple(module.removeprefix("harness.").replace(".", "/") for module in BENCHMARKS.values())


def test_every_module_that_reads_answers_is_in_the_parser_digest(checkout: Path) -> None:  # F49
    # Adapters and benchmarks are imported by name, which no import statement shows.
    starts = ("harness.offline.replay", *ADAPTERS.values(), *READ_ONLY.values(), *BENCHMARKS.values())
    used = imported(checkout / "harness", *starts)
    # A benchmark's metrics are imported with its package; they read nothing.
    known = (*READS_ANSWERS, *packages(), *EXCUSED, "scoring")
    assert len(used) > 20
    assert sorted(path for path in used if not listed(known, path)) == []


def test_every_module_that_scores_is_in_one_of_the_two_digests(checkout: Path) -> None:  # F49
    used = imported(checkout / "harness", "harness.offline.score", *BENCHMARKS.values())
    known = (*READS_ANSWERS, *SCORES, *packages(), *EXCUSED)
    assert sorted(path for path in used if not listed(known, path)) == []


def test_no_module_is_excused_and_listed_at_once() -> None:
    assert [name for name in (*READS_ANSWERS, *SCORES) if listed(EXCUSED, name)] == []


@pytest.mark.parametrize("names", [("gone.py",), ("attempts.py", "nowhere"), ("prompts",)])
def test_a_name_that_stands_for_no_code_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(FileNotFoundError, match=repr(names[-1])):
        code_digest(names)


def test_a_folder_stands_for_all_code_below_it(checkout: Path) -> None:
    paths = (checkout / "harness" / "benchmarks" / "triage").rglob("*.py")
    each = tuple(path.relative_to(checkout / "harness").as_posix() for path in paths)
    assert code_digest(("benchmarks/triage",)) == code_digest(each)


def test_parser_and_scorer_have_digests_of_their_own() -> None:
    assert parser_digest("triage") != scorer_digest("triage")

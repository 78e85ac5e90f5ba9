"""What is shipped, and the rules that keep it in shape."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

LINKS = {name: f"harness/{name}" for name in ("providers", "schemas", "prompts", "cache")}
DATA_SUFFIXES = {
    ".css", ".csv", ".html", ".jpg", ".js", ".json", ".jsonl", ".md", ".mp4", ".png", ".toml", ".txt",
    ".typed",
}  # fmt: skip
MODULE_LINES = 400
FUNCTION_LINES = 60

# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.~$}])/(?:(?:home|Users)/[\w.-]+/|(?:root|work)/)" + r"[\w.-]+",
            "pypi" + r"\.org",
            "python" + "hosted",
            "--(?:extra-)?index" + "-url",
            "--find" + "-links",
            r"https?://[^\s\"'<>]*/simple\b",
        ]
    )
)


def git(checkout: Path, *args: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(checkout), *args], capture_output=True, text=True)
    return done.stdout.split("\0")[:-1] if done.returncode == 0 else []


def own_files(checkout: Path) -> list[Path]:
    """Return every file that is or will be tracked; without git, all but what is ignored."""
    listed = git(checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if not listed:
        ignored = (checkout / ".gitignore").read_text(encoding="utf-8").split()
        by_products = [".git", *(line.rstrip("/") for line in ignored)]
        found = (path.relative_to(checkout) for path in checkout.rglob("*"))
        listed = [
            str(path)
            for path in found
            if not any(fnmatch(part, name) for part in path.parts for name in by_products)
        ]
    paths = [checkout / name for name in listed]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def code_files(checkout: Path) -> list[Path]:
    return sorted(path for path in (checkout / "harness").rglob("*.py"))


class Code(NamedTuple):
    """What these tests look for in a module; a tree of each would take a gigabyte."""

    docstring: str | None
    imported: tuple[str, ...]
    """Names of modules, with a dot for each level of a relative import."""
    functions: tuple[tuple[str, int], ...]
    """Line and name, and how many lines it takes."""


@functools.cache
def code(path: Path) -> Code:
    """Return what a module holds; each is parsed once."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported: list[str] = []
    functions: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append("." * node.level + (node.module or ""))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            functions.append((f"{node.lineno} {node.name}", lines))
    return Code(ast.get_docstring(tree), tuple(imported), tuple(functions))


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel from a copy, so that nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(checkout / name, source / name)
    shutil.copytree(checkout / "harness", source / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    for name, target in LINKS.items():
        (source / name).symlink_to(target)
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [sys.executable, *command, "--wheel-dir", str(source / "dist"), str(source)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    (built,) = (source / "dist").glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_one_import_name(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"harness"}


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile, checkout: Path) -> None:
    wanted = {
        str(path.relative_to(checkout))
        for path in (checkout / "harness").rglob("*")
        if path.suffix in DATA_SUFFIXES | {".py"} and "__pycache__" not in path.parts
    }
    assert wanted - set(wheel.namelist()) == set()
    samples = ("benchmarks/triage/sample", "benchmarks/pandent/sample", "benchmarks/medlay/sample")
    for folder in ("schemas", "prompts", "providers/catalogue", "report/templates", *samples):
        assert any(name.startswith(f"harness/{folder}/") for name in wheel.namelist()), folder


def test_no_file_of_the_package_has_a_kind_that_the_wheel_leaves_out(checkout: Path) -> None:
    kinds = {
        path.suffix
        for path in (checkout / "harness").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kinds - DATA_SUFFIXES - {".py"} == set()


def test_the_wheel_installs_the_command_and_its_licence(wheel: zipfile.ZipFile) -> None:
    names = {name.split("/", 1)[1]: name for name in wheel.namelist() if ".dist-info/" in name}
    assert "harness = harness.cli.main:main" in wheel.read(names["entry_points.txt"]).decode()
    metadata = wheel.read(names["METADATA"]).decode()
    assert "Name: mllm-harness" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "licenses/LICENSE" in names


@pytest.mark.parametrize(("name", "target"), list(LINKS.items()))
def test_the_folders_that_people_edit_are_linked_at_the_top(checkout: Path, name: str, target: str) -> None:
    assert (checkout / name).is_symlink()
    assert (checkout / name).readlink() == Path(target)
    assert (checkout / name).is_dir()


def test_code_imports_the_package_by_its_one_name(checkout: Path) -> None:
    # Most tests import none of these: the words stand in no such line of theirs.
    suspect = re.compile(rf"^\s*(?:from|import)\s.*\b(?:{'|'.join(LINKS)})\b", re.M)
    tests = [
        path
        for path in sorted((checkout / "tests").rglob("*.py"))
        if suspect.search(path.read_text(encoding="utf-8"))
    ]
    assert len(tests) > 10
    wrong = [
        f"{path.relative_to(checkout)}: {name}"
        for path in [*code_files(checkout), *tests]
        for name in code(path).imported
        if name.split(".")[0] in LINKS
    ]
    assert wrong == []


def test_every_import_is_declared_and_every_dependency_is_used(checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = _declared(project["dependencies"])
    # Loaded only where the extra is installed.
    of_extras = {
        "convert": ("conversion/*.py",),
        "litellm": ("providers/litellm_call.py", "providers/litellm_library.py"),
        "video": ("frames/decoding.py",),
    }
    places = {
        extra: {path for name in names for path in (checkout / "harness").glob(name)}
        for extra, names in of_extras.items()
    }
    imported = _imported(path for path in code_files(checkout) if path not in set().union(*places.values()))
    # SQLAlchemy loads its driver by the name in the store's address.
    assert imported | {"aiosqlite"} == declared
    for extra, paths in places.items():
        assert paths and _imported(paths) <= declared | _declared(project["optional-dependencies"][extra])


def _declared(requirements: Iterable[str]) -> set[str]:
    return {_normal(re.split(r"[\[<>=!~; ]", line)[0]) for line in requirements}


def _imported(paths: Iterable[Path]) -> set[str]:
    distributions = packages_distributions()
    return {
        _normal(distributions.get(top, [top])[0])
        for path in paths
        for name in code(path).imported
        if (top := name.split(".")[0]) not in sys.stdlib_module_names | {"harness", "", "__future__"}
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_module_is_longer_than_it_may_be(checkout: Path) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in code_files(checkout)}
    assert {str(path): length for path, length in lengths.items() if length > MODULE_LINES} == {}


def test_no_function_is_longer_than_it_may_be(checkout: Path) -> None:
    long = [
        f"{path.relative_to(checkout)}:{name}"
        for path in code_files(checkout)
        for name, lines in code(path).functions
        if lines > FUNCTION_LINES
    ]
    assert long == []


def test_no_pattern_repeats_a_group_possessively(checkout: Path) -> None:
    """Python before 3.11.5 takes characters of a last, failed repeat along (gh-106052): matches differ."""
    repeated = re.compile(r"\)(?:[*+?]|\{+[\w,]+\}+)\+")
    lines = {
        (path.relative_to(checkout / "harness").as_posix(), line.strip())
        for path in (checkout / "harness").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if repeated.search(line)
    }
    # The characters of a string, one or two: a repeat that fails has taken none.
    assert lines == {("answers/extraction.py", r"""_STRING = r'"(?:[^"\\]|\\.)*+"'""")}


def test_no_module_has_a_name_that_says_nothing(checkout: Path) -> None:
    empty = {"utils", "helpers", "common", "manager", "types", "logging", "io"}
    assert [path for path in code_files(checkout) if path.stem in empty] == []


def test_every_module_says_what_it_owns(checkout: Path) -> None:
    silent = [
        str(path.relative_to(checkout)) for path in code_files(checkout) if code(path).docstring is None
    ]
    assert silent == []


def test_pages_for_people_have_each_heading_once(checkout: Path) -> None:
    pages = [checkout / "README.md", checkout / "CONTRIBUTING.md", *sorted((checkout / "docs").glob("*.md"))]
    assert len(pages) > 10
    twice = []
    for page in pages:
        told = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
        headings = re.findall(r"(?m)^#+ .*$", told)
        twice += [f"{page.name}: {one}" for one in sorted(set(headings)) if headings.count(one) > 1]
    assert twice == []


def test_nothing_names_a_machines_path_or_a_registry(checkout: Path) -> None:
    found = []
    for path in own_files(checkout):
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(checkout)}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    assert found == []


def test_the_lock_pins_and_hashes_every_package(checkout: Path) -> None:
    lines = (checkout / "requirements.lock").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert [line for line in entries if not re.match(r"^[a-z0-9-]+==\S+( ;.*)? \\$", line)] == []
    for index, line in enumerate(lines):
        if line in entries:
            assert lines[index + 1].strip().startswith("--hash=sha256:"), line


def test_the_lock_covers_every_declared_dependency(checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lock = (checkout / "requirements.lock").read_text(encoding="utf-8")
    names = {_normal(re.split(r"[\[<>=!~; ]", line)[0]) for line in wanted}
    assert [name for name in names if not re.search(rf"^{re.escape(name)}==", lock, re.MULTILINE)] == []


def test_exact_pins_of_the_project_are_the_locks(checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (checkout / "requirements.lock").read_text(encoding="utf-8")
    assert [line for line in project["dependencies"] if "==" in line and f"{line} \\" not in lock] == []


def test_ruff_sees_each_file_once(checkout: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files", "."],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert shown
    assert len(shown) == len({Path(name).resolve() for name in shown})


def test_the_programs_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    from harness import __version__

    try:
        assert version("mllm-harness") == __version__
    except PackageNotFoundError:
        pytest.skip("run from a checkout that is not installed")


def test_the_map_of_the_code_names_every_module_and_package(checkout: Path) -> None:
    text = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = text.index("## Where things are")
    found = set(re.findall(r"`([\w./]+)`", text[start : text.index("\n## ", start)]))
    package = checkout / "harness"
    mapped = (
        "", "conversion", "providers", "scoring",
        "benchmarks/medlay", "benchmarks/pandent", "benchmarks/pandent/answers", "benchmarks/triage",
    )  # fmt: skip
    inside = [one for folder in mapped for one in (package / folder).iterdir()]
    there = {f"{one.name}/" if one.is_dir() else one.name for one in inside if one.name[:2] != "__"}
    assert sorted(there - found - {"py.typed", "sample/"}) == []
    modules = {path.name for path in (checkout / "harness").rglob("*.py")}
    assert sorted(name for name in found if name.endswith(".py") and name not in modules) == []

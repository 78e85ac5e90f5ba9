"""Every model that the four papers name is in the catalogue, as docs/models.md says."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from harness.config import load_config
from harness.settings import Model

TODAY = date(2026, 11, 30)
"""The day of the catalogue's facts."""

NOT_MODELS = {
    "27 of 33 models", "LLM judge", "all 10 models", "all models", "best model", "humans",
    "junior dentists mean", "laypersons", "open large", "proprietary", "radiologists", "top-3 proprietary",
    "two graders",
}  # fmt: skip
"""Subjects of the papers' sentences that are no model."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    config = load_config(cwd=tmp_path_factory.mktemp("empty"), today=TODAY)
    return {model.name: model for model in config.models()}


@pytest.fixture(scope="module")
def table(checkout: Path) -> dict[str, list[str]]:
    """The names of docs/models.md: as a paper writes it -> catalogue names."""
    named: dict[str, list[str]] = {}
    for line in (checkout / "docs" / "models.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found = re.findall(r"`([^`]+)`", cells[1]) if len(cells) == 3 else []
        for name in cells[0].split("; ") if found else ():
            assert name not in named, name
            named[name] = found
    return named


def spec(checkout: Path) -> Path:
    folder = checkout.parent / "shared" / "spec"
    if not folder.is_dir():
        pytest.skip("the papers' facts are not beside this checkout")
    return folder


def test_every_name_of_the_table_is_a_catalogue_entry(
    models: dict[str, Model], table: dict[str, list[str]]
) -> None:
    assert len(table) > 90
    assert {name for names in table.values() for name in names} <= models.keys()


def test_the_table_says_which_entries_are_retired(models: dict[str, Model], checkout: Path) -> None:
    text = (checkout / "docs" / "models.md").read_text(encoding="utf-8")
    said = {line.split("`")[1] for line in text.splitlines() if line.startswith("|") and "(retired" in line}
    named = {name for name in re.findall(r"^\|[^|]*\| `([^`]+)`", text, re.MULTILINE)}
    assert said == {name for name in named if models[name].retired}


def test_the_table_says_until_when_an_entry_is_served(models: dict[str, Model], checkout: Path) -> None:
    text = (checkout / "docs" / "models.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\|[^|]*\| `([^`]+)` \(until ([-0-9]+)\)", text, re.MULTILINE))
    named = [models[name] for name in re.findall(r"^\|[^|]*\| `([^`]+)`", text, re.MULTILINE)]
    ends = {one.name: [day for day in (one.retires_on, one.replaced_on) if day] for one in named}
    assert len(said) > 5 and said == {name: str(min(days)) for name, days in ends.items() if days}


def listed(text: str) -> Iterator[str]:
    """Give the names in the `models:` blocks of benchmarks.yaml, which are lists on one line each."""
    block: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if line.strip() == "models:":
            block = indent
        elif block is not None and (found := re.match(r"\s+(\w+): \[(.*)\]", line)):
            yield from (name.strip().strip("\"'") for name in found[2].split(","))


def test_every_model_of_the_papers_lists_is_in_the_table(
    checkout: Path, table: dict[str, list[str]]
) -> None:
    names = set(listed((spec(checkout) / "benchmarks.yaml").read_text(encoding="utf-8")))
    assert {"GPT-5.4", "Kimi K2.5", "Hulu-Med-4B", "InternVL3-8B", "MVL-RRG-1.0"} <= names
    assert names - table.keys() == set()


def test_every_model_of_the_papers_tables_is_in_the_table(
    checkout: Path, table: dict[str, list[str]]
) -> None:
    folder = spec(checkout) / "paper-tables"
    names = set()
    for path, column in (
        ("pandent-table1-nlg.csv", "model"),
        ("pandent-table2-exact-match.csv", "model"),
        ("prose-numbers.csv", "subject"),
    ):
        with (folder / path).open(encoding="utf-8", newline="") as lines:
            names |= {row[column] for row in csv.DictReader(lines)}
    assert len(names) > 60
    assert names - NOT_MODELS - table.keys() == set()


@pytest.mark.parametrize("name", ["Gemini-Flash-2.0", "Claude-Sonnet-4-5", "Llama-3.1-70B-Instruct", "O3"])
def test_models_that_stand_in_no_list_are_there_too(table: dict[str, list[str]], name: str) -> None:
    """The reformatter, the judge's names, the writer of lay drafts, RadM-Bench's aliases."""
    assert name in table

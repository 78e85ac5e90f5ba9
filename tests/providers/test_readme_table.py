"""README's table of providers says what the catalogue says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.config import load_config
from harness.settings import Provider

COLUMNS = ("provider", "key", "takes", "structured", "reasoning text", "limits in headers", "verified by")
PROVIDERS = load_config(cwd=Path("/")).providers()


def rows(checkout: Path) -> list[dict[str, str]]:
    text = (checkout / "README.md").read_text(encoding="utf-8")
    table = text[text.index(f"| {' | '.join(COLUMNS)} |") :].split("\n\n", 1)[0].splitlines()[2:]
    return [
        dict(zip(COLUMNS, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        for line in table
    ]


def names(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([^`]+)`", row["provider"])


def row_of(provider: Provider, checkout: Path) -> dict[str, str]:
    (row,) = [row for row in rows(checkout) if provider.name in names(row)]
    return row


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_every_provider_is_there_with_its_key_and_what_is_known_of_it(
    provider: Provider, checkout: Path
) -> None:
    row = row_of(provider, checkout)
    assert re.findall(r"`([A-Z_]+)`", row["key"]) == ([provider.api_key_env] if provider.api_key_env else [])
    assert provider.api_key_env or row["key"].startswith("none")
    assert ("base_url" in row["key"]) == bool(provider.base_url_like)
    assert row["limits in headers"] == ("none" if provider.limit_headers == "none" else "read")
    assert row["verified by"]


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_what_the_catalogues_models_take_is_in_the_table(provider: Provider, checkout: Path) -> None:
    row = row_of(provider, checkout)
    sends_videos = provider.adapter == "gemini" or provider.video_format != "none"
    assert ("video" in row["takes"]) == sends_videos
    models = [model for model in load_config(cwd=Path("/")).models() if model.provider.name == provider.name]
    modes = {"json": "JSON", "schema": "schema"}
    for model in models:
        assert {modes[mode] for mode in model.structured} <= set(row["structured"].split(", "))
        assert "image" not in model.inputs or "images" in row["takes"]
    if models:
        claimed = set(row["structured"].replace("not named", "").split(", ")) - {""}
        assert claimed == {modes[mode] for model in models for mode in model.structured}
        assert ("images" in row["takes"]) == any("image" in model.inputs for model in models)


def test_the_table_names_nobody_else(checkout: Path) -> None:
    assert sorted(name for row in rows(checkout) for name in names(row)) == [one.name for one in PROVIDERS]


def test_the_readme_says_that_nobody_here_could_call_the_paid_apis(checkout: Path) -> None:
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert "Nobody here could call the paid APIs" in text
    assert "harness doctor" in text and (checkout / "docs" / "doctor.md").is_file()

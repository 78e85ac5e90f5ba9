"""Cases that went into a table come out of it as they were, whatever its form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from case_tables import FORMS, Rows, image_bytes, imported, lines
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.benchmarks.triage.taxonomy import LABELS
from harness.case_import.opening import open_source

IMAGES = [image_bytes(10), image_bytes(200), image_bytes(90, "JPEG"), image_bytes(3, "BMP")]


def with_bytes(folder: Path, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with the bytes of its image, which must stand under their own digest."""
    data = (folder / value["image"]).read_bytes()
    assert Path(value["image"]).stem == hashlib.sha256(data).hexdigest()
    assert value["image"].startswith(f"media/{Path(value['image']).stem[:2]}/")
    return {**value, "image": data}


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    str.strip
)
odd = st.sampled_from(
    [
        "a\r\nb",
        "a\rb",
        'say "ah"',
        "=1+1",
        "a\u2028b",
        "牙龈出血三天。",
        "'q'",
        "[not a list",
        " x ",
        "a,b;c\td",
        "\ufeffx",
    ]
)
words = odd | texts
optional = st.none() | words


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    ids = draw(
        st.lists(
            st.integers(0, 10**9) | st.text("abcXYZ09-_é中", min_size=1),
            min_size=1,
            max_size=6,
            unique_by=str,
        )
    )
    return [
        {
            "id": str(one),
            "chief_complaint": draw(words),
            "image": draw(st.sampled_from(IMAGES)),
            "labels": draw(st.lists(st.sampled_from(LABELS), unique=True)),
            "rationale": draw(optional),
            "group": draw(optional),
            "tags": draw(st.lists(words, unique=True, max_size=3)),
        }
        for one in ids
    ]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12, deadline=None)
@given(rows=tables())
def test_cases_come_back_as_they_went_in(form: str, rows: Rows) -> None:  # F45
    with TemporaryDirectory() as name:
        path = FORMS[form](Path(name), rows)
        source = open_source(path, split="test" if form == "splits" else None)
        found = imported(source, Path(name) / "out")
        assert found.bad == [] and found.problems == [] and found.written
        out = Path(name) / "out"
        back = [with_bytes(out, value) for value in lines(out)]
        assert back == [{key: value for key, value in row.items() if value is not None} for row in rows]
        files = [path for path in (out / "media").rglob("*") if path.is_file()]
        assert len(files) == len({row["image"] for row in rows})  # equal images once


def test_ids_that_are_numbers_become_text(tmp_path: Path) -> None:
    rows = [{"id": 7, "chief_complaint": "c", "image": IMAGES[0], "labels": [], "group": 12}]
    for form in ("csv", "jsonl", "parquet", "saved"):
        (tmp_path / form).mkdir()
        out = tmp_path / form / "out"
        path = FORMS[form](
            tmp_path / form, [{**rows[0], "labels": ["Caries Management"]} | {"labels": [LABELS[0]]}]
        )
        assert imported(open_source(path), out).written
        assert [(one["id"], one["group"]) for one in lines(out)] == [("7", "12")]


def test_a_lone_surrogate_in_json_survives(tmp_path: Path) -> None:
    rows = [{"id": "a", "chief_complaint": "x\ud800y", "image": IMAGES[0], "labels": [LABELS[0]]}]
    assert imported(open_source(FORMS["jsonl"](tmp_path, rows)), tmp_path / "out", check=None).written
    assert lines(tmp_path / "out")[0]["chief_complaint"] == "x\ud800y"

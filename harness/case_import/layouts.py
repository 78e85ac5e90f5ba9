"""Released layouts that are known by name: which column fills which field, and what each lacks.

Names of columns are those of the releases themselves; a release whose names are not known is no layout,
and is imported by --map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.benchmarks.pandent.findings import FINDINGS
from harness.case_import.column_map import ROW, Wish
from harness.case_import.dentex import open_dentex
from harness.case_import.row import Source
from harness.case_import.text_file import TextFile
from harness.errors import ConfigError
from harness.nearest import nearest_or_known

_UNSEEN: Final = {one.id: None for one in FINDINGS}


@dataclass(frozen=True, slots=True)
class Layout:
    """One release: the benchmark it can become, what fills its fields, and what is said whenever it is used.

    `file`: where the table stands in its folder. `reader` opens a table that is no list of rows.
    """

    benchmark: str
    wish: Wish
    notes: tuple[str, ...]
    file: str | None = None
    reader: Callable[[TextFile], Source] | None = None


LAYOUTS: Final[Mapping[str, Layout]] = MappingProxyType(
    {
        "medlaybench-v": Layout(
            "medlay",
            Wish(
                {
                    "id": ["image_id"],
                    "image": ["image"],
                    "expert_caption": ["expert_caption"],
                    "lay_caption": ["layman_caption"],
                    "concepts": ["cuis"],
                },
                {"roi": None},
            ),
            (
                "medlaybench-v marks no region: 'roi' is null, no box is drawn, and a prompt that speaks of "
                "the marked region has none to speak of",
                "medlaybench-v names no modality: give --map modality=COLUMN or --set modality=NAME",
            ),
            file="data/samples.json",
        ),
        "medtrinity": Layout(
            "medlay",
            Wish({"id": ["id"], "image": ["image"], "expert_caption": ["caption"]}),
            (
                "medtrinity has no lay captions, no modality and no boxes: map 'lay_caption', 'modality' "
                "and 'roi' from columns that you joined to it, or set them",
            ),
        ),
        "medpix-2.0": Layout(
            "radm",
            Wish(
                {
                    "id": ["U_id"],
                    "images": ["TAC", "MRI"],
                    "history": ["Case.History"],
                    "diagnosis": ["Case.Case Diagnosis"],
                },
                {"language": "en"},
            ),
            (
                "medpix-2.0 says nothing of 'subset', 'subspecialty' and 'rare': map or set them",
                "medpix-2.0 names images without their suffix: give --media-dir the folder of its images",
            ),
        ),
        "pr-reports": Layout(
            "pandent",
            Wish({"id": [ROW], "image": ["image"], "report": ["report"]}, {"findings": dict(_UNSEEN)}),
            (
                "pr-reports has reports and no findings: all 21 are null, so only the condition 'report' has "
                "a reference; its ids are the numbers of the rows",
            ),
        ),
        "dentex": Layout(
            "pandent",
            Wish(
                {
                    "id": ["file_name"],
                    "image": ["file_name"],
                    "findings.caries": ["caries"],
                    "findings.periapical_lesion": ["periapical_lesion"],
                },
                {"findings": dict(_UNSEEN), "report": None},
            ),
            (
                "dentex tells caries (deep caries included) and periapical lesions; the other 19 findings "
                "and the report are null",
                "dentex's 'impacted' is not PanDent's 'partially_erupted_or_impacted', since it leaves out "
                "teeth that are partially erupted: it stays unused",
            ),
            reader=open_dentex,
        ),
    }
)


def get_layout(name: str, benchmark: str) -> Layout:
    """Return a layout by name. Raises ConfigError for an unknown one, or one of another benchmark."""
    if name not in LAYOUTS:
        raise ConfigError(f"unknown layout {name!r}{nearest_or_known(name, LAYOUTS)}")
    layout = LAYOUTS[name]
    if layout.benchmark != benchmark:
        raise ConfigError(
            f"the layout {name!r} is one of {layout.benchmark}; give --benchmark {layout.benchmark}"
        )
    return layout


def table_of(layout: Layout, path: Path) -> Path:
    """Return the file of a layout in its folder, else the path as it is."""
    inside = None if layout.file is None else path / layout.file
    return path if inside is None or not inside.is_file() else inside

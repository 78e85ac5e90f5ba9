"""Case files of RadM-Bench: a clinical history, key images or clips or both, and the reference diagnosis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_files import (
    Fields,
    path_fault,
    shown,
    text_fault,
    text_list_fault,
)
from harness.benchmarks.case_loading import CaseForm, check_folder, load_folder
from harness.canonical import JSON
from harness.errors import MediaError
from harness.media import Media, MediaKind
from harness.media_reading import MediaReader
from harness.nearest import nearest_or_known

IMAGE: Final = "image"
"""The role of key images, in the order in which they are shown."""
CLIP: Final = "clip"
"""The role of clips, one a sequence or phase, in the order in which they are shown."""

SUBSETS: Final = ("RadEdu", "RealClin")
LANGUAGES: Final = ("en", "zh")
HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Chinese characters: the blocks of CJK ideographs, without punctuation."""
"""English and Chinese: the language of a case's history, and so of its prompt and diagnosis."""

SUBSPECIALTIES: Final = (
    "abdominal",
    "breast",
    "cardiovascular",
    "chest",
    "head and neck",
    "musculoskeletal",
    "neuroradiology",
    "pediatric",
    "urogenital",
)
"""The paper's nine ("Dataset Construction and Composition")."""

FIELDS: Final = Fields(
    required=("id", "subset", "language", "subspecialty", "rare", "history", "images", "diagnosis"),
    optional=("history_en", "videos", "group", "tags"),
)
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "subset": SUBSETS,
    "language": LANGUAGES,
    "subspecialty": SUBSPECIALTIES,
}


def load_cases(folder: Path, media: MediaReader | None = None) -> CaseSet:
    """Read a folder of RadM cases.

    Prompts may name `history`, and `history_en` where a case has it. The reference of a case has `diagnosis`,
    `rare` (true or false), `subset`, `subspecialty` and `language`, and how many `images` and `videos` its
    line names. A case of which one image or clip cannot be used is kept, with `problem` set and no media.
    Raises CaseFileError that names the first bad line, before any medium is read.
    """
    return load_folder(folder, case_form(), media)


def check_cases(folder: Path) -> list[str]:
    """Return everything that is wrong with a folder of RadM cases, unusable media included."""
    return check_folder(folder, case_form())


def line_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    """Yield what is wrong with the values of a line that has all required fields and no unknown ones."""
    found = [
        *(_choice_fault(name, value[name], known) for name, known in _CHOICES.items()),
        _flag_fault("rare", value["rare"]),
        *(text_fault(name, value[name]) for name in ("history", "diagnosis")),
        *(text_fault(name, value[name]) for name in ("history_en", "group") if value.get(name) is not None),
        text_list_fault("tags", value.get("tags", [])),
    ]
    yield from (fault for fault in found if fault is not None)
    if value.get("history_en") is not None and value["language"] == "en":
        yield "'history_en' is the English of another language's history, and 'language' is 'en'; take it out"
    yield from _language_faults(value)
    yield from _media_faults(value)


def media_paths(value: Mapping[str, JSON]) -> list[str]:
    """Return the paths of a sound line as written: its images, then its clips."""
    return [*_paths(value, "images"), *_paths(value, "videos")]


def case_form() -> CaseForm:
    """Return how the lines of RadM become cases."""
    return CaseForm(FIELDS, line_faults, media_paths, _case, _kinds)


def _choice_fault(name: str, value: JSON, known: Sequence[str]) -> str | None:
    if not isinstance(value, str):
        return f"{name!r} must be text, got {shown(value)}"
    return None if value in known else f"unknown {name} {value!r}{nearest_or_known(value, known)}"


def _language_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    """Yield what is wrong where a history is plainly not in the language that its prompt would be in."""
    history, english = value["history"], value.get("history_en")
    if value["language"] == "zh" and isinstance(history, str) and not HAN.search(history):
        yield "'history' has no Chinese character, and 'language' is 'zh'; correct one of them"
    if value["language"] == "en" and isinstance(history, str) and _is_chinese(history):
        yield "'history' is in Chinese, and 'language' is 'en'; correct one of them"
    if isinstance(english, str) and _is_chinese(english):
        yield "'history_en' is in Chinese; put the English there, or take it out"


def _is_chinese(text: str) -> bool:
    """Tell whether more than half of a text's letters are Chinese characters."""
    return 2 * len(HAN.findall(text)) > sum(map(str.isalpha, text))


def _flag_fault(name: str, value: JSON) -> str | None:
    return None if isinstance(value, bool) else f"{name!r} must be true or false, got {shown(value)}"


def _media_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    sound = True
    for name in ("images", "videos"):
        listed = value.get(name, [])
        faults = [text_list_fault(name, listed)]
        if faults == [None]:
            faults = [path_fault(name, one) for one in cast("list[JSON]", listed)]
        found = [fault for fault in faults if fault is not None]
        sound = sound and not found
        yield from found
    if sound and not media_paths(value):
        yield "'images' and 'videos' are both empty; a case has one image or clip at least"


def _paths(value: Mapping[str, JSON], name: str) -> list[str]:
    return cast("list[str]", value.get(name, []))


def _kinds(value: Mapping[str, JSON]) -> list[MediaKind]:
    images: list[MediaKind] = ["image" for _ in _paths(value, "images")]
    clips: list[MediaKind] = ["video" for _ in _paths(value, "videos")]
    return [*images, *clips]


def _case(value: Mapping[str, JSON], media: Sequence[Media | MediaError]) -> Case:
    usable = [one for one in media if not isinstance(one, MediaError)]
    problems = [str(one) for one in media if isinstance(one, MediaError)]
    by_role = {
        IMAGE: tuple(one for one in usable if one.kind == "image"),
        CLIP: tuple(one for one in usable if one.kind == "video"),
    }
    translated = value.get("history_en")
    return Case(
        id=str(value["id"]),
        fields={
            "history": str(value["history"]),
            **({} if translated is None else {"history_en": str(translated)}),
        },
        media={} if problems else {role: found for role, found in by_role.items() if found},
        reference={
            **{name: value[name] for name in ("diagnosis", "rare", "subset", "subspecialty", "language")},
            # Of a case that cannot be shown, this alone tells which conditions it belongs to.
            **{name: len(_paths(value, name)) for name in ("images", "videos")},
        },
        group=cast("str | None", value.get("group")),
        tags=tuple(cast("list[str]", value.get("tags", []))),
        problem="; ".join(problems) if problems else None,
    )

"""Media of cells: decoded, looked at, and kept with every byte; nothing outside of their folder is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from case_tables import image_bytes, in_base64

from harness.canonical import sha256_hex
from harness.case_import import media_files
from harness.case_import.media_files import MediaFiles
from harness.case_import.row import CellError
from harness.errors import ConfigError

PNG = image_bytes(7)
JPEG = image_bytes(9, "JPEG")


@pytest.fixture
def files(tmp_path: Path) -> MediaFiles:
    for name in ("out", "source", "source/inside", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "inside" / "a.jpg").write_bytes(PNG)  # a wrong suffix  # F17
    (tmp_path / "elsewhere" / "secret.png").write_bytes(JPEG)
    return MediaFiles(tmp_path / "out", tmp_path / "source")


def kept(files: MediaFiles, cell: object) -> list[bytes]:
    return [(files.out / taken.path).read_bytes() for taken in files.take(cell)]


@pytest.mark.parametrize(
    "cell",
    [
        PNG,
        {"bytes": PNG, "path": "gone.png"},
        {"bytes": None, "path": "inside/a.jpg"},
        {"path": "inside/a.jpg"},
        "inside/a.jpg",
        "inside/a",
        in_base64(PNG),
        "\n".join(in_base64(PNG)[start : start + 76] for start in range(0, 1000, 76)),
        f"data:image/jpeg;base64,{in_base64(PNG)}",
        [PNG],
        repr([in_base64(PNG)]),
        f'["{in_base64(PNG)}"]',
    ],
)
def test_each_way_of_giving_an_image_keeps_its_bytes(files: MediaFiles, cell: object) -> None:
    assert kept(files, cell) == [PNG]
    [path] = [one for one in (files.out / "media").rglob("*") if one.is_file()]
    assert path.relative_to(files.out).as_posix() == f"media/{sha256_hex(PNG)[:2]}/{sha256_hex(PNG)}.png"


def test_a_list_keeps_its_order_and_equal_images_are_kept_once(files: MediaFiles) -> None:
    assert kept(files, [JPEG, PNG, in_base64(JPEG)]) == [JPEG, PNG, JPEG]
    assert len([one for one in (files.out / "media").rglob("*.*") if one.is_file()]) == 2


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("../elsewhere/secret.png", "must be a path that stays below"),
        ("inside/../../elsewhere/secret.png", "must be a path that stays below"),
        ("/etc/passwd", "must be a path that stays below"),
        ("C:/x.png", "must be a path that stays below"),
        ("inside\\a.jpg", "must be a path with forward slashes"),
        ("a\0b", "must be a path with forward slashes"),
        ("link.png", "leads out of"),
        ("linked/secret.png", "leads out of"),
        ("gone.png", "does not exist: 'gone.png'"),
        ("inside", "is no file: 'inside'"),
        ("https://example.org/a.png", "nothing is fetched; save the file and give its path"),
        ("s3://bucket/a.png", "nothing is fetched"),
        ("file:///etc/passwd", "nothing is fetched"),
        ("data:image/png,abc", "is a data: address that is not in base64"),
        ("data:image/png;base64,????", "is damaged base64"),
        (in_base64(PNG)[:-3] + "?!", "is damaged base64"),
        (in_base64(b"x" * 9000), "is base64 of something that is neither image nor video"),
        ("y! " * 2000, "is neither a path nor the base64 of an image (6,000 characters)"),
        ("y!" * 500, "is no path that can be looked at"),
        ("notes.txt", "is unusable: cannot use image 'notes.txt'"),
        (PNG[:-20], "is unusable: "),
        (b"", "the file is empty"),
        (" ", "is empty"),
        ([PNG, None], "holds an empty place in its list"),
        ({"bytes": None, "path": None}, "holds an empty place"),
        (5, "must be a path, base64 or bytes, got int"),
        ({"url": "x"}, "must be a path, base64 or bytes, got dict"),
        ("[unclosed", "is neither JSON nor a Python list"),
    ],
)
def test_what_is_no_medium_of_this_folder_is_refused(files: MediaFiles, cell: Any, told: str) -> None:
    (files.source / "link.png").symlink_to("../elsewhere/secret.png")
    (files.source / "linked").symlink_to("../elsewhere")
    (files.source / "notes.txt").write_text("just words")
    with pytest.raises(CellError) as error:
        list(files.take(cell))
    assert told in str(error.value)
    assert not [one for one in files.out.rglob("*") if one.is_file() and one.read_bytes() == JPEG]


def test_links_inside_of_the_folder_are_followed(files: MediaFiles, tmp_path: Path) -> None:
    (files.source / "here.png").symlink_to("inside/a.jpg")
    (tmp_path / "way").symlink_to("source")
    assert kept(files, "here.png") == [PNG]
    assert kept(MediaFiles(files.out, tmp_path / "way"), "inside/a.jpg") == [PNG]


def test_a_name_without_a_suffix_that_means_two_images_means_none(files: MediaFiles) -> None:
    (files.source / "inside" / "a.png").write_bytes(JPEG)
    with pytest.raises(CellError, match="does not exist"):
        list(files.take("inside/a"))


def test_hard_links_share_the_file_and_copies_do_not(files: MediaFiles) -> None:
    origin = files.source / "inside" / "a.jpg"
    [taken] = files.take("inside/a.jpg")
    assert not (files.out / taken.path).samefile(origin)
    (files.source / "b.png").write_bytes(JPEG)
    files.link = True
    [taken] = files.take("b.png")
    assert (files.out / taken.path).samefile(files.source / "b.png")


def test_another_file_system_is_told(files: MediaFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*args: object, **kwargs: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", elsewhere)
    files.link = True
    with pytest.raises(ConfigError, match="leave out --link"):
        list(files.take("inside/a.jpg"))


def test_the_media_of_a_case_that_is_none_are_taken_back(files: MediaFiles) -> None:
    list(files.take(PNG))
    files.begin()
    list(files.take([PNG, JPEG]))
    files.discard()
    assert kept(files, "inside/a.jpg") == [PNG]
    assert [one.suffix for one in (files.out / "media").rglob("*") if one.is_file()] == [".png"]


def test_every_type_that_is_found_has_a_suffix() -> None:
    for mime in ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff"):
        assert mime in media_files.SUFFIXES

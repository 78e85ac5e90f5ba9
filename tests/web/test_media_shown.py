"""What a page tells of a case's media: where each is served, and what every model was shown of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from clip_examples import written_clip
from media_site import MediaSite, case_with, media_site, passed_off, request_with, saved

import harness.web.media.shown as shown_module
from harness.benchmarks.base import Case
from harness.cache.rows import UnitId
from harness.frames.clip_frames import keep_frames_in
from harness.media import Media, probe
from harness.outcomes import UnitOutcome
from harness.web.links import link
from harness.web.media.shown import CaseMedia, MediaItem, Strip, case_media, plain_media
from harness.web.pages import environment


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> None:
    keep_frames_in(None)


class Attributes(HTMLParser):
    """The tags of a page and the names of their attributes, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.names.update(name for name, _ in attrs)


async def asked(site: MediaSite, case: Case, requests: Mapping[str, Any]) -> CaseMedia:
    """Store an answer of each model to its request, and return what a page gets of the case."""
    links = {}
    stored = await site.library.stored("test-run")
    for name, request in requests.items():
        unit = UnitId(name, "both", case.id, 1)
        id = await site.built.exchange(unit, "{}", request=request, media_sent={})
        await site.built.finish(unit, UnitOutcome.UNPARSABLE, [(id, "answer", 1)])
        linked = await site.built.store.linked_unit(stored.run.id, unit)
        assert linked is not None
        links[name] = linked.links
    return await case_media(site.library, stored, case, links)


def html(media: CaseMedia) -> str:
    return str(environment().get_template("media/templates/viewer.html").module.viewer(media))  # type: ignore[attr-defined]


def frames(strip: Strip) -> list[tuple[int, float]]:
    return [(one.index, one.time_s) for one in strip.frames]


async def test_every_medium_has_addresses_that_name_it_by_its_case(tmp_path: Path) -> None:
    media = [saved(tmp_path, f"{n}.png", (40 + n, 20)) for n in range(2)]
    case = case_with(*media, id="a/../b?c&d=\u202e")
    async with media_site(tmp_path, case) as site:
        found = await asked(site, case, {})
        assert [one.title for one in found.items] == ["image 1 of 2", "image 2 of 2"]
        for n, one in enumerate(found.items):
            assert one.address["thumb"] == link(
                "/media/file", run="test-run", case=case.id, role="image", n=n, **{"as": "thumb"}
            )
            assert media[n].path is not None
            got = await site.client.get(one.address["whole"])
            assert got.content == media[n].path.read_bytes()  # type: ignore[union-attr]


async def test_models_are_named_with_the_recipe_by_which_each_was_sent_an_image(tmp_path: Path) -> None:
    media = saved(tmp_path)
    case = case_with(media)
    async with media_site(tmp_path, case) as site:
        requests = {
            "alpha": request_with((media.sha256, "original")),
            "beta": request_with((media.sha256, "fit:max_side=10")),
            "gamma": request_with(),
        }
        (item,) = (await asked(site, case, requests)).items
        assert item.said == (
            "alpha was sent the file as it is",
            "beta was sent this by the recipe fit:max_side=10",
            "gamma was not sent this",
        )


async def test_one_units_links_may_be_given_as_they_are(tmp_path: Path) -> None:
    media = saved(tmp_path)
    case = case_with(media)
    async with media_site(tmp_path, case) as site:
        await asked(site, case, {"alpha": request_with((media.sha256, "png"))})
        stored = await site.library.stored("test-run")
        linked = await site.built.store.linked_unit(stored.run.id, UnitId("alpha", "both", "a", 1))
        assert linked is not None
        found = await case_media(site.library, stored, case, linked.links, "alpha")
        assert found.items[0].said == ("alpha was sent this by the recipe png",)


def clip_entry(
    clip: Media, form: str, frames_: list[list[float]] | None, fps: float | None = 2
) -> dict[str, Any]:
    sampled_by = "provider" if frames_ is None else "harness"
    return {"sha256": clip.sha256, "as": form, "fps": fps, "sampled_by": sampled_by, "frames": frames_}


async def test_strips_show_the_frames_that_each_model_was_shown(tmp_path: Path) -> None:
    clip = probe(written_clip(tmp_path))
    case = case_with(clip, role="clip")
    as_images = [[0, 0.0], [5, 0.5], [10, 1.0]]
    images = [(clip.sha256, f"frame:index={index}") for index, _ in as_images]
    requests = {
        "alpha": request_with(*images, clips=[clip_entry(clip, "images", as_images, None)]),
        "beta": request_with(
            (clip.sha256, "frame:index=0,9"), clips=[clip_entry(clip, "video", [[0, 0.0], [9, 0.9]])]
        ),
        "gamma": request_with((clip.sha256, "original"), clips=[clip_entry(clip, "video", None)]),
        "delta": request_with(*images, clips=[clip_entry(clip, "images", as_images, None)]),
    }
    async with media_site(tmp_path, case) as site:
        (item,) = (await asked(site, case, requests)).items
        assert item.said == (
            "alpha, delta were sent 3 frames of it, as images",
            "beta was sent 2 frames of it as a video at 2 frames a second",
            "gamma was sent the file at 2 frames a second; which frames were looked at, the provider "
            "does not tell",
        )
        assert [strip.title for strip in item.strips] == ["shown to alpha, delta", "shown to beta"]
        assert frames(item.strips[0]) == [(0, 0.0), (5, 0.5), (10, 1.0)]
        assert frames(item.strips[1]) == [(0, 0.0), (9, 0.9)]
        thumb = await site.client.get(item.strips[0].frames[1].thumb)
        assert thumb.status_code == 200


async def test_a_clip_of_which_no_frames_are_known_has_some_spread_evenly(tmp_path: Path) -> None:
    clip = probe(written_clip(tmp_path, frames=33))
    case = case_with(clip, role="clip")
    async with media_site(tmp_path, case) as site:
        (item,) = (await asked(site, case, {})).items
        (strip,) = item.strips
        assert strip.title == "spread evenly over the clip: 16"
        assert [one.index for one in strip.frames] == [
            0,
            2,
            4,
            6,
            8,
            10,
            12,
            14,
            17,
            19,
            21,
            23,
            25,
            27,
            29,
            32,
        ]


async def test_a_strip_of_many_frames_draws_some_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_module, "MOST_FRAMES", 5)
    clip = probe(written_clip(tmp_path))
    case = case_with(clip, role="clip")
    every = [[index, index / 10] for index in range(20)]
    request = request_with(
        *((clip.sha256, f"frame:index={index}") for index, _ in every),
        clips=[clip_entry(clip, "images", every)],
    )
    async with media_site(tmp_path, case) as site:
        found = await asked(site, case, {"alpha": request})
        (strip,) = found.items[0].strips
        assert [one.index for one in strip.frames] == [0, 4, 9, 14, 19]
        assert strip.left == 15
        assert "of 20 frames these are spread evenly" in html(found)


async def test_the_frames_of_a_strip_are_made_by_decoding_the_clip_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harness.frames.clips as clips

    decoded: list[int] = []
    real = clips.decode_frames
    monkeypatch.setattr(clips, "decode_frames", lambda *args: (decoded.append(len(args[3])), real(*args)))
    clip = probe(written_clip(tmp_path, frames=21))
    case = case_with(clip, role="clip")
    async with media_site(tmp_path, case) as site:
        (item,) = (await asked(site, case, {})).items
        for one in item.strips[0].frames:
            assert (await site.client.get(one.thumb)).status_code == 200
    assert decoded == [16]


async def test_what_cannot_be_found_is_said_in_its_place(tmp_path: Path) -> None:
    case = case_with(saved(tmp_path), probe(written_clip(tmp_path)))
    async with media_site(tmp_path, case, notes=[]) as site:
        found = await asked(site, case, {})
        assert [one.problem for one in found.items] == ["the file was not found where the run read it"] * 2
        page = html(found)
        assert "<img" not in page
        assert "<video" not in page
        assert page.count("not shown: ") == 2


async def test_a_clip_that_is_damaged_has_no_strip_and_breaks_no_page(tmp_path: Path) -> None:
    data = written_clip(tmp_path).read_bytes()
    clip = passed_off(tmp_path, "cut.mp4", data[: len(data) // 2], "video/mp4")
    case = case_with(clip)
    async with media_site(tmp_path, case) as site:
        found = await asked(site, case, {})
        assert found.items[0].strips == ()
        assert "<video" in html(found)


async def test_a_case_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    case = case_with(problem="image 'x.png' does not exist")
    async with media_site(tmp_path, case) as site:
        found = await asked(site, case, {})
        assert found
        assert found.notes == ("the case cannot be used: image 'x.png' does not exist",)


async def test_a_case_without_media_shows_nothing(tmp_path: Path) -> None:
    case = case_with()
    async with media_site(tmp_path, case) as site:
        assert not await asked(site, case, {})


async def test_the_box_stands_in_pixels_of_the_image_upright(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (40, 20), 90).save(path, exif=exif)
    case = case_with(probe(path), fields={"roi": "2,30,12,38"})
    async with media_site(tmp_path, case) as site:
        found = await asked(site, case, {})
        (item,) = found.items
        assert (item.width, item.height, item.box) == (20, 40, (2, 30, 12, 38))
        page = html(found)
        assert 'viewBox="0 0 20 40"' in page
        assert '<rect x="2" y="30" width="10" height="8">' in page


@pytest.mark.parametrize("roi", ["", "1,2,3", "1,2,3,x", "-1,2,3,4", "\u0661,2,3,4", f"{'9' * 5_000},2,3,4"])
async def test_what_is_no_box_is_none(tmp_path: Path, roi: str) -> None:
    case = case_with(saved(tmp_path), fields={"roi": roi})
    async with media_site(tmp_path, case) as site:
        assert (await asked(site, case, {})).items[0].box is None


async def test_graders_are_shown_the_same_of_a_clip_whoever_answered(tmp_path: Path) -> None:
    clip = probe(written_clip(tmp_path))
    case = case_with(clip, role="clip")
    async with media_site(tmp_path, case) as site:
        await asked(site, case, {"alpha": request_with((clip.sha256, "original"))})
        found = await plain_media(
            site.built.store, "triage", case.media,
            lambda place: lambda **query: link(f"/g/token/media/3/{place}", **query),
        )  # fmt: skip
        page = html(found)
        assert found.items[0].said == ()
        assert found.items[0].address["thumb"] == "/g/token/media/3/0?as=thumb"
        for told in ("test-run", "alpha", "case=", str(tmp_path), "clip.mp4", clip.sha256[:8]):
            assert told not in page


async def test_names_of_anybody_are_text_on_the_page(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\"' onerror=x"
    case = case_with(saved(tmp_path), id=hostile, role=hostile)
    async with media_site(tmp_path, case) as site:
        page = html(await asked(site, case, {hostile: request_with()}))
        seen = Attributes()
        seen.feed(page)
        assert "script" not in seen.tags
        assert not {"style", "onerror"} & seen.names
        assert "img" in seen.tags


async def test_a_picture_has_its_room_before_it_arrives(tmp_path: Path) -> None:
    media = [saved(tmp_path, f"{n}.png", size) for n, size in enumerate([(900, 450), (300, 600), (40, 20)])]
    case = case_with(*media)
    async with media_site(tmp_path, case) as site:
        page = html(await asked(site, case, {}))
    rooms = re.findall(r'<img width="(\d+)" height="(\d+)" src', page)
    assert rooms == [("320", "160"), ("128", "256"), ("40", "20")]


def test_an_item_says_its_size_in_words() -> None:
    item = MediaItem(
        "k",
        "image",
        "image",
        "image/png",
        20_400_000,
        4_600,
        4_601,
        {"thumb": "/t", "screen": "/s", "whole": "/w"},
    )
    page = html(CaseMedia((item,)))
    assert "png, 4,600 × 4,601 pixels, 20.4 MB" in page  # noqa: RUF001

"""Cases beyond a model's limits: told before, never sent, asked with a recipe; and what is recorded of it."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted_replies import Arrival
from scripted_server import ScriptedServer
from sweep_kit import Done, harness, right_answer, run_args, write_cases, write_config

LARGE = 3
"""Of the five cases."""


@pytest.fixture
def server() -> Any:
    with ScriptedServer(right_answer) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five cases, three of them with an image of 400 x 200 pixels, the others of 16 x 8."""
    images = write_cases(tmp_path / "data", 5) / "images"
    for number in range(LARGE):
        Image.new("L", (400, 200), number + 1).save(images / f"{number:03}.png")
    return tmp_path


def configured(folder: Path, url: str, **limits: Any) -> None:
    path = write_config(folder, url)
    lines = [f"{name} = {value}" for name, value in limits.items()]
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


def image_of(arrival: Arrival) -> Image.Image:
    (url,) = [
        part["image_url"]["url"]
        for part in arrival.json["messages"][0]["content"]
        if part["type"] == "image_url"
    ]
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


def records(folder: Path, *more: str) -> list[dict[str, Any]]:
    store = folder / "store.sqlite3"
    done = harness("export", *more, "--format", "jsonl", "--store", store)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_cases_beyond_a_limit_are_never_sent_and_say_why(
    folder: Path, server: ScriptedServer
) -> None:  # F16 F17
    configured(folder, server.url, image="{ max_side = 300 }")
    done = harness(*run_args(folder))
    assert done.code == 0, done.err
    assert len(server.arrivals) == 5 - LARGE
    assert f"units beyond a model's inputs or limits: {LARGE}" in done.err
    beyond = [one for one in records(folder) if one["outcome"] == "not_applicable"]
    assert len(beyond) == LARGE
    for one in beyond:
        message = one["error"]["message"]
        assert "has 400 pixels on its longest side, model 'm' takes 300 (image.max_side)" in message
        assert "choose --image-recipe fit:max_side=300, or leave the model out" in message
        assert (one["error"]["kind"], one["exchanges"], one["media"]) == ("media_limit", [], [])


def test_a_dry_run_counts_them_before(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url, image="{ max_pixels = 1000 }")
    done = harness(*run_args(folder), "--dry-run")
    assert "m: units beyond its image.max_pixels: 3; first: case 'c000': image" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    (model,) = harness(*run_args(folder), "--dry-run", "--json").json["models"]
    assert (model["beyond"], model["to_send"]) == ({"image.max_pixels": LARGE}, 5 - LARGE)
    assert server.arrivals == []


def test_a_check_of_the_data_counts_them_for_the_models_that_are_named(
    folder: Path, server: ScriptedServer
) -> None:
    configured(folder, server.url, image="{ max_bytes = 100 }", max_images=1)

    def check(*more: str) -> Done:
        where = ("--data", folder / "data", "--config", folder / "harness.toml")
        return harness("data", "check", "--benchmark", "triage", *where, "--models", "m,sim/steady", *more)

    done = check()
    assert done.code == 0, done.err
    assert "m: cases beyond its image.max_bytes: 3; first: case 'c000'" in done.out
    assert f"m: {5 - LARGE} of 5 can be sent" in done.out
    assert "sim/steady: 5 of 5 can be sent" in done.out and "sim/steady: cases" not in done.out
    assert check("--json").json["beyond"] == {"m": {"image.max_bytes": LARGE}, "sim/steady": {}}
    fitted = check("--image-recipe", "fit:max_bytes=100", "--json").json["beyond"]
    assert fitted == {"m": {}, "sim/steady": {}}


def test_a_limit_of_the_provider_holds_for_its_models(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url)
    path = folder / "harness.toml"
    limits = "\n[providers.lab.image]\nmax_side = 300\n"
    path.write_text(path.read_text(encoding="utf-8") + limits, encoding="utf-8")
    assert harness(*run_args(folder)).code == 0
    assert len(server.arrivals) == 5 - LARGE


def test_a_recipe_shrinks_what_is_too_large_and_nothing_else(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url, image="{ max_side = 300 }")
    assert harness(*run_args(folder)).code == 0
    before = {arrival.body for arrival in server.arrivals}
    done = harness(*run_args(folder), "--image-recipe", "fit:max_side=200")
    assert done.code == 0, done.err
    assert "images are not sent as they are: m fit:max_side=200" in done.err
    later = server.arrivals[len(before) :]
    assert len(later) == LARGE, "what fits was asked before, under the same key"
    assert {image_of(arrival).size for arrival in later} == {(200, 100)}
    # In the order of the cases: what was done to each image.
    recipes = [one["media"][0]["recipe"] for one in records(folder)]
    assert recipes == ["fit:max_side=200"] * LARGE + ["original"] * (5 - LARGE)
    replayed = harness("score", "--store", folder / "store.sqlite3", "--json")
    assert replayed.json["rows"][0]["outcomes"] == {"valid": 5}


def test_another_recipe_is_another_run_and_the_same_one_resumes(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url)

    def run(*more: str) -> str:
        done = harness(*run_args(folder), *more, "--dry-run", "--json")
        assert done.code == 0, done.err
        return str(done.json["run"])

    plain = run()
    assert run("--image-recipe", "original") == plain
    shrunk = run("--image-recipe", "fit:max_side=200")
    assert shrunk not in (plain, run("--image-recipe", "fit:max_side=201"))
    assert run("--image-recipe", "jpeg:quality=95") == run("--image-recipe", "jpeg")
    assert harness(*run_args(folder), "--image-recipe", "fit:max_side=200").code == 0
    sent = len(server.arrivals)
    done = harness("resume", "--store", folder / "store.sqlite3", "--config", folder / "harness.toml")
    assert (done.code, len(server.arrivals)) == (0, sent), done.err


def test_the_command_stands_before_the_model_and_that_before_the_benchmark(
    folder: Path, server: ScriptedServer
) -> None:
    configured(folder, server.url)
    path = folder / "harness.toml"
    text = path.read_text(encoding="utf-8")

    def told(extra: str, *more: str) -> str:
        path.write_text(text + extra, encoding="utf-8")
        return harness(*run_args(folder), *more, "--dry-run").err

    benchmark = '\n[benchmarks.triage]\nimage_recipe = "convert"\n'
    assert "m convert" in told(benchmark)
    assert "m png" in told('image_recipe = "png"\n' + benchmark)
    assert "m jpeg" in told('image_recipe = "png"\n' + benchmark, "--image-recipe", "jpeg")


@pytest.mark.parametrize(
    ("extra", "more", "words"),
    [
        ("", ("--image-recipe", "fit:max_sides=9"), "--image-recipe: unknown recipe 'fit:max_sides=9'"),
        ('image_recipe = "webp"\n', (), "[models.m] image_recipe: unknown recipe 'webp'"),
        ('\n[benchmarks.triage]\nimage_recipe = "tiny"\n', (), "[benchmarks.triage] image_recipe: unknown"),
    ],
)
def test_a_recipe_that_does_not_exist_is_refused_before_anything(
    folder: Path, server: ScriptedServer, extra: str, more: tuple[str, ...], words: str
) -> None:
    configured(folder, server.url)
    path = folder / "harness.toml"
    path.write_text(path.read_text(encoding="utf-8") + extra, encoding="utf-8")
    done = harness(*run_args(folder), *more)
    assert (done.code, words in done.err, server.arrivals) == (2, True, []), done.err


def test_a_request_too_large_in_all_is_not_sent(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url, max_request_bytes=900)
    done = harness(*run_args(folder))
    assert (done.code, server.arrivals) == (3, []), done.err
    assert {one["error"]["message"].split(" has ")[0] for one in records(folder)} == {"the request"}


def test_a_dry_run_counts_the_whole_body_to_the_byte(folder: Path, server: ScriptedServer) -> None:
    configured(folder, server.url, max_request_bytes=10_000_000)
    assert harness(*run_args(folder, "--image-recipe", "png")).code == 0
    sizes = sorted(len(arrival.body) for arrival in server.arrivals)
    place = folder / "other.sqlite3"
    for limit in (sizes[-1], sizes[-1] - 1):
        configured(folder, server.url, max_request_bytes=limit)
        dry = harness(*run_args(folder, "--image-recipe", "png", "--dry-run", "--json", store=place))
        (told,) = dry.json["models"]
        beyond = sum(size > limit for size in sizes)
        assert dry.code == 0 and told["to_send"] == len(sizes) - beyond
        assert told["beyond"] == ({"max_request_bytes": beyond} if beyond else {})
    assert beyond  # what is stored already is not sent, whatever its size
    stored = harness(*run_args(folder, "--image-recipe", "png", "--dry-run", "--json")).json["models"]
    assert [(one["to_send"], one["beyond"]) for one in stored] == [(0, {})]
    checked = harness("data", "check", "--benchmark", "triage", "--data", folder / "data", "--models", "m",
                      "--image-recipe", "png", "--config", folder / "harness.toml", "--json")  # fmt: skip
    assert checked.json["beyond"] == {"m": {"max_request_bytes": beyond}}


def test_a_chain_does_to_each_image_what_it_needs_and_no_more(folder: Path, server: ScriptedServer) -> None:
    """As the verifier of MedLayXPlain is shown images: the longest edge at most so long, then JPEG 85."""
    configured(folder, server.url)
    done = harness(*run_args(folder, "--image-recipe", "fit:max_side=100+jpeg:quality=85"))
    assert done.code == 0, done.err
    images = [image_of(arrival) for arrival in server.arrivals]
    assert {image.format for image in images} == {"JPEG"}
    assert sorted(image.size for image in images) == [(16, 8)] * 2 + [(100, 50)] * LARGE
    recipes = sorted(record["media"][0]["recipe"] for record in records(folder))
    assert recipes == ["fit:max_side=100+jpeg:quality=85"] * LARGE + ["jpeg:quality=85"] * 2


def test_an_image_that_turns_out_damaged_is_a_case_error_with_its_name(
    folder: Path, server: ScriptedServer
) -> None:  # F16
    path = folder / "data" / "images" / "001.png"
    whole = path.read_bytes()
    at = whole.index(b"IDAT")
    end = at + 4 + int.from_bytes(whole[at - 4 : at], "big")
    body = b"IDAT" + bytes(end - at - 4)
    path.write_bytes(whole[:at] + body + zlib.crc32(body).to_bytes(4, "big") + whole[end + 4 :])
    configured(folder, server.url)
    assert harness(*run_args(folder, "--image-recipe", "png")).code == 3
    assert len(server.arrivals) == 4
    (failed,) = [record for record in records(folder) if record["outcome"] != "valid"]
    assert (failed["case_id"], failed["outcome"]) == ("c001", "case_error")
    assert "001.png': it cannot be decoded" in failed["error"]["message"]
    assert failed["error"]["message"].endswith("; replace the file")


@pytest.mark.parametrize("recipe", ["roi:box=1,2,3,4", "frame:index=1+png"])
def test_what_differs_from_image_to_image_is_no_recipe_for_a_run(
    folder: Path, server: ScriptedServer, recipe: str
) -> None:
    configured(folder, server.url)
    done = harness(*run_args(folder, "--image-recipe", recipe))
    assert done.code == 2 and not server.arrivals
    assert "--image-recipe: " in done.err and "cannot hold for all images of a run" in done.err

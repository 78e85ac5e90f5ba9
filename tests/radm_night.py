"""A run of RadM-Bench to be graded: real requests to a loopback server, by two models with telling names.

Every third case gets the same answer by both models in both conditions; some answers say the model's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, finish, spawn

MODELS = ("quokka-7b", "zephyrine-large")
SERVED = {"quokka-7b": "nimbus-labs/quokka-7b-2026-05", "zephyrine-large": "zephyrine-large-preview"}
PROVIDER = "nimbus-labs"
CONDITIONS = ("text", "text_images")
PRICES = {"input": 3.7291, "output": 17.3113}
RUN = "pangolin-night"
TIERS = ("unrelated", "class of", "partly", "wholly")
"""A word in a diagnosis that says which tier it deserves: the place of it."""

Script = Callable[[str, int, str], list[str]]
"""Model, number of the case, condition -> five diagnoses."""


def case_id(number: int) -> str:
    return f"edu-KX{number:02}"


def diagnoses(model: str, number: int, condition: str) -> list[str]:
    """Return five diagnoses; each says by one of `TIERS` what it deserves."""
    seed = (
        number * 7 if number % 3 == 0 else number * 7 + 3 * MODELS.index(model) + CONDITIONS.index(condition)
    )
    found = [f"{TIERS[(seed * (rank + 3) + rank) % 4]} disease {number} of kind {rank}" for rank in range(5)]
    if number % 4 == 1:
        found[2] += f", as {model} by {PROVIDER} sees it"
    return found


def write_night(folder: Path, url: str, cases: int, **changes: Any) -> None:
    """Write case files with an image each, and the configuration of both models."""
    data = folder / "data"
    (data / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(cases):
        name = f"images/scan-QZ{number:02}.png"
        Image.new("L", (40, 30), color=20 + number).save(data / name)
        line = {
            "id": case_id(number), "subset": "RadEdu", "language": "en", "subspecialty": "chest",
            "rare": False, "history": f"Headache for {number + 1} days.", "images": [name], "videos": [],
            "diagnosis": f"disease {number}, wholly",
        }  # fmt: skip
        lines.append(json.dumps(line | changes))
    (data / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = [
        f"[providers.{PROVIDER}]",
        'adapter = "openai"',
        f'base_url = "{url}/v1"',
        'endpoint = "lab"',
        "",
    ]
    for model in MODELS:
        config += [
            f"[models.{model}]", f'provider = "{PROVIDER}"', f'model = "{SERVED[model]}"',
            'inputs = ["text", "image"]', 'structured = ["json", "schema"]',
            f"price = {{ input = {PRICES['input']}, output = {PRICES['output']} }}", "",
        ]  # fmt: skip
    (folder / "harness.toml").write_text("\n".join(config), encoding="utf-8")


def answering(script: Script = diagnoses) -> Callable[[Arrival], Reply]:
    """Return what the server does: it knows a case by its history, a condition by its image."""
    models = {served: model for model, served in SERVED.items()}

    def reply(arrival: Arrival) -> Reply:
        found = re.search(r"Headache for (\d+) days", arrival.text)
        assert found is not None, arrival.text
        condition = CONDITIONS["image_url" in arrival.body.decode("latin-1")]
        model = models[arrival.json["model"]]
        answer = {"diagnoses": script(model, int(found[1]) - 1, condition)}
        return chat_reply(json.dumps(answer), model=arrival.json["model"])

    return reply


def options(folder: Path) -> list[str | Path]:
    return ["--config", folder / "harness.toml", "--store", folder / "store.sqlite3"]


def command(*args: str | Path) -> Done:
    """Run a command as a process of its own: the thread that Playwright is in has a loop already."""
    return finish(spawn(*args, cwd=Path.cwd()))


def night(
    folder: Path, cases: int = 5, script: Script = diagnoses, conditions: tuple[str, ...] = CONDITIONS,
    **changes: Any,
) -> Path:  # fmt: skip
    """Run both models on so many cases in both conditions; return the store."""
    with ScriptedServer(answering(script)) as server:
        write_night(folder, server.url, cases, **changes)
        done = command(
            "run", "--benchmark", "radm", "--data", folder / "data", "--models", ",".join(MODELS),
            "--conditions", ",".join(conditions), "--structured", "schema", "--name", RUN, *options(folder),
        )  # fmt: skip
    assert done.code == 0, done.err
    return folder / "store.sqlite3"


def records(folder: Path) -> list[Mapping[str, Any]]:
    """Return the records of the run with everything that is stored of its exchanges."""
    done = command("export", RUN, "--raw", *options(folder))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]

"""Scores recomputed from the outside: a run made by the command, its export, other people's formulas.

Nothing here imports `harness.scoring` or a benchmark's scores. Draws and intervals are written again from
what the documentation of `resampling` and `intervals` says, so that they must agree to the last digit that is
printed; beside them stand draws of another generator, which agree within their own error.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scripted_replies import Arrival, Reply, chat_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import harness, write_config

Numbers: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Numbers], Mapping[str, Numbers]]
"""Sums (..., k) of one repeat -> path -> values (...), NaN where undefined."""

USABLE = ("valid", "recovered", "reformatted")
FAILURES: Mapping[str, Reply] = {
    "refused": chat_reply(None, refusal="I cannot help with that"),
    "filtered": chat_reply(None, finish="content_filter"),
    "truncated": chat_reply('{"triage_output": {"Perio"', finish="length"),
    "empty": chat_reply(""),
}


@dataclass(frozen=True)
class Recomputed:
    """A finished run: its scores as JSON, and its units as they are exported."""

    scores: Mapping[str, Any]
    records: tuple[Mapping[str, Any], ...]
    folder: Path

    def row(self, model: str, condition: str) -> Mapping[str, Any]:
        """Return one row of the scores."""
        (found,) = (r for r in self.scores["rows"] if r["model"] == model and r["condition"] == condition)
        return found

    def units(self, model: str, condition: str) -> list[Mapping[str, Any]]:
        """Return the exported units of one row."""
        return [r for r in self.records if r["model"] == model and r["condition"] == condition]


@lru_cache(maxsize=16)
def rescored(folder: Path, run: str, *options: str) -> Recomputed:
    """Return scores and export of a run that is stored below a folder."""
    store = ("--store", folder / "store.sqlite3", "--config", folder / "harness.toml")
    done = harness("score", run, "--json", *options, *store)
    assert done.code == 0, done.err
    out = folder / f"{run}.jsonl"
    exported = harness("export", run, "--out", out, "--force", *store)
    assert exported.code == 0, exported.err
    # Not `splitlines`: texts may hold U+2028.
    lines = out.read_bytes().decode("utf-8").split("\n")
    records = tuple(json.loads(line) for line in lines if line)
    return Recomputed(json.loads(done.out), records, folder)


def asked(
    folder: Path, benchmark: str, script: Callable[[Arrival], Reply], models: Sequence[str], *options: str
) -> Path:
    """Ask the cases in `folder`/data of models at a scripted server, and return the folder."""
    with ScriptedServer(script) as server:
        config = write_config(folder, server.url, models, max_in_flight=32)
        done = harness(
            *("run", "--benchmark", benchmark, "--models", ",".join(models), "--data", folder / "data"),
            *("--store", folder / "store.sqlite3", "--config", config),
            *("--reformatter", "none", "--attempts", "1", *options),
        )
    assert done.code in (0, 3), done.err
    return folder


def chance(*parts: object) -> random.Random:
    """Return a generator that depends on its words alone."""
    return random.Random("/".join(map(str, parts)))


def failing(kind: str) -> Reply:
    """Return a failure by the name of the outcome that it must come to."""
    return status_reply(400, "bad image", code="invalid_image") if kind == "rejected" else FAILURES[kind]


def image_number(arrival: Arrival) -> int | None:
    """Return which case's image a request holds, by the shade that `sweep_kit.write_image` gave it."""
    import base64
    import io

    from PIL import Image

    for message in arrival.json["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image_url":
                raw = base64.b64decode(part["image_url"]["url"].split(",", 1)[1])
                with Image.open(io.BytesIO(raw)) as image:
                    return int(image.getpixel((0, 0))) + 256 * (image.height - 8)  # type: ignore[arg-type]
    return None


# -- draws and intervals, from their documentation -------------------------------------------------


def documented_draws(clusters: int, seed: int = 20050, resamples: int = 2000) -> NDArray[np.int64]:
    """Return which cluster is drawn, (resamples, clusters): words of PCG64, two draws each, lower first.

    A resample begins with a word of its own.
    """
    words = np.random.PCG64(seed).random_raw(resamples * ((clusters + 1) // 2)).reshape(resamples, -1)
    halves = np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=2)
    return ((halves.reshape(resamples, -1)[:, :clusters] * np.uint64(clusters)) >> np.uint64(32)).astype(
        np.int64
    )


def weights_of(draws: NDArray[np.int64]) -> Numbers:
    """Return how often each cluster was drawn, shape (resamples, clusters)."""
    resamples, clusters = draws.shape
    flat = (draws + np.arange(resamples)[:, None] * clusters).ravel()
    return np.bincount(flat, minlength=resamples * clusters).reshape(draws.shape).astype(np.float64)


def over_repeats(sums: Numbers, weights: Numbers, statistic: Statistic) -> dict[str, Numbers]:
    """Return path -> value of each row of weights; `sums` (clusters, repeats, k)."""
    by_repeat = [statistic(weights @ sums[:, repeat]) for repeat in range(sums.shape[1])]
    found = {}
    for path in by_repeat[0]:
        values = np.stack([np.asarray(one[path], dtype=np.float64) for one in by_repeat])
        there = ~np.isnan(values)
        count = there.sum(axis=0)
        total = np.where(there, values, 0).sum(axis=0)
        found[path] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def documented_bca(
    point: float, resampled: Numbers, jackknife: Numbers, level: float = 0.95
) -> tuple[float, float] | None:
    """Return Efron's interval as `intervals` documents it; None where it says that there is none."""
    resampled = np.sort(resampled[~np.isnan(resampled)])
    jackknife = jackknife[~np.isnan(jackknife)]
    same = 1e-12 * max(1.0, abs(point))
    if len(resampled) == 0 or resampled[-1] - resampled[0] <= same:
        return None
    below = np.sum(resampled < point - same) + 0.5 * np.sum(np.abs(resampled - point) <= same)
    z0 = norm.ppf(below / len(resampled))
    influence = jackknife.mean() - jackknife
    a = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
    ends = []
    for alpha in ((1 - level) / 2, (1 + level) / 2):
        z = z0 + norm.ppf(alpha)
        ends.append(_r_quantile(resampled, float(norm.cdf(z0 + z / (1 - a * z)))))
    return ends[0], ends[1]


def documented_studentized(
    point: float, error: float, resampled: Numbers, errors: Numbers, level: float = 0.95
) -> tuple[float, float] | None:
    """Return the bootstrap-t interval of a share as `studentized` documents it; None where BCa stands in."""
    with np.errstate(invalid="ignore", divide="ignore"):
        pivots = np.sort(((resampled - point) / errors)[np.isfinite(resampled) & (errors > 0)])
    if not error > 0 or 2 * len(pivots) <= len(resampled) or pivots[0] == pivots[-1]:
        return None
    low, high = (point - error * _r_quantile(pivots, (1 + sign * level) / 2) for sign in (1, -1))
    return max(low, 0.0), min(high, 1.0)


def _r_quantile(ordered: Numbers, alpha: float) -> float:
    count = len(ordered)
    place = (count + 1) * alpha
    k = math.floor(place)
    if k < 1:
        return float(ordered[0])
    if k >= count:
        return float(ordered[-1])
    z = norm.ppf(alpha)
    low, high = norm.ppf(k / (count + 1)), norm.ppf((k + 1) / (count + 1))
    return float(ordered[k - 1] + (z - low) / (high - low) * (ordered[k] - ordered[k - 1]))


def clustered(units: Sequence[tuple[str, int, Sequence[float]]], repeats: int) -> Numbers:
    """Return (clusters, repeats, k) sums of (cluster, repeat from 1, summands), in the clusters' order."""
    names = sorted({name for name, _, _ in units})
    place = {name: at for at, name in enumerate(names)}
    sums = np.zeros((len(names), repeats, len(units[0][2])))
    for name, repeat, summands in units:
        sums[place[name], repeat - 1] += summands
    return sums


def intervals_differing(
    found: Mapping[str, Any], sums: Numbers, statistic: Statistic, tolerance: float
) -> tuple[list[str], int, float]:
    """Hold printed bootstrap intervals against the documented draws': (what differs, how many, furthest).

    Where the statistic has `PATH error` beside a path, the interval is studentized by it.
    """
    clusters = len(sums)
    point = over_repeats(sums, np.ones((1, clusters)), statistic)
    drawn = over_repeats(sums, weights_of(documented_draws(clusters)), statistic)
    left_out = over_repeats(sums, 1 - np.eye(clusters), statistic)
    wrong, held, furthest = [], 0, 0.0
    for path, there in found.items():
        if there.get("ci_method") not in ("bca", "bootstrap-t") or path not in point:
            continue
        mine, method, value = None, "bootstrap-t", float(point[path][0])
        if (error := f"{path} error") in point:
            mine = documented_studentized(value, float(point[error][0]), drawn[path], drawn[error])
        if mine is None:
            mine, method = documented_bca(value, drawn[path], left_out[path]), "bca"
        if there["ci_method"] != method:
            wrong.append(f"{path}: {there['ci_method']} and not {method}")
            continue
        if mine is None:
            wrong.append(f"{path}: {there['ci']} where there is none")
            continue
        off = max(abs(mine[0] - there["ci"][0]), abs(mine[1] - there["ci"][1]))
        held, furthest = held + 1, max(furthest, off)
        if not off <= tolerance:
            wrong.append(f"{path}: {there['ci']} and not {mine}")
    return wrong, held, furthest


def values_differing(
    found: Mapping[str, Any], expected: Mapping[str, tuple[float | None, int]], tolerance: float
) -> tuple[list[str], float]:
    """Hold printed values and n against path -> (value, n): (what differs, furthest)."""
    wrong, furthest = [], 0.0
    for path, (value, n) in expected.items():
        there = found.get(path)
        if there is None:
            wrong.append(f"{path} is missing")
        elif (value is None) != (there["value"] is None):
            wrong.append(f"{path}: {there} and not {value}")
        else:
            off = 0.0 if value is None else abs(value - there["value"])
            furthest = max(furthest, off)
            if not off <= tolerance or n != there["n"]:
                wrong.append(f"{path}: {there} and not {value}, n {n}")
    return wrong, furthest


def averaged(
    by_repeat: Sequence[Mapping[str, tuple[float | None, int]]],
) -> dict[str, tuple[float | None, float]]:
    """Return the mean over repeats that have a value."""
    found: dict[str, tuple[float | None, float]] = {}
    for path in by_repeat[0]:
        values = [one[path][0] for one in by_repeat if one[path][0] is not None]
        mean = math.fsum(values) / len(values) if values else None  # type: ignore[arg-type]
        found[path] = (mean, min(one[path][1] for one in by_repeat))
    return found

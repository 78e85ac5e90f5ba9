"""What aimock is told to do to a request, and what must come of it: DESIGN's outcomes, arrival by arrival."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sweep_kit import answer_text

ANSWER: Final = answer_text()


@dataclass(frozen=True)
class Fault:
    """What the server does, and what a unit that meets it comes to.

    `entries` are aimock's fixtures, the last of which answers all further requests; `ends` is the unit's
    outcome, `sends` the outcomes of its exchanges with 4 sends an ask, `once` those with 1 (None: the same).
    """

    entries: tuple[Mapping[str, Any], ...]
    ends: str
    sends: tuple[str, ...]
    once: tuple[str, ...] | None = None
    ends_once: str | None = None


def _says(content: str, **more: Any) -> dict[str, Any]:
    return {"response": {"content": content, **more}}


def _error(status: int, message: str, kind: str, code: str | None = None, wait: int | None = None) -> Any:
    error = {"message": message, "type": kind} | ({"code": code} if code else {})
    return {"response": {"error": error, "status": status} | ({"retryAfter": wait} if wait else {})}


def _limited(wait: int) -> Any:
    return _error(429, "Rate limit reached", "rate_limit_error", "rate_limit_exceeded", wait)


def _chaos(**rates: float) -> dict[str, Any]:
    return {**_says(ANSWER), "chaos": rates}


def _again(entries: Iterable[Mapping[str, Any]], ends: str, kind: str, most: int = 4) -> Fault:
    return Fault(tuple(entries), ends, (kind,) * most, (kind,))


_OVERLOADED: Final = ("Overloaded", "overloaded_error")
FAULTS: Final[Mapping[str, Fault]] = {
    "none": Fault((_says(ANSWER),), "valid", ("answered",)),
    "slow": Fault((_chaos(latencyMs=1500),), "valid", ("answered",)),
    "thinking": Fault((_says(ANSWER, reasoning="the left one"),), "valid", ("answered",)),
    "fenced": Fault((_says(f"So:\n```json\n{ANSWER}\n```"),), "recovered", ("answered",)),
    "prose": Fault((_says("Please extract it."),), "unparsable", ("answered",) * 3),
    "blank": Fault((_says(" "),), "empty", ("empty",) * 3),
    "cut": Fault((_says(ANSWER[:60], finishReason="length"),), "truncated", ("truncated",) * 3),
    "blocked": Fault((_says("I can't.", finishReason="content_filter"),), "filtered", ("filtered",)),
    "400": Fault((_error(400, "Invalid value", "invalid_request_error"),), "rejected", ("bad_request",)),
    "context": Fault(
        (_error(400, "This model's maximum context length is 8192 tokens.", "invalid_request_error"),),
        "not_applicable", ("context_length",),
    ),
    "401": Fault((_error(401, "Incorrect API key provided", "auth_error"),), "not_attempted", ("auth",)),
    "403": Fault((_error(403, "You have no access", "permission_error"),), "not_attempted", ("auth",)),
    "404": Fault((_error(404, "No such model", "not_found_error"),), "not_attempted", ("model_not_found",)),
    "418": Fault((_error(418, "I am a teapot", "teapot_error"),), "provider_error", ("unknown",)),
    "429": Fault((_limited(2),), "not_attempted", ("rate_limited",)),  # a wait beyond --max-wait
    "429 once": Fault((_limited(1), _says(ANSWER)), "valid", ("rate_limited", "answered")),
    "500 once": Fault(
        (_error(500, "Error", "server_error"), _says(ANSWER)),
        "valid", ("unavailable", "answered"), ("unavailable",), "provider_error",
    ),
    "500": _again([_error(500, "Error", "server_error")], "provider_error", "unavailable"),
    "503": _again([_error(503, *_OVERLOADED)], "provider_error", "unavailable"),
    "529": _again([_error(529, *_OVERLOADED)], "provider_error", "unavailable"),
    "dropped": _again([_chaos(dropRate=1.0)], "provider_error", "unavailable"),
    "no JSON": _again([_chaos(malformedRate=1.0)], "provider_error", "malformed_reply"),
    "closed": _again([_chaos(disconnectRate=1.0)], "provider_error", "timeout", most=2),
    "stream cut": _again(
        [{**_says(ANSWER), "latency": 10, "truncateAfterChunks": 3}], "provider_error", "malformed_reply"
    ),
    "stream closed": _again(
        [{**_says(ANSWER), "latency": 100, "disconnectAfterMs": 250}], "provider_error", "malformed_reply"
    ),
}  # fmt: skip
OF_STREAMS: Final = frozenset({"stream cut", "stream closed"})
"""Without a stream, aimock answers these in full."""


class Aimock:
    """A server that is running: what it answers to which model, and what arrived at it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def load(self, by_model: Mapping[str, Fault]) -> None:
        """Forget everything, and answer each model as its fault says."""
        self._call("POST", "/reset", {})
        self._call("DELETE", "/fixtures")
        self._call("POST", "/fixtures", {"fixtures": list(_fixtures(by_model))})

    def arrivals(self) -> Counter[str]:
        """Return how many requests arrived for each model."""
        return Counter(_model_of(entry) for entry in self._call("GET", "/journal"))

    def _call(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/__aimock{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


def _fixtures(by_model: Mapping[str, Fault]) -> Iterable[Mapping[str, Any]]:
    for model, fault in by_model.items():
        for number, entry in enumerate(fault.entries):
            first = {} if entry is fault.entries[-1] else {"sequenceIndex": number}
            yield {"match": {"model": model, **first}, **entry}


def _model_of(entry: Mapping[str, Any]) -> str:
    path = urllib.parse.unquote(urllib.parse.urlsplit(entry["path"]).path)
    if "/models/" in path:
        return path.rpartition("/models/")[2].partition(":")[0]
    return str(entry["body"]["model"])

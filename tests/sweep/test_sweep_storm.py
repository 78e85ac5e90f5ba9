"""A storm of errors: told once a cause, in a bounded number of lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, html_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import harness, outcomes, run_args, write_cases, write_config

AT_ONCE = {"retry-after-ms": "0"}


def storm(arrival: Arrival) -> Behaviour:
    """Fail in three ways, each with a message of its own length and number."""
    number = arrival.number
    if number % 3 == 0:
        return status_reply(500, f"backend {number} broke", headers=AT_ONCE)
    if number % 3 == 1:
        return html_reply(502)
    return status_reply(400, f"image {number} is bad")


@pytest.mark.slow
def test_two_thousand_errors_make_no_traceback_and_one_line_a_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:  # F39
    write_cases(tmp_path / "data", 400)
    with ScriptedServer(storm) as server:
        write_config(tmp_path, server.url, max_sends=1)
        done = harness(*run_args(tmp_path, "--repeats", "5", "--max-in-flight", "64"))
    assert len(server.arrivals) == 2_000
    assert outcomes(tmp_path) == {"provider_error": 1_334, "rejected": 666}
    assert done.code == 3
    assert "Traceback" not in done.err + done.out
    lines = done.err.splitlines()
    for cause in ("m: unavailable: ", "m: bad_request: image "):
        assert len([line for line in lines if line.startswith(cause)]) == 1, done.err
    assert len(lines) < 40 and max(map(len, lines)) < 400
    assert [record for record in caplog.records if record.exc_info] == []
    assert len(caplog.records) < 40

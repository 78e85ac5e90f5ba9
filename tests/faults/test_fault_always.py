"""What comes of a server that never stops misbehaving: bounded, counted, told; then it is mended."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from faults.invariants import (
    check_keys,
    check_nothing_lost,
    check_nothing_paid_twice,
    check_words,
    read_store,
)
from faults.misbehaviours import HUGE, MISBEHAVIOURS, Misbehaviour
from faults.scene import Scene, Treatment
from scripted_replies import delayed
from scripted_server import ScriptedServer, closed_url
from sweep_kit import Done, right_answer, write_cases

FOR_EVER = 99


def units_of(exported: Done) -> dict[int, str]:
    """Return how each case's unit ended."""
    rows = [json.loads(line) for line in exported.out.splitlines()]
    return {int(row["case_id"][1:]): row["outcome"] for row in rows}


def check_always(folder: Path, misbehaviours: list[Misbehaviour]) -> None:
    """Let each of some cases meet one misbehaviour for ever, and count what arrives."""
    cases = len(misbehaviours) + 1
    treated = {number: Treatment(one, FOR_EVER) for number, one in enumerate(misbehaviours, start=1)}
    data = write_cases(folder / "data", cases)
    with Scene(folder, data, cases, in_flight=32, treatments=treated) as scene:
        scene.configure()
        done = scene.run_here()
        arrived = Counter(case for _, case in map(scene.case_of, scene.arrivals))
        sends = {one.name: arrived[number] for number, one in enumerate(misbehaviours, start=1)}
        assert sends == {one.name: 1 if one.answers_at_once else one.most_sends for one in misbehaviours}
        exported = scene.export()
        ends = units_of(exported)
        assert ends[0] == "valid"
        found = {one.name: ends[number] for number, one in enumerate(misbehaviours, start=1)}
        assert found == {one.name: one.unit or "valid" for one in misbehaviours}
        assert done.code == (3 if any(one.unit for one in misbehaviours) else 0)  # F47
        stored = read_store(scene.store)
        assert stored.problems == ()
        check_nothing_lost(scene, stored, 0)
        check_nothing_paid_twice(stored)
        check_words(scene)
        check_keys(scene, stored, exported)
        for number, one in enumerate(misbehaviours, start=1):
            errors = [exchange.data.error or "" for exchange in stored.exchanges["m", number]]
            assert all(one.says in error for error in errors), (one.name, errors)
        assert scene.elsewhere.arrivals == [], "a redirect was followed, with the key"


@pytest.mark.slow
def test_each_misbehaviour_for_ever_ends_as_the_table_says(tmp_path: Path) -> None:  # F7 F20 F21
    # A rate limit for ever closes the pool: test_pools_holds has that.
    check_always(tmp_path, [one for one in MISBEHAVIOURS if not one.slow and one.name != "429"])


@pytest.mark.slow
def test_each_slow_misbehaviour_for_ever_ends_in_bounded_time(tmp_path: Path) -> None:  # F33 F34
    check_always(tmp_path, [one for one in MISBEHAVIOURS if one.slow])


@pytest.mark.slow
def test_answers_of_300_mb_are_given_up_and_only_their_start_is_kept(tmp_path: Path) -> None:
    data = write_cases(tmp_path / "data", 6)
    with Scene(tmp_path, data, 6, treatments={2: Treatment(HUGE), 4: Treatment(HUGE)}) as scene:
        scene.configure(model={"total_timeout_s": 60.0, "idle_timeout_s": 60.0})
        process = scene.start()
        assert scene.finish(process).code == 0
        stored = read_store(scene.store)
        for case in (2, 4):
            failed, answered = stored.exchanges["m", case]
            assert failed.data.outcome == "malformed_reply" and answered.data.outcome == "answered"
            assert len(failed.data.raw.body) == 1 << 20
            assert "longer than 67108864 bytes; its first 1048576 are kept" in str(failed.data.error)
        assert stored.problems == ()


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [600, 800, 1_000])
def test_a_machine_without_memory_for_the_answers_loses_none_of_the_others(
    tmp_path: Path, megabytes: int
) -> None:
    data = write_cases(tmp_path / "data", 12)
    huge = {case: Treatment(HUGE) for case in (3, 5, 6, 7)}
    with Scene(tmp_path, data, 12, treatments=huge) as scene:
        scene.configure(model={"total_timeout_s": 30.0, "idle_timeout_s": 30.0})
        done = scene.finish(scene.start(trap={"address_space": megabytes << 20}))
        assert done.code in {0, 1, 3}, done.err
        scene.kind = True
        assert scene.run_here().code == 0
        stored = read_store(scene.store)
        assert stored.problems == ()
        check_nothing_lost(scene, stored, scene.in_flight if done.code == 1 else 0)
        check_nothing_paid_twice(stored)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["closed port", "self-signed", "TLS to a plain port", "plain to a TLS port"])
def test_a_server_that_cannot_be_talked_to_is_tried_for_max_wait_and_then_told(
    tmp_path: Path, way: str, own_certificate: ssl.SSLContext
) -> None:  # F51
    data = write_cases(tmp_path / "data", 6)
    with Scene(tmp_path, data, 6) as scene, ScriptedServer(right_answer, tls=own_certificate) as secure:
        address, words = {
            "closed port": (closed_url(), "connection refused"),
            "self-signed": (secure.url, "TLS certificate not accepted"),
            "TLS to a plain port": (scene.server.url.replace("http:", "https:"), "connect_timeout_s"),
            "plain to a TLS port": (secure.url.replace("https:", "http:"), "dropped the connection"),
        }[way]
        scene.configure(address, model={"connect_timeout_s": 0.5})
        done = scene.run_here("--max-wait", "2")
        assert done.code == 3 and "harness resume" in done.err and "Traceback" not in done.err
        assert words in done.err
        assert secure.arrivals == []
        assert not [one for one in scene.arrivals if "authorization" in one.headers]
        scene.configure()
        assert scene.run_here().code == 0
        assert len(scene.arrivals) == 6
        check_words(scene)


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.slow
def test_128_files_are_enough_for_any_number_of_requests(tmp_path: Path) -> None:  # F35
    cases = 150
    data = write_cases(tmp_path / "data", cases)
    with Scene(tmp_path, data, cases, in_flight=300) as scene:
        scene.configure(model={"idle_timeout_s": 60.0, "total_timeout_s": 60.0})
        scene.server.script = lambda arrival: delayed(right_answer(arrival), 0.3)
        done = scene.finish(scene.start(trap={"nofile": 128}))
        assert done.code == 0, done.err
        assert "128 files may be open at once" in done.err and "ulimit -n" in done.err
        assert scene.server.max_in_flight <= 80
        assert len(scene.arrivals) == cases


@pytest.mark.slow
def test_answers_in_any_order_and_bursts_of_refusals_reach_the_right_cases(tmp_path: Path) -> None:  # F8 F31
    cases = 60
    data = write_cases(tmp_path / "data", cases)
    by_name = {one.name: one for one in MISBEHAVIOURS}
    burst = {case: Treatment(by_name["429" if case % 2 else "503"]) for case in range(10, 40)}
    with Scene(tmp_path, data, cases, in_flight=16, slowest_s=0.2, treatments=burst) as scene:
        scene.configure()
        assert scene.run_here().code == 0
        stored = read_store(scene.store)
        check_nothing_lost(scene, stored, 0)
        check_nothing_paid_twice(stored)
        for case in range(cases):
            answer = stored.exchanges["m", case][-1].data.raw.body
            assert answer == right_answer(next(a for a in scene.arrivals if scene.case_of(a)[1] == case)).body


@pytest.mark.slow
def test_a_disk_that_is_really_full_ends_the_run_with_the_mend(tmp_path: Path) -> None:  # F23
    cases = 60
    data = write_cases(tmp_path / "data", cases)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount") or "mount"
    if os.geteuid() != 0 or subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=500k", "none", str(disk)], capture_output=True, check=False
    ).returncode:
        pytest.skip("a small disk can only be mounted by root, where that is allowed")
    try:
        with Scene(disk, data, cases) as scene:
            scene.configure()
            done = scene.finish(scene.start())
            assert done.code == 1 and "disk is full; free some space" in done.err, done.err
            assert "run the same command again" in done.err and "Traceback" not in done.err
            arrived = len(scene.arrivals)
            assert arrived < cases
            subprocess.run([mount, "-o", "remount,size=50m", str(disk)], check=True)
            assert scene.run_here().code == 0
            stored = read_store(scene.store)
            assert stored.problems == ()
            check_nothing_lost(scene, stored, scene.in_flight)
            check_nothing_paid_twice(stored)
            check_words(scene)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)

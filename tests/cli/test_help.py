"""The command line as a whole: what is listed, how fast, and how errors end."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import IO

import click
import pytest
from click.testing import CliRunner
from sweep_kit import wait_until

from harness import __version__
from harness.cli.main import COMMANDS, cli
from harness.errors import BudgetReachedError, ConfigError, StoreError

HEAVY = ("sqlalchemy", "httpx", "aiohttp", "pydantic", "PIL", "numpy", "jsonschema", "asyncio")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    """Let processes of our own import the checkout, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(checkout))


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Return a runner in which `harness models` raises what is given."""

    def run(error: BaseException) -> tuple[int, str, str]:
        @click.command("models")
        def command() -> None:
            raise error

        monkeypatch.setattr("harness.cli.models.command", command)
        result = CliRunner().invoke(cli, ["models"])
        return result.exit_code, result.stdout, result.stderr

    return run


def is_full(pipe: IO[str]) -> bool:
    """Return whether a pipe holds all that it can."""
    (waiting,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return bool(waiting >= fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ))


def test_help_lists_every_command_with_its_line() -> None:
    result = CliRunner().invoke(cli, ["--help"], terminal_width=100)
    assert result.exit_code == 0
    listed = [line.strip().partition(" ") for line in result.stdout.splitlines()]
    assert {name: line.strip() for name, _, line in listed if name in COMMANDS} == COMMANDS


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_listed_command_exists_and_shows_an_example(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert f"harness {name}" in result.stdout.split("Example")[1]


def test_help_imports_nothing_that_takes_time() -> None:  # F48
    code = (
        "import sys\nfrom harness.cli.main import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"harness, version {__version__}\n"


def test_a_misspelt_command_gets_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["modles"])
    assert result.exit_code == 2
    assert "no such command 'modles'; did you mean 'models'?" in result.stderr


def test_a_misspelt_option_gets_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["models", "--jsn"])
    assert (result.exit_code, "--json" in result.stderr) == (2, True)


def test_a_foreseen_error_is_one_line_on_stderr(raising) -> None:  # type: ignore[no-untyped-def]
    assert raising(ConfigError("unknown key\n'x'")) == (2, "", "error: unknown key 'x'\n")


@pytest.mark.parametrize(("error", "code"), [(StoreError("full"), 1), (BudgetReachedError("spent"), 4)])
def test_an_error_decides_the_exit_code(raising, error: Exception, code: int) -> None:  # type: ignore[no-untyped-def]
    assert raising(error)[0] == code


def test_a_task_groups_error_is_told_as_itself(raising) -> None:  # type: ignore[no-untyped-def]
    assert raising(ExceptionGroup("tasks", [ConfigError("wrong")])) == (2, "", "error: wrong\n")


def test_an_unforeseen_error_among_foreseen_ones_is_not_hidden(raising) -> None:  # type: ignore[no-untyped-def]
    code, _, told = raising(ExceptionGroup("tasks", [ConfigError("wrong"), ValueError("odd")]))
    assert (code, "ValueError: odd" in told) == (1, True)


def test_an_unforeseen_error_is_a_sentence_without_a_traceback(raising) -> None:  # type: ignore[no-untyped-def]
    code, _, told = raising(ValueError("odd"))
    assert (code, told.count("\n"), "Traceback" in told) == (1, 1, False)


def test_a_traceback_is_shown_when_asked_for(raising, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HARNESS_DEBUG", "1")
    code, _, told = raising(ValueError("odd"))
    assert (code, "Traceback" in told, "ValueError: odd" in told) == (1, True, True)


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_key_in_an_error_is_masked(raising, monkeypatch: pytest.MonkeyPatch, debug: str) -> None:  # type: ignore[no-untyped-def]  # F46
    monkeypatch.setenv("ACME_API_KEY", "hush-hush-hush")
    monkeypatch.setenv("HARNESS_DEBUG", debug)
    _, _, told = raising(ValueError("bad key hush-hush-hush"))
    assert ("hush-hush-hush" in told, "[ACME_API_KEY]" in told) == (False, True)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_a_machine_that_is_too_small_is_told_as_that(raising, error: Exception) -> None:  # type: ignore[no-untyped-def]
    code, _, told = raising(error)
    assert (code, told.count("\n")) == (1, 1)
    assert "memory" in told and "lower --max-in-flight" in told and "run the same command again" in told


def test_an_interrupt_ends_with_130(raising) -> None:  # type: ignore[no-untyped-def]  # F47
    assert raising(KeyboardInterrupt())[0] == 130


def test_an_interrupt_within_a_task_group_ends_with_130(raising) -> None:  # type: ignore[no-untyped-def]  # F47
    assert raising(BaseExceptionGroup("tasks", [KeyboardInterrupt(), ValueError("odd")]))[0] == 130


def test_a_number_returned_by_a_command_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:  # F47
    monkeypatch.setattr("harness.cli.models.command", click.command("models")(lambda: 3))
    assert CliRunner().invoke(cli, ["models"]).exit_code == 3


def test_a_result_is_written_whole_where_python_does_not_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    command = [sys.executable, "-m", "harness", "models", "--json"]
    whole = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        pipe = process.stdout
        assert pipe is not None
        wait_until(lambda: is_full(pipe))
        # Stopped and continued, the system ends the write that waits: it says that a part is written.
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, whole)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_causes_no_noise(
    tmp_path: Path, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (tmp_path / "harness.toml").write_text(
        "".join(f"[models.m{n}]\nprovider = 'p'\nmodel = 'm'\n" for n in range(2000))
        + "[providers.p]\nadapter = 'openai'\nbase_url = 'http://127.0.0.1:1'\n",
        encoding="utf-8",
    )
    pipe = f"set -o pipefail; {sys.executable} -m harness models --json | head -n 1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (141, "[\n", "")


def test_python_m_harness_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "harness", "--version"], capture_output=True, text=True)
    assert done.stdout == f"harness, version {__version__}\n"


def test_names_are_completed_in_the_shell() -> None:
    asked = {"_HARNESS_COMPLETE": "bash_complete", "COMP_WORDS": "harness ben", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "harness"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout == "plain,benchmarks\n"


def test_commands_are_looked_up_where_the_table_says() -> None:
    assert isinstance(cli.get_command(click.Context(cli), "data"), click.Group)
    assert cli.get_command(click.Context(cli), "main") is None

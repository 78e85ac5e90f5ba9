"""The `harness` command: sub-commands imported only when used, and the one place where errors end."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from harness import __version__
from harness.errors import HarnessError
from harness.exit_codes import BROKEN_PIPE, FAILED, INTERRUPTED, OK
from harness.nearest import nearest

# Read when numpy is first imported, which is later: what is computed here is too small for threads, and where
# other programs keep the cores busy they cost many times what they save.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = {
    "run": "Ask models a benchmark's questions; run again to resume.",
    "resume": "Go on with a stored run, by its manifest.",
    "status": "Show how far runs have come.",
    "step": "Let a model judge or restate a run's answers.",
    "grades": "Take over, compute or write what is said of a run's answers.",
    "score": "Score a stored run offline and print its table.",
    "report": "Write pages, tables and figures of stored runs.",
    "compare": "Say which of several is better, on the cases that all answered.",
    "grade": "Let people grade answers in their browsers, blinded.",
    "view": "Look at runs, answers and exchanges in a browser.",
    "explain": "Tell all about one unit: its exchanges, its end, its key.",
    "export": "Write a run's records, one line a unit.",
    "import": "Read answers that were paid for elsewhere.",
    "models": "List the models that can be asked.",
    "doctor": "Check models by a few tiny calls: key, address, answers, pictures.",
    "benchmarks": "List benchmarks, their conditions and conventions.",
    "data": "Check case files, make them from tables, convert DICOM and NIfTI.",
    "store": "Find, verify, join and back up the store.",
}
"""Sub-command -> its line in `--help`; each is `harness.cli.NAME:command`, but for those in `MODULES`."""

MODULES = {"import": "import_command"}
"""Sub-command -> its module, where its name cannot be one."""

COMPLETION_VARIABLE = "_HARNESS_COMPLETE"
SECRET_VARIABLES: set[str] = set()
"""Variables that hold a key beside those named *_API_KEY; never shown, not even in a traceback."""


_TOO_MUCH = (
    "close other programs, or lower --max-in-flight, then run the same command again: what was committed "
    "is kept"
)


class HarnessGroup(click.Group):
    """A group that imports a sub-command when it is used, and ends every error in a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the sub-commands in the order of a first use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a sub-command; None where there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"harness.cli.{MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command that the arguments name. Raises UsageError with the nearest one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"no such command {name!r}{nearest(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sub-commands from the table, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit with the code that the command or the error asks for."""
        if not standalone_mode or COMPLETION_VARIABLE in os.environ:
            return super().main(args, prog_name or "harness", complete_var, standalone_mode, **extra)
        try:
            # Click's own `main` would end a broken pipe with 1, which here means that something failed.
            given = list(sys.argv[1:] if args is None else args)
            write_whole()
            with self.make_context(prog_name or "harness", given, **extra) as context:
                result = self.invoke(context)
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:  # noqa: BLE001 - told and counted
            sys.exit(end(error))
        sys.exit(result if isinstance(result, int) and not isinstance(result, bool) else OK)


def write_whole() -> None:
    """Put a buffer before stdout where Python has none (PYTHONUNBUFFERED, which container images set).

    Without one Python takes a write that the system cuts short (a full pipe and a signal) for a whole one:
    the rest of a result would be lost without a word. Lines are still passed on one by one.
    """
    now = sys.stdout
    if isinstance(getattr(now, "buffer", None), io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115 - stays open as long as the process
            now.fileno(), "w", buffering=1, encoding=now.encoding, errors=now.errors, closefd=False
        )


def end(error: BaseException) -> int:
    """Tell an error on stderr, in one line where it was foreseen, and return the exit code."""
    error = _cause_of(error)
    match error:
        case HarnessError():
            _tell(f"error: {_one_line(str(error))}")
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            shown = io.StringIO()
            error.show(shown)
            _tell(shown.getvalue().rstrip("\n"))
            return error.exit_code
        case MemoryError():
            _tell(f"error: this machine ran out of memory; {_TOO_MUCH}")
            return FAILED
        case RuntimeError() if "can't start new thread" in str(error):
            _tell(f"error: this machine allows no further thread (memory, or `ulimit -u`); {_TOO_MUCH}")
            return FAILED
        case OSError(errno=errno.EPIPE):
            return _end_of_pipe()
        case _:
            return _unforeseen(error)


def _cause_of(error: BaseException) -> BaseException:
    """Return the error to tell: of a task group's, the first foreseen one if all of them are foreseen."""
    leaves = _leaves(error)
    for leaf in leaves:
        if isinstance(leaf, KeyboardInterrupt | click.Abort):
            return leaf
    for leaf in leaves:
        if not isinstance(leaf, HarnessError):
            return leaf
    return leaves[0]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]


def _unforeseen(error: BaseException) -> int:
    if os.environ.get("HARNESS_DEBUG"):
        import traceback

        _tell("".join(traceback.format_exception(error)).rstrip())
    else:
        told = _one_line(str(error))
        what = f"{type(error).__name__}: {told[:300]}" if told else type(error).__name__
        _tell(f"error: the program failed ({what}); what was stored is safe; HARNESS_DEBUG=1 shows where")
    return FAILED


def _end_of_pipe() -> int:
    """Leave quietly when the reader of our output has gone, e.g. `harness export | head`."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    return BROKEN_PIPE


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tell(text: str) -> None:
    """Say something on stderr; a key in it, in whichever form, is replaced by its variable's name."""
    for name, value in os.environ.items():
        if (name.endswith("_API_KEY") or name in SECRET_VARIABLES) and len(value.strip()) >= 8:
            text = _without(text, value.strip(), f"[{name}]")
    from harness.cli.options import fitted

    click.echo(fitted(text), err=True)


def _without(text: str, key: str, shown: str) -> str:
    from harness.providers.encoding import mask_secrets
    from harness.providers.secret_forms import MASK

    data, found = mask_secrets(text.encode("utf-8", "surrogatepass"), [key])
    masked = data.decode("utf-8", "replace").replace(MASK, shown) if found else text
    return masked.replace(key, shown)


@click.command(
    "harness",
    cls=HarnessGroup,
    epilog="Example: harness run --benchmark triage --models sim/steady,sim/messy",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="harness")
def cli() -> None:
    """Ask many multimodal models the same questions, keep every answer, score offline."""


def main() -> NoReturn:
    """Run the command line of this process."""
    # The image library's remarks on odd tags: what matters of an image is said by ourselves, with its name.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    cli()
    raise AssertionError("unreachable")

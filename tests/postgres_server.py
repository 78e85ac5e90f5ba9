"""A throw-away Postgres server on a Unix socket, for one test session; or one that the environment names.

    with a_server() as server:          # skips where there is none
        url = server.new_store()        # a URL whose schema nobody has used yet
        server.restart("immediate")     # only of our own: `server.owned`

HARNESS_TEST_POSTGRES=postgresql://USER@HOST:PORT/DATABASE names a server in whose database the tests may
make schemas. Without it, `initdb` and `pg_ctl` are looked for in PATH and in Debian's folders; root runs
them as the user `postgres` or `nobody`, as the server refuses root.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

VARIABLE = "HARNESS_TEST_POSTGRES"
GIVEN = os.environ.get(VARIABLE)
"""Read before any test takes our variables out of the environment."""

PATIENCE_S = 60
_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_SWEEP = """
    cat > /dev/null
    first=$(head -n 1 "$1/data/postmaster.pid") && kill -CONT "$first" $(ps -o pid= --ppid "$first")
    "$2/pg_ctl" -D "$1/data" -m immediate -w stop
    cd / && rm -rf "$1"
"""
_SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
    # A server that the kernel may kill with us keeps nothing in shared memory segments.
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "warning",
}


class PostgresServer:
    """A running server. `url` names its database, without a schema."""

    def __init__(self, url: str, *, folder: Path | None = None, commands: Path | None = None) -> None:
        self.url = url
        self.owned = folder is not None
        self._folder = folder
        self._commands = commands
        self._numbers = itertools.count(1)
        self._made: list[str] = []

    def database(self, name: str) -> str:
        """Return the URL of another database of this server."""
        parts = urlsplit(self.url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{name}{query}"

    def new_store(self) -> str:
        """Return the URL of a store that does not exist yet."""
        schema = f"t{os.getpid()}_{next(self._numbers)}"
        self._made.append(schema)
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={schema}"

    def run(self, *statements: str, schema: str | None = None) -> list[Any]:
        """Run SQL beside the store; return the last statement's rows."""
        return asyncio.run(self.execute(*statements, schema=schema))

    async def execute(self, *statements: str, schema: str | None = None) -> list[Any]:
        """Run SQL from within an event loop."""
        import asyncpg

        connection = await asyncpg.connect(self.url)
        try:
            if schema is not None:
                await connection.execute(f'SET search_path = "{schema}"')
            rows: list[Any] = []
            for statement in statements:
                rows = [tuple(row) for row in await connection.fetch(statement)]
            return rows
        finally:
            await connection.close()

    def restart(self, mode: str = "fast") -> None:
        """Stop and start the server; mode `immediate` is a crash."""
        self._control("restart", "-m", mode)

    def stop(self, mode: str = "fast") -> None:
        """Stop it."""
        self._control("stop", "-m", mode)

    def start(self) -> None:
        """Start it again."""
        self._control("start")

    def pause(self) -> None:
        """Stop all its processes where they are: connections stand, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        self._signal(signal.SIGCONT)

    def drop_stores(self) -> None:
        """Drop the schemas that tests made."""
        made, self._made = self._made, []
        for names in (made[start : start + 20] for start in range(0, len(made), 20)):
            self.run(*(f'DROP SCHEMA IF EXISTS "{name}" CASCADE' for name in names))

    def _signal(self, number: signal.Signals) -> None:
        assert self._folder is not None
        first = int((self._folder / "data/postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(first)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in (first, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _control(self, *arguments: str) -> None:
        assert self._folder is not None and self._commands is not None
        _as_user(
            [
                str(self._commands / "pg_ctl"), "-D", str(self._folder / "data"), "-w", "-t", str(PATIENCE_S),
                "-l", str(self._folder / "log"), *arguments,
            ],
            self._folder,
        )  # fmt: skip


def schema_of(url: str) -> str:
    """Return the schema of a store's URL."""
    return url.rpartition("schema=")[2]


@contextlib.contextmanager
def a_server() -> Iterator[PostgresServer]:
    """Give a server for as long as the block lasts. Skips, with the reason, where there is none."""
    pytest.importorskip("asyncpg", reason="asyncpg is not installed")
    if GIVEN:
        given = PostgresServer(GIVEN)
        try:
            yield given
        finally:
            given.drop_stores()
        return
    commands = _commands()
    if commands is None:
        pytest.skip(f"no Postgres at hand: {VARIABLE} is not set, and there is no initdb")
    # A short path: a Unix socket's may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    url = f"postgresql:///postgres?host={folder}&user=tester"
    server = PostgresServer(url, folder=folder, commands=commands)
    if os.geteuid() == 0:
        shutil.chown(folder, _user())
    with _swept_up(commands, folder):
        _make_cluster(commands, folder)
        server.start()
        yield server


@contextlib.contextmanager
def _swept_up(commands: Path, folder: Path) -> Iterator[None]:
    """Stop the server and delete its folder at the end: of the block, or of this process, however it ends."""
    # It waits for the end of its input, which is this process' end at the latest.
    sweeper = subprocess.Popen(
        ["/bin/sh", "-c", _SWEEP, "sweeper", str(folder), str(commands)],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, **_as_owner(),
    )  # fmt: skip
    try:
        yield
    finally:
        assert sweeper.stdin is not None
        sweeper.stdin.close()
        sweeper.wait(PATIENCE_S)


def _make_cluster(commands: Path, folder: Path) -> None:
    _as_user(
        [
            str(commands / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "tester",
            "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
        ],
        folder,
    )  # fmt: skip
    settings = {**_SETTINGS, "unix_socket_directories": f"'{folder}'"}
    with (folder / "data/postgresql.auto.conf").open("a", encoding="utf-8") as file:
        file.writelines(f"{name} = {value}\n" for name, value in settings.items())


def _commands() -> Path | None:
    """Return the folder of the newest server's commands."""
    debian = [
        path
        for pattern in _FOLDERS
        for path in sorted(Path("/").glob(pattern.removeprefix("/")), key=lambda path: path.parent.name)
    ]
    found = shutil.which("initdb")
    # A wrapper in PATH may want to know of a cluster; initdb and pg_ctl of one folder belong together.
    for folder in (*reversed(debian), *([Path(found).resolve().parent] if found else [])):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def _user() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    pytest.skip("root has no other user to run Postgres as")


def _as_owner() -> dict[str, Any]:
    """Return how a command is started as the server's user."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(_user())
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _as_user(command: Sequence[str], folder: Path) -> None:
    # The server outlives its starter and would keep a pipe open: what they say goes to a file.
    with (folder / "said").open("ab") as said:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False,
            timeout=2 * PATIENCE_S, **_as_owner(),
        )  # fmt: skip
    if done.returncode != 0:
        text = (folder / "said").read_text(encoding="utf-8", errors="replace")
        raise subprocess.CalledProcessError(done.returncode, command[0], text[-2000:])

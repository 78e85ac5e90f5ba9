"""Runs full of errors, against servers that send keys back: no byte that they leave holds one."""  # F46

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import string
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from contract.dialects import dialect_of
from contract.test_contract_arrivals import streams
from scripted_replies import Arrival, Behaviour, status_reply
from scripted_server import ScriptedServer
from site_crawler import crawled
from sweep.echoes import FORMS, PLACES, STREAMED, found_in, leaking_files, spelled
from sweep_kit import Done, case_number, harness, records, run_args, write_cases
from web_site import view_site

from harness.availability import check_known
from harness.cli.main import COMMANDS
from harness.config import load_config
from harness.errors import ConfigError
from harness.providers.base import ADAPTERS

HERE = [name for name in ADAPTERS if name != "litellm" or find_spec("litellm") is not None]
PREFIXES = ("sk-proj-", "sk-ant-api03-", "AIzaSy", "gsk_", "xai-", "r8_", "k+/")
CASES = max(len(PLACES), len(STREAMED), len(FORMS))


def _key(number: int) -> str:
    chance = random.Random(number)
    rest = "".join(chance.choices(string.ascii_letters + string.digits, k=30 + 7 * number))
    return PREFIXES[number % len(PREFIXES)] + rest


KEYS = {f"{name.upper().replace('-', '_')}_SECRET": _key(number) for number, name in enumerate(HERE)}
"""Variable -> key; no name ends in _API_KEY, so that only the configuration tells that they are keys."""
ALL = list(KEYS.values())


def _models(adapter: str) -> list[tuple[str, bool]]:
    return [(adapter, False), *([(f"{adapter}-stream", True)] if streams(adapter) else [])]


def _echo(adapter: str, turn: int, *, stream: bool) -> Behaviour:
    """Send back a key in the place and the form of this turn: every other time one of another provider."""
    places, forms = list((STREAMED if stream else PLACES).values()), list(FORMS.values())
    number = HERE.index(adapter) + turn // 2 % len(HERE)
    key = ALL[number % len(HERE)]
    return places[turn % len(places)](dialect_of(adapter), key, forms[(turn + number) % len(forms)](key))


class Echoing:
    """A server for each adapter, and a configuration with a key for each."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.servers = {name: ScriptedServer(self._script(name)) for name in HERE}
        self.settings = {"max_sends": 1, "max_output_tokens": 1000, **settings}

    def _script(self, adapter: str) -> object:
        def script(arrival: Arrival) -> Behaviour:
            assert KEYS[_variable(adapter)] in str(arrival.headers), "the key was not sent"
            stream = bool((arrival.json or {}).get("stream")) or "stream" in arrival.path
            asked = "CASE<" in arrival.text
            turn = case_number(arrival) + arrival.nth - 1 if asked else arrival.number
            return _echo(adapter, turn, stream=stream)

        return script

    def __enter__(self) -> Echoing:
        lines = []
        for name, server in self.servers.items():
            server.start()
            lines += [
                f"[providers.at-{name}]",
                f'adapter = "{name}"',
                f'base_url = "{server.url}/v1"',
                f'endpoint = "lab-{name}"',
                f'api_key_env = "{_variable(name)}"',
            ]
            for model, stream in _models(name):
                settings: dict[str, object] = {"provider": f"at-{name}", "stream": stream}
                settings["model"] = dialect_of(name).model
                lines.append(f"[models.{model}]")
                settings |= self.settings
                lines += [f"{field} = {json.dumps(value)}" for field, value in settings.items()]
        (self.folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")
        return self

    def __exit__(self, *error: object) -> None:
        for server in self.servers.values():
            server.stop()

    @property
    def args(self) -> list[str | Path]:
        return run_args(self.folder, "--attempts", "1", models=self.models)

    @property
    def models(self) -> str:
        return ",".join(model for name in HERE for model, _ in _models(name))


def _variable(adapter: str) -> str:
    return f"{adapter.upper().replace('-', '_')}_SECRET"


@pytest.fixture(autouse=True)
def the_keys_are_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    write_cases(tmp_path / "data", CASES)


def check_said(*commands: Done) -> None:
    for done in commands:
        assert found_in((done.out + done.err).encode("utf-8", "surrogatepass"), ALL) == []


def test_what_is_looked_for_can_be_found() -> None:
    """A search that finds nothing in anything proves nothing."""
    for form in FORMS.values():
        for key in ALL:
            assert found_in(form(key).encode(), ALL), form(key)
    for key in ALL:
        assert len(set(spelled(key))) >= 10


@pytest.mark.slow
def test_a_run_full_of_echoed_keys_leaves_none_anywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = ("--store", tmp_path / "store.sqlite3")
    with Echoing(tmp_path) as echoing:
        dry = harness(*echoing.args, "--dry-run", "--json")
        first = harness(*echoing.args, "--limit", "1")
        with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as reader:
            # a reader that stays keeps the write-ahead log from being emptied
            reader.execute("BEGIN").execute("SELECT count(*) FROM exchange").fetchone()
            runs = [harness(*echoing.args, "--json"), harness(*echoing.args)]
            assert (tmp_path / "store.sqlite3-wal").stat().st_size > 100_000
            assert leaking_files(tmp_path, ALL) == {}
        arrivals = sum(len(server.arrivals) for server in echoing.servers.values())
    check_said(dry, first, *runs)
    assert arrivals > 2 * len(HERE) * CASES
    exports = [
        harness("export", "--raw", "--format", kind, "--out", tmp_path / f"records.{kind}", *store)
        for kind in ("jsonl", "csv")
    ]
    exports.append(harness("report", "--out", tmp_path / "report", *store))
    told = [
        harness("status", *store),
        harness("status", "latest", "--json", *store),
        harness("score", "latest", "--json", *store),
        harness("models", "--json", "--config", tmp_path / "harness.toml"),
        harness("store", "verify", *store),
        harness("compare", "latest", *store),
        *(
            harness("explain", "--case", f"c{number:03}", "--model", model, "--full", *style, *store)
            for number in range(0, CASES, 6)
            for model in ("openai", "anthropic-stream")
            for style in ((), ("--json",))
        ),
    ]
    check_no_page_holds_a_key(tmp_path / "store.sqlite3")
    assert [done.code for done in (*exports, *told[:5])] == [0] * 8
    check_said(*exports, *told)
    assert leaking_files(tmp_path, ALL) == {}
    assert found_in(caplog.text.encode("utf-8", "surrogatepass"), ALL) == []
    check_it_was_full_of_errors(tmp_path)


def check_no_page_holds_a_key(store: Path) -> None:
    """What a browser gets of `harness view`: pages, exchanges as they came, headers."""
    with view_site(store) as site, site.client() as client:
        pages = crawled(client, each=4 * CASES)
    assert [page.address for page in pages if found_in(page.body + str(page.headers).encode(), ALL)] == []
    assert [page.address for page in pages if page.status >= 500] == []
    assert {page.path for page in pages} >= {"/", "/run", "/units", "/unit", "/exchange"}


def check_it_was_full_of_errors(folder: Path) -> None:
    """Every place and form was reached, and masked where it stood."""
    found = records(folder, raw=True)
    kinds = {exchange["outcome"] for record in found for exchange in record["exchanges"]}
    assert kinds >= {"answered", "bad_request", "malformed_reply", "rate_limited", "unavailable", "unknown"}
    with closing(sqlite3.connect(folder / "store.sqlite3")) as database:
        ((masked, all_of_them),) = database.execute("SELECT sum(masked), count(*) FROM exchange")
    assert masked > 0.8 * all_of_them  # cookies are dropped, and some are cut before the key


@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("form", FORMS)
def test_an_error_of_the_program_that_holds_a_key_shows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, debug: str
) -> None:
    monkeypatch.setenv("HARNESS_DEBUG", debug)
    key = KEYS[_variable("openai")]

    async def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError(f"odd: {FORMS[form](key)}")

    with Echoing(tmp_path) as echoing:
        monkeypatch.setattr("harness.cli.run_command.open_run", fail)
        done = harness(*echoing.args)
    assert (done.code, "odd" in done.err, "Traceback" in done.err) == (1, True, debug == "1")
    check_said(done)


@pytest.mark.parametrize("style", ["--json", "--raw"])
def test_an_examination_of_servers_that_echo_keys_shows_none(tmp_path: Path, style: str) -> None:
    with Echoing(tmp_path) as echoing:
        at = ("--config", tmp_path / "harness.toml", "--models", echoing.models)
        said = [harness("doctor", *at, "--all", style) for _ in range(4)]
        arrivals = sum(len(server.arrivals) for server in echoing.servers.values())
    assert arrivals > 4 * len(HERE) * 3 and all("masked key" in done.out for done in said)
    check_said(*said)
    assert leaking_files(tmp_path, ALL) == {}


def test_an_error_within_a_unit_is_logged_without_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def fail(*arguments: object, auth_headers: object, **options: object) -> None:
        raise RuntimeError(f"odd: {auth_headers}")

    with Echoing(tmp_path) as echoing:
        monkeypatch.setattr("harness.providers.transport.Transport.send", fail)
        done = harness(*echoing.args, "--limit", "2")
    assert done.code == 3 and "internal error RuntimeError" in done.err
    assert "in fail" in caplog.text, "whoever debugs is not told where"
    check_said(done)
    assert found_in(caplog.text.encode(), ALL) == [] and leaking_files(tmp_path, ALL) == {}


def test_a_server_that_cannot_be_spoken_to_shows_no_key(tmp_path: Path) -> None:
    with Echoing(tmp_path, connect_timeout_s=0.5) as echoing:
        config = tmp_path / "harness.toml"
        config.write_text(config.read_text().replace("http://", "https://"))
        for server in echoing.servers.values():
            server.on_connect = lambda connection: "close"
        done = harness(*echoing.args, "--limit", "1", "--max-wait", "0")
    assert done.code == 3 and "cannot connect to" in done.err
    check_said(done)
    assert leaking_files(tmp_path, ALL) == {}


@pytest.mark.parametrize("field", ["base_url", "endpoint"])
def test_a_key_in_an_address_is_refused_before_anything_is_kept(tmp_path: Path, field: str) -> None:
    with Echoing(tmp_path) as echoing:
        key, config = KEYS[_variable("openai")], tmp_path / "harness.toml"
        lines = config.read_text().splitlines()
        place = next(number for number, line in enumerate(lines) if line.startswith(field))
        lines[place] = f'{lines[place][:-1]}/{key}"'
        config.write_text("\n".join(lines))
        done, dry = harness(*echoing.args), harness(*echoing.args, "--dry-run")
    assert done.code == 2 and f"{field} of provider 'at-openai' holds an API key" in done.err
    assert "would stop" in dry.err and "holds an API key" in dry.err
    check_said(done, dry)
    config.unlink()
    assert leaking_files(tmp_path, ALL) == {}


def test_a_look_up_that_echoes_the_key_shows_none(tmp_path: Path) -> None:
    with Echoing(tmp_path) as echoing:
        config = tmp_path / "harness.toml"
        named = '[models.fixer]\nprovider = "at-openai"\nmodel = "fixer"\n'
        config.write_text(f"{config.read_text()}\n{named}")
        for form in FORMS.values():
            said = form(KEYS[_variable("openai")])
            reply = status_reply(404, f"The model 'fixer' does not exist for {said}", code="model_not_found")
            echoing.servers["openai"].script = lambda arrival, reply=reply: reply
            done = harness(*run_args(tmp_path, models="openai", reformatter="fixer"))
            assert done.code == 2 and "'fixer'" in done.err
            check_said(done)
            fixer = load_config(config).model("fixer")
            with pytest.raises(ConfigError) as caught:
                asyncio.run(check_known([fixer], KEYS))
            assert found_in(str(caught.value).encode(), ALL) == []


def test_a_key_that_was_given_as_an_argument_is_not_repeated(tmp_path: Path) -> None:
    key = KEYS[_variable("openai")]
    with Echoing(tmp_path) as echoing:
        done = harness(*echoing.args, "--param", f"user={key}")
    assert done.code == 2 and "holds an API key" in done.err
    check_said(done)
    assert not (tmp_path / "store.sqlite3").exists()


def test_every_command_that_shows_what_is_stored_was_asked() -> None:
    """A new command belongs into the run above, or here, where it shows nothing of an exchange."""
    asked = {
        "run", "status", "score", "explain", "export", "report", "compare", "models", "store", "doctor",
        "view",
    }  # fmt: skip
    like_run = {"resume", "step"}  # they work, and show what they did, by the same code
    like_view = {"grade"}  # answers and references, as pages of the same frame
    assert set(COMMANDS) - asked <= {*like_run, *like_view, "import", "grades", "benchmarks", "data"}

"""The user's configuration: `harness.toml` laid over the built-in catalogue, as typed settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from harness.benchmarks.registry import BENCHMARKS
from harness.canonical import JSON
from harness.catalogue import CATALOGUE_DIR, Entry, named_tables, read_catalogue
from harness.errors import ConfigError, UnknownNameError
from harness.model_facts import end_note, ending_soon, own_facts, replaced, retired_elsewhere, sourced
from harness.nearest import nearest, nearest_or_known
from harness.settings import Model, Provider
from harness.settings_check import build_model, build_provider, check_keys, check_recipe
from harness.toml_file import Table, merge, read_toml

FILE_NAME = "harness.toml"


@dataclass(frozen=True, slots=True)
class BenchmarkConfig:
    """What the user says about one benchmark; `data` is absolute."""

    data: Path | None = None
    reformatter: str | None = None
    image_recipe: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one invocation.

    `path` is the file they were read from; None when there is none. `store` is as written, but a
    relative SQLite file is made absolute from the file's folder. `frames` (absolute) is where frames of clips
    are kept.
    """

    path: Path | None = None
    store: str | None = None
    frames: Path | None = None
    benchmarks: Mapping[str, BenchmarkConfig] = field(default_factory=dict)
    known_providers: Mapping[str, Provider] = field(default_factory=dict)
    known_models: Mapping[str, Model] = field(default_factory=dict)
    written_params: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    asked_elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Models that are retired where the catalogue knows them, but not at the user's address -> why."""
    ending_soon: Mapping[str, str] = field(default_factory=dict)
    """Models whose providers withdraw them within a month, or were to by now -> what to say of it."""

    def benchmark(self, name: str) -> BenchmarkConfig:
        """Return what the user says about a benchmark; nothing said gives the defaults."""
        return self.benchmarks.get(name, BenchmarkConfig())

    def providers(self) -> tuple[Provider, ...]:
        """Return all providers, by name."""
        return tuple(self.known_providers[name] for name in sorted(self.known_providers))

    def models(self) -> tuple[Model, ...]:
        """Return all named models, by name."""
        return tuple(self.known_models[name] for name in sorted(self.known_models))

    def provider(self, name: str) -> Provider:
        """Return a provider. Raises UnknownNameError with the nearest names."""
        if name not in self.known_providers:
            known = sorted(self.known_providers)
            hint = nearest_or_known(name, known)
            raise UnknownNameError(f"unknown provider {name!r}{hint}")
        return self.known_providers[name]

    def model(self, name: str) -> Model:
        """Return a model by its name, or with all defaults by `provider/model-id`.

        A simulated model must be named in a file: there are no weights beyond ours to reach.
        Raises UnknownNameError with the nearest names.
        """
        if name in self.known_models:
            return self.known_models[name]
        provider_name, slash, model_id = name.partition("/")
        provider = self.known_providers.get(provider_name)
        if provider is not None and model_id and provider.adapter != "simulator":
            return Model(name=name, provider=provider, model=f"{provider.model_prefix}{model_id}")
        known = list(self.known_models)
        if slash and provider is None:
            hint = nearest(name, known) or nearest(provider_name, self.known_providers)
            raise UnknownNameError(f"unknown model {name!r}: no provider {provider_name!r}{hint}")
        hint = nearest(name, known) or "; 'harness models' lists them, 'provider/model-id' names any other"
        raise UnknownNameError(f"unknown model {name!r}{hint}")

    def end_note(self, model: Model) -> str | None:
        """Return a sentence where a model is near its end, or past it without being retired here."""
        return end_note(model, self.known_models, self.ending_soon)

    def api_keys(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return variable -> API key, for all in an environment that may be one.

        Those that a known provider names, used now or not, and every other that ends in `_API_KEY`.
        """
        named = {provider.api_key_env for provider in self.known_providers.values()}
        return {
            name: value
            for name, value in environment.items()
            if name in named or name.endswith("_API_KEY")
        }

    def user_params(self, model_name: str) -> Mapping[str, JSON]:
        """Return the parameters that the user wrote for a model in `harness.toml`.

        They are in `Model.params` already; a caller that puts benchmark defaults on top lays them
        over once more, and knows by them what the user asked for.
        """
        return self.written_params.get(model_name, {})


def load_config(
    path: Path | None = None,
    cwd: Path | None = None,
    *,
    catalogue_dir: Path = CATALOGUE_DIR,
    today: date | None = None,
) -> Config:
    """Return the catalogue overridden by `path`, or by the nearest `harness.toml` upwards from `cwd`.

    Models that are replaced by `today` (UTC; None: the clock's) are retired. Raises ConfigError that names
    the file and the table or the line.
    """
    found = path if path is not None else find_config_file(cwd or Path.cwd())
    tables = {} if found is None else read_toml(found)
    file = None if found is None else found.resolve()
    source = "" if found is None else str(found)
    check_keys(tables, ("store", "frames", "benchmarks", "providers", "models"), source)
    catalogue = read_catalogue(catalogue_dir)
    written_models = named_tables(tables, "models", source)
    written_providers = named_tables(tables, "providers", source)
    providers = _providers(_overlaid(catalogue.providers, written_providers, source))
    overlaid = _overlaid(catalogue.models, own_facts(written_models, source), source)
    today = today or datetime.now(UTC).date()
    models = _models(overlaid, providers, today)
    moved = {name for name, table in written_providers.items() if table.get("base_url")}
    elsewhere = retired_elsewhere(models, written_models, moved)
    withdrawn = {name: models[name] for name in elsewhere}
    models |= {name: models[name].model_copy(update={"retired": None}) for name in elsewhere}
    models |= {  # nor is anyone replaced there, on whatever day
        name: model.model_copy(update={"replaced_on": None})
        for name, model in models.items()
        if model.replaced_on and model.provider.name in moved
    }
    return Config(
        path=file,
        store=_store(tables.get("store"), file),
        frames=_folder(tables.get("frames"), f"{source} frames", file),
        benchmarks=_benchmarks(named_tables(tables, "benchmarks", source), source, file),
        known_providers=providers,
        known_models=models,
        asked_elsewhere=elsewhere,
        ending_soon=ending_soon({**models, **withdrawn}, written_models, moved, today),
        written_params={name: _params(table) for name, table in written_models.items()},
    )


def find_config_file(cwd: Path) -> Path | None:
    """Return the nearest `harness.toml` in a folder or above it."""
    start = cwd.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def _overlaid(base: Mapping[str, Entry], over: Mapping[str, Table], source: str) -> dict[str, Entry]:
    merged = dict(base)
    for name, table in over.items():
        old = merged[name].table if name in merged else {}
        merged[name] = Entry(merge(old, table), source)
    return merged


def _providers(entries: Mapping[str, Entry]) -> dict[str, Provider]:
    return {
        name: build_provider(name, entry.table, f"{entry.source} [providers.{name}]")
        for name, entry in entries.items()
    }


def _models(
    entries: Mapping[str, Entry], providers: Mapping[str, Provider], today: date
) -> dict[str, Model]:
    models = {}
    for name, entry in entries.items():
        shown = f'"{name}"' if not name.replace("-", "").replace("_", "").isalnum() else name
        where = f"{entry.source} [models.{shown}]"
        provider_name = entry.table.get("provider")
        if not isinstance(provider_name, str):
            raise ConfigError(f"{where}: provider is missing; name one of {', '.join(sorted(providers))}")
        if provider_name not in providers:
            hint = nearest_or_known(provider_name, sorted(providers))
            raise ConfigError(f"{where}: unknown provider {provider_name!r}{hint}")
        model = build_model(name, entry.table, providers[provider_name], where)
        models[name] = replaced(sourced(model), today)
    return models


def _params(table: Table) -> Mapping[str, JSON]:
    # Checked with the whole model by now, except for tables that hold no params at all.
    params = table.get("params", {})
    return dict(params) if isinstance(params, dict) else {}


def _benchmarks(tables: Mapping[str, Table], source: str, file: Path | None) -> dict[str, BenchmarkConfig]:
    check_keys(tables, BENCHMARKS, f"{source} [benchmarks]")
    configs = {}
    for name, table in tables.items():
        where = f"{source} [benchmarks.{name}]"
        check_keys(table, ("data", "reformatter", "image_recipe"), where)
        folder = _folder(table.get("data"), f"{where} data", file)
        reformatter = _text(table.get("reformatter"), f"{where} reformatter")
        recipe = _text(table.get("image_recipe"), f"{where} image_recipe")
        check_recipe(recipe, where)
        configs[name] = BenchmarkConfig(folder, reformatter, recipe)
    return configs


def _store(value: object, file: Path | None) -> str | None:
    """Return the store's address; a path, or an SQLite address with one, is made absolute."""
    store = _text(value, f"{file} store")
    if store is None or file is None:
        return store
    scheme, separator, rest = store.partition("://")
    if not separator:
        return f"sqlite+aiosqlite:///{file.parent / Path(store).expanduser()}"
    relative = rest.removeprefix("/")
    if not scheme.startswith("sqlite") or relative.startswith(("/", ":memory:", "file:")) or not relative:
        return store
    return f"{scheme}:///{file.parent / Path(relative).expanduser()}"


def _folder(value: object, where: str, file: Path | None) -> Path | None:
    """Return a folder, absolute from that of the configuration."""
    text = _text(value, where)
    return None if text is None or file is None else file.parent / Path(text).expanduser()


def _text(value: object, where: str) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise ConfigError(f"{where}: must be a text in quotes that is not empty")

"""Configuration: what is found, what overrides what, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.catalogue import read_catalogue
from harness.config import Config, load_config
from harness.errors import ConfigError, UnknownNameError

CATALOGUE = """
[providers.acme]
adapter = "openai"
base_url = "https://api.acme.test/v1"
api_key_env = "ACME_API_KEY"
headers = { "x-version" = "1", "x-region" = "eu" }

[providers.sim]
adapter = "simulator"

[models.acme-large]
provider = "acme"
model = "large-2025-01-01"
params = { temperature = 0, top_p = 0.9 }
price = { input = 1.0, output = 2.0 }
requests_per_minute = 60

[models."sim/steady"]
provider = "sim"
model = "steady"
"""

LOCAL = """
[providers.local]
adapter = "openai"
base_url = "http://127.0.0.1:8000/v1"
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "acme.toml").write_text(CATALOGUE, encoding="utf-8")
    return folder


def configured(catalogue: Path, text: str) -> Config:
    file = catalogue.parent / "harness.toml"
    file.write_text(text, encoding="utf-8")
    return load_config(file, catalogue_dir=catalogue)


def refusal(catalogue: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(catalogue, text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestFinding:
    def test_without_a_file_the_catalogue_stands_alone(self, catalogue: Path, tmp_path: Path) -> None:
        config = load_config(cwd=tmp_path, catalogue_dir=catalogue)
        assert (config.path, config.store, dict(config.benchmarks)) == (None, None, {})
        assert [model.name for model in config.models()] == ["acme-large", "sim/steady"]

    def test_the_nearest_file_upwards_is_taken(self, catalogue: Path, tmp_path: Path) -> None:
        deep = tmp_path / "a" / "b"
        deep.mkdir(parents=True)
        (tmp_path / "harness.toml").write_text("store = 'far.sqlite3'", encoding="utf-8")
        (tmp_path / "a" / "harness.toml").write_text("store = 'near.sqlite3'", encoding="utf-8")
        config = load_config(cwd=deep, catalogue_dir=catalogue)
        assert config.path == tmp_path / "a" / "harness.toml"

    def test_an_explicit_file_wins_over_one_nearby(self, catalogue: Path, tmp_path: Path) -> None:
        (tmp_path / "harness.toml").write_text("not toml at all", encoding="utf-8")
        (tmp_path / "other.toml").write_text("", encoding="utf-8")
        assert load_config(tmp_path / "other.toml", tmp_path, catalogue_dir=catalogue).path is not None

    def test_a_missing_explicit_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"cannot read '.*gone\.toml': No such file"):
            load_config(tmp_path / "gone.toml")

    def test_a_byte_order_mark_is_no_fault(self, catalogue: Path) -> None:
        assert configured(catalogue, "\ufeffstore = 'x.sqlite3'").store is not None

    def test_another_encoding_is_refused_with_its_line(self, catalogue: Path, tmp_path: Path) -> None:
        (tmp_path / "harness.toml").write_bytes(b"store = 'a'\n# caf\xe9\n")
        with pytest.raises(ConfigError, match=r"harness\.toml: line 2: not UTF-8"):
            load_config(tmp_path / "harness.toml", catalogue_dir=catalogue)

    def test_broken_toml_is_refused_with_its_line(self, catalogue: Path) -> None:
        assert "harness.toml: line 3, column " in refusal(catalogue, "store = 'a'\n\nmodels = = 1\n")

    def test_toml_that_ends_too_soon_is_refused_with_its_last_line(self, catalogue: Path) -> None:
        assert "harness.toml: line 2: not TOML" in refusal(catalogue, "# hm\nstore = [1,")


class TestPaths:
    def test_data_is_relative_to_the_file(self, catalogue: Path, tmp_path: Path) -> None:
        text = "[benchmarks.triage]\ndata = 'data/triage'\nreformatter = 'acme-large'"
        config = configured(catalogue, text)
        assert config.benchmark("triage").data == tmp_path / "data" / "triage"
        assert config.benchmark("triage").reformatter == "acme-large"

    def test_a_benchmark_without_a_word_has_defaults(self, catalogue: Path) -> None:
        assert configured(catalogue, "").benchmark("triage").data is None

    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("sqlite+aiosqlite:///.harness/s.sqlite3", "sqlite+aiosqlite:///{here}/.harness/s.sqlite3"),
            ("sqlite+aiosqlite:////data/s.sqlite3", "sqlite+aiosqlite:////data/s.sqlite3"),
            ("runs/s.sqlite3", "sqlite+aiosqlite:///{here}/runs/s.sqlite3"),
            ("postgresql+asyncpg://db/store", "postgresql+asyncpg://db/store"),
        ],
    )
    def test_a_relative_store_is_relative_to_the_file(
        self, catalogue: Path, tmp_path: Path, written: str, meant: str
    ) -> None:
        assert configured(catalogue, f"store = '{written}'").store == meant.format(here=tmp_path)


class TestOverriding:
    def test_one_key_leaves_the_others_of_the_catalogue(self, catalogue: Path) -> None:
        model = configured(catalogue, "[models.acme-large]\nrequests_per_minute = 7").model("acme-large")
        assert (model.requests_per_minute, model.model) == (7, "large-2025-01-01")

    def test_nested_tables_are_overridden_key_by_key(self, catalogue: Path) -> None:
        text = "[providers.acme.headers]\nx-region = 'us'\n[models.acme-large.price]\ninput = 9"
        config = configured(catalogue, text)
        assert config.provider("acme").headers == {"x-version": "1", "x-region": "us"}
        price = config.model("acme-large").price
        assert (price.input, price.output) == (9, 2)

    def test_a_changed_provider_reaches_its_models(self, catalogue: Path) -> None:
        config = configured(catalogue, "[providers.acme]\nbase_url = 'http://127.0.0.1:1/v1'")
        assert config.model("acme-large").provider.base_url == "http://127.0.0.1:1/v1"

    def test_written_params_are_merged_and_told_apart(self, catalogue: Path) -> None:  # F15
        config = configured(catalogue, "[models.acme-large.params]\ntemperature = 0.7")
        assert config.model("acme-large").params == {"temperature": 0.7, "top_p": 0.9}
        assert config.user_params("acme-large") == {"temperature": 0.7}
        assert config.user_params("sim/steady") == {}

    def test_the_catalogue_is_not_changed_by_an_override(self, catalogue: Path) -> None:
        configured(catalogue, "[models.acme-large.params]\ntemperature = 0.7")
        assert configured(catalogue, "").model("acme-large").params == {"temperature": 0, "top_p": 0.9}


class TestNames:
    def test_a_name_with_a_slash_in_the_catalogue_wins(self, catalogue: Path) -> None:
        assert configured(catalogue, "").model("sim/steady").model == "steady"

    def test_provider_and_model_id_name_any_other_model(self, catalogue: Path) -> None:
        model = configured(catalogue, LOCAL).model("local/Qwen/Qwen2.5-VL-7B-Instruct")
        assert (model.provider.name, model.model) == ("local", "Qwen/Qwen2.5-VL-7B-Instruct")
        assert (model.params, model.max_sends, model.price.input) == ({}, 4, None)

    def test_a_misspelt_model_is_told_with_the_nearest(self, catalogue: Path) -> None:
        with pytest.raises(UnknownNameError, match="unknown model 'acme-lrge'; did you mean 'acme-large'"):
            configured(catalogue, "").model("acme-lrge")

    def test_a_misspelt_provider_of_a_model_is_told(self, catalogue: Path) -> None:
        with pytest.raises(UnknownNameError, match=r"no provider 'acne'; did you mean 'acme'"):
            configured(catalogue, "").model("acne/some-model-of-theirs")

    def test_a_simulated_model_that_nobody_wrote_is_unknown(self, catalogue: Path) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'sim/steady'"):
            configured(catalogue, "").model("sim/stedy")

    def test_no_name_is_guessed_from_a_part_of_it(self, catalogue: Path) -> None:  # F52
        config = configured(catalogue, LOCAL)
        assert config.model("local/acme-large").params == {}
        with pytest.raises(UnknownNameError):
            config.model("acme")

    def test_an_unknown_provider_is_told_with_the_nearest(self, catalogue: Path) -> None:
        with pytest.raises(UnknownNameError, match="unknown provider 'acmee'; did you mean 'acme'"):
            configured(catalogue, "").provider("acmee")


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("stoer = 'x'", ["harness.toml", "'stoer'", "'store'"]),
            ("[benchmarks.traige]", ["[benchmarks]", "'traige'", "'triage'"]),
            ("[benchmarks.triage]\ndatta = 'x'", ["[benchmarks.triage]", "'datta'", "'data'"]),
            ("[providers.acme]\nbase_ulr = 'x'", ["[providers.acme]", "'base_ulr'", "'base_url'"]),
            ("[models.acme-large]\nmax_inflight = 4", ["[models.acme-large]", "'max_in_flight'"]),
            ("[models.acme-large.image]\nmax_byte = 4", ["[models.acme-large] image", "'max_bytes'"]),
            ("[models.acme-large.price]\ninptu = 4", ["[models.acme-large] price", "'input'"]),
            ("[models.'sim/steady']\nparms = {}", ['[models."sim/steady"]', "'params'"]),
        ],
    )
    def test_an_unknown_key_is_told_with_table_and_nearest(
        self, catalogue: Path, text: str, words: list[str]
    ) -> None:
        told = refusal(catalogue, text)
        assert [word for word in words if word not in told] == []

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[models.acme-large]\nrequests_per_minute = '60'", ["requests_per_minute", "be a valid number"]),
            ("[models.acme-large]\nrequests_per_minute = 0", ["requests_per_minute", "greater than 0"]),
            ("[models.acme-large]\nmax_in_flight = true", ["max_in_flight"]),
            ("[models.acme-large]\ntotal_timeout_s = inf", ["total_timeout_s", "finite"]),
            ("[models.acme-large]\nparams = { since = 2024-01-01 }", ["params", "quotes"]),
            ("[models.acme-large]\ninputs = ['audio']", ["inputs", "'audio'"]),
            ("[providers.acme]\nadapter = 'opnai'", ["adapter", "'opnai'", "did you mean 'openai'"]),
            ("[models.new]\nmodel = 'x'", ["[models.new]", "provider is missing"]),
            ("[models.new]\nprovider = 'acme'", ["[models.new]", "model is missing"]),
            ("[models.new]\nprovider = 'acmo'\nmodel = 'x'", ["unknown provider 'acmo'", "'acme'"]),
            ("[providers.new]\nadapter = 'openai'", ["[providers.new]", "base_url is missing"]),
            ("[providers.new]\nbase_url = 'http://x'", ["[providers.new]", "adapter is missing"]),
            ("[providers.acme]\nbase_url = 'api.acme.test'", ["base_url is no http address"]),
            ("[providers.acme]\nbase_url = 'http://x/v1?version=2'", ["no '?'"]),
            ("[providers.'a/b']\nadapter = 'simulator'", ["'/'"]),
            ("models = 3", ["[models.NAME]"]),
            ("[models]\nacme-large = 3", ["[models.acme-large]"]),
            ("store = 3", ["store", "text"]),
            ("[benchmarks.triage]\ndata = ''", ["data", "not empty"]),
            ("[providers.acme.errors]\nquota_exausted = [{status = 429}]", ["errors", "'quota_exhausted'"]),
            ("[providers.acme.errors]\nauth = [{}]", ["errors", "empty rule", "'auth'"]),
            ("[providers.acme.errors]\nauth = [{cod = 'x'}]", ["errors", "cod"]),
            ("[models.'a,b']\nprovider = 'acme'\nmodel = 'x'", ["'a,b'"]),
        ],
    )
    def test_a_wrong_value_is_told_with_its_place(self, catalogue: Path, text: str, words: list[str]) -> None:
        told = refusal(catalogue, text)
        assert [word for word in words if word not in told] == []

    @pytest.mark.parametrize(
        "text",
        [
            "[providers.acme.headers]\nAuthorization = 'Bearer hush-hush'",
            "[providers.acme.headers]\nX-Api-Key = 'hush-hush'",
            "[providers.acme.headers]\nx-goog-api-key = 'hush-hush'",
            "[providers.acme.headers]\nCookie = 'session=hush-hush'",
            "[providers.acme.headers]\nx-gateway-token = 'hush-hush'",
            "[providers.acme.headers]\nx-note = 'Bearer hush-hush'",
            "[providers.acme.headers]\nx-note = 'sk-hush-hush'",
            "[providers.acme]\nbase_url = 'https://me:hush-hush@api.acme.test/v1'",
            "[providers.acme]\nbase_url = 'https://api.acme.test/v1?key=hush-hush'",
            "[providers.acme]\nbase_url = 'https://me:hush-hush@[broken/v1'",
            "[providers.acme]\napi_key_env = 'sk-hush-hush'",
            "[providers.acme]\napi_key = 'hush-hush'",
            "[providers.acme]\nheaders = 'hush-hush'",
        ],
    )
    def test_a_secret_is_refused_and_not_repeated(self, catalogue: Path, text: str) -> None:  # F46
        assert "hush-hush" not in refusal(catalogue, text)

    def test_headers_that_are_no_secrets_are_kept(self, catalogue: Path) -> None:
        config = configured(catalogue, "[providers.acme.headers]\nOpenAI-Organization = 'org-1'")
        assert config.provider("acme").headers["OpenAI-Organization"] == "org-1"

    def test_rules_for_a_vendors_errors_are_read(self, catalogue: Path) -> None:
        config = configured(
            catalogue, "[providers.acme.errors]\nquota_exhausted = [{ status = 429, code = 'spend_limit' }]"
        )
        (rule,) = config.provider("acme").errors["quota_exhausted"]
        assert (rule.status, rule.code, rule.message) == (429, "spend_limit", None)


class TestCatalogue:
    def test_a_name_given_twice_is_refused_with_both_files(self, catalogue: Path) -> None:
        (catalogue / "other.toml").write_text("[models.acme-large]\n", encoding="utf-8")
        words = r"other\.toml: \[models\.acme-large\] is already in acme\.toml"
        with pytest.raises(ConfigError, match=words):
            read_catalogue(catalogue)

    def test_every_built_in_entry_is_sound(self, tmp_path: Path) -> None:
        config = load_config(cwd=tmp_path)
        asked = {model.provider.name for model in config.models()}
        assert asked == {provider.name for provider in config.providers()}

    def test_every_built_in_provider_beyond_this_machine_names_its_key(self, tmp_path: Path) -> None:
        nameless = [
            provider.name
            for provider in load_config(cwd=tmp_path).providers()
            if provider.api_key_env is None and provider.base_url.startswith("https:")
        ]
        assert nameless == []

"""Configuration: what is found, what overrides what, and what is refused with which words."""

from __future__ import annotations

import re
from datetime import date
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


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("[", "is no regular expression"), ("q{9}", "matches no name that could stand for another")],
)
def test_a_rule_for_property_names_that_cannot_work_is_refused(
    catalogue: Path, pattern: str, words: str
) -> None:
    said = refusal(catalogue, f'{LOCAL}schema_names = "{pattern}"')
    assert words in said
    assert "harness.toml" in said


def test_a_rule_for_property_names_is_kept(catalogue: Path) -> None:
    known = configured(catalogue, f'{LOCAL}schema_names = "[a-z_]{{1,30}}"')
    assert known.provider("local").schema_names == "[a-z_]{1,30}"


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


class TestPriceSources:
    def sourced(self, catalogue: Path, text: str) -> str | None:
        acme = catalogue / "acme.toml"
        told = CATALOGUE.replace('api_key_env', 'price_source = "acme.test/prices, 2025-01-01"\napi_key_env')
        acme.write_text(told, encoding="utf-8")
        return configured(catalogue, text).model("acme-large").price.source

    def test_a_price_has_its_providers_source(self, catalogue: Path) -> None:
        assert self.sourced(catalogue, "") == "acme.test/prices, 2025-01-01"

    def test_a_price_that_the_user_wrote_has_the_users_file_as_its_source(self, catalogue: Path) -> None:
        assert self.sourced(catalogue, "[models.acme-large]\nprice = { input = 9 }") == "harness.toml"
        contract = "[models.acme-large]\nprice = { input = 9, source = 'our contract' }"
        assert self.sourced(catalogue, contract) == "our contract"

    def test_a_price_that_nobody_gave_has_no_source(self, catalogue: Path) -> None:
        told = "[providers.acme]\nprice_source = 'x'\n[models.new]\nprovider = 'acme'\nmodel = 'n'"
        assert configured(catalogue, told).model("new").price.source is None
        assert configured(catalogue, told).model("acme/other").price.source is None


class TestAddresses:
    def test_a_provider_may_leave_its_address_to_the_user(self, catalogue: Path) -> None:
        told = "[providers.az]\nadapter = 'openai'\nbase_url_like = 'https://X.example/v1'"
        assert configured(catalogue, told).provider("az").base_url == ""

    def test_without_saying_so_it_may_not(self, catalogue: Path) -> None:
        assert "base_url is missing" in refusal(catalogue, "[providers.az]\nadapter = 'openai'")

    def test_an_address_that_is_given_is_checked_all_the_same(self, catalogue: Path) -> None:
        told = "[providers.az]\nadapter = 'openai'\nbase_url_like = 'x'\nbase_url = 'ftp://x'"
        assert "base_url is no http address" in refusal(catalogue, told)


class TestKeyHeaders:
    @pytest.mark.parametrize("name", ["", "Api-Key", "api key", "api:key", "x\\n"])
    def test_what_is_no_header_name_is_refused(self, catalogue: Path, name: str) -> None:
        assert "is no header name" in refusal(catalogue, LOCAL + f'api_key_header = "{name}"')

    def test_an_adapter_with_a_header_of_its_own_takes_no_other(self, catalogue: Path) -> None:
        told = LOCAL.replace("openai", "gemini") + "api_key_header = 'api-key'"
        assert "has its own header for the key" in refusal(catalogue, told)

    def test_the_key_goes_bare_into_another_header(self, catalogue: Path) -> None:
        provider = configured(catalogue, LOCAL + "api_key_header = 'api-key'").provider("local")
        assert provider.key_headers("k") == {"api-key": "k"}
        assert provider.key_headers(None) == provider.key_headers("") == {}
        usual = configured(catalogue, LOCAL).provider("local")
        assert usual.key_headers("k") == {"authorization": "Bearer k"}


REPLACED = """
[models.acme-large]
replaced_on = "2025-06-01"
note = "large-2 answers from then on"
"""


class TestRetirement:
    def on(self, catalogue: Path, day: date, text: str = "") -> Config:
        acme = catalogue / "acme.toml"
        acme.write_text(CATALOGUE.replace("[models.acme-large]", REPLACED.strip()), encoding="utf-8")
        file = catalogue.parent / "harness.toml"
        file.write_text(text, encoding="utf-8")
        read_catalogue.cache_clear()
        return load_config(file, catalogue_dir=catalogue, today=day)

    def test_a_model_is_retired_from_the_day_that_another_answers_in_its_name(self, catalogue: Path) -> None:
        assert self.on(catalogue, date(2025, 5, 31)).model("acme-large").retired is None
        told = self.on(catalogue, date(2025, 6, 1)).model("acme-large").retired
        assert told is not None
        assert "since 2025-06-01" in told and "large-2 answers" in told

    def test_the_user_may_say_otherwise(self, catalogue: Path) -> None:
        text = "[models.acme-large]\nretired = ''"
        assert not self.on(catalogue, date(2025, 6, 1), text).model("acme-large").retired

    def test_at_an_address_of_the_users_the_catalogue_does_not_know_who_answers(
        self, catalogue: Path
    ) -> None:
        text = "[providers.acme]\nbase_url = 'http://127.0.0.1:1/v1'"
        config = self.on(catalogue, date(2025, 6, 1), text)
        assert config.model("acme-large").retired is None
        assert "since 2025-06-01" in config.asked_elsewhere["acme-large"]
        assert self.on(catalogue, date(2025, 5, 1), text).model("acme-large").replaced_on is None

    @pytest.mark.parametrize(
        ("day", "words"),
        [
            (date(2025, 5, 1), None),
            (date(2025, 5, 2), "ends soon: its provider withdraws it on 2025-06-01 (large-2 answers"),
            (date(2025, 6, 1), "may be gone: its provider was to withdraw it on 2025-06-01 (large-2 answers"),
        ],
    )
    def test_an_end_is_told_from_thirty_days_before_it(
        self, catalogue: Path, day: date, words: str | None
    ) -> None:
        text = "[models.acme-large]\nretires_on = '2025-06-01'\nreplaced_on = '2026-01-01'"
        found = self.on(catalogue, day, text).ending_soon
        assert (words is None and found == {}) or (words is not None and words in found["acme-large"])

    def test_the_day_of_another_model_under_the_name_is_an_end_too(self, catalogue: Path) -> None:
        assert "2025-06-01" in self.on(catalogue, date(2025, 5, 31)).ending_soon["acme-large"]
        assert self.on(catalogue, date(2025, 6, 1)).ending_soon == {}  # retired, which is told by itself

    def test_the_catalogues_end_is_not_told_of_the_users_address(self, catalogue: Path) -> None:
        text = "[providers.acme]\nbase_url = 'http://127.0.0.1:1/v1'\n"
        assert self.on(catalogue, date(2025, 5, 31), text).ending_soon == {}
        assert self.on(catalogue, date(2025, 6, 2), text).ending_soon == {}
        own = f"{text}[models.acme-large]\nretires_on = '2025-06-09'"
        assert "on 2025-06-09" in self.on(catalogue, date(2025, 5, 31), own).ending_soon["acme-large"]

    def test_an_end_names_its_source_which_is_the_users_file_where_the_user_wrote_it(
        self, catalogue: Path
    ) -> None:
        told = CATALOGUE.replace("api_key_env", 'ends_source = "acme.test/ends, 2025-01-01"\napi_key_env', 1)
        path = catalogue / "acme.toml"
        path.write_text(told.replace("[models.acme-large]", REPLACED.strip()), encoding="utf-8")
        file = catalogue.parent / "harness.toml"
        for text, source in (
            ("", "acme.test/ends, 2025-01-01"),
            ("[models.acme-large]\nretires_on = '2025-05-31'", "harness.toml"),
        ):
            file.write_text(text, encoding="utf-8")
            read_catalogue.cache_clear()
            found = load_config(file, catalogue_dir=catalogue, today=date(2025, 5, 31))
            assert found.ending_soon["acme-large"].endswith(f"(large-2 answers from then on; by {source})")

    def test_an_end_is_told_by_the_id_too(self, catalogue: Path) -> None:
        text = "[models.mine]\nprovider = 'acme'\nmodel = 'large-2025-01-01'\n"
        near = self.on(catalogue, date(2025, 5, 31), text)
        for name in ("mine", "acme/large-2025-01-01"):
            told = near.end_note(near.model(name))
            assert told is not None and told.startswith(f"model {name!r}, known as 'acme-large', ends soon: ")
        assert near.end_note(near.model("acme/another")) is None
        past = self.on(catalogue, date(2025, 6, 1), text)
        told = past.end_note(past.model("mine"))
        assert told is not None and "as 'acme-large' it is retired, since 2025-06-01" in told
        assert past.end_note(past.model("acme-large")) is None  # a run tells of that by itself
        alive = self.on(catalogue, date(2025, 6, 1), f"{text}retired = ''")
        assert alive.end_note(alive.model("mine")) is None  # the user says otherwise

    def test_what_the_user_calls_retired_is_so_at_any_address(self, catalogue: Path) -> None:
        text = "[providers.acme]\nbase_url = 'http://127.0.0.1:1/v1'\n[models.acme-large]\nretired = 'gone'"
        config = self.on(catalogue, date(2025, 5, 1), text)
        assert config.model("acme-large").retired == "gone" and config.asked_elsewhere == {}


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
            ("[models.acme-large.image.many]\nmore_then = 4", ["image many", "'more_than'"]),
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
            ("[models.acme-large.image]\nmany = { more_than = 20 }", ["image.many.max_side is missing"]),
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
        known = {provider.name for provider in config.providers()}
        assert {model.provider.name for model in config.models()} <= known
        vendors = {
            "anthropic", "azure", "dashscope", "dashscope-cn", "deepseek", "fireworks", "gemini", "groq",
            "litellm", "bedrock", "vertex", "cohere",
            "llamacpp", "local", "mistral", "moonshot", "moonshot-cn", "ollama", "openai", "openrouter",
            "sglang", "together", "vllm", "xai",
        }  # fmt: skip
        assert vendors <= known

    def test_every_price_that_is_known_has_a_source_and_every_other_is_unknown(self, tmp_path: Path) -> None:
        for model in load_config(cwd=tmp_path).models():
            price = model.price.model_dump(exclude={"source", "tiers"}, exclude_none=True)
            if model.simulated:
                assert set(price.values()) == {0.0}
            elif price:
                assert re.search(r"20\d\d-\d\d-\d\d", model.price.source or ""), model.name
                assert {"input", "output"} <= price.keys(), model.name
                assert min(price.values()) > 0, model.name
                for tier in model.price.tiers:
                    assert tier.input is not None and tier.output is not None, model.name
                    assert tier.input > price["input"] and tier.output > price["output"], model.name
                    assert model.context_tokens is None or tier.above_input_tokens < model.context_tokens
            else:
                assert model.price.source is None, model.name

    def test_no_two_entries_ask_the_same_of_the_same_model(self, tmp_path: Path) -> None:
        asked = [
            (model.provider.name, model.model, repr(sorted(model.params.items())))
            for model in load_config(cwd=tmp_path).models()
        ]
        assert len(set(asked)) == len(asked)

    def test_every_built_in_provider_beyond_this_machine_names_its_key(self, tmp_path: Path) -> None:
        nameless = [
            provider.name
            for provider in load_config(cwd=tmp_path).providers()
            if provider.api_key_env is None and provider.base_url.startswith("https:")
        ]
        assert nameless == []

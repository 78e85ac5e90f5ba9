"""Under which ids a model may be stored: its own name's, and those of models that are known no more."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from stored_run_builder import LAB, model

from harness.cache.key import endpoint_identity
from harness.config import Config
from harness.former_ids import MOST, FormerId, former_ids, way_back
from harness.manifest import Manifest, ModelWanted

WANTED = ModelWanted("openai", endpoint_identity(LAB), "old", {}, "max_tokens", {})


def manifest(**asked: str | ModelWanted) -> Manifest:
    """A run that asked these models: name -> id."""
    models = {
        name: replace(WANTED, model=one) if isinstance(one, str) else one for name, one in asked.items()
    }
    return cast(Manifest, SimpleNamespace(models=models))


def config(**ids: str) -> Config:
    """A configuration that knows these models: name -> id."""
    return Config(
        known_providers={LAB.name: LAB},
        known_models={name: model(name).model_copy(update={"model": id}) for name, id in ids.items()},
    )


def found(today: Config, *runs: Manifest, name: str = "m") -> list[tuple[str, str]]:
    return [(one.name, one.id) for one in former_ids(today.model(name), today, runs)]


def test_every_id_of_the_same_name_is_a_former_one_the_newest_first() -> None:
    elsewhere = replace(WANTED, model="c", endpoint="lab-2")
    runs = [manifest(m="b"), manifest(m="now"), manifest(m="a"), manifest(m="b"), manifest(m=elsewhere)]
    assert found(config(m="now"), *runs) == [("m", "b"), ("m", "a"), ("m", "c")]
    assert len(found(config(m="now"), *(manifest(m=f"id-{n}") for n in range(20)))) == MOST


def test_a_model_that_is_known_no_more_may_be_this_one_under_another_name() -> None:
    assert found(config(m="now"), manifest(gone="then")) == [("gone", "then")]
    assert found(config(m="now", gone="new"), manifest(gone="then")) == []  # it is that one's former id
    assert found(config(m="now", other="then"), manifest(gone="then")) == []  # it goes by another name
    assert found(config(m="now"), manifest(gone=replace(WANTED, endpoint="lab-2"))) == []
    assert found(config(m="now"), manifest(gone=replace(WANTED, adapter="gemini"))) == []
    assert found(config(m="now"), manifest(gone="now")) == []  # only the name differs, which is in no key


@pytest.mark.parametrize(
    ("then", "alike"),
    [("Org/Now", True), ("now-2025-05-01", True), ("now-mini", False), ("then", False)],
)
def test_a_model_asked_by_its_id_alone_may_be_this_one_if_the_ids_are_alike(then: str, alike: bool) -> None:
    assert bool(found(config(m="now"), manifest(**{f"lab/{then}": then}))) is alike
    assert found(config(), manifest(**{"lab/now-2025-05-01": "now-2025-05-01"}), name="lab/now")


def test_the_way_back_names_the_table_or_the_model_to_ask_for() -> None:
    today, former = config(**{"m": "now", "m 2.5": "now"}), FormerId("m", "then")
    assert way_back(former, today.model("m"), today, None) == "set model = 'then' under [models.m]"
    dotted = way_back(former, today.model("m 2.5"), today, "lab-2")
    assert dotted == "set model = 'then' under [models.\"m 2.5\"] and endpoint = 'lab-2' for its provider"
    assert way_back(former, today.model("lab/now"), today, None) == "ask for 'lab/then'"

"""The identity of a run: what a run wants, as it is stored and hashed."""

from __future__ import annotations

import json
from dataclasses import replace

from harness.manifest import BlobRef, ConditionWanted, Manifest, ModelWanted, ReformatWanted, read_manifest

MODEL = ModelWanted("openai", "lab", "weights", {}, "max_tokens", {"temperature": 0}, reformatter="r")
REF = BlobRef("p", "1" * 64)
MANIFEST = Manifest(
    benchmark="triage",
    cases=REF,
    n_cases=2,
    synthetic=True,
    conditions={"both": ConditionWanted(REF, None)},
    models={"m": MODEL},
    reformat=ReformatWanted(REF, {"r": MODEL}, {"both": ConditionWanted(REF, REF)}),
    attempts=3,
    reask="same",
    feedback=None,
    structured="off",
    repeats=1,
)


def test_a_run_that_changes_no_image_is_the_run_it_was_before_there_was_a_choice() -> None:
    # Whoever sees this fail makes a new run of every old one: `resume` would refuse them.
    assert MANIFEST.digest() == "a6e3c8deb6fb01415c8657780c0e00ba26bb839d9330bed5ae74614b39507d41"
    assert "image_recipe" not in json.dumps(MANIFEST.to_json())


def test_a_recipe_is_part_of_what_a_run_wants() -> None:
    fitted = replace(MANIFEST, models={"m": replace(MODEL, image_recipe="fit:max_side=9")})
    assert fitted.digest() != MANIFEST.digest()
    for one in (MANIFEST, fitted, replace(MANIFEST, reformat=None)):
        assert read_manifest(json.loads(json.dumps(one.to_json()))) == one

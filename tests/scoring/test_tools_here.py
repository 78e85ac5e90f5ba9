"""Whether a METEOR can be computed here is found by looking alone, and as it is when it is computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.errors import MetricUnavailableError
from harness.scoring.meteor15 import Meteor15
from harness.scoring.meteor2005 import open_meteor2005


def is_there(start: Callable[[], object]) -> bool:
    try:
        start()
    except MetricUnavailableError:
        return False
    return True


@pytest.mark.parametrize("name", ["pandent", "pandent.normalise"])
def test_what_is_here_is_told_and_what_is_switched_off_is_not(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    benchmark = get_benchmark(name)
    conventions = chosen_conventions(benchmark, {})
    found = benchmark.tools_here(conventions)
    assert found["meteor2005"] == is_there(open_meteor2005)
    monkeypatch.setenv("HARNESS_WORDNET", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert benchmark.tools_here(conventions) == {"meteor15": False, "meteor2005": False}
    assert not is_there(open_meteor2005)
    with pytest.raises(MetricUnavailableError), Meteor15() as meteor:
        meteor.statistics([(["a"], ["a"])])
    assert benchmark.tools_here({**conventions, "meteor15": "off"}) == {"meteor2005": False}


def test_benchmarks_that_take_nothing_of_others_say_so() -> None:
    for name in ("triage", "medlay", "radm", "triage.judge", "radm.grade"):
        benchmark = get_benchmark(name)
        assert dict(benchmark.tools_here(chosen_conventions(benchmark, {}))) == {}

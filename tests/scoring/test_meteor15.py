"""METEOR 1.5: sums against the program's own scores, its answers, and programs that misbehave."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import select
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from report_pairs import report_pairs, table_3_tokens

from harness.errors import MetricUnavailableError
from harness.scoring import meteor_jar
from harness.scoring.line_process import AHEAD, LineProcess
from harness.scoring.meteor15 import FIELDS, Meteor15, Pair, meteor15_from_sums, read_statistics
from harness.scoring.meteor_jar import score_line, start_meteor

# Java starts for most of them.
pytestmark = pytest.mark.slow

HAS_PACKAGE = importlib.util.find_spec("pycocoevalcap") is not None
needs_package = pytest.mark.skipif(not HAS_PACKAGE, reason="pycocoevalcap is not installed")
needs_java = pytest.mark.skipif(
    not (HAS_PACKAGE and shutil.which("java")), reason="no Java, or no pycocoevalcap"
)

LONG = [
    "222 225 81 81 134 134 81 81 2 2 0 0 1 1 0 0 3 3 0 0 24 221 221",
    "155 226 55 75 95 95 51 51 0 0 0 0 0 0 0 0 4 2 4 3 42 154 151",
    "192 230 69 79 117 117 66 66 0 0 0 0 0 0 1 1 6 3 2 3 61 192 190",
]
WHOLE = "225 225 81 81 144 144 81 81 0 0 0 0 0 0 0 0 0 0 0 0 1 225 225"
WHOLE_SHORT = "2 2 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 1 2 2"
SWAPPED = "2 2 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 2 2 2"
NOTHING_SAID = "0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
NOTHING_MATCHED = "1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
MIXED = "6 6 3 3 2 2 1 1 0 0 0 0 1 1 0 0 0 0 0 0 2 4 4"

EVALUATED = [
    ([LONG[0]], 0.5943903856456485),
    ([LONG[1]], 0.3652264874815859),
    ([LONG[2]], 0.42934960587628407),
    ([WHOLE], 1.0),
    ([SWAPPED], 0.4),
    ([MIXED], 0.37417456858415504),
    ([NOTHING_SAID], 0.0),
    ([WHOLE] * 3, 1.0),
    ([WHOLE, WHOLE_SHORT], 1.0),
    ([WHOLE, LONG[0]], 0.6543489928490284),
    ([WHOLE_SHORT, SWAPPED], 0.4776696620223255),
    ([NOTHING_SAID, NOTHING_MATCHED], 0.0),
    ([WHOLE, NOTHING_SAID], 0.9950538260110561),
]
"""Lines of counts and what the program's EVAL (the jar of pycocoevalcap 1.2, by Java 17) made of them."""


@pytest.mark.parametrize(("lines", "score"), EVALUATED)
def test_sums_score_as_the_programs_eval_of_the_same_counts(lines: list[str], score: float) -> None:
    sums = np.array([read_statistics(line.encode()) for line in lines]).sum(axis=0)
    assert float(meteor15_from_sums(sums)) == pytest.approx(score, abs=1e-12)


def test_scores_of_many_sums_at_once_are_those_of_each() -> None:
    rows = np.array([read_statistics(line.encode()) for line in [*LONG, WHOLE, NOTHING_SAID, MIXED]])
    draws = np.random.default_rng(5).integers(0, len(rows), size=(4, 50, len(rows)))
    sums = rows[draws].sum(axis=2)
    assert sums.shape == (4, 50, len(FIELDS))
    together = meteor15_from_sums(sums)
    assert together.shape == (4, 50)
    for place in np.ndindex(4, 50):
        assert together[place] == pytest.approx(float(meteor15_from_sums(sums[place])), abs=1e-14)


def test_sums_over_nothing_score_0() -> None:
    assert float(meteor15_from_sums(np.zeros(len(FIELDS)))) == 0.0


@pytest.mark.parametrize(
    "line",
    [
        "", "rubbish", "Error: specify hypothesis and one reference", "0.5", f"{WHOLE} 1", WHOLE[:-4],
        WHOLE.replace("144", "1e999"), WHOLE.replace("144", "nan"), WHOLE.replace("144", "143.5"),
        f"{WHOLE[:-1]}4", WHOLE.replace(" 1 225", " 1.5 225"), WHOLE.replace("144", "-144"),
        WHOLE.replace("144", "145"), "1 " + WHOLE_SHORT[2:],
    ],
)  # fmt: skip
def test_a_line_that_is_no_counts_of_a_pair_is_refused(line: str) -> None:
    with pytest.raises(MetricUnavailableError, match="instead of the counts"):
        read_statistics(line.encode())


def test_a_line_for_the_program_holds_two_texts_whatever_is_in_them() -> None:
    candidate = ["a|||b", "|||", "c\u2028d", "e\rf\x85g\x0bh\x0c", "\ud800", "|||||"]
    line = score_line(candidate, ["x", "|||", "\n", "y"])
    assert line.decode() == "SCORE ||| x    y ||| ab  c d e f g h  \ufffd ||"
    assert line.count(b"|||") == 2
    assert score_line([], []) == b"SCORE |||  ||| "


def test_a_text_in_place_of_tokens_is_refused() -> None:
    with pytest.raises(TypeError, match="lists of tokens"):
        score_line("no caries", ["no", "caries"])


# The program itself.


@pytest.fixture(scope="module")
def meteor() -> Iterator[Meteor15]:
    with Meteor15() as running:
        yield running


@needs_java
def test_the_two_reports_of_table_3_score_as_computed_elsewhere(meteor: Meteor15) -> None:
    first, second = table_3_tokens()
    values = meteor15_from_sums(meteor.statistics([(second, first), (first, second)]))
    assert values == pytest.approx([0.4861, 0.4744], abs=5e-5)


ODD = {
    "identical": (["no", "caries", "on", "#46"], ["no", "caries", "on", "#46"]),
    "no candidate": ([], ["no", "caries"]),
    "no reference": (["no", "caries"], []),
    "neither": ([], []),
    "one word": (["caries"], ["caries"]),
    "another word": (["car"], ["fracture"]),
    "paraphrases": (["large", "car", "was", "purchased"], ["the", "big", "automobile", "was", "bought"]),
    "punctuation only": ([";", "!!", "?"], ["...", "("]),
    "Chinese": (["全景", "片", "显示", "缺失"], ["全景", "片", "未见", "缺失"]),
    "line ends": (["no\u2028caries", "a\rb", "c\n", "\x0b\x0c\x85"], ["no", "caries", "a", "b", "c"]),
    "the separator": (["no", "|||", "caries", "|||"], ["|||", "no", "|||caries"]),
    "bars": (["a", "|", "b||"], ["||", "a", "b"]),
    "NUL": (["\0", "a\0b", "c"], ["a\0b", "c"]),
    "lone surrogates": (["\ud800", "no", "\udfff"], ["no", "\udc00"]),
    "a long word": (["x" * 20_000], ["x" * 20_000]),
    "many words": (
        ["no", "caries", "on", "tooth"] * 500,
        ["there", "is", "no", "caries", "on", "any", "tooth"],
    ),
    "spaces in tokens": (["no  caries ", " "], ["no", "caries"]),
    "a command": (["EVAL", "|||", "1"], ["SCORE", "|||"]),
}
WHOLLY_MATCHED = {
    "identical",
    "NUL",
    "one word",
    "line ends",
    "the separator",
    "a long word",
    "spaces in tokens",
}
WITHOUT_MATCH = {"no candidate", "no reference", "neither", "another word", "punctuation only", "a command"}


@needs_java
def test_odd_texts_shift_no_other_pair(meteor: Meteor15) -> None:
    plain = (["the", "cat", "sits"], ["a", "cat", "sat"])
    alone = meteor.statistics([plain])[0]
    with Meteor15(start=lambda: _Shared(meteor)) as asked_again:
        found = asked_again.statistics([pair for odd in ODD.values() for pair in (odd, plain)])
    assert (found[1::2] == alone).all()
    values = dict(zip(ODD, meteor15_from_sums(found[::2]), strict=True))
    assert {name for name, value in values.items() if value == 1.0} == WHOLLY_MATCHED
    assert {name for name, value in values.items() if value == 0.0} == WITHOUT_MATCH
    assert values["paraphrases"] == pytest.approx(0.7476007677543187, abs=1e-12)


@needs_java
def test_each_pair_scores_as_the_program_says_itself(meteor: Meteor15) -> None:
    pairs = [*ODD.values(), *((_words(one), _words(other)) for one, other in report_pairs(5, seed=2))]
    ours = meteor15_from_sums(meteor.statistics(pairs))
    process = _process(meteor)
    lines = list(process.ask([score_line(*pair) for pair in pairs]))
    theirs = [float(answer) for answer in process.ask([b"SING ||| " + line for line in lines])]
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.slow
@needs_java
def test_500_report_pairs_score_as_pycocoevalcap_scores_them(meteor: Meteor15) -> None:
    from pycocoevalcap.meteor.meteor import Meteor

    texts = report_pairs(500)
    tokens = _coco_tokens([text for pair in texts for text in pair])
    pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
    pairs[7], pairs[8] = (pairs[7][1], pairs[7][1]), ([], pairs[8][1])
    found = meteor.statistics(pairs)
    theirs = Meteor()
    corpus, singles = theirs.compute_score(
        {at: [" ".join(reference)] for at, (_, reference) in enumerate(pairs)},
        {at: [" ".join(candidate)] for at, (candidate, _) in enumerate(pairs)},
    )
    for pipe in (theirs.meteor_p.stdout, theirs.meteor_p.stderr):
        pipe.close()
    assert float(meteor15_from_sums(found.sum(axis=0))) == pytest.approx(corpus, abs=1e-12)
    assert meteor15_from_sums(found) == pytest.approx(singles, abs=1e-12)
    assert abs(corpus - np.mean(singles)) > 1e-4  # a mean would be another number
    order = np.random.default_rng(1).permutation(500)
    with Meteor15() as again:
        assert (again.statistics([pairs[at] for at in order]) == found[order]).all()


class _Shared(LineProcess):
    """The running program of another scorer, which goes on after this one."""

    def __init__(self, meteor: Meteor15) -> None:
        self._shared = _process(meteor)

    def ask(self, lines: list[bytes]) -> Iterator[bytes]:  # type: ignore[override]
        return self._shared.ask(lines)

    def end(self) -> None:
        pass


def _process(meteor: Meteor15) -> LineProcess:
    meteor.statistics([(["a"], ["a"])])
    assert meteor._process is not None
    return meteor._process


def _words(text: str) -> list[str]:
    return text.lower().replace(",", "").replace(".", "").split()


def _coco_tokens(texts: list[str]) -> list[list[str]]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    found = PTBTokenizer().tokenize({at: [{"caption": text}] for at, text in enumerate(texts)})
    return [found[at][0].split() for at in range(len(texts))]


# Programs that misbehave.

ANSWER = f"echo '{MIXED}'"
SILENT = "exec sleep 600"
Scripted = Callable[[str], Path]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """Return a maker of a `java` that is found before any other; it lies in a folder of its own."""

    def made(script: str) -> Path:
        program = tmp_path / "bin" / "java"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return program

    return made


def _pairs(count: int) -> list[Pair]:
    return [([f"w{number}"], ["x"]) for number in range(count)]


MISBEHAVIOURS = {
    "silent": (SILENT, "no answer to line 1 within 0.2 s"),
    "deaf": (
        "exec <&-; exec sleep 600",
        "no answer to line 1 within 0.2 s|ended .* before it answered line 1",
    ),
    "mute": ("exec >&-; exec sleep 600", "before it answered line 1"),
    "dead at once": (
        "echo 'Could not reserve enough space' >&2; exit 3",
        r"status 3.*line 1.*Could not reserve",
    ),
    "rubbish": ("while read line; do echo hello; done", "'hello' instead of the counts"),
    "too much": (
        f"while read line; do {ANSWER}; {ANSWER}; done",
        "more than it was asked|instead of the counts",
    ),
    "unasked": ("echo Welcome; exec sleep 600", "more than it was asked|'Welcome' instead"),
    "endless": ("exec tr '\\0' x < /dev/zero", "without an end"),
    "dead in the middle": (f"read a; {ANSWER}; read b; {ANSWER}; exit 1", "status 1.*line 3"),
    "silent in the middle": (f"read a; {ANSWER}; {SILENT}", "no answer to line 2"),
}


@needs_package
@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_a_misbehaving_program_ends_with_a_reason_in_time(name: str, scripted: Scripted) -> None:
    script, reason = MISBEHAVIOURS[name]
    scripted(script)
    begun = time.monotonic()
    with Meteor15(timeout_s=0.2) as meteor:
        with pytest.raises(MetricUnavailableError, match=reason):
            meteor.statistics(_pairs(100))
        assert meteor._process is not None
        process = meteor._process._process
        assert process.returncode is not None  # ended and waited for: no zombie
        with pytest.raises(MetricUnavailableError, match=reason):
            meteor.statistics(_pairs(1))  # at once, by the same reason
    assert time.monotonic() - begun < 30
    assert not _group_lives(process.pid)


@needs_package
def test_what_a_wrapper_of_java_started_ends_with_it(scripted: Scripted, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    scripted(f"sleep 600 > '{tmp_path}/alive' & wait")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    with Meteor15(timeout_s=0.3) as meteor, pytest.raises(MetricUnavailableError, match="no answer"):
        meteor.statistics(_pairs(1))
    hung_up = select.poll()
    hung_up.register(alive, select.POLLIN)
    assert hung_up.poll(10_000) == [(alive, select.POLLHUP)]  # nobody holds the other end any more
    os.close(alive)


@needs_package
def test_a_ctrl_c_ends_the_program(scripted: Scripted) -> None:
    scripted(f"while read line; do {ANSWER}; done")

    def interrupted() -> None:
        raise KeyboardInterrupt

    meteor = Meteor15()
    with pytest.raises(KeyboardInterrupt), meteor:
        meteor.statistics(_pairs(100), on_pair=interrupted)
    assert meteor._process is not None
    assert not _group_lives(meteor._process._process.pid)


@needs_package
def test_the_program_is_out_of_reach_of_our_terminals_signals(scripted: Scripted) -> None:
    scripted(f"while read line; do {ANSWER}; done")
    with Meteor15() as meteor:
        meteor.statistics(_pairs(1))
        assert meteor._process is not None
        assert os.getpgid(meteor._process._process.pid) != os.getpgid(0)


@needs_package
def test_long_lines_by_the_hundred_never_lock_both_sides(scripted: Scripted) -> None:
    scripted(f"while read line; do {ANSWER}; done")
    pairs = [([f"w{number}" * 5_000], ["x"]) for number in range(4 * AHEAD)]
    seen: list[None] = []
    with Meteor15(timeout_s=60) as meteor:
        assert meteor.statistics(pairs, on_pair=lambda: seen.append(None)).shape == (len(pairs), len(FIELDS))
    assert len(seen) == len(pairs)


@needs_package
def test_equal_pairs_are_asked_once(scripted: Scripted, tmp_path: Path) -> None:
    scripted(f"while read line; do echo \"$line\" >> '{tmp_path}/asked'; {ANSWER}; done")
    with Meteor15() as meteor:
        meteor.statistics([*_pairs(2), *_pairs(3)])
        meteor.statistics(_pairs(4))
        assert meteor.statistics([]).shape == (0, len(FIELDS))
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert asked == [f"SCORE ||| x ||| w{number}" for number in range(4)]


@needs_package
def test_nothing_is_started_without_pairs(scripted: Scripted) -> None:
    with Meteor15(start=lambda: pytest.fail("started")) as meteor:
        assert meteor.statistics([]).shape == (0, len(FIELDS))


# Nothing to run.


@needs_package
def test_without_java_the_reason_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with Meteor15() as meteor, pytest.raises(MetricUnavailableError, match=r"needs Java.*meteor15.*jre"):
        meteor.statistics(_pairs(1))


@needs_package
def test_java_is_found_by_java_home_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scripted: Scripted
) -> None:
    program = scripted(f"read line; {ANSWER}; {SILENT}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(program.parent.parent))
    with Meteor15() as meteor:
        assert meteor.statistics(_pairs(1)).shape == (1, len(FIELDS))


@needs_package
def test_a_program_that_cannot_be_started_is_a_reason(scripted: Scripted) -> None:
    scripted("").write_bytes(b"\x7fELF nonsense")
    with pytest.raises(MetricUnavailableError, match="cannot be started"):
        start_meteor()


def test_without_the_package_the_reason_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(MetricUnavailableError, match=r"needs the package pycocoevalcap; .*meteor15"):
        start_meteor()


@needs_package
def test_another_release_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.3")
    with pytest.raises(MetricUnavailableError, match=r"pycocoevalcap 1\.2, and 1\.3 is installed"):
        start_meteor()


@needs_package
def test_a_package_without_its_jar_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Found:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(meteor_jar.importlib.util, "find_spec", lambda name: Found())
    with pytest.raises(MetricUnavailableError, match="without METEOR's files"):
        start_meteor()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True

"""Every number of `harness score` for clinical reports, raw and restated, from the export by other programs.

Tokens are those of the Java tokenizer; BLEU, ROUGE-L and METEOR 1.5 are pycocoevalcap's, METEOR of 2005 is
nltk's. Tolerances: BLEU, ROUGE-L and METEOR 1.5 1e-9, METEOR 2005 and lengths 1e-12, differences twice that;
BCa intervals on the documented draws 2e-9, those of METEOR 1.5 and `average` not held.
"""

from __future__ import annotations

import json
import math
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coco_reference import java_tokens, needs_java
from recomputed import (
    USABLE,
    Numbers,
    Recomputed,
    asked,
    clustered,
    failing,
    intervals_differing,
    rescored,
)
from recomputed_pandent import (
    KINDS,
    ODD_REPORTS,
    case_lines,
    chance,
    findings_of,
    reference_of,
    script,
    write_pandent_cases,
)
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import harness, write_config

CASES = 45
WORDNET = Path("/usr/share/wordnet")
BLEU = ("bleu_1", "bleu_2", "bleu_3", "bleu_4")

needs_wordnet = pytest.mark.skipif(
    not (WORDNET / "data.noun").is_file(), reason="Debian's WordNet is missing"
)
pytestmark = [pytest.mark.slow, needs_java, needs_wordnet]

Triple = tuple[str, str | None, str]
"""Case, answer (None: unusable) and reference."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models' reports, twice each, of cases of the same patients; then their restatements."""
    folder = tmp_path_factory.mktemp("reports")
    write_pandent_cases(folder / "data", CASES, groups=True)
    asked(
        folder, "pandent", script, ("one", "two"), "--conditions", "report", "--repeats", "2", "--name", "run"
    )
    with ScriptedServer(restated) as server:
        config = write_config(folder, server.url, ("one", "two", "norm"), max_in_flight=32)
        done = harness(
            *("step", "normalise", "run", "--model", "norm", "--name", "restated", "--attempts", "1"),
            *("--store", folder / "store.sqlite3", "--config", config),
        )
    assert done.code in (0, 3), done.err
    return folder


def restated(arrival: Arrival) -> Reply:
    """Restate a report: as a template, as an odd text, or not at all."""
    dice = chance("restated", ascii(arrival.text))
    kind = dice.random()
    if kind < 0.2:
        return failing(KINDS[int(kind * 20)])
    if kind < 0.4:
        return chat_reply(dice.choice(ODD_REPORTS))
    return chat_reply(reference_of(dice.choice((0, 2, 3, 4, 6, 8))) or "No caries.")


@pytest.fixture(scope="module")
def synonyms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """nltk's reader of Debian's WordNet, laid out as nltk wants it."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out other languages."""

    place = tmp_path_factory.mktemp("nltk_data")
    shutil.copytree(WORDNET, place / "corpora" / "wordnet")
    names = "".join(f"{at:02}\tfile.{at}\t1\n" for at in range(45))
    (place / "corpora" / "wordnet" / "lexnames").write_text(names, encoding="utf-8")
    nltk.data.path.insert(0, str(place))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = Reader(nltk.data.find("corpora/wordnet"), None)
    yield reader
    nltk.data.path.remove(str(place))
    for stream in reader._data_file_map.values():
        stream.close()


class Judges:
    """The other programs, each text tokenized once."""

    def __init__(self, folder: Path, synonyms: Any) -> None:
        from pycocoevalcap.meteor.meteor import Meteor

        self.folder, self.synonyms = folder, synonyms
        self.meteor = Meteor()
        self.tokens: dict[str, list[str]] = {"": []}

    def end(self) -> None:
        """End METEOR's program, and leave nothing to its own way of ending it."""
        program = self.meteor.meteor_p
        program.kill()
        program.wait()
        for stream in (program.stdin, program.stdout, program.stderr):
            stream.close()

    def prepare(self, texts: Sequence[str]) -> None:
        """Tokenize what is new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.tokens]
        # The Java program cannot be given a lone surrogate: what is written for it is U+FFFD.
        sent = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in new]
        if new:
            self.tokens.update(zip(new, java_tokens(sent, self.folder), strict=True))

    def metrics(self, triples: Sequence[Triple]) -> dict[str, float]:
        """Return every metric of a corpus; an unusable answer is an empty text."""
        from nltk.translate.meteor_score import single_meteor_score
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.rouge.rouge import Rouge

        self.prepare([text for _, answer, reference in triples for text in (answer or "", reference)])
        pairs = [(self.tokens[answer or ""], self.tokens[reference]) for _, answer, reference in triples]
        given = {k: [" ".join(pair[0])] for k, pair in enumerate(pairs)}
        right = {k: [" ".join(pair[1])] for k, pair in enumerate(pairs)}
        found = dict(zip(BLEU, Bleu(4).compute_score(right, given, verbose=0)[0], strict=True))
        rouge = [
            0.0 if triple[1] is None else Rouge().calc_score(given[k], right[k])
            for k, triple in enumerate(triples)
        ]
        found["rouge_l"] = float(np.mean(rouge))
        found["meteor15"] = float(self.meteor.compute_score(right, given)[0])
        found["meteor2005"] = float(
            np.mean([single_meteor_score(b, a, wordnet=self.synonyms) if a and b else 0.0 for a, b in pairs])
        )
        six = (*BLEU, "meteor15", "rouge_l")
        found["average"] = math.fsum(found[name] for name in six) / 6
        answered = [answer for _, answer, _ in triples if answer is not None]
        found["words"] = sum(len(answer.split()) for answer in answered) / len(answered)
        found["length_ratio"] = sum(len(parts(a)) for a, _ in pairs) / sum(len(parts(b)) for _, b in pairs)
        return found


def parts(tokens: Sequence[str]) -> list[str]:
    """Return tokens as pycocoevalcap's BLEU counts them: `7 1/2`, with its no-break space, is two."""
    return " ".join(tokens).split()


TOLERANCES = dict.fromkeys((*BLEU, "rouge_l", "meteor15", "average"), 1e-9) | dict.fromkeys(
    ("meteor2005", "words", "length_ratio"), 1e-12
)


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory, synonyms: Any) -> Iterator[Judges]:
    judges = Judges(tmp_path_factory.mktemp("tokens"), synonyms)
    yield judges
    judges.end()


def triples_of(run: Recomputed, model: str, repeat: int, *, valid_only: bool) -> list[Triple]:
    """Return what a reading of a row scores: cases without a reference nowhere."""
    found: list[Triple] = []
    for record in run.units(model, "report"):
        reference = reference_of(int(record["case_id"][1:]))
        usable = record["outcome"] in USABLE
        if record["repeat"] == repeat and reference is not None and (usable or not valid_only):
            found.append((record["case_id"], record["prediction"] if usable else None, reference))
    return found


def differing(row: Mapping[str, Any], expected: Sequence[Mapping[str, float]], start: str = "") -> list[str]:
    """Return what a row says otherwise than the mean over repeats."""
    wrong = []
    for path, tolerance in TOLERANCES.items():
        value = float(np.mean([one[path] for one in expected]))
        if not abs(row[start + path]["value"] - value) <= tolerance:
            wrong.append(f"{start}{path}: {row[start + path]} and not {value}")
    return wrong


def test_every_value_of_the_reports_is_the_other_programs(folder: Path, judges: Judges) -> None:
    run = rescored(folder, "run")
    for model in ("one", "two"):
        for reading in ("as_answered", "valid_only"):
            repeats = [triples_of(run, model, k, valid_only=reading == "valid_only") for k in (1, 2)]
            row = run.row(model, "report")[reading]
            assert set(row) == set(TOLERANCES)
            wrong = differing(row, [judges.metrics(triples) for triples in repeats])
            assert not wrong, (model, reading, wrong)


def test_reports_that_look_at_no_image_score_so_too(folder: Path, judges: Judges) -> None:
    run = rescored(folder, "run")
    numbers = [k for k in range(CASES) if reference_of(k) is not None]
    # The most usual case: what it says of each finding is what most others say, in their one form.
    forms = {k: {name: form(value) for name, value in findings_of(k).items()} for k in range(CASES)}
    often = {name: Counter(forms[k][name] for k in numbers) for name in forms[0]}
    agreeing = {
        k: sum(often[name][forms[k][name]] for name in often if forms[k][name] is not None) for k in numbers
    }
    most = max(agreeing.values())
    typical = reference_of(min(k for k in numbers if agreeing[k] == most))
    triples: list[Triple] = [(str(k), typical, reference_of(k) or "") for k in numbers]
    wrong = differing(run.row("typical report", "report")["as_answered"], [judges.metrics(triples)])
    assert not wrong, wrong
    # Each case gets another's: three rows of steps of PCG64 with seed 9524.
    steps = np.random.Generator(np.random.PCG64(9524)).integers(1, len(numbers), size=(3, len(numbers)))
    draws = []
    for row in (np.arange(len(numbers)) + steps) % len(numbers):
        triples = [
            (str(k), reference_of(numbers[other]), reference_of(k) or "")
            for k, other in zip(numbers, row, strict=True)
        ]
        draws.append(judges.metrics(triples))
    found = run.row("prevalence", "report")["as_answered"]
    for path in (*BLEU, "rouge_l", "words", "length_ratio"):
        assert found[path]["value"] == pytest.approx(np.mean([draw[path] for draw in draws]), abs=1e-9), path


def form(value: Any) -> Any:
    """Return a finding's value as it is compared."""
    return json.dumps(value, sort_keys=True) if value is not None else None


# -- restatements ----------------------------------------------------------------------------------


def test_restatements_are_scored_beside_what_they_restate(folder: Path, judges: Judges) -> None:
    run, step = rescored(folder, "run"), rescored(folder, "restated")
    for model in ("one", "two"):
        (row,) = (
            row for row in step.scores["rows"] if model in json.dumps(row["model"]) and row["kind"] == "model"
        )
        given = {
            (record["case_id"], record["repeat"]): record["prediction"]
            for record in run.units(model, "report")
            if record["outcome"] in USABLE
        }
        raw: list[Triple] = []
        after: list[Triple] = []
        for record in step.records:
            found = subject(record, model)
            if found is None or record["outcome"] not in USABLE:
                continue
            reference = reference_of(int(found[0][1:]))
            if reference is not None:
                raw.append((found[0], given[found], reference))
                after.append((found[0], record["prediction"], reference))
        assert len(raw) > 40
        before, behind = judges.metrics(raw), judges.metrics(after)
        values = row["as_answered"]
        assert not differing(values, [before], "raw.") and not differing(values, [behind], "normalised.")
        for path, tolerance in TOLERANCES.items():
            off = abs(values[f"delta.{path}"]["value"] - (behind[path] - before[path]))
            assert off <= 2 * tolerance, path
            assert values[f"delta.{path}"]["n"] == len(raw)


def subject(record: Mapping[str, Any], model: str) -> tuple[str, int] | None:
    """Return whose report a step's unit restates: its case and repeat; None of another model's."""
    whose, _, case, repeat = record["case_id"].split("|")
    return (case, int(repeat)) if whose == model else None


# -- intervals -------------------------------------------------------------------------------------


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each n-gram occurs."""
    return Counter(tuple(tokens[k : k + n]) for k in range(len(tokens) - n + 1))


def summands(judges: Judges, triple: Triple) -> list[float]:
    """Return what a pair adds: clipped and all n-grams, both lengths, ROUGE-L, METEOR 2005, words, counts."""
    from nltk.translate.meteor_score import single_meteor_score
    from pycocoevalcap.rouge.rouge import Rouge

    answer, reference = judges.tokens[triple[1] or ""], judges.tokens[triple[2]]
    row: list[float] = []
    cut, right = parts(answer), parts(reference)
    for n in range(1, 5):
        have, want = ngrams(cut, n), ngrams(right, n)
        row += [float(sum((have & want).values())), float(max(0, len(cut) - n + 1))]
    row += [float(len(cut)), float(len(right))]
    rouge = 0.0 if triple[1] is None else Rouge().calc_score([" ".join(answer)], [" ".join(reference)])
    meteor = single_meteor_score(reference, answer, wordnet=judges.synonyms) if answer and reference else 0.0
    words = 0 if triple[1] is None else len(triple[1].split())
    return [*row, float(rouge), float(meteor), float(words), float(triple[1] is not None), 1.0]


def of_sums(sums: Numbers) -> dict[str, Numbers]:
    """Return the metrics of sums, with pycocoevalcap's constants."""
    found = {}
    product = np.ones(sums.shape[:-1])
    ratio = (sums[..., 8] + 1e-15) / (sums[..., 9] + 1e-9)
    penalty = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1)
    for n in range(1, 5):
        product = product * (sums[..., 2 * n - 2] + 1e-15) / (sums[..., 2 * n - 1] + 1e-9)
        found[f"bleu_{n}"] = product ** (1 / n) * penalty
    with np.errstate(invalid="ignore", divide="ignore"):
        count = sums[..., 14]
        found["rouge_l"], found["meteor2005"] = sums[..., 10] / count, sums[..., 11] / count
        found["words"], found["length_ratio"] = sums[..., 12] / sums[..., 13], sums[..., 8] / sums[..., 9]
    return found


def test_intervals_of_corpus_scores_are_efrons(folder: Path, judges: Judges) -> None:
    run = rescored(folder, "run")
    cases = case_lines(folder)
    groups = list(dict.fromkeys(case["group"] for case in cases if "group" in case))
    clusters = {
        case["id"]: f"1-{groups.index(case['group']):03}" if "group" in case else f"0-{place:03}"
        for place, case in enumerate(cases)
    }
    for reading in ("as_answered", "valid_only"):
        units = []
        for record in run.units("one", "report"):
            usable, reference = record["outcome"] in USABLE, reference_of(int(record["case_id"][1:]))
            if reading == "valid_only" and not usable:
                continue
            answer = record["prediction"] if usable else None
            if reference is None:
                continue
            judges.prepare([answer or "", reference])
            row = summands(judges, (record["case_id"], answer, reference))
            units.append((clusters[record["case_id"]], record["repeat"], row))
        row = run.row("one", "report")[reading]
        wrong, held, _ = intervals_differing(row, clustered(units, 2), of_sums, 2e-9)
        assert not wrong, (reading, held, wrong)
        assert held >= 8

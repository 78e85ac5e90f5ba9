"""Every number of `harness score` for medlay, from its export, by sacrebleu, rouge-score and by hand.

Written from `docs/medlay.md`. SARI (`hf`, Hugging Face's) is computed here n-gram by n-gram, in another
structure than ours. Reading grades are by our own rules: only their sums, n and pairing are recomputed.
Tolerances: values 1e-9, as they are printed; BCa intervals on the documented draws 2e-8 (values up to 100).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from medlay_examples import line, write
from recomputed import (
    USABLE,
    Numbers,
    Recomputed,
    asked,
    averaged,
    chance,
    clustered,
    failing,
    intervals_differing,
    rescored,
    values_differing,
)
from scripted_replies import Arrival, Reply, chat_reply
from sweep_kit import harness

from harness.scoring.readability import readability

CASES, REPEATS = 60, 2
MODELS = ("copier", "plain")
CONDITIONS = ("A", "B", "C")
KINDS = ("MRI", "CT", "Pathology", "X-Ray")
ALL_KINDS = ("Pathology", "MRI", "CT", "X-Ray", "PET", "Dermoscopy", "Endoscopy", "Ultrasound")
FIVE = ("modality", "anatomy", "finding", "factual", "readability")
GRADES = ("ratescore", "green", "bertscore", *(f"medlayeval.{one}" for one in FIVE))
OUTSIDE = (*GRADES, "medlayeval.overall", *(f"rubric.{one}" for one in (*FIVE, "overall")))
READING = ("answer", "reference", "expert", "reduction")
BY_KIND = ("bleu4", "rouge_l", "sari", "fk.answer", "medlayeval.overall", "rubric.overall")
COMPARED = (
    "bleu4", "rouge_l", "sari", "three_parts.share", "length_ratio", "fk.answer", "fk.reduction", *OUTSIDE,
)  # fmt: skip
NOTHING = np.zeros(16 + 2 * len((*READING, *OUTSIDE)))
TEXT = (
    "the scan shows a small dark spot in left lobe of your liver (hepatic lesion) with 3.5 cm, bright edge; "
    "near T2-weighted region, which may be harmless & needs no treatment: doctor's \u201cmass\u201d naïve"
)
WORDS = TEXT.split()
WRITTEN = {"\u8fd9\u662f\u80bf\u5757\u3002": 0.04, "\u2028": 0.03, "\r": 0.03}
"""What answers hold now and then: Chinese, which has no reading grade, and odd line ends."""

Row: TypeAlias = dict[str, tuple[float | None, int]]


def sentence(*parts: object) -> str:
    dice = chance(*parts)
    return " ".join(dice.choices(WORDS, k=12)).capitalize() + ". " + " ".join(dice.choices(WORDS, k=9)) + "."


def captions(number: int) -> tuple[str, str]:
    """Return a case's expert caption, which names it, and its lay caption, which shares words with it."""
    expert = f"Case {number:03}. {sentence('expert', number)}"
    return expert, f"{sentence('lay', number)} {expert[10:60]}"


def script(arrival: Arrival) -> Reply:
    """Answer by what is shown and by how often the same was asked before; a fifth is unusable or odd."""
    dice = chance(arrival.json["model"], arrival.body.hex(), arrival.nth)
    if dice.random() < 0.12:
        return failing(dice.choice(("refused", "filtered", "truncated", "empty", "rejected")))
    shown = re.search(r"Case (\d{3})\.", arrival.text)
    expert, lay = captions(int(shown[1])) if shown else (sentence(dice.random()), sentence(dice.random()))
    copied = expert if arrival.json["model"] == "copier" else lay[: dice.randrange(20, 90)]
    odd = next((text for text, share in WRITTEN.items() if dice.random() < share), "")
    text = f"1. {sentence(dice.random())}\n2. {copied}{odd}\n3. {sentence(dice.random())}"
    if odd.strip() and dice.random() < 0.3:
        return chat_reply(odd * 9)
    return chat_reply(text.replace("3.", "", dice.randrange(2)))


@pytest.fixture(scope="module", params=[False, True], ids=["single", "grouped"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models in three conditions, with grades of other tools; grouped: of patients, with repeats."""
    at = tmp_path_factory.mktemp("medlay")
    lines = []
    for number in range(CASES):
        expert, lay = captions(number)
        group = {"group": f"g{number % 17}"} if request.param and number % 3 else {}
        kind = KINDS[min(3, int(chance("kind", number).expovariate(1.2)))]
        lines.append(line(f"c{number:03}", expert_caption=expert, lay_caption=lay, modality=kind, **group))
    write(at / "data", *lines)
    repeats = ("--repeats", str(REPEATS)) if request.param else ()
    asked(at, "medlay", script, MODELS, "--conditions", "all", "--name", "run", *repeats)
    import_grades(at)
    return at


def import_grades(folder: Path) -> None:
    """Grade four fifths of the usable answers; some have four of five attributes."""
    store = ("--store", folder / "store.sqlite3", "--config", folder / "harness.toml")
    done = harness("grades", "texts", "run", "--out", folder / "texts.jsonl", *store)
    assert done.code == 0, done.err
    lines = []
    for text in (folder / "texts.jsonl").read_text(encoding="utf-8").split("\n")[:-1]:
        unit = {name: json.loads(text)[name] for name in ("model", "condition", "case_id", "repeat", "time")}
        for question in GRADES:
            dice = chance(question, *(unit[name] for name in ("model", "condition", "case_id", "repeat")))
            if dice.random() < 0.8 + 0.19 * question.startswith("medlayeval."):
                lines.append(json.dumps({**unit, "question": question, "value": round(dice.random(), 3)}))
    (folder / "grades.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = harness("grades", "import", "run", folder / "grades.jsonl", "--rater", "tool-1", *store)
    assert done.code == 0, done.err


# -- the definitions, unit by unit -----------------------------------------------------------------


def shares(right: float, of: float) -> float:
    return 1.0 if of == 0 else right / of


def harmonic(one: float, two: float) -> float:
    return 0.0 if one + two == 0 else 2 * one * two / (one + two)


def own_sari(source: Sequence[str], said: Sequence[str], wanted: Sequence[str]) -> float:
    """Return SARI of one text with one reference, by walks over each n-gram that stands anywhere."""
    total = 0.0
    for order in range(1, 5):
        counts = [
            Counter(" ".join(tokens[i : i + order]) for i in range(len(tokens) - order + 1))
            for tokens in (source, said, wanted)
        ]
        added = added_right = to_add = kept = kept_again = to_keep = deleted = 0
        kept_shares = deleted_share = 0.0
        for gram in set().union(*counts):
            s, c, r = (one[gram] for one in counts)
            added += c > 0 and s == 0
            to_add += r > 0 and s == 0
            added_right += c > 0 and s == 0 and r > 0
            if s and c:
                kept += 1
                kept_shares += min(s, c, r) / min(s, c)
            to_keep += min(s, r)  # recall counts occurrences, precision types: `evaluate` has it so
            kept_again += min(s, c, r)
            if s > c:
                deleted += 1
                deleted_share += max(0, (s - c) - r) / (s - c)
        add = harmonic(shares(added_right, added), shares(added_right, to_add))
        keep = harmonic(shares(kept_shares, kept), shares(kept_again, to_keep))
        total += (add + keep + shares(deleted_share, deleted)) / 3
    return 100 * total / 4


@lru_cache(maxsize=1)
def tools() -> tuple[Any, Any, Any]:
    """Return sacrebleu's BLEU and tokenizer, and rouge-score's scorer."""
    metrics = pytest.importorskip("sacrebleu.metrics")
    tokenizer = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    rouge = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    return metrics.BLEU(), tokenizer, rouge


def has_three_parts(text: str) -> bool:
    """Return whether lines begin with 1., 2. and 3. and hold a word: what the script writes, and no more."""
    starts = [one for one in text.split("\n") if re.match(r"[1-9]\.(?!\d)", one)]
    return [one[0] for one in starts] == ["1", "2", "3"] and all(re.search(r"\w", one[2:]) for one in starts)


class Unit:
    """One unit with all that is counted of it; `text` None where it is unusable."""

    def __init__(
        self, record: Mapping[str, Any], grades: Mapping[str, float], case: Mapping[str, Any]
    ) -> None:
        self.case = case
        self.repeat = int(record["repeat"])
        self.text: str | None = record["prediction"] if record["outcome"] in USABLE else None
        bleu, tokenizer, rouge = tools()
        said, lay, expert = self.text or "", case["lay_caption"], case["expert_caption"]
        found = bleu.corpus_score([said], [[lay]])
        self.bleu = (*found.counts, *found.totals, found.sys_len, found.ref_len)
        self.rouge = 100 * float(rouge.score(lay, said)["rougeL"].fmeasure)
        cut = [tokenizer(one.lower()).split(" ") for one in (expert, said, lay)]
        self.sari = 0.0 if self.text is None else own_sari(*cut)
        self.parts = float(self.text is not None and has_three_parts(self.text))
        self.reading: dict[str, float | None] = {
            "answer": None if self.text is None else readability(self.text).grade,
            "reference": readability(lay).grade,
            "expert": readability(expert).grade,
        }
        before, after = self.reading["expert"], self.reading["answer"]
        self.reading["reduction"] = None if before is None or after is None else before - after
        self.grades: dict[str, float | None] = dict.fromkeys(OUTSIDE)
        self.grades |= {} if self.text is None else grades
        five = [self.grades[f"medlayeval.{one}"] for one in FIVE]
        if None not in five:
            self.grades["medlayeval.overall"] = math.fsum(five) / 5  # type: ignore[arg-type]
        optional = {**{f"fk.{name}": value for name, value in self.reading.items()}, **self.grades}
        self.optional: dict[str, float | None] = optional

    def summands(self, without: Sequence[str] = ()) -> list[float]:
        """Return what adds up; of `without` there is no value."""
        fixed = [
            1, self.text is not None, len((self.text or "").split()), *self.bleu, self.rouge,
            self.sari, self.parts,
        ]  # fmt: skip
        for name, value in self.optional.items():
            fixed += [0, 0] if value is None or name in without else [value, 1]
        return [float(one) for one in fixed]


def of_sums(sums: Numbers) -> dict[str, Numbers]:
    """Return path -> values of sums (..., k), k as `Unit.summands` gives them."""
    units, answered, words = (sums[..., place] for place in range(3))
    counts, totals = sums[..., 3:7], sums[..., 7:11]
    said, lay = sums[..., 11], sums[..., 12]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "bleu4": smoothed(counts, totals, said, lay),
            "rouge_l": sums[..., 13] / units,
            "sari": sums[..., 14] / units,
            "three_parts.share": sums[..., 15] / units,
            "words": words / answered,
            "length_ratio": said / lay,
        }
        for place, name in enumerate((*(f"fk.{one}" for one in READING), *OUTSIDE)):
            value, there = sums[..., 16 + 2 * place], sums[..., 17 + 2 * place]
            found[name] = value / there * (100 * answered / units if name in OUTSIDE else 1)
    return {path: np.where(units > 0, value, np.nan) for path, value in found.items()}


def smoothed(counts: Numbers, totals: Numbers, said: Numbers, lay: Numbers) -> Numbers:
    """Return BLEU of sums by sacrebleu's own formula, a row at a time."""
    metrics = pytest.importorskip("sacrebleu.metrics")
    flat = [one.reshape(-1, *one.shape[said.ndim :]) for one in (counts, totals, said, lay)]
    values = [
        metrics.BLEU.compute_bleu(
            correct=[*map(int, c)], total=[*map(int, t)], sys_len=int(s), ref_len=int(r), smooth_method="exp"
        ).score
        for c, t, s, r in zip(*flat, strict=True)
    ]
    return np.array(values).reshape(said.shape)


def numbers_of(units: Sequence[Unit]) -> Row:
    """Return path -> (value, n) of the units of one repeat."""
    sums = np.sum([unit.summands() for unit in units], axis=0) if units else NOTHING
    answered = sum(unit.text is not None for unit in units)
    found: Row = {}
    for path, value in of_sums(sums).items():
        there = sum(unit.optional.get(path) is not None for unit in units)
        n = len(units)
        if path == "words":
            n = answered
        elif path.startswith("fk."):
            n = there
        elif path in OUTSIDE:
            n = there + (len(units) - answered if there else 0)
        found[path] = (None if math.isnan(value) else float(value), n)
    return found


# -- what is printed -------------------------------------------------------------------------------


def units_of(run: Recomputed, model: str, condition: str, *, usable: bool = False) -> list[Unit]:
    lines = (run.folder / "data" / "cases.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    cases = {one["id"]: one for one in map(json.loads, lines)}
    grades: dict[tuple[str, str, str, int], dict[str, float]] = {}
    for text in (run.folder / "grades.jsonl").read_text(encoding="utf-8").split("\n")[:-1]:
        one = json.loads(text)
        unit = one["model"], one["condition"], one["case_id"], one["repeat"]
        grades.setdefault(unit, {})[one["question"]] = one["value"]
    return [
        Unit(
            record,
            grades.get((model, condition, record["case_id"], record["repeat"]), {}),
            cases[record["case_id"]],
        )
        for record in run.units(model, condition)
        if record["outcome"] != "rejected" and (not usable or record["outcome"] in USABLE)
    ]


def by_repeat(units: Sequence[Unit], of: Callable[[Sequence[Unit]], Row], repeats: int) -> Row:
    each = [of([unit for unit in units if unit.repeat == number + 1]) for number in range(repeats)]
    return each[0] if repeats == 1 else {p: (v, int(n)) for p, (v, n) in averaged(each).items()}


def ordered(run: Recomputed, units: Sequence[Unit]) -> list[tuple[str, int, Unit]]:
    """Return units with names of their clusters that sort as documented: cases, then groups as they come."""
    lines = (run.folder / "data" / "cases.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    groups = list(dict.fromkeys(json.loads(one).get("group") for one in lines))
    return [
        (f"g{groups.index(group):05}" if group else f"c {unit.case['id']}", unit.repeat, unit)
        for unit in units
        for group in [unit.case.get("group")]
    ]


def metrics_of(units: Sequence[Unit]) -> Row:
    found = numbers_of(units)
    for kind in ALL_KINDS:
        own = numbers_of([unit for unit in units if unit.case["modality"] == kind])
        found |= {f"modality.{kind}.{path}": own[path] for path in BY_KIND}
    return found


@pytest.mark.slow
def test_every_number_of_a_row_is_that_of_other_programs(folder: Path) -> None:
    run = rescored(folder, "run")
    repeats = run.scores["repeats"]
    held, furthest = 0, 0.0
    for model in MODELS:
        for condition in CONDITIONS:
            row = run.row(model, condition)
            for name, usable in (("as_answered", False), ("valid_only", True)):
                units = units_of(run, model, condition, usable=usable)
                wanted = by_repeat(units, metrics_of, repeats)
                assert set(wanted) == set(row[name])
                wrong, off = values_differing(row[name], wanted, 1e-9)
                assert not wrong, (model, condition, name, wrong)
                furthest, held = max(furthest, off), held + len(wanted)
    assert held > 800
    assert {one["outcome"] for one in run.records} >= {"valid", "refused", "filtered", "truncated", "empty"}


@pytest.mark.slow
def test_intervals_are_those_of_the_documented_draws(folder: Path) -> None:
    run = rescored(folder, "run")
    repeats = run.scores["repeats"]
    row = run.row("plain", "B")
    units = units_of(run, "plain", "B")
    parts = [
        ("", units),
        *((f"modality.{one}.", [u for u in units if u.case["modality"] == one]) for one in KINDS),
    ]
    total = 0
    for prefix, inside in parts:
        if not inside:
            continue
        paths = BY_KIND if prefix else tuple(of_sums(NOTHING))
        there = {path: row["as_answered"][prefix + path] for path in paths}
        sums = clustered(
            [(name, repeat, unit.summands()) for name, repeat, unit in ordered(run, inside)], repeats
        )
        wrong, held, _ = intervals_differing(there, sums, of_sums, 2e-8)
        assert not wrong, (prefix, wrong)
        total += held
    assert total >= 25


@pytest.mark.slow
def test_the_ablation_is_that_of_the_cases_of_all_conditions(folder: Path) -> None:
    run = rescored(folder, "run")
    repeats = run.scores["repeats"]
    for model in MODELS:
        sides = [
            {(unit.case["id"], unit.repeat): unit for unit in units_of(run, model, condition)}
            for condition in CONDITIONS
        ]
        keys = sorted(set(sides[0]) & set(sides[1]) & set(sides[2]))
        unpaired = Counter(repeat for _, repeat in set().union(*sides) - set(keys))
        without = {
            key: [n for n in sides[0][key].optional if any(side[key].optional[n] is None for side in sides)]
            for key in keys
        }
        rows = {key: np.array([side[key].summands(without[key]) for side in sides]) for key in keys}

        def differences(sums: Numbers) -> dict[str, Numbers]:
            of = {name: of_sums(sums[..., place, :]) for place, name in enumerate(CONDITIONS)}
            found = {f"{name}.{path}": of[name][path] for name in CONDITIONS for path in COMPARED}
            for one, two in ("BA", "CB", "CA"):
                found |= {f"{one}-{two}.{path}": of[one][path] - of[two][path] for path in COMPARED}
            return found

        each: list[Row] = []
        for repeat in range(1, repeats + 1):
            own = [key for key in keys if key[1] == repeat]
            values = differences(np.sum([rows[key] for key in own], axis=0))
            each.append({"unpaired": (float(unpaired[repeat]), len(own) + unpaired[repeat])})
            for path, value in values.items():
                name = path.partition(".")[2]
                n = sum(name not in without[key] for key in own)
                each[-1][path] = (None if math.isnan(value) else float(value), n)
        wanted = each[0] if repeats == 1 else {p: (v, int(n)) for p, (v, n) in averaged(each).items()}
        there = run.row(model, "ablation")["as_answered"]
        assert set(there) == set(wanted)
        wrong, _ = values_differing(there, wanted, 1e-9)
        assert not wrong, (model, wrong)
        if model != "plain":
            continue
        units = ordered(run, [sides[0][key] for key in keys])
        sums = clustered(
            [(name, repeat, rows[u.case["id"], repeat].ravel().tolist()) for name, repeat, u in units],
            repeats,
        )
        wrong, held, _ = intervals_differing(
            {path: value for path, value in there.items() if "-" in path},
            sums,
            lambda flat: differences(flat.reshape(*flat.shape[:-1], 3, -1)),
            2e-8,
        )
        assert not wrong and held > 30, wrong

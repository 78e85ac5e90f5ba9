# ruff: noqa: RUF001
"""PanDent cases and answers made by script, for scores that are recomputed from the outside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recomputed import chance, failing, image_number
from scripted_replies import Arrival, Reply, chat_reply
from sweep_kit import write_image

from harness.benchmarks.pandent.findings import FINDINGS
from harness.benchmarks.pandent.questions import QUESTIONS

TEETH = tuple(q * 10 + n for q in (1, 2, 3, 4) for n in range(1, 9))
TOOTH_SETS = tuple(f.id for f in FINDINGS if f.type == "tooth_set")
BINARY = tuple(f.id for f in FINDINGS if f.type in ("binary", "binary_with_description"))
KINDS = ("refused", "filtered", "truncated", "empty")
ODD_REPORTS = (
    "全景片显示36号牙龋坏，双侧髁突正常。",
    "No caries.\u2028Bone loss of 3-4mm\rin the mandible.\x0bNo cyst.\u2029",
    "Tooth #36 \x00 shows caries; \ud800 no lesion.",
    "Caries.",
    "!!!",
    "T.M.J. c/o pain & swelling <2 mm, 37°C, Grade-II mobility of #18-#28, 7 1/2 mm, ½ root.",
    "• #11\n• #21\n- none (see fig. 2).",
    "the the the the the the",
    "no no",
)


def findings_of(number: int) -> dict[str, Any]:
    """Return a case's findings, consistent ones; some of them nobody looked at."""
    dice = chance("findings", number)
    missing = sorted(dice.sample(TEETH, dice.choice((0, 0, 2, 3))))
    there = [tooth for tooth in TEETH if tooth not in missing]
    found: dict[str, Any] = {}
    for finding in FINDINGS:
        if finding.type == "bridge_patterns":
            ends = [(a, a + 1) for a in there if a % 10 < 7 and a + 1 in there]
            found[finding.id] = ["{}-{}-X".format(*dice.choice(ends))] if dice.random() < 0.3 else []
        elif finding.type == "tooth_set":
            may = [
                tooth
                for tooth in there
                if finding.arch is None or (tooth < 30) == (finding.arch == "maxilla")
            ]
            found[finding.id] = sorted(dice.sample(may, dice.choice((0, 0, 0, 1, 1, 2, 4))))
        else:
            flag = dice.random() < 0.4 and finding.id != "tmj_left"
            found[finding.id] = flag if finding.type == "binary" else {"flag": flag, "description": ""}
        if dice.random() < 0.07:
            found[finding.id] = None
    found["missing_teeth"] = missing
    return found


def truth_of(number: int, finding: str) -> Any:
    """Return what is right: true or false, a set of teeth, or None where nobody looked."""
    value = findings_of(number)[finding]
    if value is None:
        return None
    if finding in BINARY:
        return value["flag"] if isinstance(value, Mapping) else value
    if finding == "bridge":
        return frozenset(int(unit) for pattern in value for unit in pattern.split("-") if unit != "X")
    return frozenset(value)


def reference_of(number: int) -> str | None:
    """Return a case's clinical report: of sentences, odd ones in between; some cases have none."""
    dice = chance("report", number)
    if number % 13 == 5:
        return None
    if number % 4 == 1:
        odd = ODD_REPORTS[number // 4 % len(ODD_REPORTS)]
        return odd.replace("\ud800", "\ufffd")
    sentences = []
    for finding, value in findings_of(number).items():
        name = QUESTIONS[finding].finding
        teeth = ", ".join(f"#{tooth}" for tooth in value) if isinstance(value, list) and value else ""
        if teeth:
            sentences.append(
                dice.choice(("There is {} at {}.", "{} is seen on teeth {}.")).format(name, teeth)
            )
        else:
            sentences.append(dice.choice((QUESTIONS[finding].none, f"Nothing points to {name}.")))
    return " ".join(sentences)


def write_pandent_cases(folder: Path, count: int, *, groups: bool) -> None:
    """Write so many case files' lines and images."""
    lines = []
    for number in range(count):
        write_image(folder / "images" / f"{number:03}.png", number)
        case: dict[str, Any] = {
            "id": f"c{number:03}",
            "image": f"images/{number:03}.png",
            "findings": findings_of(number),
            "report": reference_of(number),
        }
        if any("X" in unit for unit in case["findings"]["bridge"] or ()):
            pass
        if groups and number % 3:
            case["group"] = f"g{number % 20}"
        lines.append(json.dumps(case))
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def said(model: str, number: int, finding: str, repeat: int) -> Any:
    """Return what a model says of a finding: a value, the name of a failure, or text that is no answer."""
    dice = chance("attribute", model, number, finding, repeat)
    kind = dice.random()
    if kind < 0.16:
        return KINDS[int(kind * 25)]
    if kind < 0.24:
        return "The image is blurred and 19 teeth are there."
    truth = truth_of(number, finding)
    if finding in BINARY:
        return dice.random() < 0.5 if truth is None or dice.random() < 0.3 else truth
    may = [tooth for tooth in TEETH if (finding[:4] != "abl_" or (tooth < 30) == (finding == "abl_maxilla"))]
    if truth is None or dice.random() < 0.3:
        return frozenset(dice.sample(may, dice.choice((0, 1, 2, 3))))
    return truth if dice.random() < 0.7 else truth | {dice.choice(may)}


def report_by(model: str, number: int, repeat: int) -> str | None:
    """Return what a model reports; the name of a failure in KINDS."""
    dice = chance("report answer", model, number, repeat)
    kind = dice.random()
    if kind < 0.12:
        return KINDS[int(kind * 100) // 3]
    if kind < 0.3:
        return dice.choice(ODD_REPORTS)
    own = reference_of(number)
    if kind < 0.4 and own:
        return own
    other = reference_of(dice.randrange(60)) or "No report."
    words = (own or other).split(" ")
    if kind < 0.7:
        return " ".join(word for word in words if dice.random() < 0.85) or "No."
    return other


def sentence(finding: str, value: Any) -> str:
    """Return a value as the shortest answer that says it."""
    if isinstance(value, frozenset):
        return ", ".join(f"#{tooth}" for tooth in sorted(value)) if value else QUESTIONS[finding].none
    if isinstance(value, bool):
        return "Yes." if value else "No."
    return str(value)


def asked_about(text: str) -> str | None:
    """Return which finding a request asks about, None for a clinical report."""
    for finding, question in QUESTIONS.items():
        if f'"{question.none}"' in text:
            return finding
    return None


def script(arrival: Arrival) -> Reply:
    """Answer by image, question and how often the same was asked before."""
    number = image_number(arrival)
    assert number is not None
    model, finding = arrival.json["model"], asked_about(arrival.text)
    if finding is None:
        text = report_by(model, number, arrival.nth)
        return failing(text) if text in KINDS else chat_reply(text)
    value = said(model, number, finding, arrival.nth)
    return failing(value) if value in KINDS else chat_reply(sentence(finding, value))


def case_lines(folder: Path) -> Sequence[Mapping[str, Any]]:
    """Return the cases that stand in a folder."""
    text = (folder / "data" / "cases.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]

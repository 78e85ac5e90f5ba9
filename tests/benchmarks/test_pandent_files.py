"""Case files of PanDent: what is read, what is refused, and which contradictions are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pandent_examples import PRINTED, findings, line, write

from harness.benchmarks.pandent.cases import check_cases, load_cases
from harness.benchmarks.pandent.consistency import RULES
from harness.benchmarks.pandent.finding_values import answer_code, is_positive, teeth_in
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS, UNIVERSE, tooth_code
from harness.errors import CaseFileError


def refusal(folder: Path) -> str:
    with pytest.raises(CaseFileError) as caught:
        load_cases(folder)
    return str(caught.value)


def reference(folder: Path, **fields: Any) -> dict[str, Any]:
    return dict(load_cases(write(folder, line(**fields))).cases[0].reference)


def test_a_case_is_read_with_its_image_and_reference(tmp_path: Path) -> None:
    write(tmp_path, line(group="p1", tags=["t"], auxiliary_note="a note"))
    case = load_cases(tmp_path).cases[0]
    assert (case.id, case.group, case.tags, case.problem) == ("a", "p1", ("t",), None)
    assert dict(case.fields) == {}
    assert [(m.mime, m.width, m.height) for m in case.media["opg"]] == [("image/png", 20, 10)]
    assert (case.reference["report"], case.reference["auxiliary_note"]) == ("All is well.", "a note")
    stated = case.reference["findings"]
    assert isinstance(stated, dict)
    assert set(stated) == {finding.id for finding in FINDINGS}


def test_every_printed_case_keeps_every_rule(tmp_path: Path) -> None:
    write(tmp_path, *(line(name, findings=findings(**there)) for name, there in PRINTED.items()))
    assert check_cases(tmp_path) == []
    for case in load_cases(tmp_path).cases:
        stated = case.reference["findings"]
        assert isinstance(stated, dict)
        assert {name: value for name, value in stated.items() if is_positive(BY_ID[name], value)} == PRINTED[
            case.id
        ]


def test_the_order_of_teeth_and_bridges_in_the_file_means_nothing(tmp_path: Path) -> None:
    bridges = (["#35-X-#37", "X-26-25"], ["25-26-X", "37-x-35"])
    one, two = (
        reference(tmp_path, findings=findings(missing_teeth=[36], caries=caries, bridge=bridge))
        for caries, bridge in zip(([37, 11], [11, 37]), bridges, strict=True)
    )
    assert one == two
    assert one["findings"]["caries"] == [11, 37]
    assert one["findings"]["bridge"] == ["25-26-X", "35-X-37"]


def test_a_flag_may_stand_alone_or_with_its_description(tmp_path: Path) -> None:
    for value, form in (
        (True, {"flag": True, "description": ""}),
        (False, {"flag": False, "description": ""}),
        ({"flag": True}, {"flag": True, "description": ""}),
        ({"flag": True, "description": None}, {"flag": True, "description": ""}),
        ({"flag": True, "description": " thick lining "}, {"flag": True, "description": "thick lining"}),
        ({"flag": False, "description": " "}, {"flag": False, "description": ""}),
        (None, None),
    ):
        assert reference(tmp_path, findings=findings(sinus_left=value))["findings"]["sinus_left"] == form


def test_missing_teeth_follow_from_erupted_and_partially_erupted_ones(tmp_path: Path) -> None:
    erupted = [tooth for tooth in UNIVERSE if tooth not in (18, 28, 38, 48)]
    stated = findings(partially_erupted_or_impacted=[38])
    del stated["missing_teeth"]
    for given in ({}, {"missing_teeth": None}, {"missing_teeth": [48, 28, 18]}):
        found = reference(tmp_path, findings={**stated, **given}, erupted=erupted)
        assert found["findings"]["missing_teeth"] == [18, 28, 48]
    message = refusal(
        write(tmp_path, line(findings={**stated, "missing_teeth": [18, 28]}, erupted=erupted))
    )
    assert "'missing_teeth' is [18, 28], but 'erupted' and" in message
    assert "leave [18, 28, 48]; correct one of them" in message
    assert reference(tmp_path, findings=stated, erupted=[])["findings"]["missing_teeth"] == [
        tooth for tooth in UNIVERSE if tooth != 38
    ]
    unknown = {**stated, "partially_erupted_or_impacted": None}
    assert "'erupted' alone does not tell 'missing_teeth'" in refusal(
        write(tmp_path, line(findings=unknown, erupted=erupted))
    )


def test_a_finding_left_out_is_refused_and_null_says_that_nobody_looked(tmp_path: Path) -> None:
    some = findings(caries=None)
    for name in ("bridge", "tmj_left"):
        del some[name]
    message = refusal(write(tmp_path, line(findings=some)))
    assert "'findings' leaves out 'bridge', 'tmj_left'; write [] or false where there is none" in message
    assert "erupted" not in message
    assert "or give 'erupted'" in refusal(write(tmp_path, line(findings={})))
    kept = reference(tmp_path, findings=findings(caries=None, missing_teeth=None), report=None)
    unknown = {name for name, value in kept["findings"].items() if value is None}
    assert (unknown, kept["report"]) == ({"missing_teeth", "caries"}, None)


@pytest.mark.parametrize(
    ("there", "says"),
    [
        ({"carries": []}, "unknown finding 'carries'; did you mean 'caries'?"),
        ({"zzz": []}, "unknown finding 'zzz'; nearest of 21: '"),
        ({"caries": "36"}, "'caries' must be a list of FDI numbers, got \"36\""),
        ({"caries": True}, "'caries' must be a list of FDI numbers, got true"),
        ({"caries": ["36"]}, "'caries' holds \"36\"; write FDI numbers, without quotes"),
        ({"caries": [True]}, "'caries' holds true"),
        ({"caries": [36.0]}, "'caries' holds 36.0"),
        ({"caries": [19]}, "'caries' names 19, which is no permanent tooth"),
        ({"caries": [51]}, "'caries' names 51, which is no permanent tooth"),
        ({"caries": [36, 11, 36]}, "'caries' names 36 twice"),
        ({"abl_maxilla": [11, 36]}, "'abl_maxilla' names 36, which is a tooth of the mandible"),
        ({"abl_mandible": [26]}, "'abl_mandible' names 26, which is a tooth of the maxilla"),
        ({"gcbl_maxilla": 1}, "'gcbl_maxilla' must be true or false, got 1"),
        ({"gcbl_maxilla": {"flag": True}}, "'gcbl_maxilla' must be true or false, got {"),
        ({"sinus_left": "yes"}, "'sinus_left' must be true or false or {\"flag\""),
        ({"sinus_left": {"flag": 1}}, "the 'flag' of 'sinus_left' must be true or false, got 1"),
        ({"sinus_left": {"description": "x"}}, "the 'flag' of 'sinus_left' must be true or false, got null"),
        ({"sinus_left": {"flag": True, "description": 3}}, "the 'description' of 'sinus_left' must be text"),
        ({"sinus_left": {"flag": True, "text": "x"}}, "has an unknown part 'text'"),
        ({"bridge": "25-26-X"}, "'bridge' must be a list of patterns"),
        ({"bridge": [25]}, "'bridge' must be a list of patterns"),
        ({"bridge": ["25-27-26"]}, "'bridge' holds '25-27-26': its teeth are not in the order of the arch"),
        (
            {"bridge": ["14-16"]},
            "'bridge' holds '14-16': teeth 14 and 16 are no neighbours: write X for each",
        ),
        ({"bridge": ["27-28-X"]}, "'bridge' holds '27-28-X': an X of it stands beyond the last tooth"),
        ({"bridge": ["25-26-X", "X-#26-#25"]}, "'bridge' names '25-26-X' twice"),
        ({"bridge": ["24-X-26", "26-X"]}, "'bridge' has 26 in two bridges"),
    ],
)
def test_a_bad_finding_is_refused_by_line(tmp_path: Path, there: dict[str, Any], says: str) -> None:
    message = refusal(write(tmp_path, line("z"), line(findings=findings(**there))))
    assert message.startswith("cases.jsonl line 2: ")
    assert says in message


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"findings": []}, "'findings' must be an object, got []"),
        ({"report": " "}, "'report' is blank"),
        ({"report": ["x"]}, "'report' must be text"),
        ({"auxiliary_note": ""}, "'auxiliary_note' is blank"),
        ({"image": "../a.png"}, "must stay below the folder"),
        ({"erupted": [11, 11]}, "'erupted' names 11 twice"),
        ({"tags": "t"}, "'tags' must be a list of texts"),
        ({"group": 7}, "'group' must be text, got 7"),
        ({"labels": []}, "unknown field 'labels'"),
        ({"accepted_conflicts": "eruption"}, "'accepted_conflicts' must be a list of texts"),
        ({"accepted_conflicts": ["erupton"]}, "unknown rule 'erupton' in 'accepted_conflicts'; did you mean"),
        ({"accepted_conflicts": ["eruption"]}, "names 'eruption', which this case does not break"),
    ],
)
def test_a_bad_field_is_refused_by_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    message = refusal(write(tmp_path, line(**change)))
    assert message.startswith("cases.jsonl line 1: ")
    assert says in message


def test_a_report_left_out_is_refused_and_null_says_that_there_is_none(tmp_path: Path) -> None:
    without = line()
    del without["report"]
    assert "field 'report' is missing" in refusal(write(tmp_path, without))
    assert reference(tmp_path, report=None)["report"] is None


ERUPTED = [tooth for tooth in UNIVERSE if tooth != 18]


@pytest.mark.parametrize(
    ("rule", "there", "erupted", "says"),
    [
        ("missing_tooth", {"missing_teeth": [18, 36], "caries": [11, 36]}, None, "'caries' names 36, which"),
        (
            "missing_tooth", {"missing_teeth": [27], "bridge": ["25-26-27"]}, None,
            "'bridge' names 27, which is in 'missing_teeth': a tooth that is missing has no other finding; "
            "a missing unit of a bridge is X",
        ),
        (
            "missing_tooth", {"missing_teeth": [18], "partially_erupted_or_impacted": [18]}, None,
            "'partially_erupted_or_impacted' names 18",
        ),
        (
            "bridge_unit", {"missing_teeth": [35], "bridge": ["34-X-X-37", "15-14-X"]}, None,
            "'bridge' has X for 36 in '34-X-X-37', which is not in 'missing_teeth': an X between",
        ),
        (
            "eruption", {"partially_erupted_or_impacted": [18, 28]}, ERUPTED,
            "28 is in both 'erupted' and 'partially_erupted_or_impacted': no tooth is both",
        ),
        (
            "description", {"tmj_right": {"flag": False, "description": "flat"}}, None,
            "'tmj_right' is false but described: what is not there is not described",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_unless_the_line_keeps_it(
    tmp_path: Path, rule: str, there: dict[str, Any], erupted: list[int] | None, says: str
) -> None:
    case = line(findings=findings(**there), erupted=erupted)
    message = refusal(write(tmp_path, case))
    assert message.startswith("cases.jsonl line 1: ")
    assert says in message
    assert f'keep it as it is with "accepted_conflicts": ["{rule}"]' in message
    assert check_cases(tmp_path) == [message]
    write(tmp_path, {**case, "accepted_conflicts": [rule]})
    assert check_cases(tmp_path) == []
    kept = load_cases(tmp_path).cases[0].reference
    assert kept["accepted_conflicts"] == [rule]
    stated = kept["findings"]
    assert isinstance(stated, dict)
    assert all(teeth_in(BY_ID[name], stated[name]) for name in there if name != "tmj_right")


def test_each_rule_is_kept_by_its_own_name_only(tmp_path: Path) -> None:
    there = findings(missing_teeth=[36], caries=[36], tmj_left={"flag": False, "description": "x"})
    write(tmp_path, line(findings=there, accepted_conflicts=["description"]))
    assert "'caries' names 36" in refusal(tmp_path)


def test_a_bridge_may_span_teeth_where_nobody_looked_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path, line(findings=findings(missing_teeth=None, bridge=["34-X-36"])))
    assert check_cases(tmp_path) == []


def test_check_lists_every_problem_of_every_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        line("1", findings=findings(caries=[19], abl_maxilla=[36])),
        line("2", image="gone.png"),
        line("3", findings=findings(missing_teeth=[11, 21], caries=[11], artificial_crown=[21])),
    )
    starts = [problem.split(":")[0] for problem in check_cases(tmp_path)]
    assert starts == ["cases.jsonl line 1"] * 2 + ["cases.jsonl line 3"] * 2 + ["case '2'"]


def test_the_example_of_the_documentation_is_sound_and_names_every_rule(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "pandent-cases.md"
    if not page.exists():
        pytest.skip("the documentation is only in a checkout")
    text = page.read_text(encoding="utf-8")
    example = json.loads(text.split("```json\n")[1].split("```")[0])
    write(tmp_path, {**example, "image": "a.png"})
    assert check_cases(tmp_path) == []
    assert set(example["findings"]) == set(BY_ID)
    assert re.findall(r"^\| `(\w+)` \|", text.split("## Rules")[1], re.MULTILINE) == list(RULES)


def test_a_folder_without_cases_is_told(tmp_path: Path) -> None:
    assert check_cases(write(tmp_path)) == ["cases.jsonl holds no cases"]
    assert "there is no folder" in refusal(tmp_path / "none")


def test_a_value_is_compared_as_a_code_and_null_as_nothing() -> None:
    assert answer_code(BY_ID["caries"], [11, 36]) == tooth_code([36, 11])
    assert answer_code(BY_ID["caries"], []) == 0
    assert answer_code(BY_ID["bridge"], ["25-26-X", "35-X-37"]) == tooth_code([25, 26, 35, 37])
    assert answer_code(BY_ID["gcbl_maxilla"], True) == 1
    assert answer_code(BY_ID["sinus_left"], {"flag": True, "description": ""}) == 1
    assert answer_code(BY_ID["sinus_left"], {"flag": False, "description": ""}) == 0
    assert answer_code(BY_ID["caries"], None) is None

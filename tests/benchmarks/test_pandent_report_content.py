"""What clinical reports speak of: our own sentences, other people's, and what a restatement adds."""

from __future__ import annotations

import pytest
from pandent_examples import PRINTED, findings

from harness.benchmarks.pandent.clinical_reports import compose, drawn
from harness.benchmarks.pandent.finding_values import value_of
from harness.benchmarks.pandent.findings import FINDINGS
from harness.benchmarks.pandent.report_content import changes, content, statements
from harness.benchmarks.pandent.templates import JAWS_NORMAL, PAIRS, WORDINGS, Wording

ALL = {finding.id for finding in FINDINGS}
SLOTS = {"{teeth}": "teeth #18 and #28", "{bridge_patterns}": "#25-#26-X", "{description}": "a cloudy spot"}


def composed(seed: str, **there: object) -> str:
    raw = findings(**there)
    return compose({one.id: value_of(one, raw[one.id]) for one in FINDINGS}, drawn(seed))


def sentences(wording: Wording) -> list[str]:
    found = [*wording.positive, *wording.negative, *wording.described]
    for slot, words in SLOTS.items():
        found = [text.replace(slot, words) for text in found]
    return found


def test_each_of_our_sentences_speaks_of_its_finding_alone() -> None:
    for name, wording in WORDINGS.items():
        for text in sentences(wording):
            assert content(text).findings == {name}, text
    for pair, wordings in PAIRS.items():
        for side in ("left", "right"):
            for text in sentences(wordings.one):
                assert content(text.replace("{side}", side)).findings == {f"{pair}_{side}"}, text
        for text in sentences(wordings.both):
            assert content(text).findings == {f"{pair}_left", f"{pair}_right"}, text
    for text in JAWS_NORMAL:
        assert content(text).findings == {"maxillary_abnormality", "mandibular_abnormality"}, text


PARAPHRASES = {
    "missing_teeth": [
        "Teeth 18, 28, 38 and 48 are not present.", "The upper right first molar has been extracted.",
        "Full dentition.", "18: missing", "There is absence of teeth #18 and #28.",
    ],
    "partially_erupted_or_impacted": [
        "Horizontally impacted tooth 48.", "38 is unerupted.", "No impacted teeth.",
    ],
    "caries": ["Occlusal decay on 36.", "Cavities on the lower left second molar.", "Caries: none"],
    "periapical_lesion": ["Radiolucency around the apex of 35.", "Periapical region: normal"],
    "furcation_radiolucency": ["Furcal involvement of 36.", "Interradicular bone is intact."],
    "metallic_restoration": ["Amalgam fillings in 16 and 26.", "Radiopaque metallic restorations on #17."],
    "non_metal_restoration": [
        "Composite fillings on 11, 21.", "Non-metallic restorations are noted.",
        "There are no signs of non-metal restorative work.", "Tooth-colored restorations on #12.",
    ],
    "root_canal_treatment": [
        "Endodontically treated 36.", "RCT done on 36, with gutta-percha.", "Root canal fillings in 11.",
    ],
    "artificial_crown": ["PFM crown on 46.", "Porcelain-fused-to-metal crowns on 14.", "16 is crowned."],
    "bridge": ["A three-unit bridge from 24 to 26.", "No fixed partial dentures.", "Pontic at 36."],
    "non_metal_post_core": ["Fiber post in 11.", "No non-metal post and core structures are identified."],
    "gcbl_maxilla": ["Generalised bone loss in the maxilla.", "Upper alveolar bone levels are normal."],
    "gcbl_mandible": ["Horizontal bone loss of the mandible.", "Crestal bone of the lower arch is reduced."],
    "abl_maxilla": ["No angular or vertical bone loss is detected in the maxilla."],
    "abl_mandible": ["Vertical bone defect mesial to 36 in the mandible.", "Infrabony defect, lower jaw."],
    "maxillary_abnormality": ["The maxilla is unremarkable."],
    "mandibular_abnormality": ["A cyst in the mandible.", "Mandible: osteolytic lesion near 38."],
    "sinus_left": ["Mucosal thickening of the left maxillary sinus."],
    "sinus_right": ["Right antrum clear."],
    "tmj_left": ["The left TMJ is normal."],
    "tmj_right": ["The right condyle is flattened."],
}  # fmt: skip


@pytest.mark.parametrize(("name", "texts"), PARAPHRASES.items())
def test_paraphrases_speak_of_the_finding_and_of_no_other_for_certain(name: str, texts: list[str]) -> None:
    for text in texts:
        assert content(text).findings == {name}, text


def test_there_are_paraphrases_of_every_finding() -> None:
    assert PARAPHRASES.keys() == ALL


@pytest.mark.parametrize(
    "text",
    [
        "This is a panoramic radiograph of an adult.", "I'm sorry, I cannot interpret medical images.",
        "No other abnormalities.", "Post-operative changes.", "The mandibular canal is visible.",
        "The crown of 36 is fractured.", "Implants at 36 and 46.", "", "\n \u2028",
    ],
)  # fmt: skip
def test_what_is_no_finding_of_the_21_counts_as_none(text: str) -> None:
    assert content(text).findings == frozenset()


def test_words_that_fit_several_findings_name_none_and_may_mean_each() -> None:
    found = content("Multiple restorations.")
    assert found.findings == frozenset()
    assert found.possible_findings == {"metallic_restoration", "non_metal_restoration"}
    assert content("Bone loss.").possible_findings == {
        "gcbl_maxilla", "gcbl_mandible", "abl_maxilla", "abl_mandible",
    }  # fmt: skip
    assert content("Both sinuses are clear.").findings == {"sinus_left", "sinus_right"}
    assert content("Generalized crestal bone loss.").findings == {"gcbl_maxilla", "gcbl_mandible"}


@pytest.mark.parametrize(
    ("text", "named", "possible"),
    [
        ("teeth #18, #28, and #38", {18, 28, 38}, set()),
        ("#25-#26-X; #11", {25, 26, 11}, set()),
        ("18,28/38; tooth 41.", {18, 28, 38, 41}, set()),
        ("\uff03\uff11\uff18 and #\u00a036", {18, 36}, set()),
        ("caries at 36.", {36}, set()),
        ("teeth 14\u201317", {14, 17}, {15, 16}),
        ("from #33 to #43", {33, 43}, {31, 32, 41, 42}),
        ("18-48", {18, 48}, set()),
        ("All 32 permanent teeth and 28 teeth; 12 mm, 4.15 mm, 3.18, 15%, 34 years, 18mm", set(), set()),
        ("Taken on 12/11/2024 and 2024-12-11.", set(), set()),
        ("11. Sinuses\n 12) Caries at 36", {36}, set()),
        ("teeth #19, #51 and #9", set(), set()),
        ("the upper right first molar", {16}, set()),
        ("lower third molars", {38, 48}, set()),
        ("all four third molars", {18, 28, 38, 48}, set()),
        ("the third molars", set(), {18, 28, 38, 48}),
        ("the left canine", set(), {23, 33}),
        ("maxillary central incisors and the mandibular left second premolar", {11, 21, 35}, set()),
        ("upper left and lower right second molars", set(), {17, 27, 37, 47}),
        ("lower left molars", set(), {36, 37, 38}),
    ],
)
def test_teeth_that_are_named_and_those_that_may_be_meant(
    text: str, named: set[int], possible: set[int]
) -> None:
    found = content(text)
    assert found.teeth == named
    assert found.possible_teeth == named | possible


def test_statements_end_at_sentences_and_lines_of_every_kind() -> None:
    text = "# Report\r\n- **Caries:** none.\u2028Teeth #18. and 3.5 mm! X\x0bY"
    assert statements(text) == ["# report", "- **caries:** none.", "teeth #18.", "and 3.5 mm!", "x", "y"]


def test_other_words_for_the_same_findings_add_and_drop_nothing() -> None:
    there = PRINTED["figure 4 case 2"]
    first = composed("0", **there)
    assert content(first).findings == ALL
    for seed in range(1, 60):
        found = changes(first, composed(str(seed), **there))
        assert (found.added_findings, found.added_teeth, found.added_statements) == (set(), set(), 0)
        assert (found.dropped_findings, found.dropped_teeth) == (set(), set())


def test_a_full_report_made_of_nearly_nothing_is_all_addition() -> None:
    found = changes("The image shows caries.", composed("1", caries=[36], missing_teeth=[18, 28]))
    assert found.added_findings == ALL - {"caries"}
    assert len(found.added_findings) == 20
    assert found.added_teeth == {18, 28, 36}
    sections = len(statements(composed("1", caries=[36], missing_teeth=[18, 28])))
    assert found.added_statements == sections  # caries too: its tooth is new
    assert (found.findings, found.restated_findings) == (1, 21)


def test_what_is_left_out_is_told_and_what_is_vague_is_not_held_against_anybody() -> None:
    found = changes("Restorations on 16. Left TMJ normal. Wisdom teeth missing.", "Amalgam fillings at #16.")
    assert found.added_findings == set()
    assert found.added_statements == 0
    assert found.dropped_findings == {"tmj_left", "missing_teeth"}
    assert found.dropped_teeth == set()
    other = changes("Caries on 36.", "Decay is apparent at tooth #37.")
    assert (other.added_teeth, other.dropped_teeth, other.added_statements) == ({37}, {36}, 1)
    vague = changes(
        "Amalgam fillings at #16. The third molars are missing.", "Restorations at #16. #18 is missing."
    )
    assert (vague.added_teeth, vague.dropped_teeth) == (set(), set())
    assert (vague.added_findings, vague.dropped_findings) == (set(), set())

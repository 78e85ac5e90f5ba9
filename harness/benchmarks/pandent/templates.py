"""Our own sentences for clinical reports: several a finding and polarity, the first one the plainest.

The paper's 85 templates are not in its text, and these are not theirs: only the sections, their order and
their slots are the paper's (appendix C). `{teeth}` is "tooth #18" or "teeth #18 and #28", `{bridge_patterns}`
"#25-#26-X", `{side}` "left" or "right", `{description}` the annotator's words without a full stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one section; `described` is for what is there and has a description."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    described: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairWording:
    """The sentences of a left and a right side: one of them by itself, and both alike in one sentence."""

    one: Wording
    both: Wording


WORDINGS: Final[Mapping[str, Wording]] = MappingProxyType(
    {
        "missing_teeth": Wording(
            ("The dentition lacks {teeth}.", "Not present in the image: {teeth}.",
             "The count of the dentition shows {teeth} to be missing."),
            ("No permanent tooth is missing.", "All 32 permanent teeth can be counted."),
        ),
        "partially_erupted_or_impacted": Wording(
            ("Eruption is incomplete or blocked at {teeth}.",
             "Impaction or partial eruption is seen at {teeth}."),
            ("Every tooth that is present has erupted.", "No tooth is impacted or only partly erupted."),
        ),
        "caries": Wording(
            ("Carious defects are visible at {teeth}.",
             "Loss of density typical of caries is seen at {teeth}.",
             "Decay is apparent at {teeth}."),
            ("No tooth shows a carious defect.", "The image gives no sign of caries."),
        ),
        "periapical_lesion": Wording(
            ("A lesion at the root tip is seen at {teeth}.", "The apical bone is rarefied at {teeth}.",
             "Periapical disease is suspected at {teeth}."),
            ("The bone at all root tips looks intact.", "No lesion is seen at any root tip."),
        ),
        "furcation_radiolucency": Wording(
            ("The bone between the roots is radiolucent at {teeth}.",
             "The furcation is involved at {teeth}."),
            ("No furcation is involved.", "The bone between the roots is preserved throughout."),
        ),
        "metallic_restoration": Wording(
            ("Fillings of metal density are present at {teeth}.", "Metal restorations are seen at {teeth}."),
            ("There are no fillings of metal.", "No restoration of metal density is seen."),
        ),
        "non_metal_restoration": Wording(
            ("Tooth-coloured fillings are present at {teeth}.",
             "Restorations of less than metal density are seen at {teeth}."),
            ("There are no fillings of other materials.", "No tooth-coloured filling is seen."),
        ),
        "root_canal_treatment": Wording(
            ("The root canals are filled at {teeth}.", "Earlier root-canal treatment is seen at {teeth}."),
            ("No root canal has been filled.", "Nothing points to earlier root-canal treatment."),
        ),
        "artificial_crown": Wording(
            ("Artificial crowns cover {teeth}.", "Single crowns are placed on {teeth}."),
            ("No tooth carries an artificial crown.", "Artificial crowns are not seen."),
        ),
        "bridge": Wording(
            ("A fixed bridge is in place: {bridge_patterns}.",
             "Bridgework is carried by teeth: {bridge_patterns}."),
            ("No fixed bridge is in place.", "There is no bridgework on teeth."),
        ),
        "non_metal_post_core": Wording(
            ("Posts and cores without metal are placed in {teeth}.",
             "Non-metal material anchored in the root is seen in {teeth}."),
            ("No post or core without metal is placed.", "Roots hold no posts of non-metal material."),
        ),
        "gcbl_maxilla": Wording(
            ("The bone crest of the upper jaw is lowered throughout.",
             "Crestal bone is lost along the whole maxilla."),
            ("The bone crest of the upper jaw has its normal height.",
             "Crestal bone is kept along the maxilla."),
        ),
        "gcbl_mandible": Wording(
            ("The bone crest of the lower jaw is lowered throughout.",
             "Crestal bone is lost along the whole mandible."),
            ("The bone crest of the lower jaw has its normal height.",
             "Crestal bone is kept along the mandible."),
        ),
        "abl_maxilla": Wording(
            ("Upper jaw: an angular bone defect lies at {teeth}.",
             "A steep bony pocket in the maxilla is seen at {teeth}."),
            ("Upper jaw: no angular bone defect.", "The maxilla has no steep bony pockets."),
        ),
        "abl_mandible": Wording(
            ("Lower jaw: an angular bone defect lies at {teeth}.",
             "A steep bony pocket in the mandible is seen at {teeth}."),
            ("Lower jaw: no angular bone defect.", "The mandible has no steep bony pockets."),
        ),
        "maxillary_abnormality": Wording(
            ("The bone of the upper jaw looks abnormal.", "The maxilla departs from its normal structure."),
            ("The bone of the upper jaw looks normal.", "The maxilla keeps its normal structure."),
            ("The bone of the upper jaw looks abnormal: {description}.", "Maxilla: {description}."),
        ),
        "mandibular_abnormality": Wording(
            ("The bone of the lower jaw looks abnormal.", "The mandible departs from its normal structure."),
            ("The bone of the lower jaw looks normal.", "The mandible keeps its normal structure."),
            ("The bone of the lower jaw looks abnormal: {description}.", "Mandible: {description}."),
        ),
    }
)  # fmt: skip
"""Finding -> its sentences, for all that is neither left nor right."""

JAWS_NORMAL: Final = (
    "The bone of both jaws looks normal.",
    "Neither jaw departs from its normal structure.",
)
"""What may stand for both jaws where neither is abnormal: table 3 joins them, appendix B does not."""

PAIRS: Final[Mapping[str, PairWording]] = MappingProxyType(
    {
        "sinus": PairWording(
            one=Wording(
                ("The {side} maxillary sinus is not clear.", "The {side} antrum shows a change."),
                ("The {side} maxillary sinus is clear.", "The {side} antrum is well aerated."),
                (
                    "The {side} maxillary sinus is not clear: {description}.",
                    "The {side} antrum: {description}.",
                ),
            ),
            both=Wording(
                ("Neither maxillary sinus is clear.", "Both antra show a change."),
                ("The maxillary sinuses are clear on both sides.", "Both antra are well aerated."),
                ("Neither maxillary sinus is clear: {description}.", "Both antra: {description}."),
            ),
        ),
        "tmj": PairWording(
            one=Wording(
                ("The {side} jaw joint looks abnormal.", "The {side} condyle departs from its normal form."),
                ("The {side} jaw joint looks normal.", "The {side} condyle keeps its normal form."),
                ("The {side} jaw joint looks abnormal: {description}.", "The {side} condyle: {description}."),
            ),
            both=Wording(
                ("Both jaw joints look abnormal.", "Both condyles depart from their normal form."),
                ("Both jaw joints look normal.", "Both condyles keep their normal form."),
                ("Both jaw joints look abnormal: {description}.", "Both condyles: {description}."),
            ),
        ),
    }
)
"""`sinus` and `tmj`: findings of a left and a right side, whose ids end in `_left` and `_right`."""

NOTES: Final = ("Further note: {description}.", "In addition: {description}.")
"""What the auxiliary note becomes, at the end."""

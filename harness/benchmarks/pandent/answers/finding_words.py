"""The words by which answers name each finding, and which of them say enough.

`affirmed`: what a sentence must name to affirm the finding, as alternatives of word groups that must all be
there. `denied`: the same for a denial. It may be broader: no restoration at all is no metallic restoration;
a restoration is not surely metallic. Words of other findings make an answer unreadable: what they say is
not surely about this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

Alternatives: TypeAlias = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Naming:
    """What an answer about a finding must say, and what else it may speak of.

    `normal`: groups that deny the finding when they are called normal ("periapical regions are normal").
    `aside`: groups that are no other finding here, and `narrower`
    the ones that deny less than it ("no composite filling"). `near`: whether it may lie next to its tooth.
    """

    affirmed: Alternatives
    denied: Alternatives
    normal: Alternatives = ()
    aside: frozenset[str] = frozenset()
    narrower: frozenset[str] = frozenset()
    near: bool = False

    @property
    def groups(self) -> frozenset[str]:
        """Every group of words that may stand in an answer about the finding."""
        return frozenset().union(*self.affirmed, *self.denied, *self.normal, self.aside)


def _either(*alternatives: str) -> Alternatives:
    return tuple(frozenset(alternative.split()) for alternative in alternatives)


_METALS = frozenset({"metal", "nonmetal"})
_FURCATION = _either(
    "furcation lesion", "furcation abnormal", "furcation boneloss", "furcation involvement"
)
_BONE_LOSS = Naming(
    _either("generalized boneloss"),
    _either("boneloss"),
    _either("bonelevel"),
    frozenset({"localized", "crestal", "perio"}),
    frozenset({"perio"}),
)
_ANGULAR = Naming(
    _either("angular boneloss", "infrabony"), _either("boneloss", "infrabony"), (),
    frozenset({"localized", "lesion"}), near=True,
)  # fmt: skip
_JAW = Naming(
    _either("region abnormal", "region change", "region lesion"), _either("abnormal"), _either("region"),
    frozenset({"osteo"}), frozenset({"osteo"}),
)  # fmt: skip
_SINUS = Naming(
    _either("sinus abnormal", "sinus change", "sinus lesion"), _either("abnormal"), _either("sinus")
)
_JOINT = Naming(
    _either("joint abnormal", "joint change", "joint lesion"), _either("abnormal"), _either("joint")
)

NAMINGS: Final[Mapping[str, Naming]] = MappingProxyType(
    {
        "missing_teeth": Naming(_either("missing"), _either("missing")),
        "partially_erupted_or_impacted": Naming(
            _either("impacted", "partial"), _either("impacted partial"), (), frozenset()
        ),
        "caries": Naming(_either("caries"), _either("caries"), (), frozenset({"lesion", "abnormal"})),
        "periapical_lesion": Naming(
            _either("apical lesion", "apical abnormal", "apical change", "apical perio"),
            _either("apical lesion", "apical abnormal"), _either("apical"),
            frozenset({"change", "perio"}), frozenset({"change", "perio"}), near=True,
        ),
        "furcation_radiolucency": Naming(
            _FURCATION, _FURCATION, _either("furcation"),
            frozenset({"change"}), frozenset({"change"}), near=True,
        ),
        "metallic_restoration": Naming(
            _either("amalgam", "metal restoration"), _either("amalgam", "restoration")
        ),
        "non_metal_restoration": Naming(
            _either("nonmetal restoration", "composite"), _either("nonmetal restoration", "restoration"),
            (), frozenset({"composite"}), frozenset({"composite"}),
        ),
        "root_canal_treatment": Naming(_either("rootcanal"), _either("rootcanal"), (), frozenset({"canals"})),
        "artificial_crown": Naming(
            _either("crown"), _either("crown"), (), _METALS | {"restoration"}, _METALS
        ),
        "bridge": Naming(_either("bridge"), _either("bridge"), (), _METALS, _METALS),
        "non_metal_post_core": Naming(
            _either("nonmetal post", "nonmetal fiberpost", "fiberpost"), _either("post"), (),
            frozenset({"restoration"}), frozenset({"fiberpost"}),
        ),
        "gcbl_maxilla": _BONE_LOSS,
        "gcbl_mandible": _BONE_LOSS,
        "abl_maxilla": _ANGULAR,
        "abl_mandible": _ANGULAR,
        "maxillary_abnormality": _JAW,
        "mandibular_abnormality": _JAW,
        "sinus_left": _SINUS,
        "sinus_right": _SINUS,
        "tmj_left": _JOINT,
        "tmj_right": _JOINT,
    }
)  # fmt: skip
"""Finding id -> how answers name it."""

GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing": "missing|absence|absence of|absent|extracted|edentulous|edentulism|lost teeth|agenesis|"
        "lacks|lacking",
        "partial": "partially erupted|partly erupted|partial eruption|incomplete eruption|"
        "incompletely erupted|semi erupted",
        "impacted": "impacted|impaction|impactions",
        "caries": "caries|carious|tooth decay|dental decay|decay|decayed|cavity|cavities|cavitation",
        "apical": "periapical|periapically|apical|apically|apex|apices|root apex|root apices|root tip|"
        "root tips|periradicular",
        "furcation": "furcation|furcations|furcal|interradicular|inter radicular|bifurcation|trifurcation",
        "involvement": "involvement|involved|defect|defects",
        "metal": "metal|metallic|metal based",
        "amalgam": "amalgam|amalgams",
        "nonmetal": "non metal|non metallic|nonmetal|nonmetallic|metal free|tooth colored|tooth coloured",
        "composite": "composite|composites|resin|composite resin|resin composite",
        "restoration": "restoration|restorations|restorative|filling|fillings",
        "rootcanal": "root canal treatment|root canal treatments|root canal therapy|root canal filling|"
        "root canal fillings|root canal treated|root canal filled|root canal obturation|"
        "root canal filling material|root canal filling materials|rct|endodontic|endodontically treated|"
        "endodontically|endodontic filling|endodontic fillings|endodontic filling material|root filling|"
        "root fillings|root filled|obturated|obturation|gutta percha|root canal obturation material|"
        "root canals are filled|root canal has been filled|root canal is filled|root filling material",
        "canals": "root canal|root canals|canal|canals",
        "crown": "crown|crowns|crowned|artificial crown of|artificial crowns of",
        "bridge": "bridge|bridges|bridgework|fixed partial denture|fixed partial dentures",
        "fiberpost": "fiber post|fiber posts|fibre post|fibre posts|glass fiber post|glass fiber posts",
        "post": "post|posts|core|cores|post core",
        "generalized": "generalized|generalised|widespread|diffuse|diffusely",
        "localized": "localized|localised|focal|isolated",
        "boneloss": "bone loss|alveolar bone loss|crestal bone loss|alveolar bone resorption|"
        "crestal bone resorption|bone resorption|bone defect|bone defects|bony defect|bony defects|"
        "bone destruction|crestal loss|loss of crestal bone|loss of alveolar bone|loss of bone|"
        "crestal resorption|alveolar resorption",
        "bonelevel": "alveolar crest|alveolar crests|alveolar crest level|alveolar crest levels|bone level|"
        "alveolar bone level|alveolar bone levels|crestal bone level|crestal bone levels|"
        "alveolar bone height|alveolar bone heights|crestal bone height|bone levels|bone height|"
        "bone heights|crestal bone|alveolar bone|bone crest",
        "crestal": "crestal|crestal alveolar|horizontal|alveolar|marginal|periodontal",
        "angular": "angular|vertical",
        "infrabony": "infrabony|intrabony",
        "lesion": "lesion|lesions|radiolucency|radiolucencies|radiolucent|radiolucent area|"
        "radiolucent areas",
        "abnormal": "abnormality|abnormalities|abnormal|pathology|pathologies|pathologic|pathological|"
        "pathosis|disease|change|changes|remarkable findings|remarkable finding",
        "change": "abscess|granuloma|opacification|opacity|opacities|opacified|thickening|haziness|"
        "radiopacity|radiopacities|cyst|cysts|cystic|mass|masses|flattening|flattened|erosion|erosions|"
        "osteophyte|osteophytes|sclerosis|sclerotic|deformity|irregularity|irregularities|irregular|"
        "expansion|fracture|fractures|polyp|rarefaction|demineralization|degenerative|fluid level|"
        "asymmetry|widening",
        "perio": "periodontitis|chronic periodontitis|periodontal disease",
        "osteo": "osteolytic|osteoblastic",
        "sinus": "maxillary sinus|maxillary sinuses|sinus|sinuses|antrum|antra|maxillary antrum|"
        "maxillary antra",
        "joint": "temporomandibular joint|temporomandibular joints|tmj|tmjs|condyle|condyles|condylar|"
        "mandibular condyle|mandibular condyles",
        "elsewhere": "implant|implants|denture|dentures|calculus|root fragment|root remnant|root remnants|"
        "retained root|residual root|residual roots|veneer|veneers|erupted|unerupted|supernumerary|"
        "crown of|crowns of|crown of the|crowns of the",
    }
)
"""Group -> its words and phrases, separated by bars. `elsewhere`: of none of the 21 findings."""

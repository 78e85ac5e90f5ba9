"""The words that may stand in an answer, and what each does there; any other word ends the reading.

Kinds. `link`: binds and says nothing; `done`: the same, and a sentence may end with it; `sign`: evidence,
which is there or not; `seen`: says that something is there; `noun`: what may be denied without denying
less; `detail`, `only`: says more of what is there, and would deny less; `picture`: the image; `sure`,
`unsure`: how certain; `some`, `open`, `all`, `count`: how many; `near`, `between`: beside a tooth; `neg`,
`normal`, `region`, `name`: what an answer turns on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from harness.benchmarks.pandent.answers.finding_words import GROUPS

_WORDS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("link", ""): "the|a|an|is|are|was|were|be|been|has|have|had|having|there|there's|it|its|in|on|of|"
        "at|for|with|within|by|as|this|these|that|which|shows|show|showing|shown on|exhibits|exhibit|"
        "exhibiting|demonstrates|demonstrate|demonstrating|displays|display|reveals|reveal|revealing|"
        "presents|present with|presents with|indicates|indicating|suggests|contains|contain|containing|"
        "appears|appear|appearing|to be|related to|associated with|involving|involves|involve|affecting|"
        "affects|affect|located|i see|consisting of|spanning|undergone|have undergone|has undergone|"
        "restored with|treated with|covered with|any|any of|respectively|do|does|carries|carry|namely|"
        "specifically|in the area of|in the region of|also|over|covering|cover|covers|looks|look|lies|lie|"
        "gives|carried by|along|throughout|across",
        ("done", ""): "affected|involved|positive",
        ("seen", ""): "present|evident|visible|seen|can be seen|can be identified|can be observed|"
        "can be detected|in place|noted|observed|detected|identified|apparent|found|appreciable|"
        "appreciated|demonstrated|depicted|recognized|recognised|discernible|detectable|identifiable|"
        "visualized|visualised|exist|exists|placed|recorded|noticed|documented|present on",
        ("sign", ""): "evidence|sign|signs|indication|indications|finding|findings|feature|features|"
        "obvious|definite|definitive|significant|radiographic|radiographically|radiologic|radiological|"
        "clear evidence|clear sign|clear signs",
        ("noun", ""): "dental|permanent|region|regions|area|areas|tissue|tissues|structure|structures|"
        "structural|material|materials|prosthesis|prostheses|prosthetic|artificial|work|treatment|therapy|"
        "bone|prior|previous|existing|earlier|loss|involvement|lucency|supported|tooth supported|fixed|"
        "appearance|status|defect|defects|condition|pattern|patterns|cases|teeth's|site|sites",
        ("detail", ""): "mild to moderate|moderate to severe|mild to severe|slight to moderate|"
        "early to moderate|moderate to advanced|root|roots|mild|moderate|severe|slight|slightly|advanced|"
        "early|initial|incipient|deep|extensive|large|small|shallow|gross|marked|minor|minimal|mildly|"
        "moderately|severely|clearly|clear|well|poorly|defined|ill|mesial|distal|occlusal|buccal|lingual|"
        "palatal|proximal|interproximal|approximal|cervical|coronal|incisal|surface|surfaces|aspect|"
        "aspects|mesially|distally|recurrent|secondary|new|untreated|destruction|approaching the pulp|"
        "extending to the pulp|extending into the pulp|extending into dentin|radiopaque|radiodense|"
        "high density|density|dense|chronic|acute|dentin|dentine|enamel|pulp|pulpal|cortical|lamina dura|"
        "ceramic|porcelain|zirconia|fiber|fibre|gold|full|full coverage|coverage|complete|bilateral|"
        "bilaterally|mesioangular|distoangular|horizontally|vertically|mucosal|mucosa|soft tissue|floor|"
        "wall|head|surrounding bone|throughout the arch|fused to|single|cast|retreated|adequate|inadequate|"
        "short|overfilled|beyond|pontic|abutment|abutments|intraradicular|pulp chamber|chamber|subtle|"
        "definitely|evidently|obviously|visibly|especially|primarily|partially|partly|completely|fully|"
        "soft|bony|one third|wide|broad|intense|bright|opaque",
        ("only", ""): "only",
        ("picture", ""): "from this image|from the image|from this radiograph|from the provided image|"
        "provided image|provided radiograph|provided panoramic radiograph|provided opg|image|images|"
        "radiograph|radiographs|panoramic|panoramic radiograph|panoramic image|opg|orthopantomogram|x ray|"
        "x rays|xray|film|scan|view|picture",
        ("sure", "suspect"): "suspicious|suspicious for|suspicious of|suggestive|suggestive of|suspected|"
        "consistent with|indicative of|compatible with|suggesting|representing|represents",
        ("sure", "perhaps"): "possible|possibly|probable|probably|likely|presumed|potential",
        ("unsure", ""): "cannot|can't|can not|could|couldn't|may|might|would|should|unable|unclear|"
        "uncertain|indeterminate|insufficient|inconclusive|undetermined|limited|provided|upload|uploaded|"
        "sorry|difficult|impossible|rule out|ruled out|exclude|excluded|if|unless|unknown|equivocal|"
        "questionable|doubtful|assessable|evaluable|interpretable|apologize|assist|determine|determined|"
        "confirm|confirmed|needed|needs|need|requires|require|recommended|indicated|planned",
        ("all", ""): "all|every|each|entire|whole",
        ("open", ""): "most|majority|half|other|others|another|remaining|rest|elsewhere|etc|et cetera|more|"
        "further|additional|including|include|includes|such as|like|at least|among|among others|mainly|"
        "mostly|chiefly|several others|similar",
        ("except", ""): "except|except for|excepting|apart from|besides|other than|aside from|save for|"
        "excluding|with the exception of|exception",
        ("some", ""): "multiple|several|numerous|various|many|some|few|a few|different|certain",
        ("count", "1"): "one",
        ("count", "2"): "two",
        ("count", "3"): "three",
        ("count", "4"): "four",
        ("count", "5"): "five",
        ("count", "6"): "six",
        ("count", "7"): "seven",
        ("count", "8"): "eight",
        ("count", "9"): "nine",
        ("count", "10"): "ten",
        ("near", ""): "near|around|adjacent to|next to|close to|surrounding|mesial to|distal to",
        ("between", ""): "between|opposite|above|below|beneath|under|anterior to|posterior to|behind|"
        "opposing|neighbouring|neighboring|adjacent|beside",
        ("neg", "no"): "no",
        ("neg", "not"): "not|isn't|aren't|doesn't|don't|wasn't|weren't|hasn't|haven't|fails to|fail to",
        ("neg", "none"): "none|nil|none of|neither|neither of|negative|negative for|not a single",
        ("neg", "free"): "without|free of|free from|devoid of|absence of|absence|absent|lack of|lacks|"
        "lacking|lack",
        ("neg", "nor"): "nor",
        ("normal", ""): "normal|well aerated|well preserved|well maintained|unremarkable|intact|healthy|"
        "within normal limits|within the normal range|wnl|preserved|maintained|radiographically clear|"
        "normal limits|aerated",
        ("region", "maxilla"): "maxilla|upper jaw|upper arch|maxillary arch|maxillary|upper|"
        "maxillary dentition|maxillary jaw|upper teeth|maxillary teeth",
        ("region", "mandible"): "mandible|lower jaw|lower arch|mandibular arch|mandibular|lower|"
        "mandibular dentition|mandibular jaw|lower teeth|mandibular teeth",
        ("region", "maxilla mandible"): "both jaws|both arches|both dental arches|either jaw|either arch|"
        "the jaws|jaws|both the maxilla and mandible|both the maxilla and the mandible",
        ("region", "left"): "left",
        ("region", "right"): "right",
        ("region", "left right"): "both sides|either side|left and right|right and left|"
        "both left and right|both right and left",
        ("both", ""): "both|either",
        ("side", ""): "side|sides|quadrant|quadrants|arch|jaw|hand side",
        ("ordinal", "1"): "first|1st",
        ("ordinal", "2"): "second|2nd",
        ("ordinal", "3"): "third|3rd",
        ("ordinal", "central"): "central",
        ("ordinal", "lateral"): "lateral",
        ("kind", "incisor"): "incisor|incisors",
        ("kind", "canine"): "canine|canines|cuspid|cuspids",
        ("kind", "premolar"): "premolar|premolars|bicuspid|bicuspids",
        ("kind", "molar"): "molar|molars",
        ("kind", "wisdom"): "wisdom tooth|wisdom teeth",
        ("kind", "anterior"): "anterior|anterior teeth|anterior tooth|front",
        ("kind", "posterior"): "posterior|posterior teeth|posterior tooth|back",
        ("tooth", ""): "tooth|teeth|dentition|following teeth|following tooth",
        ("numeral", ""): "number|numbers|numbered",
        ("fdi", ""): "fdi|fdi notation|fdi numbering|fdi system|fdi numbering system",
        ("to", ""): "to|through|thru|up to",
        ("from", ""): "from",
        ("and", ""): "and|as well as|and also|plus|together with|along with",
        ("or", ""): "or",
        ("but", ""): "but|however|while|whereas|although|though|yet|whilst",
        ("yes", ""): "yes",
        ("label", ""): "answer|final answer|response|diagnosis|diagnostic sentence|impression|result|"
        "conclusion|report|assessment|output|sentence|diagnostic impression|radiographic findings|"
        "radiographic finding",
    }
)
PHRASE_WORDS: Final = 8
"""Most words of a phrase."""


Lexicon: TypeAlias = Mapping[tuple[str, ...], tuple[str, str]]
"""Phrase -> its kind, and what it says."""


def lexicon(own: frozenset[str], normal: frozenset[str] = frozenset()) -> Lexicon:
    """Return phrase -> kind and what it says, in an answer about the finding whose groups are `own`.

    Words of its groups name it whatever they mean elsewhere: "absent" names a missing tooth, and denies
    caries. `normal`: words that say normal only there.
    """
    meanings = dict(_phrases(GROUPS, own=None))
    for meaning, phrases in _WORDS.items():
        meanings.update((tuple(phrase.split()), meaning) for phrase in phrases.split("|"))
    meanings.update(_phrases(GROUPS, own))
    meanings.update(((word,), ("normal", "")) for word in normal)
    return MappingProxyType(meanings)


def _phrases(
    groups: Mapping[str, str], own: frozenset[str] | None
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    for group, phrases in groups.items():
        if own is None or group in own:
            yield from ((tuple(phrase.split()), ("name", group)) for phrase in phrases.split("|"))

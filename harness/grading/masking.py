"""Names of models and their makers, hidden in what models wrote: a grader must not know whose answer it is.

Hidden, as `[name hidden]`: the names of the run's own models and endpoints (`names_of`), and the families
and makers of all models that people benchmark (`_WORDS`, `_NUMBERED`, `_HAN`), with the version that
follows. Whole words only, in any case, between Latin letters and digits: "Gemini模型" is hidden, "trigemini",
"bigeminy" and "claudication" are not. A name is found whatever stands in it that is not seen, and with
accents or letters of full width. Only candidates' texts are masked; a history or a reference stands as it is.

Some names are clinical words too, and a hidden finding would be graded wrongly. So these are hidden only in
forms that can only be the model:

- GPT is an old name of alanine transaminase: "GPT-4o", "GPT-5.5" and "GPT model" are hidden, "GPT 45 U/L" and
  "GOT/GPT" are not.
- Claude: not in Claude's syndrome, nor in Claude Bernard-Horner syndrome.
- o1, o3, o4: with their maker, with a suffix ("o3-mini"), or in lower case in a run that asks that model.
  "O3" is ozone.
- Llama, Gemma, Grok, Kimi, Cohere: capitalised, or with a number; "llama" is an animal whose antibodies are
  drugs. Opus, Sonnet, Haiku, Phi, GLM, Mistral, Meta: with a number or what else makes them a model.
- Scout, Flash, Turbo, Vision, Pro: behind a family's name alone. A scout view and a FLASH sequence are not.

A name of the run that is one plain word ("steady", "judge"), or shorter than four letters and digits ("m1"),
is hidden only as part of a longer one ("sim/steady"): it may stand in any text. What no list can hide is left
to the instructions of graders: a style, a name in fragments, another script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from harness.benchmarks.sheets import Sheet
from harness.benchmarks.steps import SOURCE, source_of
from harness.catalogue import read_catalogue
from harness.offline.stored_run import StoredRun

HIDDEN: Final = "[name hidden]"

_LETTER: Final = "0-9A-Za-z\u00c0-\u024f"
_JOIN: Final = "[-_ \u00a0\u2010\u2011\u2012\u2013]"
_END: Final = f"(?![{_LETTER}])"
_VERSION: Final = (
    rf"(?i:{_JOIN}?[vrk]?\d++(?:[._]\d++)*+[a-z]{{0,2}}+{_END}"
    rf"|{_JOIN}(?:pro|flash|ultra|opus|sonnet|haiku|scout|maverick|vl|turbo|lite){_END}"
    rf"|[-_](?:[a-z]\d+b|v|nano|mini|max|plus|large|medium|small|vision|thinking|preview|instruct|chat|exp|it|"
    rf"latest|nemo|onevision|next|med|coder|distill|hf|ov|base){_END}"
    rf"|(?-i:[ \u00a0](?:Nano|Mini|Max|Plus|Large|Medium|Small|Vision|Thinking|Preview|Instruct|Chat)){_END}"
    r"){0,8}"
)
"""What may follow a family's name: numbers, and the words that name its members.

Not possessive as a whole, nor is `_SUFFIX`: Python 3.11.2 takes a character too many by repeated possessive
groups.
"""

_WORDS: Final = (
    r"(?i:chat[-_ ]?gpt|huatuogpt|oralgpt|medgpt|gemini|med-?gemma|q-?wen|qwq|qvq|"
    r"intern[-_ ]?(?:vl|lm)|llava|lingshu|deep[-_ ]?seek|chatglm|cogvlm|ernie(?:[-_ ]?bot|(?=[-_ ]?\d))|"
    r"doubao|hunyuan|baichuan|sensenova|yi-vl|"
    r"mixtral|pixtral|ministral|magistral|codestral|minicpm|chexagent|pulsemind|hulu-?med|mimo-vl|mvl-rrg|med-?palm|"
    r"claude(?<!syndrome of claude)(?<!syndrome de claude)(?<!bernard-claude)"
    r"(?!['\u2019]?s?[- ](?:syndrome|bernard|sign|disease))(?!\s*(?:综合|症候)))",
    r"(?:Llama|LLaMA|LLAMA|Gemma|Grok|Kimi|PaLM|MiniMax)",
)
"""Families that stand for themselves."""

_NUMBERED: Final = (
    r"(?i:gpt[-_\u2010\u2011\u2013]?[3-5](?!\d)[ov]?(?:\.\d+)?)",
    r"(?i:gpt[ \u00a0](?:4o|4v)|gpt-oss|gpt(?=[ -](?:models?|series|based)\b))",
    rf"(?i:(?:llama|gemma|grok|kimi|nova){_JOIN}?k?\d|nova[- ](?:pro|lite|micro|premier))",
    rf"(?i:(?:opus|sonnet|haiku){_JOIN}?[3-9](?:\.\d)?)",
    rf"(?:(?:[Pp]hi-|Phi )\d|(?i:(?:glm|maira){_JOIN}?\d(?:\.\d)?v?))",
    rf"(?i:mistral{_JOIN}(?:ai|large|medium|small|nemo|\d+b)|mistral-7b)",
    r"(?i:command-[ar](?:-vision|-plus)?|libra-v\d(?:\.\d)?)",
    r"(?i:o[134]-(?:mini|pro|preview|high|low|medium|deep-research|20\d\d))",
)
"""Families whose names are words too: with what makes them a model's."""

_MAKERS: Final = (
    r"(?i:open[-_ ]?ai|anthropic|google(?: deepmind)?|deepmind|opengvlab|alibaba(?: cloud)?|"
    r"tongyi(?: qianwen)?|qianwen|dashscope|moonshot ?ai|mistral ?ai|meta-llama|meta ai|zhipu(?: ?ai)?|"
    r"zai-org|openbmb|openrouter|xiaomimimo|stanfordaimi|freedomintelligence|microsoft|bytedance|tencent|baidu|"
    r"iflytek|sensetime|stepfun|huawei|amazon (?:nova|bedrock))",
    r"(?:xAI|Cohere|Mistral|Moonshot)",
)
_HAN: Final = (
    "(?:通[义義]千[问問]|通[义義]|千[问問]|深度求索|谷歌|阿里[云雲]|阿里巴巴|[书書]生(?:[·・]?)(?:[万萬]象|浦[语語])|智[谱譜](?:清言)?|月之暗面|"
    "文心一言|豆包|[讯訊][飞飛](?:星火)?|[腾騰][讯訊](?:混元)?|字[节節]跳[动動]|[华華][为為]|商[汤湯]|日日新|阶跃星辰|零一万物|"
    "(?:文心|星火|混元|百川|盘古)(?=大?模型|AI|智能|助手)|百度(?=公司|文心|千帆|AI|开发|研发|训练)|克[劳勞]德(?!\\s*(?:综合|症候)))"
)
_PLAIN: Final = re.compile(r"[A-Za-z]+")
_SHORT_MODEL: Final = re.compile(r"o[134]")
_SUFFIX: Final = r"(?:[-_:@][A-Za-z0-9]++|\.\d[A-Za-z0-9]*+){0,4}"
"""What a provider may append to the name of a model that it serves: a date, a variant."""
_LEAST: Final = 4
_MINUS: Final = "\u2212"
_ENZYME: Final = re.compile(r"(?i)gpt[-_ ]?\d")
_NO_BLANK: Final = "[-_\u2010\u2011\u2012\u2013]?"
"""Joints of names that would be an enzyme's activity with a blank."""


class Mask:
    """Hides `names`, and the names of all families and makers that are known, in texts."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        wanted = sorted(set(names), key=lambda name: (-len(name), name))
        own = [pattern for name in wanted if (pattern := _pattern_of(name)) is not None]
        families = "|".join((*_WORDS, *_NUMBERED))
        makers = "|".join(_MAKERS)
        parts = [
            *(one + _SUFFIX for one in own),
            rf"(?:{families}){_VERSION}",
            r"(?i:openai(?:['\u2019]s)?[ /:-]o[134](?:-\w+)?)",
            makers,
        ]
        latin = "|".join(parts)
        self._pattern = re.compile(rf"(?<![{_LETTER}])(?:{latin}){_END}|{_HAN}")

    def masked(self, text: str) -> tuple[str, int]:
        """Return a text with its names hidden, and how many were."""
        if text.isascii():
            return self._pattern.subn(HIDDEN, text)
        pieces, at = [], 0
        plain, places = _plain(text)
        for match in self._pattern.finditer(plain):
            pieces += [text[at : places[match.start()]], HIDDEN]
            at = max(places[match.end()], places[match.end() - 1] + 1)
        # Once more as it stands: what is not seen may be all that parts a name from the word before.
        found, hidden = self._pattern.subn(HIDDEN, "".join([*pieces, text[at:]]))
        return found, hidden + len(pieces) // 2

    def sheet(self, sheet: Sheet) -> tuple[Sheet, int]:
        """Return a sheet with the names in its candidates hidden, and how many were."""
        hidden = 0
        parts, subjects = [], {}
        for part in sheet.parts:
            text, found = self.masked(part.text) if part.kind == "candidate" else (part.text, 0)
            parts.append(replace(part, text=text))
            hidden += found
        for name, subject in sheet.subjects.items():
            subjects[name], found = self.masked(subject)
            hidden += found
        return replace(sheet, parts=tuple(parts), subjects=subjects), hidden


def _plain(text: str) -> tuple[str, list[int]]:
    """Return a text in plain letters, and the place in the text of each of its characters and of its end."""
    plain, places = [], []
    for place, char in enumerate(text):
        for one in char if char.isascii() else _plain_letter(char):
            plain.append(one)
            places.append(place)
    return "".join(plain), [*places, len(text)]


@cache
def _plain_letter(char: str) -> str:
    """Return a character as it is read: without accents, of usual width; "" for what is not seen."""
    if unicodedata.category(char) in {"Cf", "Mn", "Me"}:
        return ""
    if char == _MINUS:
        return "-"
    letter, *accents = list(unicodedata.normalize("NFKD", char))
    if letter.isascii() and letter.isalpha() and all(unicodedata.category(one) == "Mn" for one in accents):
        return letter
    return unicodedata.normalize("NFKC", char)


def names_of(stored: StoredRun, served: Iterable[str] = ()) -> frozenset[str]:
    """Return every name of a run's models that may tell who answered.

    The names in the run, those of their weights at the provider and of the same weights in the catalogue,
    endpoints, and, of a step, the models whose answers it was shown; of "maker/model" each part too.
    `served`: what providers said they served.
    """
    manifest = stored.manifest
    found = {*manifest.models, *served}
    for model in manifest.models.values():
        found |= {model.model, model.endpoint, *([model.reformatter] if model.reformatter else [])}
    if manifest.step is not None:
        cases = map(stored.case_index.case, stored.case_index)
        found |= {source_of(case).model for case in cases if SOURCE in case.reference}
    ids = _catalogue_ids()
    found |= {ids[name] for name in found if name in ids}
    found |= {name for name, id in ids.items() if id in found}
    return frozenset(found | {part for name in found if "/" in name for part in name.split("/")})


@cache
def _catalogue_ids() -> Mapping[str, str]:
    """Return the catalogue's name of each model -> the name of its weights at the provider."""
    return {name: str(entry.table.get("model", name)) for name, entry in read_catalogue().models.items()}


def _pattern_of(name: str) -> str | None:
    """Return what finds a name of the run, with any joints between its words; None: it may be any word."""
    name = name.strip()
    if _SHORT_MODEL.fullmatch(name):
        return re.escape(name)
    if _PLAIN.fullmatch(name) or sum(char.isalnum() for char in name) < _LEAST:
        return None
    joint = _NO_BLANK if _ENZYME.match(name) else f"{_JOIN}?"
    joints = {"-": joint, "_": joint, " ": joint, ".": "[._-]"}
    return "(?i:" + "".join(joints.get(char, re.escape(char)) for char in name) + ")"

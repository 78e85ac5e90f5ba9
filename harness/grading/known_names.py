# ruff: noqa: RUF001
"""Names of the models that people benchmark and of their makers, as patterns: families, makers, phrases.

Latin names are for views of a text in plain letters (`harness.grading.letters`). What stands for itself is
hidden wherever it is a whole word; a name that is a word too, with what makes it a model's, or in a phrase in
which somebody says who they are.
"""

from __future__ import annotations

import re
from typing import Final

LETTER: Final = "0-9A-Za-z\u00c0-\u024f"
JOIN: Final = "[-_ \u00a0\u202f\u2010\u2011\u2012\u2013]"
END: Final = f"(?![{LETTER}])"
BEGIN: Final = f"(?<![{LETTER}])"

VERSION: Final = (
    rf"(?i:(?:{JOIN}?[vrk]?|[ ]?(?:version|ver\.?)[ ]?)\d++(?:[._]\d++){{0,4}}[a-z]{{0,2}}+{END}"
    rf"|{JOIN}(?:pro|flash|ultra|opus|sonnet|haiku|scout|maverick|vl|turbo|lite){END}"
    rf"|[-_](?:[a-z]\d+b|v|nano|mini|max|plus|large|medium|small|vision|thinking|preview|instruct|chat|exp|it|"
    rf"latest|nemo|onevision|next|med|coder|distill|hf|ov|base){END}"
    rf"|(?-i:[ \u00a0](?:Nano|Mini|Max|Plus|Large|Medium|Small|Vision|Thinking|Preview|Instruct|Chat)){END}"
    r"){0,8}"
)
"""What may follow a family's name: numbers, and the words that name its members.

Groups here are not repeated possessively: Python before 3.11.5 takes a character too many by such patterns.
"""

WORDS: Final = (
    r"(?i:chat[-_ ]?gpt|gemini|med-?gemma|pali-?gemma|q-?wen|qwq|qvq|"
    r"intern[-_ ]?(?:vl|lm)|(?:med-)?llava|lingshu|deep[-_ ]?seek|chatglm|cogvlm|"
    r"ernie(?:[-_ ]?bot|(?=[-_ ]?\d))|"
    r"doubao|hunyuan|baichuan|sensenova|yi-vl|mixtral|pixtral|ministral|magistral|codestral|minicpm|chexagent|"
    r"pulsemind|hulu-?med|mimo-vl|mvl-rrg|med-?palm|med-?flamingo|nemotron|instructblip|smolvlm|radfm|"
    r"[a-z]{0,12}(?:huatuo|oral|med|biomed|mini|xray|skin|dental|rad|path)gpt|claude)",
    r"(?:L[Ll]a[Mm][aA]|LLAMA|Gemma|Grok|Kimi|PaLM|MiniMax)",
)
"""Families that stand for themselves."""

NUMBERED: Final = (
    r"(?i:gpt[-_\u2010\u2011\u2013]?[3-5](?!\d)[ov]?(?:\.\d+)?)",
    r"(?i:gpt[ \u00a0](?:-[ \u00a0])?(?:4o|4v)|gpt-oss|gpt(?=[ -](?:models?|series|based)\b))",
    rf"(?i:(?:llama|gemma|grok|kimi|nova){JOIN}?k?\d|nova[- ](?:pro|lite|micro|premier))",
    rf"(?i:(?:opus|sonnet|haiku){JOIN}?[3-9](?:\.\d)?|[3-9](?:\.\d)?{JOIN}(?:opus|sonnet|haiku))",
    rf"(?:(?:[Pp]hi-|Phi )\d|(?i:(?:glm|maira){JOIN}?\d(?:\.\d)?v?))",
    rf"(?i:mistral{JOIN}(?:ai|large|medium|small|nemo|\d+b)|mistral-7b)",
    r"(?i:command-[ar](?:-vision|-plus)?|libra-v\d(?:\.\d)?|(?:yi|falcon|molmo|vicuna|granite)-v?\d+(?:\.\d+)?b?)",
    r"(?i:o[134]-(?:mini|pro|preview|high|low|medium|deep-research|20\d\d))",
)
"""Families whose names are words too: with what makes them a model's."""

MAKERS: Final = (
    r"(?i:open[-_ ]?ai|anthropic|google(?: deepmind)?|deepmind|opengvlab|alibaba(?: cloud)?|"
    r"tongyi(?: qianwen)?|qianwen|dashscope|moonshot ?ai|mistral ?ai|meta-llama|meta (?:ai|platforms)|"
    r"zhipu(?: ?ai)?|zai-org|openbmb|openrouter|xiaomimimo|stanfordaimi|freedomintelligence|microsoft|"
    r"bytedance|tencent|baidu|iflytek|sensetime|stepfun|huawei|amazon (?:nova|bedrock)|nvidia|hugging ?face|"
    r"perplexity ai|fireworks ai|together ai|x\.ai|vertex ai|azure ai)",
    r"(?:xAI|Cohere|Mistral|Moonshot|Groq)",
)
HAN: Final = (
    "(?:通[义義]千[问問]|通[义義]|千[问問]|深度求索|谷歌|阿里[云雲]|阿里巴巴|[书書]生(?:[·・]?)(?:[万萬]象|浦[语語])|智[谱譜](?:清言)?|月之暗面|"
    "文心一言|豆包|[讯訊][飞飛](?:星火)?|[腾騰][讯訊](?:混元)?|字[节節]跳[动動]|[华華][为為]|商[汤湯]|日日新|阶跃星辰|零一万物|"
    "(?:文心|星火|混元|百川|盘古)(?=大?模型|AI|智能|助手)|百度(?=公司|文心|千帆|AI|开发|研发|训练)|克[劳勞]德(?!\\s*(?:综合|症候)))"
)
"""Chinese names, which have no blanks around them."""

CLINICAL: Final = re.compile(
    rf"(?i){BEGIN}(?:bernard[- ]claude|syndrome (?:of|de) claude|"
    r"claude['\u2019]?s?(?:[- ](?:syndrome|bernard|sign|disease|hyperkin)|\s*(?:综合|症候))|"
    r"llama (?:antibod|nanobod|vhh|serum|immuno|anti-)|meta[- ]analy|"
    r"philips gemini|gemini (?:tf|gxl|pet|scanner))"
)
"""What looks like a name and is a clinical word."""

SPACED: Final = (
    "chatgpt|claude|anthropic|gemini|google|deepmind|openai|qwen|llama|deepseek|mistral|pixtral|internvl|"
    "medgemma|gemma|grok|kimi|llava|lingshu|doubao|hunyuan|minimax|cohere|alibaba|(?<!s)gpt"
)
"""Names that are found in rows of single letters, where nothing tells whole words."""

_OPEN: Final = (
    "llama|gemma|grok|kimi|cohere|mistral|moonshot|minimax|vicuna|nemotron|"
    "gpt(?!['\u2019]?s?\\s{0,2}[:=(]?\\s{0,2}(?:\\d\\d|\\d+(?:\\.\\d+)?\\s?[iuµμ]|levels?|values?|activit|elevat))"
)
"""Words that are a model's or maker's name in a phrase about one, however they are written."""
_CAPITALISED: Final = (
    "Meta|Nova|Titan|Command|Falcon|Opus|Sonnet|Haiku|Scout|Maverick|Phi|Spark|Bard|Copilot|Perplexity|Apple|"
    "Amazon|Azure|Bedrock|Yi|Aya|Granite|GLM|O[134]|META"
)
"""Words that are so if they are written as a name; in the first person however they are written."""
_NAME: Final = rf"(?:(?i:{_OPEN}|o[134])|{_CAPITALISED}|(?i:{{own}}))"
_ANY: Final = rf"(?i:{_OPEN}|{_CAPITALISED}|(?i:{{own}}))"
_NO_MORE: Final = f"(?![{LETTER}]|[-\u2010\u2011 ]?(?i:analy|stas|bol)|分析|回归)"
_BLANK: Final = r"[\s,]{1,3}+"
_KIND: Final = (
    "ai|artificial|intelligence|llm|vlm|large|small|vision|multimodal|medical|language|model|models|assistant|"
    "chatbot"
)
_MADE: Final = "made|developed|trained|created|built|designed|powered|provided|fine-tuned"
_LINK: Final = (
    f"{_KIND}|{_MADE}|system|called|named|known|as|from|of|by|at|is|was|an?|the|your|based|on|helpful"
)


_QUOTE: Final = "[\"'\u201c\u2018\u300c]?"
_THEM: Final = rf"{_BLANK}(?i:(?:(?:{_LINK}){_BLANK}){{0,10}}){_QUOTE}"
_FIRST: Final = rf"(?i:i{_BLANK}am|i['\u2019]m|my{_BLANK}name{_BLANK}is|call{_BLANK}me){_THEM}"
_NOUN: Final = rf"(?i:ai|llm|vlm|chatbot|(?:language|ai|vision){_BLANK}models?|assistant|model){_THEM}"
_BY: Final = (
    rf"(?i:(?:{_MADE}|generated|answered|written)\s{{1,3}}+(?:by|with|at)\s{{1,3}}+"
    rf"(?:the\s{{1,3}}+)?){_QUOTE}(?!llama )"
)
_FIELD: Final = (
    r"(?i:model|assistant|provider|llm|engine|generator)(?i:[_ ](?:name|id))?"
    "[\"'\u201d]?[ ]?[:=：][ ]?[\"'\u201c]?"
)
_BEFORE_KIND: Final = (
    rf"(?:(?!llama\s)(?i:{_OPEN})|Meta|Nova|Titan|Falcon|Copilot|Spark|Bard|o[134]|(?i:{{own}}))"
)
"""Words that are so right before what they are ("the Nova assistant")."""
_THEN_KIND: Final = (
    rf"(?:['\u2019]s)?\s{{1,3}}+(?:(?i:{_KIND})\s{{1,3}}+){{0,4}}(?i:models?|assistant|llm|chatbot|ai)\b"
)
_I_AM: Final = rf"(?:我是|我叫|名字是|名字叫|名为)(?:一个|一款|由|基于)?{_QUOTE}"


def phrases(own: str) -> re.Pattern[str]:
    """Return what finds names, as a group `name...`, in phrases in which somebody says who they are.

    A version may follow it. `own`: an alternation of words of the run that are names in such phrases alone;
    "(?!)" for none.
    """
    name, any_name, beside = (one.replace("{own}", own) for one in (_NAME, _ANY, _BEFORE_KIND))
    name, any_name = name + _NO_MORE, any_name + _NO_MORE
    parts = (
        rf"{BEGIN}{_FIRST}(?P<name1>{any_name})",
        rf"{BEGIN}{_NOUN}(?P<name2>{name})",
        rf"{BEGIN}{_BY}(?P<name3>{name})",
        rf"{BEGIN}{_FIELD}(?P<name4>{any_name})",
        rf"{BEGIN}(?i:as){_BLANK}(?P<name5>{name}{VERSION})(?=,?\s(?i:i|an?|my)\b)",
        rf"{BEGIN}(?P<name6>{beside}{VERSION})(?={_THEN_KIND})",
        rf"{_I_AM}(?P<name7>{any_name})",
        rf"由\s?(?P<name8>{any_name})"
        r"(?=\s?(?:公司|团队|开发|训练|研发|推出|创建|打造|构建|发布|提供))",
        rf"作为\s?(?P<name9>{any_name})(?=\s?(?:[,，一的大]|模型|AI|人工))",
        rf"{BEGIN}(?P<name10>(?i:gpt|llama|meta|mistral|grok|kimi){VERSION})"
        r"(?=\s?(?:大|语言|视觉|AI|人工智能){0,3}(?:模型|助手))",
    )
    return re.compile("|".join(parts))

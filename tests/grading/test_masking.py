# ruff: noqa: RUF001
"""Names of models and makers are hidden in candidates, clinical words are not; long texts take no time."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stored_run_builder import Plan, built_run, case

import harness
from harness.benchmarks.sheets import Sheet, SheetPart
from harness.benchmarks.steps import Answer, StepCase, step_case_of
from harness.cache.rows import UnitId
from harness.catalogue import read_catalogue
from harness.grading.masking import HIDDEN, Mask
from harness.grading.run_names import all_names, named, names_of
from harness.manifest import StepWanted
from harness.offline.stored_run import load_run
from harness.outcomes import UnitOutcome

FIXTURES = Path(__file__).parents[1] / "fixtures"

RUN = (
    "gemini-3-flash", "o3", "gpt-5.5", "Qwen/Qwen2.5-VL-7B-Instruct", "steady", "sim/steady", "a", "m1",
    "C5",
)  # fmt: skip

NAMED = (
    "Gemini", "GEMINI 2.5 Flash", "Gemini 3 Pro Preview", "gemini-3-flash-preview-09", "ChatGPT",
    "chat-gpt", "GPT-4o", "gpt4", "GPT\u20114.1-mini", "GPT-5.5", "GPT 4o", "o3", "o3-mini", "OpenAI",
    "OpenAI o1", "OpenAI's o3", "Claude", "Claude 3.5 Sonnet", "claude-opus-4-7", "Opus 4.1", "Anthropic",
    "Google", "Google DeepMind", "Qwen", "Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct",
    "qwen_2.5", "InternVL3_5-2B", "Llama", "llama-4", "Llama-4-Scout-17B-16E-Instruct", "Meta AI",
    "MedGemma-4b-it", "medgemma", "Gemma 3", "Lingshu-7B", "DeepSeek", "DeepSeek R1", "DeepSeek-V3.1",
    "Mistral", "Mistral AI", "mistral-large-2512", "Pixtral", "Kimi K2", "Moonshot AI", "Grok", "xAI",
    "GLM-4.5V", "Phi-4", "Hulu-Med-4B", "LLaVA-Med", "HuatuoGPT-Vision-7B", "MAIRA-2", "Nova Pro",
    "sim/steady", "Microsoft", "通义千问", "深度求索", "谷歌", "文心一言", "豆包", "智谱清言", "通義千問",
    "智譜", "讯飞星火", "腾讯混元", "字节跳动", "克劳德", "阿里雲", "Chat GPT", "Deep Seek",
    "Deep-Seek-V3",
    "Open AI", "Q-wen", "Intern VL", "InternVL 3", "gpt_4o", "gpt-oss-120b", "ChatGLM", "ERNIE Bot",
    "Ernie 4.0", "Doubao", "Hunyuan", "Baichuan2", "MiniMax", "Moonshot", "Tencent", "Baidu",
)  # fmt: skip

CLINICAL = (
    "GPT 45 U/L, GOT/GPT and gamma-GPT; 谷丙转氨酶(GPT) 80", "GPT 5.5 ukat/L", "GPT1 and GPT2 genes",
    "Claude's syndrome of the midbrain", "Claude syndrome", "Claude Bernard-Horner syndrome",
    "Claude综合征",
    "Bernard-Claude syndrome", "intermittent claudication", "claudicatio",
    "the trigeminal nerve and bigeminy",
    "nervus trigeminus, musculi gemelli, pulsus bigeminus, quadrigemina", "gemination of tooth 22",
    "gemmae", "a llama antibody (nanobody)", "ozone (O3) injection", "SpO2 and O3", "omega-3",
    "meta-analysis", "metastases", "a scout view and a turbo FLASH sequence", "Turbo spin echo",
    "pro re nata", "a magnum opus", "the angle phi", "C5 and M1, T2-weighted", "a steady gait",
    "grade m1",
    "they cohere", "amistral", "Ultra-low dose", "vision 6/6", "opportunistic",
    "GLM (a general linear model)", "de novo lesions", "a hulu shape", "Kimura disease", "libra",
    "Anthropometry", "googled eyes", "palm of the hand, PALM-COEIN", "command", "mimo", "Sonnette",
    "the lobe is gemmed", "Claude综合症", "克劳德综合征", "近视三百度", "混元气功", "星火燎原",
    "阿立哌唑",
    "the minimax rule", "a moonshot", "Bard mesh", "Ernie K.", "an open airway", "deep, seeking",
    "naïve T cells, Sjögren's", "GPT\u200b 45 U/L", "G\u200bPT 45 U/L", "\u2460\u2461\u338f\ufb01",
    "e\u0301pulis", "\uff21\uff22",
    "**Claude** syndrome", "*Claude*'s syndrome", "Claude\u2019s *sign*", "AI, GPT 45 U/L",
    "AST/GPT/ALP", "S.G.P.T. 45",
    "G.P.T. 45", "**GPT** 45 U/L", "GPT: 45 U/L", "model: GPT 45 U/L", "a Meta-analysis by the AI",
    "基于Meta分析",
    "a model of Meta analysis", "antibodies made by llama B cells", "the O3 model of lung injury",
    "an imprint made by palm",
    "I am able to see it", "I am a reader", "im Titan", "the command is a model", "a mistral wind",
    "T 1 N 0 M 0",
    "A B C D E F G", "H_2O, CO_2 and $\\mathrm{O}_3$", "__init__, a*b*c, a_b", "\\nu and \\tau",
    "p&lt;0.05 &amp; q &#62; 3",
    "nova lesions", "a Bard mesh", "альфа, γ-GPT 45, α-Fetoprotein, οστεο", "tumour-\n  like",
    "Philips Gemini PET", "<b>CT</b>",
    "sonnet 18", "a GLM model of dose", "Opus Dei", "steady, and steadily", "as steady as before",
    "quokka",
)  # fmt: skip


MASK = Mask((*RUN, "quokka-7b"))


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_hidden_whole_wherever_it_stands(name: str) -> None:
    for text in ("I am {}, and see a mass.", "{}: tumour", "我是{}模型。", "by ({}).", "{}", "x\u2028{}\r"):
        masked, hidden = MASK.masked(text.format(name))
        one = re.sub(r"\[name hidden](?:['/ ]+s?\s?\[name hidden])*", HIDDEN, masked)
        assert one == text.format(HIDDEN) and hidden >= 1


def wide(text: str) -> str:
    """Return a text in letters of full width."""
    return "".join(chr(ord(char) + 0xFEE0) for char in text)


@pytest.mark.parametrize(
    "name",
    ["Qw\u200ben", "Gem\u00adini 3", "Gemini\u200d", wide("GPT-4o"), "\uff51wen", wide("Claude"),
     "GPT\u22124o", "GPT\u202f4o", "GPT\u00ad-\u200b4o", "Gémini", "Gemi\u0301ni", "\U0001d410wen",
     "通\u200b义千问", "Qwen\u20602.5", "gemini\u20113\u2011f\u200blash", "Clau\ufe0fde", "qwen\u00b2"],
)  # fmt: skip
def test_a_name_that_is_written_oddly_is_hidden_whole(name: str) -> None:
    for text in ("{}", "\u200b说\u200b{}。é", "naïve \ufb01brosis {}, \u2460"):
        assert MASK.masked(text.format(name)) == (text.format(HIDDEN), 1)


MARKED = (
    "**GPT**-4o", "Chat*GPT*", "C**laude**", "<b>GPT</b>-4o", "C<i>lau</i>de", "Chat<!-- x -->GPT",
    "GPT&#8209;4o",
    "Clau&shy;de", "G&#x50;T-4o", "\\u0047PT-4o", "\\textbf{GPT}-4o", "GPT\\-4o", "Chat\\_GPT",
    "[GPT](https://x.org/a)-4o",
    '"GPT"-4o', "`qwen`-2.5", "Clau-\n  de", "Claude%203.5", "Gem``ini", "GPT\u20114\u200bo",
    "C l a u d e", "C-l-a-u-d-e 3.5", "g_p_t", "G P T - 4 o", "G*P*T", "O.p.e.n.A.I", "q u o k k a - 7 b",
    "сlaude", "Clаudе", "GРТ-4о", "Ԍeminі", "Ԛwen", "Ϲlaude", "ΑΝΤHROPIC", "ᴄʟᴀᴜᴅᴇ", "\U0001f172laude",
    "Cl\u0430u\u200bd\u0435",
    "3.5 Sonnet", "Gemini version 2.5", "Claude v4.5", "NVIDIA", "XrayGPT", "MiniGPT-4",
)  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_a_name_across_marks_or_in_other_letters_is_hidden(name: str) -> None:
    for text in ("{}", "I see: {}, and a mass.", "我是 {}。"):
        masked, hidden = MASK.masked(text.format(name))
        left = re.sub(r"<b>|\\textbf", "", masked.replace(HIDDEN, ""))
        assert hidden == 1 and re.findall(r"\w+", left) == re.findall(r"\w+", text), masked


SAID = (
    "I am {Nova}", "I am {GPT 4}", "I'm **{llama}**", "As an AI model made by {Meta}, I", "as {GPT}, I",
    "an AI trained by {Meta}", "My name is {grok}", "I am {o3}", "I am {O3}.", "I am {steady}.",
    "I am {quokka}", "I am {m1}",
    "a model called {Quokka}", "Model: {o4}", '{{"model": "{m1}"}}',
    "an assistant developed by {Mistral}", "the {steady} model",
    "Generated by {Titan}", "I am based on the {Llama}", "{Meta}'s model", "the {Nova} assistant",
    "我是{Meta}开发的",
    "由{Meta}开发", "作为{llama}，我", "{GPT}模型", "I am an AI assistant by {Apple}",
)  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_a_word_that_is_a_name_too_is_hidden_where_somebody_says_who_they_are(text: str) -> None:
    name = re.search(r"(?<!\{)\{([^{}\"]+)\}", text)
    assert name is not None
    found = MASK.masked(text.replace(name[0], name[1]))
    assert found == (text.replace(name[0], HIDDEN), 1)


def real_texts() -> Iterator[str]:
    """Yield every text of the bundled cases, and of answers that were written for other tests."""
    root = Path(harness.__file__).parent / "benchmarks"
    for path in [*sorted(root.glob("*/sample/*.jsonl")), FIXTURES / "pandent_answers.jsonl"]:
        for line in path.read_text(encoding="utf-8").splitlines():
            waiting = [json.loads(line)]
            while waiting:
                one = waiting.pop()
                if isinstance(one, str):
                    yield one
                elif isinstance(one, dict | list):
                    waiting += one.values() if isinstance(one, dict) else one


def test_texts_without_names_are_never_touched() -> None:
    mask, texts = MASK, set(real_texts())
    assert len(texts) > 500
    assert [masked for text in texts if (masked := mask.masked(text)) != (text, 0)] == []


def test_what_was_masked_is_not_masked_again_and_names_stay_hidden_in_any_text() -> None:
    chance, mask = random.Random(8), MASK
    said = [re.sub(r"[{}]", "", one) for one in SAID]
    pieces = [*NAMED, *CLINICAL, *MARKED, *said, *sorted(set(real_texts()))[:50]]
    joints = ["", " ", ", ", "\n", "\u200b", "*", "**", "_", "-", "[", "](x)", "<b>", "&nbsp;", "\\", "é"]
    joints += ["。", HIDDEN]
    for _ in range(150):
        count = chance.randint(1, 6)
        text = "".join(chance.choice(pieces)[:200] + chance.choice(joints) for _ in range(count))
        masked, hidden = mask.masked(text)
        assert mask.masked(masked) == (masked, 0), text
        assert masked.count(HIDDEN) == text.count(HIDDEN) + hidden or HIDDEN in text
        plain, _ = mask.masked(f"{text} Claude 3.5 Sonnet. {text}")
        assert "3.5" not in plain.replace(masked, "") or "3.5" in text


def test_what_is_not_seen_may_part_a_name_from_the_word_before() -> None:
    assert MASK.masked("a\u200bGemini, \u200bQwen") == (f"a\u200b{HIDDEN}, \u200b{HIDDEN}", 2)


@pytest.mark.parametrize("text", CLINICAL)
def test_clinical_words_stand_as_they_are(text: str) -> None:
    assert MASK.masked(text) == (text, 0)
    assert MASK.masked(f"见{text}。\r\n") == (f"见{text}。\r\n", 0)


def test_every_model_of_the_catalogue_is_hidden_in_a_run_that_asks_it() -> None:
    for name, entry in read_catalogue().models.items():
        weights = str(entry.table["model"])
        mask = Mask([name, weights, weights.rpartition("/")[2]])
        for text in (name, weights, weights.rpartition("/")[2], name.replace("-", " ")):
            if re.fullmatch(r"(?i)gpt \d.*", text) or text.isalpha():
                continue  # with a blank it is an enzyme's activity; one plain word may stand in any text
            masked, hidden = mask.masked(f"as {text} I")
            left = masked.replace(HIDDEN, "")
            assert hidden and not re.search(r"[a-z]{3,}\d|\d[a-z]", left), (text, masked)


def test_families_are_hidden_in_a_run_that_asks_others() -> None:
    """A model may well say that it is another one: that unblinds, or misleads."""
    mask, left = Mask(), []
    for entry in read_catalogue().models.values():
        weights = str(entry.table["model"]).rpartition("/")[2]
        if not mask.masked(weights)[1]:
            left.append(weights)
    assert all(one.startswith(("sim/", "o3", "steady", "careful", "eager", "reader", "messy", "flaky",
                               "reformatter")) for one in left), left  # fmt: skip


def test_only_candidates_are_masked() -> None:
    sheet = Sheet(
        (
            SheetPart("History", "Seen by Gemini.", "context"),
            SheetPart("Reference", "Gemini", "reference"),
            SheetPart("Answer", "Gemini says so; ChatGPT too.", "candidate"),
        ),
        subjects={"tier_1": "angioedema (Claude)", "tier_2": "Claude syndrome"},
    )
    masked, hidden = Mask().sheet(sheet)
    assert [part.text for part in masked.parts] == [
        "Seen by Gemini.", "Gemini", f"{HIDDEN} says so; {HIDDEN} too.",
    ]  # fmt: skip
    assert masked.subjects == {"tier_1": f"angioedema ({HIDDEN})", "tier_2": "Claude syndrome"}
    assert hidden == 3


async def test_a_runs_names_are_those_of_its_models_their_weights_and_endpoints(tmp_path: Path) -> None:
    plan = Plan((case("c1"),), models=("gemini-3-flash", "lab-vision-2"))
    async with built_run(tmp_path, plan) as built:
        stored = await load_run(built.store, built.run)
        found = names_of(stored, served=["lab-vision-2-0412"])
        assert found >= {"gemini-3-flash", "gemini-3-flash-preview", "lab-vision-2", "lab-vision-2-0412"}
        assert found >= {one.endpoint for one in stored.manifest.models.values()}
        assert "lab" in found and "http:" not in found


async def test_the_names_of_a_reformatter_and_of_the_run_that_a_step_follows_count(tmp_path: Path) -> None:
    plan = Plan((case("c1"),), models=("lab-vision-2",), reformatter="tidy-model-9")
    async with built_run(tmp_path, plan) as built:
        stored = await load_run(built.store, built.run)
        step = StepWanted("audit", built.run.digest, simulated=False, imported=False)
        manifest = replace(stored.manifest, models={}, reformat=None, step=step)
        following = replace(stored, manifest=manifest, models={}, session_models={})
        assert names_of(stored) >= {"tidy-model-9", stored.manifest.reformat.models["tidy-model-9"].model}  # type: ignore[union-attr]
        assert "lab-vision-2" not in names_of(following)
        assert await all_names(built.store, following) >= {"lab-vision-2", "lab-vision-2-id", "tidy-model-9"}


@pytest.mark.parametrize(("endpoint", "names"), [
    ("http://127.0.0.1:8000/v1", []), ("lab", ["lab"]), ("", [""]), ("http://[bad/v1", []),
    ("https://api.quokka.example/v1", ["api.quokka.example", "quokka", "example"]),
])  # fmt: skip
def test_of_an_address_the_host_is_a_name(endpoint: str, names: list[str]) -> None:
    assert list(named(endpoint)) == names


async def test_the_names_of_a_step_are_also_those_of_the_models_that_it_was_shown(tmp_path: Path) -> None:
    unit = UnitId("qwen2.5-vl-7b", "report", "c1")
    made = step_case_of(Answer(unit, case("c1"), UnitOutcome.VALID, "x"), StepCase({"report": "x"}, {}))
    async with built_run(tmp_path, Plan((made,), models=("norm-1",))) as built:
        stored = await load_run(built.store, built.run)
        step = StepWanted("normalise", "0" * 64, simulated=False, imported=False)
        stepped = replace(stored, manifest=replace(stored.manifest, step=step))
        found = names_of(stepped)
    assert found >= {"norm-1", "qwen2.5-vl-7b", "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL-7B-Instruct"}
    assert "qwen2.5-vl-7b" not in names_of(stored)


PIECES = (
    "The liver is enlarged, GPT 45 U/L. ", "a", "-", "Gemini ", "gpt-4-", "Gemini-pro-flash",
    "qwen 1.1_1",
    "o3-", "1.", "gemini-3-flash-", "Claude's ", "sim/", "gemini_1", "一", "\u2028", "é", "\u200b",
    "\uff27emini ",
    "*", "**a", "[", "](", "<b ", "<!--", "&#", "&amp;", "\\", "\\text{", HIDDEN, "a ", "a   ",
    "G P T ", "I am a ",
    "as an ai model made by the ", "сlaude ", "\u200bа", "**Claude** syndrome ", "由Meta", "a-\n",
)  # fmt: skip


def is_linear(piece: str, least: int) -> bool:
    """Tell whether a text ten times as long takes no more than some thirty times as long."""
    mask = MASK

    def seconds(length: int) -> float:
        text = (piece * length)[:length] + "x"
        began = time.process_time()
        mask.masked(text)
        return time.process_time() - began

    short, long = (min(seconds(length) for _ in range(2)) for length in (least, 10 * least))
    return long < 30 * short + 0.05


@pytest.mark.parametrize("piece", PIECES)
def test_the_time_is_linear_in_the_length_of_a_text(piece: str) -> None:
    assert is_linear(piece, 600)


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_the_time_is_linear_in_the_length_of_a_long_text(piece: str) -> None:
    assert is_linear(piece, 20_000)

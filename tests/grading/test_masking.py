"""Names of models and makers are hidden in candidates, clinical words are not; long texts take no time."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from stored_run_builder import Plan, built_run, case

from harness.benchmarks.sheets import Sheet, SheetPart
from harness.benchmarks.steps import Answer, StepCase, step_case_of
from harness.cache.rows import UnitId
from harness.catalogue import read_catalogue
from harness.grading.masking import HIDDEN, Mask, names_of
from harness.manifest import StepWanted
from harness.offline.stored_run import load_run
from harness.outcomes import UnitOutcome

RUN = (
    "gemini-3-flash", "o3", "gpt-5.5", "Qwen/Qwen2.5-VL-7B-Instruct", "steady", "sim/steady", "a", "m1", "C5",
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
    "智譜", "讯飞星火", "腾讯混元", "字节跳动", "克劳德", "阿里雲", "Chat GPT", "Deep Seek", "Deep-Seek-V3",
    "Open AI", "Q-wen", "Intern VL", "InternVL 3", "gpt_4o", "gpt-oss-120b", "ChatGLM", "ERNIE Bot",
    "Ernie 4.0", "Doubao", "Hunyuan", "Baichuan2", "MiniMax", "Moonshot", "Tencent", "Baidu",
)  # fmt: skip

CLINICAL = (
    "GPT 45 U/L, GOT/GPT and gamma-GPT; 谷丙转氨酶(GPT) 80", "GPT 5.5 ukat/L", "GPT1 and GPT2 genes",
    "Claude's syndrome of the midbrain", "Claude syndrome", "Claude Bernard-Horner syndrome", "Claude综合征",
    "Bernard-Claude syndrome", "intermittent claudication", "claudicatio",
    "the trigeminal nerve and bigeminy",
    "nervus trigeminus, musculi gemelli, pulsus bigeminus, quadrigemina", "gemination of tooth 22",
    "gemmae", "a llama antibody (nanobody)", "ozone (O3) injection", "SpO2 and O3", "omega-3",
    "meta-analysis", "metastases", "a scout view and a turbo FLASH sequence", "Turbo spin echo",
    "pro re nata", "a magnum opus", "the angle phi", "C5 and M1, T2-weighted", "a steady gait", "grade m1",
    "they cohere", "amistral", "Ultra-low dose", "vision 6/6", "opportunistic",
    "GLM (a general linear model)", "de novo lesions", "a hulu shape", "Kimura disease", "libra",
    "Anthropometry", "googled eyes", "palm of the hand, PALM-COEIN", "command", "mimo", "Sonnette",
    "the lobe is gemmed", "Claude综合症", "克劳德综合征", "近视三百度", "混元气功", "星火燎原", "阿立哌唑",
    "the minimax rule", "a moonshot", "Bard mesh", "Ernie K.", "an open airway", "deep, seeking",
    "naïve T cells, Sjögren's", "GPT\u200b 45 U/L", "G\u200bPT 45 U/L", "\u2460\u2461\u338f\ufb01",
    "e\u0301pulis", "\uff21\uff22",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(
    "text", ["I am {}, and see a mass.", "{}: tumour", "我是{}模型。", "by ({}).", "{}", "x\u2028{}\r"]
)
def test_a_name_is_hidden_whole_wherever_it_stands(name: str, text: str) -> None:
    masked, hidden = Mask(RUN).masked(text.format(name))
    assert re.sub(r"\[name hidden](?:['/ ]+s?\s?\[name hidden])*", HIDDEN, masked) == text.format(HIDDEN)
    assert hidden >= 1


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
        assert Mask(RUN).masked(text.format(name)) == (text.format(HIDDEN), 1)


def test_what_is_not_seen_may_part_a_name_from_the_word_before() -> None:
    assert Mask(RUN).masked("a\u200bGemini, \u200bQwen") == (f"a\u200b{HIDDEN}, \u200b{HIDDEN}", 2)


@pytest.mark.parametrize("text", CLINICAL)
def test_clinical_words_stand_as_they_are(text: str) -> None:
    assert Mask(RUN).masked(text) == (text, 0)
    assert Mask(RUN).masked(f"见{text}。\r\n") == (f"见{text}。\r\n", 0)


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


@pytest.mark.parametrize("piece", [
    "The liver is enlarged, GPT 45 U/L. ", "a", "-", "Gemini ", "gpt-4-", "Gemini-pro-flash", "qwen 1.1_1",
    "o3-", "1.", "gemini-3-flash-", "Claude's ", "sim/", "gemini_1", "一", "\u2028",
    "é", "\u200b", "\uff27emini ",
])  # fmt: skip
def test_the_time_is_linear_in_the_length_of_a_text(piece: str) -> None:
    mask = Mask(RUN)

    def seconds(length: int) -> float:
        text = (piece * length)[:length] + "x"
        taken = []
        for _ in range(2):
            began = time.process_time()
            mask.masked(text)
            taken.append(time.process_time() - began)
        return min(taken)

    short, long = seconds(20_000), seconds(200_000)
    assert long < 30 * short + 0.05 and long < 2.0

"""Simulated translations of Chinese clinical texts: word for word by a small list, and marked as simulated.

Wanted, without a schema, by a text with `translat`, `Chinese` and `English` around a quotation. Numbers and
whatever is not Chinese stay; Chinese that the list does not have is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from harness.simulator.chance import draw
from harness.simulator.diagnosing import HAN
from harness.simulator.differentials import REGIONS
from harness.simulator.questions import Question
from harness.simulator.restating import without_quotation

MARK: Final = "[Simulated word-for-word translation]"

_WORDS: Final[Mapping[str, str]] = {
    "患者": "patient", "患儿": "child", "男": "male", "女": "female", "岁": "years old",
    "既往": "previously", "病史": "history", "高血压": "hypertension", "糖尿病": "diabetes",
    "房颤": "atrial fibrillation", "乙型肝炎": "hepatitis B", "肝硬化": "cirrhosis",
    "甲胎蛋白": "alpha-fetoprotein", "肿瘤标志物": "tumour markers", "升高": "raised",
    "明显": "markedly", "正常": "normal", "体重下降": "weight loss", "吸烟": "smoking", "发热": "fever",
    "寒战": "chills", "咳嗽": "cough", "咯血": "haemoptysis", "咳痰": "sputum", "气短": "dyspnoea",
    "呼吸困难": "dyspnoea", "气胸": "pneumothorax", "胸痛": "chest pain", "腹痛": "abdominal pain",
    "腹胀": "bloating", "隐痛": "dull pain", "疼痛": "pain", "压痛": "tenderness", "腰痛": "flank pain",
    "头痛": "headache", "呕吐": "vomiting", "黄疸": "jaundice", "血尿": "haematuria",
    "无力": "weakness", "言语不清": "slurred speech", "面瘫": "facial palsy", "外伤": "trauma",
    "红肿": "redness and swelling", "活动受限": "limited movement", "无痛性": "painless",
    "搏动性": "pulsatile", "突发": "sudden", "反复": "repeated", "加重": "worse", "缓慢": "slowly",
    "增大": "growing", "质硬": "hard", "质韧": "firm", "边界不清": "poorly defined",
    "活动后": "on exertion", "活动度尚可": "fairly mobile", "肿物": "mass", "包块": "lump",
    "结节": "nodule", "占位": "space-occupying lesion", "发现": "found", "体检": "at a check-up",
    "超声": "ultrasound", "上腹部": "upper abdomen", "右上腹": "right upper abdomen", "腹部": "abdomen",
    "肝": "liver", "肾": "kidney", "肺": "lung", "胸部": "chest", "乳腺": "breast", "乳": "breast",
    "颈部": "neck", "头颅": "head", "头部": "head", "耳": "ear", "膝关节": "knee joint",
    "肢体": "limbs", "泌尿系": "urinary tract", "皮肤": "skin", "局部": "locally", "右侧": "right",
    "左侧": "left", "右": "right", "左": "left", "双": "both", "下": "below", "近": "for the last",
    "余": "more than", "年": "years", "半年": "half a year", "个月": "months", "月": "months",
    "周": "weeks", "天": "days", "小时": "hours", "次": "times", "约": "about", "无": "no",
    "否认": "denies", "轻": "mild", "伴": "with", "及": "and", "行": "underwent", "检查": "examination",
    "平扫": "unenhanced", "增强": "contrast-enhanced", "高分辨率": "high-resolution",
    "血管成像": "angiography", "健": "healthy",
}  # fmt: skip
_MARKS: Final = str.maketrans("\uff0c\u3002\u3001\uff1b\uff1a\uff08\uff09", ",.,;:()")


def is_wanted(question: Question) -> bool:
    """Tell whether a text that quotes something wants it in English."""
    around = without_quotation(question.text).casefold()
    return "translat" in around and "chinese" in around and "english" in around


def translated(text: str) -> str:
    """Return a text word for word, with the mark in front."""
    told = _PATTERN.sub(lambda found: f" {_ALL[found[0]]} ", text)
    plain = HAN.sub(" ", told).translate(_MARKS)
    spaced = re.sub(r"\s+", " ", plain)
    return f"{MARK} {re.sub(r' +(?=[,.;:)])', '', spaced).strip()}"


def messily_translated(text: str, question: Question) -> str:
    """Return it with talk in front, with Chinese left in it, or as nothing."""
    luck = draw("mood", *question.identity)
    if luck < 0.15:
        return ""
    if luck < 0.45:
        return f"{translated(text)} ({text[:8]})"
    return f"Here is the translation:\n\n{translated(text)}"


_ALL: Final = {
    **{known.chinese[0]: known.english[0] for region in REGIONS for known in region.diagnoses},
    **_WORDS,
}
_PATTERN: Final = re.compile("|".join(map(re.escape, sorted(_ALL, key=len, reverse=True))))

"""Other forms in which five ranked diagnoses come, and nothing is left open about which they are.

The paper standardized invalid JSON by hand before grading ("Evaluation Framework"). What can be read without
anybody's judgement is read here, as `recovered`: an order that is written down, and texts taken unchanged.
What leaves anything open (four diagnoses or six, ranks that disagree with the order of the list, keys not
listed below) stays as it is, and the schema refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.benchmarks.radm.ranking import RANKS
from harness.canonical import JSON

KEY: Final = "diagnoses"

_LIST_KEYS: Final = frozenset(
    {KEY, "differential_diagnoses", "differential_diagnosis", "differentials", "诊断", "鉴别诊断", "诊断列表"}
)
"""Other names of the one list."""
_NAME_KEYS: Final = frozenset({"diagnosis", "name", "disease", "诊断", "诊断名称", "疾病"})
"""Names of the diagnosis within an object of the list."""
_RANK_KEYS: Final = frozenset({"rank", "ranking", "排名", "排序", "序号"})
_TALK_KEYS: Final = frozenset({"explanation", "reasoning", "rationale", "reason", "解释", "理由", "依据"})
"""Explanations, which nobody asked for and which say nothing about the order."""
_NUMBERED: Final = ("diagnosis_{}", "diagnosis{}", "diagnosis {}", "诊断{}")
"""Keys that tell what they hold, and its rank, as in {"diagnosis_1": ...}."""
_RANKED: Final = (*_NUMBERED, "{}", "rank_{}", "rank{}", "rank {}")
"""The same within the list, where they need not say that it is of diagnoses."""


def in_our_form(value: JSON) -> JSON:
    """Return an answer as {"diagnoses": [five texts]} where it has one of the documented forms.

    The same object where it is in that form already, or in none that is known.
    """
    if not isinstance(value, Mapping):
        return value
    said = {name: item for name, item in value.items() if name not in _TALK_KEYS}
    listed = _from_numbered(said, _NUMBERED)
    if listed is None and len(said) == 1:
        ((name, item),) = said.items()
        listed = _ranked(item) if name in _LIST_KEYS else None
    if listed is None or (len(value) == 1 and value.get(KEY) == listed):
        return value
    return {KEY: listed}


def _ranked(item: JSON) -> list[JSON] | None:
    """Return the five texts of a list, of a list of objects, or of an object with numbered keys."""
    if isinstance(item, Mapping):
        return _from_numbered(item, _RANKED)
    if not isinstance(item, list) or len(item) != RANKS:
        return None
    texts = [_text(one, rank) for rank, one in enumerate(item, start=1)]
    found: list[JSON] = [text for text in texts if text is not None]
    return found if len(found) == RANKS else None


def _from_numbered(value: Mapping[str, JSON], forms: Sequence[str]) -> list[JSON] | None:
    for form in forms:
        keys = [form.format(rank) for rank in range(1, RANKS + 1)]
        if value.keys() == set(keys):
            return _all_texts([value[key] for key in keys])
    return None


def _all_texts(items: Sequence[JSON]) -> list[JSON] | None:
    texts: list[JSON] = [item for item in items if isinstance(item, str)]
    return texts if len(texts) == len(items) else None


def _text(one: JSON, rank: int) -> str | None:
    """Return the diagnosis of one place of a list; None where it is not plain which that is."""
    if not isinstance(one, Mapping):
        return one if isinstance(one, str) else None
    names = [name for name in one if name in _NAME_KEYS]
    ranks = [name for name in one if name in _RANK_KEYS]
    talk = [name for name in one if name in _TALK_KEYS]
    if len(names) != 1 or len(names) + len(ranks) + len(talk) != len(one):
        return None
    said = one[names[0]]
    agrees = all(_is_rank(one[name], rank) for name in ranks)
    return said if agrees and isinstance(said, str) else None


def _is_rank(value: JSON, rank: int) -> bool:
    if isinstance(value, bool):
        return False
    return value == rank or (isinstance(value, str) and value.strip() == str(rank))

"""The exchanges of a unit in words, in order, those that cannot be read among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.explaining.exchange_sentences import (
    ask_name,
    asked_text,
    cost_text,
    latency_text,
    notes_on,
    origin_of,
    paid_text,
    sent_again_text,
    tokens_text,
)
from harness.explaining.next_facts import Facts
from harness.offline.sends import Send
from harness.settings import Price
from harness.web.viewing.beginnings import Beginning, beginning, one_line
from harness.web.viewing.unit_evidence import UnitRead

_MOST_TEXT: Final = 60_000
"""Characters of answers that the exchanges of one page show together."""
MOST_CARDS: Final = 30
"""Exchanges that one page shows; `harness explain` and the export have all."""


@dataclass(frozen=True, slots=True)
class Card:
    """One exchange of a unit in words; `lost`: what the store says of one that cannot be read."""

    number: int
    title: str
    id: int
    used: bool
    earlier_round: bool = False
    outcome: str = ""
    status: int | None = None
    took: str = ""
    tokens: str = ""
    cost: str = ""
    at: str | None = None
    price: str | None = None
    sentences: Sequence[str] = ()
    again: str | None = None
    text: Beginning | None = None
    has_reasoning: bool = False
    imported: bool = False
    lost: str | None = None


def cards(read: UnitRead, words: Sequence[str] = ()) -> Sequence[Card]:
    """Return the exchanges of a unit in order; of very many, the first ones; `words` are looked for."""
    facts = {one["exchange"]: one for one in read.facts}
    order = {link.exchange_id: place for place, (link, _) in enumerate(read.replayed.links)}
    following = dict(zip(facts, [*list(facts.values())[1:], None], strict=False))
    sends = {send.exchange.id: send for send in read.sends}
    lost = [
        Card(0, f"{one.link.purpose}, attempt {one.link.attempt}", one.link.exchange_id, one.link.used,
             lost=one.told)
        for one in read.lost
    ]  # fmt: skip
    most = max(200, min(4_000, _MOST_TEXT // max(1, len(facts))))
    made = [_card(read, sends[id], facts[id], following[id], (most, words)) for id in order if id in facts]
    every = sorted([*made[:MOST_CARDS], *lost], key=lambda card: _place(card, order))
    return [replace(card, number=number) for number, card in enumerate(every, start=1)]


def _place(card: Card, order: Mapping[int, int]) -> tuple[float, int]:
    """Return where an exchange stands; one that is lost, before the next that was made after it."""
    if card.id in order:
        return order[card.id], card.id
    later = [place for id, place in order.items() if id > card.id]
    return min(later, default=len(order)) - 0.5, card.id


def _card(
    read: UnitRead, send: Send, one: Facts, following: Facts | None, shown: tuple[int, Sequence[str]]
) -> Card:
    text = one["text"]
    said = origin_of(one) if one["imported"] else (asked_text(one), paid_text(one))
    return Card(
        number=0,
        title=ask_name(one),
        id=one["exchange"],
        used=one["used"],
        earlier_round=one["earlier_round"],
        outcome=one["outcome"],
        status=one["status"],
        took="" if one["latency_s"] is None else latency_text(one),
        tokens=tokens_text(one),
        cost=cost_text(one),
        at=one["at"],
        price=None if one["imported"] else _price(read, send),
        sentences=[*said, *notes_on(one, one_line)],
        again=sent_again_text(one, following),
        text=beginning(text, *shown) if text else None,
        has_reasoning=bool(one["reasoning"]),
        imported=one["imported"],
    )


def _price(read: UnitRead, send: Send) -> str:
    """Return by which prices an exchange is counted, and who said so."""
    model, purpose = read.unit.model, send.exchange.data.purpose
    asked = model if purpose == "answer" else read.stored.manifest.asked_model(model, purpose)
    price = read.stored.price(asked, send.exchange.session)
    if price.input is None and price.output is None:
        return "no price is known"
    return f"{_rates(price)} per million tokens ({price.source or 'by the configuration of that session'})"


def _rates(price: Price) -> str:
    rates = (("in", price.input), ("out", price.output))
    return ", ".join(f"${rate:g} {word}" for word, rate in rates if rate is not None)

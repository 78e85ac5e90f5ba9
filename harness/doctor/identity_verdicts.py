"""What is told beside the answers: whether the model is known there, who answered, what is allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from typing import Final

from harness.doctor.advice import advice_on
from harness.doctor.findings import Examined, Finding, Level
from harness.messages import Fault, Reply
from harness.nearest import nearest
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.limit_headers import LearnedLimits
from harness.providers.model_pages import Listing
from harness.served_models import Likeness, likeness
from harness.settings import Model

_NAMED: Final = 3
_KINDS: Final = ("requests", "tokens", "input tokens", "output tokens")


def on_model(listing: Listing, answer: Reply | Fault | None, model: Model) -> Finding:
    """Judge whether a provider knows a model: by its pages, and by what it made of the question."""
    if isinstance(answer, Fault) and answer.outcome is Outcome.MODEL_NOT_FOUND:
        told = f"unknown to the provider: {answer.message}{nearest(model.model, listing.names)}"
        return Finding("model", Level.FAIL, told, advice_on(answer, model))
    answered = isinstance(answer, Reply)
    if model.retired:
        told = f"{'it answers, but ' if answered else ''}the catalogue says: retired, {model.retired}"
        return Finding("model", Level.WARN, told, "name its stand-in: it may be withdrawn any day")
    if listing.found is False:
        return _unlisted(listing, model, answered=answered)
    if listing.found is None:
        if answered:
            return Finding("model", Level.OK, "answers; there is no page to look it up in")
        return Finding("model", Level.SKIP, "nobody can tell: no page to look it up in, and no answer")
    wrong = list(_beyond(listing, model))
    if wrong:
        return Finding("model", Level.WARN, f"known there, but {'; '.join(wrong)}", _mend(listing, model))
    known = [
        f"{count:,} tokens of {kind}"
        for kind, count in (("context", listing.context_tokens), ("output", listing.output_tokens))
        if count
    ]
    return Finding("model", Level.OK, f"known there{': ' if known else ''}{', '.join(known)}")


def _unlisted(listing: Listing, model: Model, *, answered: bool) -> Finding:
    some = ", ".join(map(repr, listing.names[:_NAMED])) + (" ..." if len(listing.names) > _NAMED else "")
    among = f" ({some})" if some else ""
    told = f"{model.model!r} is not among the models that the server names{among}"
    if not answered:
        return Finding("model", Level.WARN, told, f"correct `model`{nearest(model.model, listing.names)}")
    advice = "make sure that it is the model you mean: some servers answer to any name with what they have"
    return Finding("model", Level.WARN, f"{told}, yet it answered", advice)


def _beyond(listing: Listing, model: Model) -> Iterator[str]:
    if listing.generates is False:
        yield "it does not answer by generateContent"
    for kind, there, here in (
        ("context", listing.context_tokens, model.context_tokens),
        ("output", listing.output_tokens, model.max_output_tokens),
    ):
        if there is not None and here is not None and there < here:
            yield f"it takes {there:,} tokens of {kind}, and the settings say {here:,}"


def _mend(listing: Listing, model: Model) -> str:
    if listing.generates is False:
        return "name a model that generates text"
    return f"correct context_tokens or max_output_tokens of [models.{model.name!r}]"


def on_served(names: tuple[str | None, ...], model: Model) -> Finding:
    """Judge the names by which the provider says it answered (None: it did not say)."""
    said = list(dict.fromkeys(name for name in names if name))
    if not said:
        return Finding("served", Level.SKIP, "the provider does not say which model answered")
    if len(said) > 1:
        told = f"{', '.join(map(repr, said))} answered in turn"
        return Finding("served", Level.WARN, told, "name a dated model, so that all cases get the same one")
    how = likeness(said[0], model.model, model.name)
    if how is Likeness.SAME:
        return Finding("served", Level.OK, f"as asked: {said[0]!r}")
    if how is Likeness.DATED:
        told = f"{model.model!r} stands for {said[0]!r} today"
        return Finding("served", Level.OK, told, "name the dated one where results must stay comparable")
    told = f"{said[0]!r} answered, asked was {model.model!r}"
    return Finding("served", Level.WARN, told, "that is another model or date: check `model`, and the server")


def on_limits(limits: LearnedLimits, model: Model, wait_s: float | None) -> Finding:
    """Tell the limits a minute that headers stated, and the longest wait that was asked for."""
    counts = astuple(limits)[: len(_KINDS)]
    told = [f"{count:,.0f} {kind}" for kind, count in zip(_KINDS, counts, strict=True) if count]
    waited = "" if wait_s is None else f"; told to wait {wait_s:,.0f} s"
    if limits.hold_s:
        waited += f"; nothing is left for {limits.hold_s:,.0f} s"
    if told:
        return Finding("limits", Level.OK, f"{', '.join(told)} a minute, by headers{waited}")
    if waited:
        return Finding("limits", Level.WARN, f"none in headers{waited}", "set requests_per_minute")
    if model.provider.limit_headers == "none":
        unsaid = "none are told in headers here; set requests_per_minute where you know it"
        return Finding("limits", Level.SKIP, unsaid)
    return Finding("limits", Level.SKIP, f"no {model.provider.limit_headers} headers came with these answers")


def on_endpoint(examined: Examined, answer: Fault | None) -> Finding:
    """Judge whether the address is reached: anything that spoke HTTP is."""
    reached = [call for call in examined.calls if call.status]
    if reached:
        first_s = reached[0].first_byte_s or reached[0].total_s
        return Finding("endpoint", Level.OK, f"reached in {first_s:.2f} s")
    if answer is None:
        return Finding("endpoint", Level.SKIP, "nothing was sent")
    return Finding("endpoint", Level.FAIL, answer.message, advice_on(answer, examined.model))

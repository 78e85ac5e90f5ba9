"""One model examined: its key, its address, and a few tiny questions, one after another.

Bounded: one time for all of it. What it asks is stored nowhere, and nothing that is stored answers it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from harness.doctor import identity_verdicts, questions, verdicts
from harness.doctor.calls import Calls
from harness.doctor.findings import CHECKS, Examined, Finding, Level
from harness.doctor.verdicts import Meaning, Verdict
from harness.errors import HarnessError, MediaError, PoolClosedError, UnsupportedInputError
from harness.media import Media
from harness.media_limits import choose_recipe
from harness.messages import Fault, Reply, Request
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.pool import Pool
from harness.providers.model_pages import model_pages
from harness.recipes import ORIGINAL
from harness.sending import Sender
from harness.settings import Model, limits_of

PAGE_S: Final = 15.0
"""Longest that a look-up may take: a server that is slow to tell is asked the questions all the same."""

_ANSWERS: Final = frozenset(str(outcome) for outcome in Outcome if outcome.serves)


@dataclass(frozen=True, slots=True)
class Terms:
    """How models are examined: seconds for each of them, and whether all structured modes are tried."""

    total_s: float = 120.0
    every_mode: bool = False


def bounded(model: Model, terms: Terms) -> Model:
    """Return a model whose waits fit into an examination, and to which each ask is sent once."""
    return model.model_copy(
        update={
            "max_sends": 1,
            "connect_timeout_s": min(model.connect_timeout_s, terms.total_s),
            "idle_timeout_s": min(model.idle_timeout_s, terms.total_s),
            "total_timeout_s": min(model.total_timeout_s, terms.total_s),
        }
    )


async def examine(
    examined: Examined, sender: Sender, pool: Pool, picture: Media, terms: Terms
) -> None:
    """Examine a model into `examined`, which holds all that is known so far also when this is cancelled."""
    ends_at = asyncio.get_running_loop().time() + terms.total_s
    calls = Calls(sender, pool, examined, ends_at)
    examination = _Examination(examined, calls, picture, terms)
    key = sender.keys.get(examined.model.provider.api_key_env or "")
    try:
        async with asyncio.timeout_at(ends_at):
            await examination.run(key)
    except TimeoutError:
        examination.out_of_time()


class _Examination:
    def __init__(self, examined: Examined, calls: Calls, picture: Media, terms: Terms) -> None:
        self._model = bounded(examined.model, terms)
        self._examined, self._calls = examined, calls
        self._picture, self._terms = picture, terms
        self._under_way = "endpoint"

    async def run(self, key: str | None) -> None:
        """Make all checks, as far as the ones before let them make sense."""
        note = self._examined.note
        if note(key_finding(self._model, key)).level is Level.FAIL:
            self._skip("not checked without a key")
            return
        await self._look_up()
        answer = await self._check("text", questions.text_request(self._model), verdicts.on_text)
        note(identity_verdicts.on_endpoint(self._examined, answer if isinstance(answer, Fault) else None))
        if isinstance(answer, Fault) and answer.outcome is Outcome.CONNECTION:
            del self._examined.findings["text"]  # the endpoint's finding says it all
            self._skip("not checked: nothing is reached")
            return
        unknown = note(identity_verdicts.on_model(self._examined.listing, answer, self._model))
        if isinstance(answer, Fault) and unknown.level is Level.FAIL:
            note(Finding("text", Level.SKIP, "not answered: the model is unknown there"))
        if isinstance(answer, Reply):
            await self._check_picture()
            await self._check_modes()
        self._conclude()
        self._skip("not asked: the first question was not answered")

    def out_of_time(self) -> None:
        """Note that the time was over during a check, and that those behind it were not made."""
        told = f"no answer within {self._terms.total_s:g} s (--timeout), all checks together"
        advice = "try again; if it stays silent, look for a firewall, or a server that is still loading"
        self._examined.note(Finding(self._under_way, Level.FAIL, told, advice))
        if any(call.status for call in self._examined.calls):
            self._examined.note(identity_verdicts.on_endpoint(self._examined, None))
        self._conclude()
        self._skip("not checked: the time was over")

    async def _look_up(self) -> None:
        """Read the provider's pages about the model, as far as there are any that arrive."""
        for page in model_pages(self._model):
            try:
                async with asyncio.timeout(min(PAGE_S, self._calls.left_s / 2)):
                    found, fault = await self._calls.get(page, self._model)
            except TimeoutError:
                return
            self._examined.listing = self._examined.listing.joined(found)
            if found.found or fault is not None:
                return

    async def _check_picture(self) -> None:
        note = self._examined.note
        if "image" not in self._model.inputs:
            note(Finding("image", Level.SKIP, "it takes no images, by its settings"))
            return
        assert self._picture.path is not None
        limits, wish = limits_of(self._model).image, self._model.image_recipe or ORIGINAL
        try:
            sent = choose_recipe(self._picture, limits, self._picture.path, wish, model=self._model.name)
        except MediaError as error:
            note(Finding("image", Level.WARN, str(error), "correct `image` or `image_recipe`"))
            return
        request = questions.picture_request(self._model, self._picture, sent.recipe)
        await self._check("image", request, verdicts.on_picture)

    async def _check_modes(self) -> None:
        """Try the structured modes that the settings name, or all of them."""
        every = self._model.model_copy(update={"structured": ("json", "schema")})
        modes = (
            ("schema", questions.schema_request, verdicts.on_schema),
            ("json", questions.json_request, verdicts.on_json),
        )
        for mode, request, verdict in modes:
            declared = mode in self._model.structured
            if declared or self._terms.every_mode:
                await self._check(mode, request(every), partial(verdict, declared=declared), every)
            else:
                told = "not tried: the settings do not name it (--all tries it)"
                self._examined.note(Finding(mode, Level.SKIP, told))

    async def _check(
        self, check: str, request: Request, judge: Verdict, model: Model | None = None
    ) -> Meaning | None:
        """Ask one question and note what its answer proves; None where nothing was sent."""
        self._under_way = check
        try:
            meaning = await self._calls.ask(check, request, model or self._model)
        except UnsupportedInputError as error:
            named = check in ("text", "image") or check in self._model.structured
            self._examined.note(Finding(check, Level.WARN if named else Level.SKIP, str(error)))
            return None
        except PoolClosedError as error:
            self._examined.note(Finding(check, Level.WARN, str(error), "try again then"))
            return None
        except HarnessError as error:  # a library that is not there, say
            self._examined.note(Finding(check, Level.FAIL, str(error)))
            return None
        self._examined.note(judge(meaning, self._model, self._examined.calls[-1]))
        return meaning

    def _conclude(self) -> None:
        """Note what all questions together tell."""
        asked = [call for call in self._examined.calls if call.check != "model"]
        if not asked:
            return
        waits = [call.wait_s for call in asked if call.wait_s is not None]
        limits = self._examined.limits
        self._examined.note(identity_verdicts.on_limits(limits, self._model, max(waits, default=None)))
        answered = tuple(call.served_model for call in asked if call.outcome in _ANSWERS)
        if answered:
            self._examined.note(identity_verdicts.on_served(answered, self._model))

    def _skip(self, why: str) -> None:
        for check in CHECKS:
            if check not in self._examined.findings:
                self._examined.note(Finding(check, Level.SKIP, why))


def key_finding(model: Model, key: str | None) -> Finding:
    """Tell whether the key of a model is at hand; never the key."""
    variable = model.provider.api_key_env
    if variable is None:
        return Finding("key", Level.OK, "none is needed")
    if not key:
        return Finding("key", Level.FAIL, f"{variable} is not set", f"export {variable}=...")
    if not (key.isascii() and key.isprintable()):
        told = f"{variable} holds a line end or a character beyond ASCII, which no header may carry"
        return Finding("key", Level.FAIL, told, "set it again")
    return Finding("key", Level.OK, f"{variable} is set")

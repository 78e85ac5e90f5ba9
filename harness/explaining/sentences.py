"""Why a unit ended so, and what comes next, in sentences for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.attempts import UnitResult
from harness.cache.rows import UnitState
from harness.explaining.components import Component, Difference
from harness.explaining.nearest import Neighbour
from harness.outcomes import ASKED_AGAIN_ON_RESUME, UnitOutcome

_ENDED: Final[Mapping[UnitOutcome, str]] = {
    UnitOutcome.VALID: "the answer fits as it stands",
    UnitOutcome.RECOVERED: (
        "exactly one value that fits was cut out of the answer; no character of it was changed, but for "
        "documented aliases of labels"
    ),
    UnitOutcome.REFORMATTED: (
        "no attempt could be used as it stands; the reformatter restated the last complete answer"
    ),
    UnitOutcome.UNPARSABLE: "no attempt gave an answer that can be used",
    UnitOutcome.REFUSED: "the provider itself signals a refusal; a refusal is not asked again",
    UnitOutcome.FILTERED: "the provider's content filter blocked it; what is blocked is not asked again",
    UnitOutcome.TRUNCATED: "the answer was cut off at a limit of its length, in the last attempt too",
    UnitOutcome.EMPTY: "the model gave no text, in the last attempt too",
    UnitOutcome.REJECTED: "the provider rejected the request itself: nobody's answer",
    UnitOutcome.PROVIDER_ERROR: "the provider, or the way to it, failed: nobody's answer",
    UnitOutcome.NOT_ATTEMPTED: "it was not asked to its end: nobody's answer",
    UnitOutcome.NOT_APPLICABLE: "the case is beyond this model's inputs or limits",
    UnitOutcome.CASE_ERROR: "the case itself cannot be sent to any model",
    UnitOutcome.GAP: "today's reading needs an ask that nobody made",
}

_IMPORTED: Final[Mapping[UnitOutcome, str]] = {
    UnitOutcome.PROVIDER_ERROR: "the imported row holds a failure, not an answer: nobody's answer",
}


def why(result: UnitResult, state: UnitState | None, *, imported: bool = False) -> list[str]:
    """Return why a unit stands as it does, in order of weight. `imported`: its answers come from files."""
    if imported and (state is None or result.outcome is UnitOutcome.NOT_ATTEMPTED):
        return ["the imported files hold no answer for this unit"]
    if state is None:
        return ["nothing is stored for this unit: the run has not reached it, or its request was cut off"]
    if state.outcome is None:
        return [
            "the unit is open: it was begun and not finished, because its process was killed or is at work, "
            "or --again marked it"
        ]
    said = [_IMPORTED.get(result.outcome, _ENDED[result.outcome]) if imported else _ENDED[result.outcome]]
    if result.error is not None:
        said.append(f"{result.error.kind}: {result.error.message}")
    if result.filled_keys:
        said.append(f"filled by the benchmark's own rule: {', '.join(result.filled_keys)}")
    if result.unsupported:
        named = ", ".join(result.unsupported)
        said.append(f"asserted by the reformatter without support in the answer: {named}")
    said += [f"flag: {flag}" for flag in result.flags]
    if result.outcome is not state.outcome:
        said.append(
            f"the run itself had ended it as {state.outcome}; today's code reads the same bytes as "
            f"{result.outcome}"
        )
    return said


def what_next(state: UnitState | None, *, complete: bool) -> str:
    """Return what the same `harness run` does about a unit; `complete`: stored answers serve all its asks."""
    if state is not None and state.outcome is not None and state.outcome not in ASKED_AGAIN_ON_RESUME:
        again = f"--again {state.outcome}"
        told = f"the same run asks nothing more for this unit ({again} would ask it once more)"
        if complete:
            return told
        return f"{told}; but what it would ask today is not what is stored, so a new run would ask it anew"
    if complete:
        return "the next run takes stored answers for this unit: nothing is sent or paid"
    if state is None:
        return "the run has not asked this unit yet; the same run, started again, asks it"
    return "the next run asks this unit anew"


def not_needed(attempt: int, last: int, outcome: UnitOutcome, *, made: bool) -> str:
    """Return why stored answers end a unit before `attempt`; `last` is the attempt that ended it."""
    was = "was made, but is not needed today" if made else "was never made, and is not needed"
    gave = outcome in {UnitOutcome.VALID, UnitOutcome.RECOVERED}
    did = "gave the answer" if gave else f"ended it as {outcome}"
    return f"attempt {attempt} {was}: attempt {last} {did}"


def way_out(neighbour: Neighbour, *, model: str, provider: str) -> str | None:
    """Return how a stored answer that differs in place only could be taken; None where nothing helps."""
    names = {one.component for one in neighbour.differences}
    if not neighbour.is_elsewhere:
        return None
    if "wire revision" in names:
        return (
            "another version of the program built it (its wire revision is another): that answer is taken by "
            "that version only, this one asks again"
        )
    return (
        f"everything else is equal: set endpoint = {neighbour.stored.endpoint!r} in [providers.{provider}] "
        "of harness.toml to use that answer"
    )


_HINTS: Final[Mapping[Component, str]] = {
    "adapter": "another wire format is another request",
    "model": "another model is asked",
    "parameter": "set it back (params in harness.toml, --param) to use the stored answer",
    "schema": "the schema, or --structured, is another",
    "system text": "the prompt has changed",
    "message text": "the prompt or the case has changed",
    "messages": "there are other turns, as with --reask feedback",
    "medium": "other images, or files with other bytes",
    "recipe": "the image is converted otherwise: the model's image limits or its file's form have changed",
    "recipe version": "this version of the program converts images otherwise",
    "header": "the provider's headers in harness.toml have changed",
    "headers unknown": "it was stored before headers were kept, so they cannot be compared",
    "attempt": "attempts never share an answer",
    "repeat": "repeats never share an answer",
    "arrangement": "the same parts stand in another order",
}


_APART: Final[frozenset[Component]] = frozenset({"adapter", "model", "attempt", "repeat"})
"""Where these differ, no change of anything else could make the stored answer this one's."""


def difference_sentences(found: Sequence[Difference]) -> list[str]:
    """Return differences as lines, each with what it means where that can help."""
    apart = any(one.component in _APART for one in found)
    return [_sentence(one, hinted=not apart or one.component in _APART) for one in found]


def _sentence(one: Difference, *, hinted: bool) -> str:
    where = f" {one.path}" if one.path else ""
    told = f"{one.component}{where}: stored {one.stored}, wanted {one.wanted}"
    hint = _HINTS.get(one.component) if hinted else None
    return f"{told} - {hint}" if hint else told

"""What an error body means: for every dialect: the provider's own rules first, then the table's.

Decisions worth knowing:

- A request too large for HTTP (413), for the account's tokens per minute, or with more images than the
  server takes is `unsupported_input`: no wait ever lets it through. A 413 that is not the API's own JSON is
  `bad_request`: a limit of a server or proxy before it (nginx: 1 MB), which its owner can raise.
- A limit per day, week or month is `quota_exhausted` whatever wait it names: where requests come back one by
  one, the wait is true for one request and for no sweep. A wait beyond a minute is kept, to say until when.
- A `max_tokens` above the model's own limit is `bad_request`: the setting is wrong, not the case.
- 499, 504 and 524 are `unavailable` that may have been billed: the work went on behind the gateway.
- A web page is known by its status alone: what it says is the gateway's, not the provider's.
- One image that is too large, or cannot be read, is `bad_request`: the user can have it sent otherwise.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.messages import Fault, RawReply, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import ErrorBody, Object, as_object, error_body
from harness.providers.error_rules import OUT_OF_CREDIT, RULES, STATUS_OF_CODE
from harness.providers.waits import (
    wait_in_details,
    wait_in_fields,
    wait_in_headers,
    wait_in_message,
    wait_until_reset,
)
from harness.settings import ErrorRule, Provider

_MESSAGE_SHOWN = 500
_TOO_LARGE = "413: the request is too large for the server, or for a proxy before it"
_WORKED_ON = frozenset({499, 504, 524})
_BELIEVED_S = 60.0
_WINDOW = re.compile(
    r"(?P<days>per[ -](?:day|week|month)\b"
    r"|\b(?:daily|weekly|monthly)\b[^.]{0,30}\b(?:limit|quota|cap|allowance)"
    r"|\b(?:rpd|tpd)\b|_rpd\b|\bper (?:86400\s?s|24 hours)|bymodelbyday|/ ?day\b|\btoday\b)"
    r"|per[ -](?:minute|min|second|sec|hour)\b|\b(?:rpm|tpm|rps|tps)\b|_rpm\b|/ ?(?:min|minute|sec|second)\b"
)
_QUOTA_ID = re.compile(r"\bquotaId\W{1,16}([\w-]{1,200})", re.IGNORECASE)
_SEARCHED = 20_000
_LONG_QUOTA_LEFT = re.compile(r"x-ratelimit(?:bysize)?-remaining\S{0,20}-(?:day|week|month)")
LONGEST_WAIT_S = 315_576_000.0
"""Ten years: what a server may say beyond that is taken for this, and is no date any more."""


class ErrorReader:
    """What adapters share whose errors are JSON, or a web page in its place.

    `now_s` (Unix time) is asked only for waits that are given as a date in an answer without a date.
    """

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s

    def read_error(self, raw: RawReply, provider: Provider) -> Fault | Reply:
        """Return what an answer with any other status than 2xx means."""
        return read_fault(raw, error_body(raw.status, raw.body), provider, self._now_s())


def read_fault(raw: RawReply, error: ErrorBody, provider: Provider, now_s: float) -> Fault | Reply:
    """Return what an answer with a failure status means; a Reply where the provider answered after all.

    `now_s` (Unix time) serves for dates and only where the answer has no date of its own.
    """
    vendor = _by_vendor_rules(error, provider, raw.status)
    own_output = None if vendor else _failed_generation(error)
    if own_output is not None:
        answered = Outcome.ANSWERED if own_output.strip() else Outcome.EMPTY
        return Reply(answered, text=own_output, finish_reason=error.code)
    outcome = vendor or _known_outcome(error)
    if 300 <= raw.status < 400 and vendor is None:
        return Fault(Outcome.UNKNOWN, _redirected(raw), code=error.code)
    if outcome.serves:
        return Reply(outcome, finish_reason=error.code, detail=_shown(error))
    headers = {**headers_within(error.content), **raw.headers}
    wait_s = _wait(outcome, headers, error, now_s)
    if outcome is Outcome.RATE_LIMITED and not vendor and _is_of_days(error, headers, wait_s):
        outcome = Outcome.QUOTA_EXHAUSTED
        wait_s = wait_s if wait_s is not None and wait_s > _BELIEVED_S else None
    maybe_billed = outcome is Outcome.TIMEOUT or error.status in _WORKED_ON
    if wait_s is not None:
        wait_s = min(wait_s, LONGEST_WAIT_S)
    said = _as_it_came(raw, error) if outcome is Outcome.UNKNOWN else _shown(error)
    if outcome is Outcome.BAD_REQUEST and _is_from_before_the_api(error):
        said = ": ".join(filter(None, (_TOO_LARGE, _words(error))))[:_MESSAGE_SHOWN]
    quoted = said == _words(error)
    return Fault(outcome, said, error.code, wait_s, maybe_billed=maybe_billed, quoted=quoted)


def read_fault_in_reply(
    raw: RawReply,
    error: ErrorBody,
    provider: Provider,
    now_s: float,
    usage: Usage | None = None,
    *,
    began: bool = False,
) -> Fault | Reply:
    """Return what an error object in an answer with a good status means, by the error it names.

    `began`: the answer was being given when the error ended it, so that it may be billed.
    """
    fault = read_fault(raw, replace(error, status=inner_status(error)), provider, now_s)
    if isinstance(fault, Reply):
        return replace(fault, usage=usage or fault.usage)
    billed = fault.maybe_billed or began or bool(usage and usage.output_tokens)
    return replace(fault, usage=usage or Usage(), maybe_billed=billed)


def inner_status(error: ErrorBody) -> int:
    """Return the status that an error body itself names, by number or by word; 0 where it names none."""
    for code in sorted(error.codes):
        if code.isascii() and code.isdigit() and len(code) == 3 and 400 <= int(code) < 600:
            return int(code)
    return next((STATUS_OF_CODE[code] for code in sorted(error.codes) if code in STATUS_OF_CODE), 0)


def _by_vendor_rules(error: ErrorBody, provider: Provider, http_status: int) -> Outcome | None:
    for name, rules in provider.errors.items():
        # There is no answer in an error body, whatever a rule says.
        if name != Outcome.ANSWERED and any(_vendor_rule_matches(rule, error, http_status) for rule in rules):
            return Outcome(name)
    return None


def _known_outcome(error: ErrorBody) -> Outcome:
    google = _google_quota(error)
    if google is not None:
        return google
    if error.html and error.status == 403:
        return Outcome.UNAVAILABLE  # a firewall before the provider, which knows nothing of keys
    said = error.words
    found = next((rule.outcome for rule in RULES if rule.matches(error, said)), None)
    if found is Outcome.UNSUPPORTED_INPUT and _is_from_before_the_api(error):
        return Outcome.BAD_REQUEST
    if found is Outcome.CONTEXT_LENGTH and _setting_alone_is_too_long(said):
        return Outcome.BAD_REQUEST
    return found or (Outcome.UNAVAILABLE if 500 <= error.status < 600 else Outcome.UNKNOWN)


def _is_from_before_the_api(error: ErrorBody) -> bool:
    """Tell a 413 whose body is no JSON object: not the API speaks, but what stands before it."""
    return error.status == 413 and not error.content


def _setting_alone_is_too_long(said: str) -> bool:
    """Tell whether `max_tokens` alone is beyond the context: then no case fits, however short (vLLM)."""
    limit = re.search(r"maximum context length is (\d{1,12})", said)
    asked = re.search(r"is too large: (\d{1,12})\b|\b(\d{1,12}) in the completion", said)
    return limit is not None and asked is not None and int(asked[1] or asked[2]) >= int(limit[1])


def _vendor_rule_matches(rule: ErrorRule, error: ErrorBody, http_status: int) -> bool:
    """Tell whether every field that the rule gives matches; a rule that gives none matches nothing."""
    checks = []
    if rule.status is not None:
        checks.append(rule.status in (error.status, http_status))
    if rule.code is not None:
        checks.append(rule.code.lower() in error.codes)
    if rule.message is not None:
        checks.append(rule.message.lower() in error.words)
    return bool(checks) and all(checks)


def _failed_generation(error: ErrorBody) -> str | None:
    """Return the model's text that Groq hands back with a 400 because it did not fit its own checks."""
    output = error.content.get("failed_generation")
    return output if error.status in (0, 400, 422) and isinstance(output, str) else None


def _google_quota(error: ErrorBody) -> Outcome | None:
    """Return how long a Google quota lasts: the day's are over until tomorrow, the minute's are a wait.

    Both are 429 RESOURCE_EXHAUSTED with the same sentence about plan and billing; `quotaId` tells, and
    where there is none, whether a wait is named.
    """
    if error.status not in (0, 429) or "resource_exhausted" not in error.codes:
        return None
    # Gateways hand Google's body on within theirs, as text.
    quotas = [found.lower() for found in _QUOTA_ID.findall(json.dumps(error.content)[:_SEARCHED])]
    if any("perday" in quota for quota in quotas):
        return Outcome.QUOTA_EXHAUSTED
    said = error.words
    if "no capacity available" in said or "model_capacity_exhausted" in error.codes:
        return Outcome.UNAVAILABLE
    # A limit of nothing (a model that the free tier has not) is no wait, whatever wait is named.
    if OUT_OF_CREDIT.matches(error, said) or re.search(r"\blimit: 0\b(?![.,]\d)", said):
        return Outcome.QUOTA_EXHAUSTED
    waits = wait_in_details(error.content) is not None or wait_in_message(error.message) is not None
    per_minute = any("perminute" in quota for quota in quotas)
    if "plan and billing" in said and not (waits or per_minute):
        return Outcome.QUOTA_EXHAUSTED
    return Outcome.RATE_LIMITED


def headers_within(content: Object) -> dict[str, str]:
    """Return the headers that an error body repeats (OpenRouter's `metadata.headers`), names lower case."""
    within = as_object(as_object(content.get("metadata")).get("headers")).items()
    return {name.lower(): str(value) for name, value in within if isinstance(value, str | int | float)}


def _wait(outcome: Outcome, headers: Mapping[str, str], error: ErrorBody, now_s: float) -> float | None:
    if outcome not in (Outcome.RATE_LIMITED, Outcome.UNAVAILABLE):
        return None
    told = (
        wait_in_headers(headers, now_s),
        wait_in_details(error.content),
        wait_in_fields(error.content),
        wait_in_message(f"{error.message}\n{error.hint}"),
    )
    wait_s = max((wait for wait in told if wait is not None), default=None)
    if wait_s is None and outcome is Outcome.RATE_LIMITED:
        return wait_until_reset(headers, now_s)
    return wait_s


def _is_of_days(error: ErrorBody, headers: Mapping[str, str], wait_s: float | None) -> bool:
    """Tell a quota of a day or longer from a limit of a minute, by which of the two is named first.

    Limits are named in quotes too (Google), and no prompt is quoted in a rejection as too many. Where neither
    is named and no wait, by headers that say that a longer quota has nothing left (Mistral).
    """
    named = _WINDOW.search(f"{error.message}\n{error.hint}".lower())
    if named is not None:
        return named["days"] is not None
    return wait_s is None and any(
        _LONG_QUOTA_LEFT.fullmatch(name) and value.strip() == "0" for name, value in headers.items()
    )


def _redirected(raw: RawReply) -> str:
    """Return where a redirect points, without what may be secret there; it is never followed with the key."""
    place = re.split(r"[?#]", raw.headers.get("location", ""), maxsplit=1)[0]
    shown = re.sub(r"//[^/]*@", "//", place)[:_MESSAGE_SHOWN]
    return (
        f"status {raw.status}: the server redirects to {shown!r}, which is not followed; put the address "
        "that answers into base_url"
    )


def _as_it_came(raw: RawReply, error: ErrorBody) -> str:
    """Return the beginning of a body that nobody has seen before, so that a person can tell what it is."""
    body = " ".join(raw.body.decode("utf-8", "replace").split())
    if error.html or not body or (error.message and raw.status < 300):
        return _shown(error)
    return f"status {raw.status}, never seen before: {body}"[:_MESSAGE_SHOWN]


def _shown(error: ErrorBody) -> str:
    """Return what the provider said, or in our words what there is in its place."""
    if error.html:
        return f"a web page in place of an answer (status {error.status})"
    return _words(error) or f"status {error.status} without a word"


def _words(error: ErrorBody) -> str:
    """Return the provider's own words; none of a web page."""
    parts = () if error.html else (error.message, error.hint if error.hint not in error.message else "")
    return " ".join(" ".join(part.split()) for part in parts if part)[:_MESSAGE_SHOWN]

"""What to do about a call that failed, by the kind of the failure."""

from __future__ import annotations

from harness.doctor.findings import Call, Finding, Level
from harness.messages import Fault
from harness.outcomes import ExchangeOutcome as Outcome
from harness.settings import Model


def advice_on(fault: Fault, model: Model) -> str:
    """Return what the user can do, in one sentence."""
    provider = model.provider
    key = provider.api_key_env or "api_key_env (none is configured)"
    match fault.outcome:
        case Outcome.AUTH:
            return f"check {key}: the key is wrong, revoked, or of another provider or project"
        case Outcome.QUOTA_EXHAUSTED:
            return f"add credit to the account of {key}, or wait until its quota is renewed"
        case Outcome.MODEL_NOT_FOUND:
            return (
                f"correct model = {model.model!r} of {model.name!r}, or ask the provider for access; "
                f"'harness models --provider {provider.name}' lists what is known here"
            )
        case Outcome.RATE_LIMITED:
            wait = "" if fault.wait_s is None else f" (it says in {fault.wait_s:,.0f} s)"
            return f"try again later{wait}; if nothing else uses this key, its limit is very low"
        case Outcome.UNAVAILABLE:
            return "the provider's own trouble: try again later, and look at its status page"
        case Outcome.CONNECTION:
            return f"check base_url of [providers.{provider.name}], the network and any proxy"
        case Outcome.TIMEOUT:
            return "try again; if it stays silent, check base_url, a firewall, or raise --timeout"
        case Outcome.MALFORMED_REPLY:
            return (
                "try again; if it is always so, a proxy cuts answers, or what answers at base_url of "
                f"[providers.{provider.name}] is not this API"
            )
        case Outcome.UNSUPPORTED_INPUT:
            return f"correct `inputs` or the limits of [models.{model.name!r}]"
        case Outcome.CONTEXT_LENGTH:
            return f"the server's context is tiny: correct context_tokens or max_tokens of {model.name!r}"
        case Outcome.BAD_REQUEST:
            return "mostly a parameter: see `params`, `unsupported_params` and `max_tokens_field`"
        case _:
            return "nobody has seen this before: --raw shows what the server said"


def failed(check: str, fault: Fault, model: Model, call: Call | None, advice: str | None = None) -> Finding:
    """Return the finding of a check whose call got no answer."""
    words = fault.outcome.value.replace("_", " ")
    status = f"status {call.status}, " if call is not None and call.status else ""
    told = f"{status}{words}: {fault.message}"
    return Finding(check, Level.FAIL, told, advice or advice_on(fault, model), call)

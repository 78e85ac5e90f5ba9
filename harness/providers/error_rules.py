"""The ordered table by which error bodies are recognised: the first rule that matches decides.

Sources: the vendors' error-code pages and recorded exchanges; a comment names a vendor where only that
one words it so. A status of 0 is an error within an answer of status 200 that names no status itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import ErrorBody

_CLIENT = frozenset({0, 400, 401, 402, 403, 404, 409, 413, 415, 422, 429, 451})
_REJECTED = frozenset({0, 400, 403, 404, 413, 415, 422, 451})


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of error.

    `codes` match whole, `phrases` as parts of what was said; `statuses` must hold too (empty: any).
    """

    outcome: Outcome
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()

    def matches(self, error: ErrorBody) -> bool:
        """Return True if the error has one of the codes or phrases (none given: any) and the status."""
        if self.statuses and error.status not in self.statuses:
            return False
        if not self.codes and not self.phrases:
            return True
        return bool(self.codes & error.codes) or any(phrase in error.words for phrase in self.phrases)


def _rule(outcome: Outcome, statuses: frozenset[int], codes: str = "", phrases: tuple[str, ...] = ()) -> Rule:
    return Rule(outcome, statuses, frozenset(codes.split()), phrases)


_ANY: frozenset[int] = frozenset()

RULES: Final = (
    # Anthropic: blocked while it wrote; the limits of spending (400, 429 without a wait, 402), which its page
    # "Errors" gives codes; a closed account; a long context that the account does not have.
    _rule(Outcome.FILTERED, _REJECTED | {500}, "", ("blocked by content filtering policy",)),
    _rule(
        Outcome.QUOTA_EXHAUSTED, _CLIENT,
        "enforced_spend_limit_reached contract_spend_limit_reached linked_organization_spend_limit_reached "
        "linked_organization_billing_unavailable",
        ("api usage limits", "usage limits. you will regain access"),
    ),
    _rule(
        Outcome.AUTH, frozenset({0, 400, 403}), "organization_on_hold", ("organization has been disabled",)
    ),
    _rule(
        Outcome.UNSUPPORTED_INPUT, frozenset({0, 400, 429}), "",
        ("required for long context requests", "long context beta is not yet available"),
    ),
    _rule(Outcome.CONTEXT_LENGTH, frozenset({0, 400}), "", ("exceed context limit",)),
    # Blocks, whatever their status: Azure 400, DashScope 400, xAI 403, OpenRouter 403, OpenAI 400.
    _rule(
        Outcome.FILTERED, _ANY,
        "content_filter content_policy_violation responsibleaipolicyviolation data_inspection_failed "
        "datainspectionfailed moderation_blocked content_blocked prohibited_content model_armor "
        # OpenAI's responses. `invalid_prompt` is a block only where the words say so: OpenRouter says it
        # of any bad request.
        "bio_policy cyber_policy misalignment_policy_violation image_content_policy_violation",
    ),
    _rule(
        Outcome.FILTERED, _REJECTED, "",
        ("content management policy", "content violates usage guidelines", "safety_check_type",
         "may contain inappropriate content", "potentially violating our usage policy", "responsible ai",
         "requires moderation", "rejected as a result of our safety system", "flagged by our moderation",
         "flagged for possible cybersecurity risk",
         "considered high risk", "content exists risk", "potentially unsafe or sensitive content"),
    ),
    # Out of credit, in every disguise.
    _rule(
        Outcome.QUOTA_EXHAUSTED, _ANY,
        "insufficient_quota insufficient_balance insufficient_credits billing_not_active "
        "billing_hard_limit_reached billing_error spend_limit spend_limit_reached insufficient_user_quota "
        "exceeded_current_quota_error arrearage billing_disabled account_deactivated",
    ),
    _rule(Outcome.QUOTA_EXHAUSTED, frozenset({402})),
    _rule(
        Outcome.QUOTA_EXHAUSTED, _CLIENT, "",
        ("insufficient balance", "insufficient credit", "insufficient quota", "insufficient funds",
         "credit balance is too low", "used all available credits", "out of credit", "spending limit",
         "spend limit", "plan and billing", "billing hard limit", "billing to be enabled",
         "billing is not active", "account is not active", "account is in good standing",
         "monthly usage limit", "monthly included credits", "purchase more credits", "payment required"),
    ),
    # Keys: Google and xAI say 400.
    _rule(
        Outcome.AUTH, frozenset({0, 400, 401, 403}),
        "invalid_api_key api_key_invalid invalidapikey authentication_error unauthenticated "
        "api_key_service_blocked",
        ("api key not valid", "incorrect api key", "invalid api key", "api key expired", "api key not found",
         "invalid subscription key", "no auth credentials", "missing authentication"),
    ),
    _rule(Outcome.AUTH, frozenset({401, 407})),
    # Beyond what the model or the account takes.
    _rule(Outcome.UNSUPPORTED_INPUT, frozenset({429}), "", ("request too large", "tokens must be reduced")),
    _rule(
        Outcome.CONTEXT_LENGTH, frozenset({0, 400, 413, 422, 500}),
        "context_length_exceeded exceed_context_size_error context_window_exceeded",
        ("maximum context length", "context window", "context size", "prompt is too long",
         "input is too long",
         "input token count", "maximum number of tokens allowed", "maximum prompt length",
         "range of input length", "exceeded model token limit", "longer than the maximum model length",
         "longer than the model's context length"),
    ),
    _rule(
        Outcome.UNSUPPORTED_INPUT, frozenset({0, 400, 404, 415, 422, 500}), "",
        ("support image input", "support images", "support image content", "support vision",
         "support video input", "support multimodal",
         "not a multimodal model", "is not multimodal", "image input is not", "image(s) may be provided",
         "video(s) may be provided", "too many images", "maximum number of images",
         "image_url is only supported by", "unknown variant `image_url`", "content must be a string",
         "content' : value must be a string", "no multimodal", "without vision", "mmproj"),
    ),
    _rule(Outcome.UNSUPPORTED_INPUT, frozenset({413, 415})),
    # The name of the model, or the address.
    _rule(
        Outcome.MODEL_NOT_FOUND, frozenset({0, 400, 403, 404, 410, 422}),
        "model_not_found model_not_exist modelnotfound model_not_available deploymentnotfound invalid_model "
        "unknown_model model_decommissioned model_not_supported",
        ("does not exist or you do not have access", "model not exist", "model does not exist",
         "is not a valid model", "has been decommissioned", "model has been deprecated",
         "must be verified to use the model", "only supported in v1/responses", "with the responses api",
         "not supported for generatecontent", "no longer available to new users"),
    ),
    _rule(Outcome.MODEL_NOT_FOUND, frozenset({404, 405, 410})),
    # Too much at once, by whose fault.
    _rule(
        Outcome.UNAVAILABLE, frozenset({0, 429}),
        "engine_overloaded_error overloaded_error server_is_overloaded server_overloaded engine_overloaded "
        "service_tier_capacity_exceeded",
        ("overloaded", "system capacity", "no capacity available", "model is busy", "server is busy"),
    ),
    _rule(Outcome.RATE_LIMITED, frozenset({429})),
    _rule(
        Outcome.RATE_LIMITED, frozenset({0, 403}),
        "rate_limit_exceeded rate_limit_error rate_limited ratelimitreached ratelimitexceeded "
        "userratelimitexceeded too_many_requests resource_exhausted",
        ("rate limit exceeded", "too many requests", "rate limit reached"),
    ),
    _rule(Outcome.AUTH, frozenset({403})),
    _rule(Outcome.BAD_REQUEST, frozenset({400, 422})),
    _rule(Outcome.TIMEOUT, frozenset({408})),
)

STATUS_OF_CODE: Final[Mapping[str, int]] = {
    # What OpenAI's responses say of a prompt or an image.
    "invalid_prompt": 400, "invalid_image": 400, "invalid_image_format": 400, "invalid_base64_image": 400,
    "invalid_image_url": 400, "invalid_image_mode": 400, "image_too_large": 400, "image_too_small": 400,
    "image_parse_error": 400, "image_file_too_large": 400, "unsupported_image_media_type": 400,
    "empty_image_file": 400, "failed_to_download_image": 400, "image_file_not_found": 400,
    "invalid_request_error": 400, "invalid_argument": 400, "badrequesterror": 400, "bad_request": 400,
    "failed_precondition": 400, "permission_denied": 403, "permission_error": 403, "not_found": 404,
    "not_found_error": 404, "notfounderror": 404, "request_too_large": 413, "server_error": 500,
    "internal_error": 500, "internal": 500, "internalservererror": 500, "api_error": 500,
    "service_unavailable_error": 503, "unavailable": 503, "deadline_exceeded": 504, "gateway_timeout": 504,
    "timeout_error": 504,
}  # fmt: skip
"""What a body names instead of a status, where an answer with status 200 holds an error."""

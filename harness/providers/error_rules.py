"""The ordered table by which error bodies are recognised: the first rule that matches decides.

Sources: the vendors' error-code pages, issue threads and recorded exchanges; a comment names a vendor where
only that one words it so. Words are the provider's own (`harness.providers.error_words`), so a prompt that is
quoted decides nothing; rules that would let an error serve as an answer (`filtered`) name typed codes and
whole phrases only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.error_request_rules import INPUT_RULES, MODEL_RULES
from harness.providers.error_rule import ANY, CLIENT, REJECTED, rule

_BLOCKS: Final = (
    # Whatever their status: Azure, DashScope and OpenAI 400, xAI 403, StepFun 451. `content_filter_error` is
    # a filter that failed, not one that took offence.
    rule(
        Outcome.FILTERED, ANY,
        "responsibleaipolicyviolation prohibited_content model_armor flagged_input censorship_blocked "
        # OpenAI's responses. `invalid_prompt` is a block only where the words say so: OpenRouter says it of
        # any bad request.
        "bio_policy cyber_policy misalignment_policy_violation",
        codes_like=r"content[_.-]?filter(?![_.-]?(?:error|timeout|unavail))|content[_.-]?(?:policy|moderation)"
        r"|content_blocked|moderation[_.-]?(?:block|flag|reject)|safety[_.-]?(?:block|violation)"
        r"|sensitive[_.-]?content|(?:input|output|prompt)[_.-]?sensitive|data_?inspection_?failed"
        r"|guardrails?[_.-]?(?:intervened|violat|block)",
    ),
    rule(
        Outcome.FILTERED, REJECTED, "",
        r"content management policy", r"content violates usage guidelines", r"safety_check_type",
        r"may contain inappropriate content", r"potentially violating our usage policy", r"responsible ai\b",
        r"requires moderation", r"rejected as a result of our safety system", r"flagged by our moderation",
        r"considered high risk", r"content exists risk", r"sensitive content (?:was )?detected",
        r"(?:unsafe or|may contain) sensitive (?:content|information)",
        r"(?:blocked|rejected|refused|filtered|flagged) by (?:the |our |a )?(?:\w+ ){0,2}(?:guardrail|"
        r"moderation|content[ -]filter|content (?:policy|moderation|safety)|safety (?:system|filter|polic))",
        r"(?:prompt|input|request|response|output|content) (?:was |is )?blocked (?:due to|for) safety",
        r"violat\w+ (?:the |our |\w+'s )?(?:content polic|usage polic|guardrail|safety polic)",
        # OpenAI of biology (its code is `invalid_prompt`), Anthropic.
        r"(?:limited access to this content|this action is restricted) for safety reasons",
        r"flagged for possible cybersecurity risk", r"new_sensitive\b",  # OpenAI; MiniMax
        r"不安全或敏感内容", r"内容(?:安全|审核)\S{0,6}(?:未通过|不通过|拦截)",  # Zhipu and others
    ),
    # Anthropic, while it wrote.
    rule(Outcome.FILTERED, frozenset({500}), "", r"blocked by content filtering policy"),
)  # fmt: skip

OUT_OF_CREDIT: Final = rule(
    Outcome.QUOTA_EXHAUSTED, CLIENT, "",
    r"(?:insufficient|not enough|exhausted|out of|used all|more|no) (?:\w+ ){0,3}(?:credits?|funds|balance)",
    r"(?:credits?|balance|funds)\b[^.]{0,30}\b(?:exhausted|depleted|expired|used up|too low|insufficient"
    r"|negative|not enough)", r"insufficient (?:\w+ )?quota", r"quota is not enough",
    r"spend(?:ing)?[ -]?(?:limit|cap)", r"billing hard limit", r"billing to be enabled",
    r"(?:billing|account) is not active", r"account is in good standing", r"account\b.{0,80}\bis suspended",
    r"account\b.{0,40}\boverdue", r"unpaid (?:invoice|bill)", r"(?:monthly|weekly) usage limit",
    r"(?:limit|quota)\b[^.]{0,30}\bbilling (?:cycle|period)", r"monthly included credits",
    r"(?:credit|key) limit exceeded", r"purchase (?:more )?credits", r"payment required",
    r"budget (?:has been |was )?exceeded", r"exceeded\b.{0,40}\bbudget",
    r"usage limits\. you will regain access", r"api usage limits", r"(?:please|to) (?:recharge|top up)",
    r"余额不足", r"欠费",
)  # fmt: skip
"""Out of credit, in every disguise of words."""

_CREDIT: Final = (
    # Requests at once: a wait, whatever status (Kimi: 403) or advice on topping up (DeepSeek) comes with it.
    rule(
        Outcome.RATE_LIMITED, frozenset({0, 400, 403, 429}), "",
        r"\bconcurren(?:cy|t)(?: \w+){0,2} limit\b", r"\bmax(?:imum|\.)?(?: number of)? concurrent\b",
    ),
    rule(
        Outcome.QUOTA_EXHAUSTED, ANY, "allocationquota.freetieronly",
        r"free allocated quota", r"free (?:tier|quota)\b[^.]{0,60}\b(?:exhausted|used up|expired)",
    ),
    # DashScope words its limit of tokens a minute as OpenAI words an empty account; the link tells.
    rule(
        Outcome.RATE_LIMITED, frozenset({0, 403, 429}),
        "throttling throttling.ratequota throttling.burstrate throttling.allocationquota throttling.user "
        "limit_requests limit_burst_rate",
        r"error-code\S{0,3}#(?:token|rate|burst)[-_]?(?:limit|rate)",
    ),
    rule(
        Outcome.QUOTA_EXHAUSTED, ANY,
        "billing_not_active billing_hard_limit_reached billing_error exceeded_current_quota_error arrearage "
        "billing_disabled account_deactivated creditserror budget_exceeded payment_required "
        "accountoverdueerror linked_organization_billing_unavailable",
        codes_like=r"insufficient_(?:user_)?(?:quota|balance|credit|fund)|spend(?:ing)?[_-]limit"
        r"|credits?_(?:exhausted|depleted)",
    ),
    rule(Outcome.QUOTA_EXHAUSTED, frozenset({402})),
    OUT_OF_CREDIT,
    rule(Outcome.QUOTA_EXHAUSTED, CLIENT, "", r"plan and billing"),
)  # fmt: skip

_ACCESS: Final = (
    # Where somebody sits, whatever the status: nothing of this pool will be answered.
    rule(
        Outcome.AUTH, REJECTED, "unsupported_country_region_territory unsupported_country",
        r"country, region,? or territory", r"location is not supported", r"unsupported (?:country|region)",
        r"not (?:available|supported) in (?:your|this) (?:country|region|location|territory)\b(?! of)",
    ),
    # Keys: Google and xAI say 400.
    rule(
        Outcome.AUTH, frozenset({0, 400, 401, 403}),
        "invalid_api_key api_key_invalid invalidapikey authentication_error unauthenticated "
        "api_key_service_blocked invalid_authentication_error incorrect_api_key_error auth_error",
        r"api[ _-]key (?:is )?(?:not valid|invalid|expired|not found|missing|disabled)", r"incorrect api key",
        r"invalid (?:api|subscription|x-api)[ -]key", r"no (?:cookie )?auth credentials",
        r"missing authentication", r"authentication fails", r"invalid authentication",
    ),
    rule(
        Outcome.AUTH, frozenset({0, 400, 403}), "organization_on_hold organization_restricted",
        r"organization has been (?:disabled|restricted)",
    ),
    rule(Outcome.AUTH, frozenset({401, 407})),
)  # fmt: skip

_LOAD: Final = (
    rule(
        Outcome.UNAVAILABLE, ANY,
        "overloaded_error modelloading model_loading",
        codes_like=r"(?:engine|server)(?:_is)?_?overloaded|capacity_ex(?:ceeded|hausted)",
    ),
    rule(
        Outcome.UNAVAILABLE, frozenset({0, 400, 403, 409, 424, 425, 429}), "",
        r"overloaded", r"system capacity", r"no capacity available", r"capacity exceeded", r"at capacity",
        r"(?:model|server|service|engine) is (?:too )?busy", r"is (?:currently|still) loading",
        r"high demand",
    ),
    rule(Outcome.RATE_LIMITED, frozenset({429})),
    rule(
        Outcome.RATE_LIMITED, frozenset({0, 400, 403}),
        "rate_limit_exceeded rate_limit_error rate_limited ratelimitreached ratelimitexceeded "
        "userratelimitexceeded too_many_requests resource_exhausted rate_limit_reached_error",
        r"rate[ -]limit(?: was| has been| is)? (?:exceeded|reached)", r"too many requests", r"^rate limit\b",
    ),
    # Cloudflare's wall in plain text, before the provider: it knows nothing of keys.
    rule(Outcome.UNAVAILABLE, frozenset({403}), "", r"^error code: 1\d{3}\s*$"),
    rule(Outcome.AUTH, frozenset({403})),
    rule(Outcome.BAD_REQUEST, frozenset({400, 422})),
    rule(Outcome.TIMEOUT, frozenset({408})),
    rule(Outcome.TIMEOUT, frozenset({0}), "timeout timeout_error request_timeout", r"\btimed[ -]out\b"),
    rule(Outcome.UNAVAILABLE, frozenset({425})),
    rule(Outcome.UNAVAILABLE, frozenset({499}), "", r"cancell?ed", r"client closed"),
    rule(
        Outcome.UNAVAILABLE, frozenset({0}), "",
        r"internal (?:server )?error", r"provider returned error", r"try again", r"service unavailable",
        r"temporarily", r"bad gateway", r"upstream", r"server error", r"connection (?:reset|error|refused)",
        r"server had an error", r"something went wrong", r"unexpected error", r"processing your request",
    ),
)  # fmt: skip

RULES: Final = (*_BLOCKS, *_CREDIT, *_ACCESS, *INPUT_RULES, *MODEL_RULES, *_LOAD)

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
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""What a body names instead of a status, where an answer with status 200 holds an error."""

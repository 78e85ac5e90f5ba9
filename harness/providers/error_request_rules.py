"""Rules for errors that are about the request: its length, its images, its parameters, its model.

Part of the table in `harness.providers.error_rules`, which says where they come from; order counts.
"""

from __future__ import annotations

from typing import Final

from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.error_rule import rule

_LENGTH_STATUSES: Final = frozenset({0, 400, 413, 422, 500})
_INPUT_STATUSES: Final = frozenset({0, 400, 404, 415, 422, 500, 501})
_NO: Final = r"\W?\W(?:is|are) (?:not|only) (?:supported|accepted|allowed|enabled)(?: by| for|$|[.,; ])"

_LENGTH: Final = (
    rule(
        Outcome.CONTEXT_LENGTH, _LENGTH_STATUSES,
        "context_length_exceeded exceed_context_size_error context_window_exceeded "
        "model_context_window_exceeded contextwindowexceedederror string_above_max_length prompt_too_long",
        r"max(?:imum)? context length", r"context[ _]length exceeded", r"context overflow",
        r"exceed\w*\b[^.]{0,40}\bcontext (?:window|length|size|limit)", r"available context size",
        r"context (?:window|size|length)\b[^.]{0,20}\bexceed", r"\bcontext (?:window|size|length) is \d+",
        r"\bfit (?:in|into|within) the (?:model|context)",
        r"(?:longer|greater|larger|more) than the (?:model'?s )?(?:context length|maximum model length)",
        r"(?:prompt|input|inputs|query|message)\b[^.]{0,60}\b(?:is |are |was |were |length )?too long",
        r"input token(?:s| count)\b[^.]{0,40}\b(?:exceed|is \d+ but)", r"maximum number of tokens allowed",
        r"maximum prompt length", r"range of input length", r"model token limit", r"exceeds max_model_len",
        r"reduce the length of the (?:messages|prompt|input)", r"context the overflows",  # LM Studio
        r"inputs\W{1,3}tokens \+ \W?max_new_tokens", r"inputs\W{1,3}must have less than \d+ tokens",  # TGI
        r"(?:input|prompt)\b[^.]{0,40}\bexceeds the (?:maximum (?:allowed )?length|max length|limit of \d+)",
        r"\d+ tokens\b[^.]{0,40}\btoo large for model",  # Mistral
        r"reached context length of", r"prompt (?:超长|exceeds max length)", r"token limit exceeded",
    ),
    rule(
        Outcome.BAD_REQUEST, frozenset({0, 400, 422}),
        "unsupported_parameter unknown_parameter missing_required_parameter json_validate_failed",
        # A length that is asked for is a setting, not the case.
        r"max_(?:completion_|output_|new_)?tokens\b[^.]{0,60}\b(?:must|should|exceed|greater|too large)",
        r"range of max_tokens", r"maximum tokens you requested",  # Bedrock
        r"max_tokens: \d+ > \d+", r"maximum (?:allowed )?number of output tokens",
    ),
    # llama-cpp-python says with a 500 that it does not take the body (json_schema, say; seen on 0.3.36).
    rule(Outcome.BAD_REQUEST, frozenset({500}), "", r"^\d+ validation errors?:\s"),
    rule(
        Outcome.CONTEXT_LENGTH, frozenset({0, 400, 413, 422}), "",
        r"\btokens\b[^.]{0,80}\bexceed\w*\b[^.]{0,60}\b(?:max\w*|limit)", r"too many (?:input )?tokens",
        r"exceed\w*\b[^.]{0,60}\b\d+ tokens", r"exceeds? the maximum number of tokens",
        r"more than max tokens",
    ),
)  # fmt: skip

_IMAGES: Final = (
    rule(
        Outcome.UNSUPPORTED_INPUT, frozenset({429}), "",
        r"request too large", r"tokens must be reduced", r"required for long context requests",
    ),
    # A request or an image beyond what the endpoint takes, or an image where it takes none; what it says of
    # formats is another matter.
    rule(
        Outcome.UNSUPPORTED_INPUT, _INPUT_STATUSES, "request_too_large",
        r"\bsupport(?:s|ed|ing)?\W{1,2}(?:for |the )?(?:input )?(?:images?|vision|video|visual|multi-?modal)"
        r"(?:_url)?(?:\W{1,2}(?:inputs?|content|processing|understanding|modality|parts?)\b"
        r"|\W{0,2}$|\W{0,2}[.,;:(\n]|\W{1,2}(?:with|in|for|on|at|by)\b)",
        r"(?:not|n't) (?:accept|take|have)\W{1,2}(?:images?|vision|visual)",
        r"missing data required for image",
        r"not a multi-?modal model", r"is not multi-?modal", r"no multi-?modal", r"without vision", r"mmproj",
        r"\b(?:images?|vision|videos?|(?:image|video|multi-?modal) inputs?|(?:image|video)_url)" + _NO,
        r"\b(?:image|vision|video)\b[^.]{0,20}\bmodality is not",
        r"\b(?:images?|vision|(?:image|video) inputs?)\W{1,2}not supported\b",
        r"only supports text\b", r"only text (?:content|input|messages?|parts?)\b", r"\bis text[- ]only\b",
        # llama.cpp, llamafile, llama-cpp-python
        r"unsupported content part type\W{1,4}(?:image|video)", r"not compiled for multi-?modal",
        r"can only concatenate str \(not \W{0,2}list",
        # Messages whose content may be no list: there is no place for an image.
        r"unknown variant \W?image_url", r"content(?:\W{1,2}: value)? must be a string",
        r"content: expected (?:a )?string", r"valid string\s+body\.messages\.\d+\.content\b",
    ),
    rule(
        Outcome.UNSUPPORTED_INPUT, _INPUT_STATUSES, "",
        r"(?:image|video)\(s\) may be provided", r"too (?:many (?:images?|videos?|media)|much media)\b",
        r"max(?:imum)?\b[^.]{0,20}\b\d+ (?:images?|videos?)\b",
        r"(?:maximum|max\.?) (?:number|count) of (?:images|videos)",
        r"(?:number|count) of (?:images|videos)\b[^.]{0,20}\bexceed", r"\d+ images\b[^.]{0,30}\bonly \d+",
        r"(?:at most|up to|maximum of|more than|fewer than|limit of|exceeds?) \d+ (?:images?|videos?)\b",
        r"request body: length limit exceeded",
        r"(?:payload|request|message|body) size\b[^.]{0,20}\bexceed",
        r"long context (?:requests\b|beta is not)",  # Anthropic, where the account may not send as much
    ),
    rule(Outcome.UNSUPPORTED_INPUT, frozenset({413, 415})),
)  # fmt: skip

INPUT_RULES: Final = (*_LENGTH, *_IMAGES)
"""What the request says, or how much of it."""

MODEL_RULES: Final = (
    # Parameters that no endpoint of the model takes: OpenRouter says 404.
    rule(
        Outcome.BAD_REQUEST, frozenset({404}), "",
        r"(?:requested|handle the|support the) parameters", r"support (?:tool use|\W?response_format)",
    ),
    rule(
        Outcome.MODEL_NOT_FOUND, frozenset({0, 400, 403, 404, 410, 422}),
        "model_not_found model_not_exist modelnotfound model_not_available deploymentnotfound invalid_model "
        "unknown_model model_decommissioned model_not_supported model.accessdenied operationnotsupported "
        "invalidendpointormodel.notfound modelnotopen unavailable_model "
        "model_terms_required model_permission_blocked_org model_permission_blocked_project",  # Groq
        r"does not exist or you do not have access", r"model not exist", r"model does not exist",
        r"model\W{1,2}\S{1,120} (?:does not exist|(?:is |was )?not found)", r"is not a valid model",
        r"model\W{1,2}\S{1,120} (?:is|has been) (?:not (?:supported|available)|retired|discontinued"
        r"|decommissioned|no longer (?:supported|available))(?! (?:with|for|in|when)\b)",
        r"model\b.{0,80}\bhas been deprecated", r"invalid model\b", r"not supported for generatecontent",
        r"no longer available to new users", r"unknown model", r"no models? (?:is |are )?loaded",
        r"model access denied", r"must be verified to use the model", r"only supported in v1/responses",
        r"with the responses api",
        r"model identifier is invalid", r"on-demand throughput is",  # Bedrock
    ),
    rule(Outcome.MODEL_NOT_FOUND, frozenset({404, 405, 410})),
)  # fmt: skip
"""The name of the model, or the address."""

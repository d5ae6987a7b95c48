"""Every way a call can fail, and what the caller may be told.

GatewayError
├── RequestError                the caller's request is at fault
│   ├── InvalidJson
│   ├── UnsupportedParameter
│   ├── UnknownProcessor
│   ├── PluginUnavailable
│   ├── PromptTooLong
│   ├── PayloadTooLarge
│   ├── UnsupportedMediaType
│   ├── RequestTimeout
│   ├── UriTooLong
│   ├── HeadersTooLarge
│   ├── InvalidHost
│   ├── ExpectationFailed
│   ├── ModelNotFound
│   ├── FunctionNotFound
│   ├── NotFound
│   ├── MethodNotAllowed
│   ├── FileNotFound
│   ├── InvalidFile
│   ├── ImageNotSupported
│   ├── AudioNotSupported
│   ├── PdfNotSupported
│   ├── Quarantined
│   ├── Conflict
│   ├── AnswerNotKept
│   └── IdempotencyMismatch
├── AdmissionError              the caller may not
│   ├── InvalidKey
│   ├── InsufficientScope
│   ├── IpNotAllowed
│   ├── ModelNotAllowed
│   ├── WorkspaceLocked
│   ├── InsufficientCredits
│   ├── KeyLimitExceeded
│   ├── KeyLossExceeded
│   ├── RateLimited
│   └── ConcurrencyLimited
├── UpstreamError               the provider is at fault, or says that the caller is
│   ├── ProviderUnavailable
│   │   ├── ProviderUnreachable
│   │   └── StreamBroken
│   ├── ProviderAuth
│   ├── ProviderRateLimit
│   ├── ProviderOverloaded
│   ├── ProviderTimeout
│   │   └── CallTimeout
│   ├── ProviderRejected
│   ├── ContextLengthExceeded
│   └── ContentFiltered
├── PlatformError               we are at fault
│   ├── DatabaseUnavailable
│   ├── StorageUnavailable
│   ├── Overloaded
│   ├── ServerStopping
│   └── NoUpstreamAvailable
└── CallerGone                  nobody is left to be told
    ├── CallerLeft
    └── CallerStalled

status, code and type are the catalogue of docs/errors.md, which is made from these classes.
The message of any GatewayError is safe to show; what is not safe goes in `detail`, which is
logged and never sent, and what a provider said in `quote`, which may hold what callers said and
is logged for debugging alone. `retry_elsewhere` lets the pipeline try the next target, before the
first byte only. `should_retry`, where set, is sent as x-should-retry, which the SDKs obey.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

# Messages quote what was sent, which may be as long as a body.
MAX_MESSAGE_CHARS = 2_000
MAX_PARAM_CHARS = 256


class GatewayError(Exception):
    """A failure of ours: internal_error. The base of every other."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "api_error"
    meaning: ClassVar[str] = "Something went wrong on our side; nothing was charged."
    retry_elsewhere: ClassVar[bool] = False
    should_retry: ClassVar[bool | None] = None

    def __init__(
        self,
        message: str = "",
        *,
        param: str | None = None,
        detail: str = "",
        quote: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message or self.meaning)
        self.message = (message or self.meaning)[:MAX_MESSAGE_CHARS]
        self.param = param[:MAX_PARAM_CHARS] if param else param
        self.detail = detail
        self.quote = quote
        self.details = dict(details or {})
        self.retry_after_s = retry_after_s


class RequestError(GatewayError):
    status, code, type = 400, "invalid_request", "invalid_request_error"
    meaning = "The request does not fit the schema; param names the place."


class InvalidJson(RequestError):
    code = "invalid_json"
    meaning = "The body is not JSON."


class UnsupportedParameter(RequestError):
    code = "unsupported_parameter"
    meaning = "The parameter cannot be used here; param names it."


class UnknownProcessor(RequestError):
    code = "unknown_processor"
    meaning = "There is no such processor; param names the place."


class PluginUnavailable(RequestError):
    code = "plugin_unavailable"
    meaning = "Nothing here runs this plugin."


class PromptTooLong(RequestError):
    code = "context_length_exceeded"
    meaning = "The prompt, with the output asked for, is longer than the model's context."


class PayloadTooLarge(RequestError):
    status, code = 413, "payload_too_large"
    meaning = "The body is larger than this endpoint takes."


class UnsupportedMediaType(RequestError):
    status, code = 415, "unsupported_media_type"
    meaning = "The body is declared to be in another charset than UTF-8."


class RequestTimeout(RequestError):
    status, code = 408, "request_timeout"
    meaning = "The request did not arrive in time; the connection is closed."


class UriTooLong(RequestError):
    status, code = 414, "uri_too_long"
    meaning = "The request line is longer than 8 KB; the connection is closed."


class HeadersTooLarge(RequestError):
    status, code = 431, "headers_too_large"
    meaning = "There are too many headers, or they are too long; the connection is closed."


class InvalidHost(RequestError):
    code = "invalid_host"
    meaning = "The Host header is missing or malformed, or names a host that is not ours."


class ExpectationFailed(RequestError):
    status, code = 417, "expectation_failed"
    meaning = "The Expect header asks for something other than 100-continue."


class ModelNotFound(RequestError):
    status, code, type = 404, "model_not_found", "not_found_error"
    meaning = "There is no such model."


class FunctionNotFound(RequestError):
    status, code, type = 404, "function_not_found", "not_found_error"
    meaning = "There is no such function."


class NotFound(RequestError):
    status, code, type = 404, "not_found", "not_found_error"
    meaning = "There is nothing at this address."


class MethodNotAllowed(RequestError):
    status, code = 405, "method_not_allowed"
    meaning = "This address does not take that method; the Allow header names those it takes."


class FileNotFound(RequestError):
    code = "file_not_found"
    meaning = "The workspace has no file with this id."


class InvalidFile(RequestError):
    code = "invalid_file"
    meaning = "The image, sound or file is broken, not what it is said to be, or not to be fetched."


class ImageNotSupported(RequestError):
    code = "image_not_supported_by_model"
    meaning = "The model does not take images."


class AudioNotSupported(RequestError):
    code = "audio_not_supported_by_model"
    meaning = "The model does not take sound."


class PdfNotSupported(RequestError):
    code = "pdf_not_supported_by_model"
    meaning = "The model reads no PDF files, and no page of this one has text to give it instead."


class Quarantined(RequestError):
    status, code, should_retry = 422, "quarantined", False
    meaning = "The same content made a process of ours fail; it is not tried again for a while."


class Conflict(RequestError):
    status, code, should_retry = 409, "conflict", True
    meaning = "A request with the same Idempotency-Key is still running."


class AnswerNotKept(RequestError):
    status, code, should_retry = 409, "conflict", False
    meaning = "The answer to this Idempotency-Key was over 16 MB and was not kept."


class IdempotencyMismatch(RequestError):
    status, code, should_retry = 422, "idempotency_mismatch", False
    meaning = "The Idempotency-Key was used before, for another request."


class AdmissionError(GatewayError):
    status, code, type = 403, "request_blocked", "permission_error"
    meaning = "The call is not permitted."


class InvalidKey(AdmissionError):
    status, code, type = 401, "invalid_api_key", "authentication_error"
    meaning = "The API key is missing, unknown, revoked or expired."


class InsufficientScope(AdmissionError):
    code = "insufficient_scope"
    meaning = "The key lacks the scope named in details.required_scope."


class IpNotAllowed(AdmissionError):
    code = "ip_not_allowed"
    meaning = "The key may not be used from this address."


class ModelNotAllowed(AdmissionError):
    code = "model_not_allowed"
    meaning = "The key may not use this model."


class WorkspaceLocked(AdmissionError):
    code = "workspace_locked"
    meaning = "The workspace is locked; its calls are refused until an operator unlocks it."


class InsufficientCredits(AdmissionError):
    status, code, type = 402, "insufficient_credits", "insufficient_credits"
    meaning = "The balance, less what running calls hold, does not cover this call."


class KeyLimitExceeded(AdmissionError):
    status, code, type = 402, "key_limit_exceeded", "key_limit_exceeded"
    meaning = "What the key may spend a day, a month or in total does not cover this call."


class KeyLossExceeded(AdmissionError):
    status, code, type = 402, "key_loss_limit_exceeded", "key_limit_exceeded"
    meaning = (
        "Calls of this key cost more than the balance had, by as much as is taken on in a day; "
        "it can be used again when the day (UTC) is over."
    )


class RateLimited(AdmissionError):
    status, code, type = 429, "rate_limit_exceeded", "rate_limit_error"
    meaning = "Too many calls in too short a time; Retry-After says when to come back."


class ConcurrencyLimited(AdmissionError):
    status, code, type = 429, "concurrency_limit_exceeded", "rate_limit_error"
    meaning = "As many calls run as may at once, and there was no turn for this one in time."


class UpstreamError(GatewayError):
    status, code = 502, "provider_unavailable"
    meaning = "The provider failed."


class ProviderUnavailable(UpstreamError):
    retry_elsewhere = True
    meaning = "The provider could not be reached, or failed, or its answer made no sense."


class ProviderUnreachable(ProviderUnavailable):
    """Never connected: no byte of the request left, so trying again cannot run it twice."""


class StreamBroken(ProviderUnavailable):
    """The answer had begun and did not come to its end."""


class ProviderAuth(UpstreamError):
    code, retry_elsewhere, should_retry = "provider_auth", True, False
    meaning = "The provider refused our credential; the operator has to mend it."


class ProviderRateLimit(UpstreamError):
    status, code, type, retry_elsewhere = 429, "provider_rate_limit", "rate_limit_error", True
    meaning = "The provider is limiting our rate."


class ProviderOverloaded(UpstreamError):
    status, code, type, retry_elsewhere = 529, "provider_overloaded", "overloaded_error", True
    meaning = "The provider is overloaded."


class ProviderTimeout(UpstreamError):
    status, code, retry_elsewhere, should_retry = 504, "provider_timeout", True, False
    meaning = "The provider took too long."


class CallTimeout(ProviderTimeout):
    """The whole call's time is over, so no other target may be tried."""

    retry_elsewhere = False


class ProviderRejected(UpstreamError):
    status, code, type = 400, "invalid_request", "invalid_request_error"
    meaning = "The provider rejected the request; the message is the provider's."


class ContextLengthExceeded(UpstreamError):
    status, code, type = 400, "context_length_exceeded", "invalid_request_error"
    meaning = "The prompt is longer than the model takes."


class ContentFiltered(UpstreamError):
    status, code, type = 400, "content_filter", "invalid_request_error"
    meaning = "The provider's content policy refused the prompt."


class PlatformError(GatewayError):
    status = 503
    meaning = "We cannot serve the call right now; nothing was charged."


class DatabaseUnavailable(PlatformError):
    code = "database_unavailable"
    meaning = "The database cannot be reached right now."


class StorageUnavailable(PlatformError):
    code = "storage_unavailable"
    meaning = "The disk is nearly full or has failed: the journal cannot be written right now."


class Overloaded(PlatformError):
    code, type = "overloaded", "overloaded_error"
    meaning = "The server has no room for this request right now; Retry-After says when to retry."


class ServerStopping(PlatformError):
    code = "server_restarting"
    meaning = "The server is restarting; the call was cut off and costs nothing."


class NoUpstreamAvailable(PlatformError):
    code = "no_upstream_available"
    meaning = "There is such a model, but no provider serves it right now."


class CallerGone(GatewayError):
    status, code = 499, "client_cancelled"
    meaning = "The caller is gone. Seen in records only: there is nobody to send it to."


class CallerLeft(CallerGone):
    """The connection was closed by the caller."""


class CallerStalled(CallerGone):
    code = "client_stalled"
    meaning = "The caller stopped reading the answer. Seen in records only."

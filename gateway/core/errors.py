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
│   ├── EndpointNotSupported
│   ├── Quarantined
│   ├── Conflict
│   ├── AnswerNotKept
│   └── IdempotencyMismatch
├── AdmissionError              the caller may not
│   ├── InvalidKey
│   ├── InsufficientScope
│   ├── IpNotAllowed
│   ├── RequestBlocked
│   ├── ModelNotAllowed
│   ├── WorkspaceLocked
│   ├── InsufficientCredits
│   ├── KeyLimitExceeded
│   ├── KeyLossExceeded
│   ├── RateLimited
│   ├── LimitExceeded
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

status, code and type are the catalogue of docs/errors.md, which is made from these classes. The
message of any GatewayError is safe to show. Only logged: `detail`, and at debug level `quote`, what
a provider said. `retry_elsewhere` lets the pipeline try the next target before the first byte.
`should_retry`, where set, is sent as x-should-retry. For the rest see core.admission_steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

MAX_MESSAGE_CHARS, MAX_PARAM_CHARS = 2_000, 256  # messages quote what was sent, which may be long


class GatewayError(Exception):
    """A failure of ours: internal_error. The base of every other."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "api_error"
    meaning: ClassVar[str] = "An internal error occurred. You were not charged."
    retry_elsewhere: ClassVar[bool] = False
    should_retry: ClassVar[bool | None] = None
    step = last_passed = ""
    numbers: Mapping[str, object] | None = None

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
        self.detail, self.quote = detail, quote
        self.details, self.retry_after_s = dict(details or {}), retry_after_s


class RequestError(GatewayError):
    status, code, type = 400, "invalid_request", "invalid_request_error"
    meaning = "The request is invalid. See param for the field."


class InvalidJson(RequestError):
    code, meaning = "invalid_json", "The request body is not valid JSON."


class UnsupportedParameter(RequestError):
    code = "unsupported_parameter"
    meaning = "The parameter is not supported. See param for its name."


class UnknownProcessor(RequestError):
    code, meaning = "unknown_processor", "The processor does not exist. See param for the field."


class PluginUnavailable(RequestError):
    code, meaning = "plugin_unavailable", "The plugin is not available."


class PromptTooLong(RequestError):
    code = "context_length_exceeded"
    meaning = "The prompt and the requested output exceed the model's context window."


class PayloadTooLarge(RequestError):
    status, code = 413, "payload_too_large"
    meaning = "The request body is too large for this endpoint."


class UnsupportedMediaType(RequestError):
    status, code = 415, "unsupported_media_type"
    meaning = "The charset of the request body is not UTF-8."


class RequestTimeout(RequestError):
    status, code = 408, "request_timeout"
    meaning = "The request did not arrive in time. The connection was closed."


class UriTooLong(RequestError):
    status, code = 414, "uri_too_long"
    meaning = "The request line exceeds 8 KB. The connection was closed."


class HeadersTooLarge(RequestError):
    status, code = 431, "headers_too_large"
    meaning = "The request headers are too many or too long. The connection was closed."


class InvalidHost(RequestError):
    code = "invalid_host"
    meaning = "The Host header is missing, malformed or names a host that is not allowed."


class ExpectationFailed(RequestError):
    status, code, meaning = 417, "expectation_failed", "The Expect header is not 100-continue."


class ModelNotFound(RequestError):
    status, code, type = 404, "model_not_found", "not_found_error"
    meaning = "The model does not exist."


class FunctionNotFound(RequestError):
    status, code, type = 404, "function_not_found", "not_found_error"
    meaning = "The function does not exist."


class NotFound(RequestError):
    status, code, type = 404, "not_found", "not_found_error"
    meaning = "There is no resource at this URL."


class MethodNotAllowed(RequestError):
    status, code = 405, "method_not_allowed"
    meaning = "The method is not allowed for this URL. The Allow header lists the allowed methods."


class FileNotFound(RequestError):
    code, meaning = "file_not_found", "The workspace has no file with this ID."


class InvalidFile(RequestError):
    code = "invalid_file"
    meaning = "The image, audio or file is broken, of another type, or could not be fetched."


class ImageNotSupported(RequestError):
    code, meaning = "image_not_supported_by_model", "The model does not support images."


class AudioNotSupported(RequestError):
    code, meaning = "audio_not_supported_by_model", "The model does not support audio."


class PdfNotSupported(RequestError):
    code = "pdf_not_supported_by_model"
    meaning = "The model does not support PDF files, and this one has no text to send instead."


class EndpointNotSupported(RequestError):
    code = "endpoint_not_supported_by_model"
    meaning = "The model cannot be used with this endpoint."


class Quarantined(RequestError):
    status, code, should_retry = 422, "quarantined", False
    meaning = "The same content recently made a process fail. It is not tried again for a while."


class Conflict(RequestError):
    status, code, should_retry = 409, "conflict", True
    meaning = "Another request with the same Idempotency-Key is still running."


class AnswerNotKept(RequestError):
    status, code, should_retry = 409, "conflict", False
    meaning = "The response for this Idempotency-Key exceeded 16 MB and was not stored."


class IdempotencyMismatch(RequestError):
    status, code, should_retry = 422, "idempotency_mismatch", False
    meaning = "The Idempotency-Key was already used for a different request."


class AdmissionError(GatewayError):
    status, code, type = 403, "request_blocked", "permission_error"
    meaning = "The request is not permitted."


class InvalidKey(AdmissionError):
    status, code, type = 401, "invalid_api_key", "authentication_error"
    meaning = "The API key is missing, unknown, revoked or expired."


class InsufficientScope(AdmissionError):
    code = "insufficient_scope"
    meaning = "The API key does not have the scope named in details.required_scope."


class IpNotAllowed(AdmissionError):
    code, meaning = "ip_not_allowed", "The API key may not be used from this IP address."


class RequestBlocked(AdmissionError):
    meaning = "The workspace blocks this country or User-Agent. See details.rule."


class ModelNotAllowed(AdmissionError):
    code, meaning = "model_not_allowed", "The API key may not use this model."


class WorkspaceLocked(AdmissionError):
    code = "workspace_locked"
    meaning = "The workspace is locked. Calls are refused until an operator unlocks it."


class InsufficientCredits(AdmissionError):
    status, code, type = 402, "insufficient_credits", "insufficient_credits"
    meaning = "The balance, minus the amount held for running calls, does not cover this call."


class KeyLimitExceeded(AdmissionError):
    status, code, type = 402, "key_limit_exceeded", "key_limit_exceeded"
    meaning = "A budget of the API key, its member or its workspace does not cover this call."


class KeyLossExceeded(AdmissionError):
    status, code, type = 402, "key_loss_limit_exceeded", "key_limit_exceeded"
    meaning = (
        "Calls of this API key cost more than the balance, up to the daily maximum for a key. "
        "The key can be used again after midnight UTC."
    )


class RateLimited(AdmissionError):
    status, code, type = 429, "rate_limit_exceeded", "rate_limit_error"
    meaning = "Too many requests. Retry-After says when to try again."


class LimitExceeded(AdmissionError):
    status, code, type = 429, "limit_exceeded", "rate_limit_error"
    meaning = "The limit on tokens or cost does not cover this call now."


class ConcurrencyLimited(AdmissionError):
    status, code, type = 429, "concurrency_limit_exceeded", "rate_limit_error"
    meaning = "Too many concurrent requests, and none of them ended in time."


class UpstreamError(GatewayError):
    status, code, meaning, provider_status = 502, "provider_unavailable", "The provider failed.", 0


class ProviderUnavailable(UpstreamError):
    retry_elsewhere = True
    meaning = "The provider could not be reached, failed or sent an invalid response."


class ProviderUnreachable(ProviderUnavailable):
    """Never connected: no byte of the request left, so trying again cannot run it twice."""


class StreamBroken(ProviderUnavailable):
    """The answer had begun and did not come to its end."""


class ProviderAuth(UpstreamError):
    code, retry_elsewhere, should_retry = "provider_auth", True, False
    meaning = "The provider rejected its credential. An operator has to replace it."


class ProviderRateLimit(UpstreamError):
    status, code, type, retry_elsewhere = 429, "provider_rate_limit", "rate_limit_error", True
    meaning = "The provider's rate limit was exceeded."


class ProviderOverloaded(UpstreamError):
    status, code, type, retry_elsewhere = 529, "provider_overloaded", "overloaded_error", True
    meaning = "The provider is overloaded."


class ProviderTimeout(UpstreamError):
    status, code, retry_elsewhere, should_retry = 504, "provider_timeout", True, False
    meaning = "The provider did not respond in time."


class CallTimeout(ProviderTimeout):
    """The whole call's time is over, so no other target may be tried."""

    retry_elsewhere = False


class ProviderRejected(UpstreamError):
    status, code, type = 400, "invalid_request", "invalid_request_error"
    meaning = "The provider rejected the request. The message is the provider's."


class ContextLengthExceeded(UpstreamError):
    status, code, type = 400, "context_length_exceeded", "invalid_request_error"
    meaning = "The prompt exceeds the model's context window."


class ContentFiltered(UpstreamError):
    status, code, type = 400, "content_filter", "invalid_request_error"
    meaning = "The provider's content policy rejected the prompt."


class PlatformError(GatewayError):
    status = 503
    meaning = "The call cannot be served right now. You were not charged."


class DatabaseUnavailable(PlatformError):
    code, meaning = "database_unavailable", "The database is not available right now."


class StorageUnavailable(PlatformError):
    code = "storage_unavailable"
    meaning = "The disk is nearly full or has failed. The journal cannot be written right now."


class Overloaded(PlatformError):
    code, type = "overloaded", "overloaded_error"
    meaning = "The server is overloaded. Retry-After says when to try again."


class ServerStopping(PlatformError):
    code = "server_restarting"
    meaning = "The server is restarting. The call was ended and is not charged."


class NoUpstreamAvailable(PlatformError):
    code = "no_upstream_available"
    meaning = "The model exists, but no provider serves it right now."


class CallerGone(GatewayError):
    status, code = 499, "client_cancelled"
    meaning = "The client disconnected. Appears in records only."


class CallerLeft(CallerGone):
    """The connection was closed by the caller."""


class CallerStalled(CallerGone):
    code = "client_stalled"
    meaning = "The client stopped reading the response. Appears in records only."

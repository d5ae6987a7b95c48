"""What refusals and exceptions of AWS's services mean: by their names first, then by the map that
all dialects share.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and
https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
A refusal has its name in the header x-amzn-errortype, an exception of a stream in the event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from gateway.core.errors import (
    ContextLengthExceeded,
    ProviderAuth,
    ProviderOverloaded,
    ProviderRateLimit,
    UpstreamError,
)
from gateway.providers.upstream_errors import read_error as read_any_error
from gateway.providers.upstream_errors import read_retry_after

NAME_FIELD = "x-amzn-errortype"
# An exception inside a stream has no status, but a name that goes with one. Names count in any
# case: a stream spells them with a small first letter.
STATUS_OF: Mapping[str, int] = {
    "accessdeniedexception": 403,
    "internalserverexception": 500,
    "internalstreamfailure": 500,
    "modelerrorexception": 424,
    "modelstreamerror": 424,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "resourcenotfoundexception": 404,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}
# Whatever status they come with.
CREDENTIALS = frozenset(
    {
        *("expiredtokenexception", "incompletesignatureexception", "invalidsignatureexception"),
        *("missingauthenticationtokenexception", "unrecognizedclientexception"),
    }
)
NOT_READY = frozenset({"modelnotreadyexception"})
QUOTA = frozenset({"servicequotaexceededexception"})
# https://github.com/aws-samples/bedrock-chat/issues/95 and daisuke-awaji/moca/issues/254
_CONTEXT = re.compile(
    r"(input|prompt) is too long|exceeds? (the )?(model'?s? )?(context|maximum (number of )?input)"
    r"|too many input tokens",
    re.I,
)


class Refusal(msgspec.Struct):
    """The body of a refusal or an exception. Services differ in how they spell it."""

    message: str | None = None
    spelled_large: str | None = msgspec.field(default=None, name="Message")
    type: str | None = msgspec.field(default=None, name="__type")
    # Of a model at a SageMaker endpoint that did not answer 2xx: what it said itself.
    original_status: int | None = msgspec.field(default=None, name="OriginalStatusCode")
    original_message: str | None = msgspec.field(default=None, name="OriginalMessage")

    @property
    def text(self) -> str:
        return self.message or self.spelled_large or ""


ReadError = Callable[[int, Mapping[str, str], bytes], UpstreamError]
_decode = msgspec.json.Decoder(Refusal).decode


def read_error(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    read_servers: ReadError = read_any_error,
) -> UpstreamError:
    """Classify a non-2xx answer. Never raises. read_servers: classifies what the server behind an
    endpoint has said."""
    try:
        refusal = _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        refusal = Refusal()
    name = _read_name(headers.get(NAME_FIELD) or refusal.type or "")
    if refusal.original_status and refusal.original_message is not None:
        own = refusal.original_status
        said = refusal.original_message.encode()
        return read_servers(own if 400 <= own <= 599 else 500, {}, said)
    if refusal.spelled_large:
        body = msgspec.json.encode({"message": refusal.text})
    error = read_any_error(status, headers, body)
    retry_after_s = read_retry_after(headers) or 1
    named: UpstreamError | None = None
    if name in CREDENTIALS:
        named = ProviderAuth()
    elif name in NOT_READY:
        named = ProviderOverloaded(retry_after_s=retry_after_s)
    elif name in QUOTA:
        named = ProviderRateLimit(retry_after_s=retry_after_s)
    elif status == 400 and _CONTEXT.search(refusal.text):
        named = ContextLengthExceeded()
    if named is None:
        return error
    named.detail, named.quote = error.detail, error.quote
    return named


def read_exception(name: str, payload: bytes) -> UpstreamError:
    """Classify an exception inside a stream."""
    status = STATUS_OF.get(name.lower(), 500)
    return read_error(status, {NAME_FIELD: name}, payload)


def _read_name(text: str) -> str:
    """Return the name of a refusal, as `ValidationException:http://…` or `com.amazon#Name` has
    it."""
    return text.partition(":")[0].rpartition("#")[2].lower()

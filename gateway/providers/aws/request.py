"""Requests to AWS: who asks is shown by a Bedrock API key, or by a signature (SigV4).

Reference: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html
and https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
Signing takes botocore, which is an extra: without it, API keys still work.
"""

from __future__ import annotations

import msgspec

from gateway.core.aws_signing import NOT_INSTALLED
from gateway.core.errors import ProviderAuth
from gateway.core.grant import Grant
from gateway.providers.base import UpstreamRequest
from gateway.snapshot.types import TargetRecord

EVENT_STREAM = "application/vnd.amazon.eventstream"
# What is signed beside the host, the date and the body: what no transport and no proxy changes.
SIGNED_FIELDS = ("content-type",)
SIGNATURE = "Signature="


class AccessKeys(msgspec.Struct):
    """What a request is signed with, as the secret of a target has it."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


_read_keys = msgspec.json.Decoder(AccessKeys).decode


def write_request(
    url: str, body: bytes, *, grant: Grant, target: TargetRecord, service: str, accept: str
) -> UpstreamRequest:
    """Return the request with what shows who asks. Its path is sent, and signed, just as it is.

    Raises ProviderAuth when the credential cannot be used.
    """
    headers = {
        "content-type": "application/json",
        "accept": accept,
        "accept-encoding": "identity",
        "user-agent": "tollhouse",
        "x-request-id": grant.identity.call_id,
    }
    request = UpstreamRequest(url=url, headers=headers, body=body)
    if target.secret.startswith("{"):
        signed, request.hidden = sign(request, target, service)
        headers |= signed
    elif target.secret:
        headers["authorization"] = f"Bearer {target.secret}"
        request.hidden = (target.secret,)
    return request


def sign(
    request: UpstreamRequest, target: TargetRecord, service: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers of the signature, and what must never be quoted."""
    try:
        keys = _read_keys(target.secret)
    except (msgspec.DecodeError, UnicodeError):
        raise ProviderAuth(detail="The credential is not a pair of AWS access keys.") from None
    region = target.settings.get("region", "")
    if not region:
        raise ProviderAuth(detail="The provider has no region to sign for.")
    try:
        from gateway.providers.aws import sigv4
    except ModuleNotFoundError:
        raise ProviderAuth(detail=NOT_INSTALLED) from None
    fields = {name: request.headers[name] for name in SIGNED_FIELDS}
    signed = sigv4.sign(keys, fields, request, region=region, service=service)
    signature = signed["authorization"].rpartition(SIGNATURE)[2]
    hidden = (keys.access_key_id, keys.secret_access_key, keys.session_token or "", signature)
    return signed, tuple(filter(None, hidden))


def secrets_of_request(request: UpstreamRequest) -> tuple[bytes, ...]:
    """Return what must never be quoted. The rest of a signature, such as the region and the date,
    is no secret, and stands in many messages."""
    return tuple(secret.encode() for secret in request.hidden)

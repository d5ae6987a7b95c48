"""Signatures by botocore, which takes 0.1 s to import: only where requests are signed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from gateway.providers.base import UpstreamRequest


class Keys(Protocol):
    access_key_id: str
    secret_access_key: str
    session_token: str | None


def sign(
    keys: Keys, fields: Mapping[str, str], request: UpstreamRequest, *, region: str, service: str
) -> dict[str, str]:
    """Return the headers that a signature of these fields and the body consists of, names in lower
    case."""
    credentials = ReadOnlyCredentials(
        keys.access_key_id, keys.secret_access_key, keys.session_token or None
    )
    signed = AWSRequest(method="POST", url=request.url, data=request.body, headers=dict(fields))
    SigV4Auth(credentials, service, region).add_auth(signed)
    return {
        name.lower(): value for name, value in signed.headers.items() if name.lower() not in fields
    }

"""What the issuers of tokens check and answer."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

EMAIL = "gateway@project.iam.gserviceaccount.example"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
STS = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleResult><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/gateway/t</Arn>
<AssumedRoleId>ARO123EXAMPLE123:t</AssumedRoleId></AssumedRoleUser><Credentials>
<AccessKeyId>{token}</AccessKeyId><SecretAccessKey>role-secret-of-{token}</SecretAccessKey>
<SessionToken>session-of-{token}</SessionToken><Expiration>{ends}</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@cache
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def service_account(token_uri: str) -> dict[str, str]:
    """Return a service account's key as Google's console gives it out."""
    pem = private_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "0123456789abcdef0123456789abcdef01234567",
        "private_key": pem.decode(),
        "client_email": EMAIL,
        "client_id": "1234567890",
        "auth_uri": "https://accounts.google.example/o/oauth2/auth",
        "token_uri": token_uri,
    }


def check_assertion(form: dict[str, str]) -> str:
    """Return the error of what asks for a token as Google does, empty where there is none."""
    if form.get("grant_type") == "refresh_token":
        return "" if form.get("refresh_token") == "1//refresh-me" else "invalid_grant"
    if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
        return "unsupported_grant_type"
    head, claims, signature = form["assertion"].split(".")
    signed = f"{head}.{claims}".encode()
    try:
        key = private_key().public_key()
        key.verify(_decode(signature), signed, padding.PKCS1v15(), SHA256())
    except InvalidSignature:
        return "invalid_grant"
    said = json.loads(_decode(claims))
    return "" if (said["iss"], said["scope"]) == (EMAIL, SCOPE) else "invalid_scope"


def answer_sts(token: str, life_s: int) -> bytes:
    ends = datetime.now(UTC) + timedelta(seconds=life_s)
    return STS.format(token=token, ends=ends.strftime("%Y-%m-%dT%H:%M:%SZ")).encode()


def token_name(issuer: str, number: int) -> str:
    return f"{issuer}-token-{number:04}"


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

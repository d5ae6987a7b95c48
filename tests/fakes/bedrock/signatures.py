"""Checks Signature Version 4 by its definition, from the bytes that arrived.

Reference: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from calendar import timegm
from urllib.parse import quote

from tests.fakes.asked import Request

ACCESS_KEY_ID = "AKIDEXAMPLE0CANARY00"
SECRET_ACCESS_KEY = "wJalrXUtnFEMIcanaryK7MDENGbPxRfiCYEXAMPLEKEY"
ALGORITHM = "AWS4-HMAC-SHA256"
CLOCK_SKEW_S = 300
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>(?P<day>\d{8})/(?P<region>[^/]+)"
    r"/(?P<service>[^/]+)/aws4_request), SignedHeaders=(?P<names>[^,]+), Signature=(?P<mac>\w+)"
)


class WrongSignature(Exception):
    """The service does not take this signature."""


def check_signature(request: Request, *, region: str, service: str) -> None:
    """Raises WrongSignature."""
    headers = {name.lower(): " ".join(value.split()) for name, value in request.headers}
    found = _HEADER.fullmatch(headers.get("authorization", ""))
    if found is None:
        raise WrongSignature("Authorization header requires a signature.")
    if found["key"] != ACCESS_KEY_ID:
        raise WrongSignature("The security token included in the request is invalid.")
    if (found["region"], found["service"]) != (region, service):
        raise WrongSignature(f"Credential should be scoped to {region} and {service}.")
    at = headers["x-amz-date"]
    if abs(timegm(time.strptime(at, "%Y%m%dT%H%M%SZ")) - time.time()) > CLOCK_SKEW_S:
        raise WrongSignature("Signature expired.")
    names = found["names"].split(";")
    if "host" not in names or [n for n in headers if n.startswith("x-amz-") and n not in names]:
        raise WrongSignature("host and x-amz- headers must be signed.")
    path, _, query = request.path.partition("?")
    # Each segment is encoded once more than it is on the wire.
    canonical = "\n".join(
        [
            request.method,
            quote(path, safe="/~"),
            query,
            *(f"{name}:{headers[name]}" for name in names),
            "",
            found["names"],
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join([ALGORITHM, at, found["scope"], digest])
    key = f"AWS4{SECRET_ACCESS_KEY}".encode()
    for part in (found["day"], region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    if not hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), found["mac"]):
        raise WrongSignature(
            "The request signature we calculated does not match the signature you provided. The "
            f"Canonical String for this request should have been '{canonical}'"
        )

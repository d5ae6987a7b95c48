"""Keys of a role of AWS, by STS: botocore signs and reads, our guarded client asks.

https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from gateway.core.credential_texts import AwsKeys
from gateway.providers.credentials.token import (
    Token,
    TokenError,
    TokenReply,
    TokenRequest,
    read_token,
)

if TYPE_CHECKING:
    from botocore.model import Shape

DEFAULT_REGION = "us-east-1"
SESSION = "tollhouse"
ROLE_S = 3600
MISSING = (
    "botocore is not installed, which signs requests to AWS: install Tollhouse with its extra [aws]"
)


class SessionKeys(msgspec.Struct):
    """What adapters of AWS sign with (TargetRecord.secret)."""

    access_key_id: str
    secret_access_key: str
    session_token: str


def write_request(keys: AwsKeys, region: str) -> TokenRequest:
    """Return the signed request for keys of the role. Raises TokenError without botocore."""
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError:
        raise TokenError(MISSING) from None
    region = region or DEFAULT_REGION
    suffix = ".cn" if region.startswith("cn-") else ""
    url = keys.sts_endpoint.rstrip("/") or f"https://sts.{region}.amazonaws.com{suffix}"
    form = {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        "RoleArn": keys.role_arn,
        "RoleSessionName": SESSION,
        "DurationSeconds": str(ROLE_S),
    }
    if keys.external_id:
        form["ExternalId"] = keys.external_id
    request = AWSRequest(
        "POST",
        f"{url}/",
        headers={"content-type": "application/x-www-form-urlencoded", "accept": "text/xml"},
        data=urlencode(form).encode(),
    )
    own = Credentials(keys.access_key_id, keys.secret_access_key, keys.session_token or None)
    SigV4Auth(own, "sts", region).add_auth(request)
    return TokenRequest(f"{url}/", urlencode(form).encode(), dict(request.headers.items()))


def read_answer(reply: TokenReply) -> Token:
    """Return the keys as one secret. Raises TokenError."""
    from botocore.parsers import ResponseParserError, create_parser

    parser = create_parser("query")
    response = {"body": reply.content, "headers": {}, "status_code": reply.status}
    try:
        if reply.status != HTTPStatus.OK:
            code = parser.parse(response, _answer_shape()).get("Error", {}).get("Code", "")
            said = f" ({code})" if str(code).isalnum() else ""
            raise TokenError(f"STS answered {reply.status}{said}")
        found = parser.parse(response, _answer_shape())["Credentials"]
        expires: datetime = found["Expiration"]
        life_s = (expires.astimezone(UTC) - datetime.now(UTC)).total_seconds()
        keys = SessionKeys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
    except (ResponseParserError, KeyError, ValueError, TypeError, AttributeError):
        said = f"answered {reply.status}" if reply.status != HTTPStatus.OK else "sent no keys"
        raise TokenError(f"STS {said}") from None
    return read_token(msgspec.json.encode(keys).decode(), life_s)


def _answer_shape() -> Shape | None:
    from botocore.session import get_session

    return get_session().get_service_model("sts").operation_model("AssumeRole").output_shape

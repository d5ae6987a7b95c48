"""Whether requests to AWS can be signed here: that takes botocore, which is an extra."""

from __future__ import annotations

import importlib.util

from gateway.core.credential_texts import AWS

NOT_INSTALLED = (
    "botocore is not installed, which signs requests to AWS. Run `make .venv/aws.stamp` or install "
    "deploy/aws.lock, or use a Bedrock API key."
)


def signs_requests(kind: str, secret: str) -> bool:
    """Return whether requests are signed with a credential. kind: of the credential."""
    return kind == AWS and secret.startswith("{")


def find_signing_problem(kind: str, secret: str) -> str:
    """Return why a credential cannot be used here, empty where it can."""
    return NOT_INSTALLED if signs_requests(kind, secret) and not _has_botocore() else ""


def _has_botocore() -> bool:
    try:
        return importlib.util.find_spec("botocore.auth") is not None
    except ModuleNotFoundError:
        return False

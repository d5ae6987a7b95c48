"""Credentials that are in the environment of the server: env::NAME.

Google's variable can name a file, as its tools have it; AWS's tools keep a pair of keys in
variables of their own: https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-envvars.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gateway.core.credential_texts import AWS, GOOGLE, read_secret

KEY_ID, SECRET_KEY, SESSION_TOKEN = "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"


def read_variable(kind: str, name: str, environ: Mapping[str, str]) -> str:
    """Return the credential that a variable has, or names. kind: of the credential.

    Raises ValueError with a sentence, which never quotes any of it.
    """
    text = _value_of(name, environ)
    if kind == GOOGLE and text.endswith(".json"):
        text = _read_file(name, text)
    elif kind == AWS and name.endswith(KEY_ID) and not text.startswith("{"):
        text = _read_keys(name, text, environ)
    try:
        return read_secret(kind, text)
    except ValueError as error:
        message = f"The variable {name} has no credential of this kind. {error}"
        raise ValueError(message) from None


def _value_of(name: str, environ: Mapping[str, str]) -> str:
    text = environ.get(name, "").strip()
    if not text:
        raise ValueError(f"The variable {name} is not set.")
    return text


def _read_file(name: str, path: str) -> str:
    """Return the account in a file, as GOOGLE_APPLICATION_CREDENTIALS names it."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        raise ValueError(f"The file that {name} names cannot be read.") from None


def _read_keys(name: str, key_id: str, environ: Mapping[str, str]) -> str:
    """Return the access key with what stands beside it: of AWS_ACCESS_KEY_ID that is
    AWS_SECRET_ACCESS_KEY and, of a session's keys, AWS_SESSION_TOKEN."""
    start = name.removesuffix(KEY_ID)
    keys = {
        "access_key_id": key_id,
        "secret_access_key": _value_of(f"{start}{SECRET_KEY}", environ),
        "session_token": environ.get(f"{start}{SESSION_TOKEN}", "").strip(),
    }
    return json.dumps(keys)

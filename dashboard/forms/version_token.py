"""Detects that somebody else changed a thing while a form of it was filled in."""

from __future__ import annotations

import hashlib
import json


def version_token(fields: object) -> str:
    """Return a token that differs when the fields, anything JSON can write, differ."""
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]

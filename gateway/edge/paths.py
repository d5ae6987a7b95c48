"""The API's addresses have one spelling each. Another one, equal to it only once percent signs are
decoded, slashes are folded or dots are resolved, is no address: proxies in front would have judged
a different one than we answer."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from gateway.core.mounts import RAW_MOUNT
from gateway.core.octets import PERCENT

MOUNT = re.compile(rb"/" + RAW_MOUNT + rb"(?:/(?P<rest>.*))?", re.DOTALL)
# What follows is a name, which may hold anything.
NAMED = b"models/"
FOLDED = re.compile(rb"/(?:\.?/)*")


def is_other_spelling(raw_path: bytes) -> bool:
    """True for a path that leads to the API, and is not written as the API's addresses are.

    raw_path: as it was sent, without the query.
    """
    if PERCENT not in raw_path and raw_path.find(b"//") < 0 and raw_path.find(b"/.") < 0:
        return False
    literal = MOUNT.fullmatch(raw_path)
    if literal is not None:
        rest = literal["rest"] or b""
        return not rest.startswith(NAMED) and (b"%" in rest or b"//" in rest or b"/." in rest)
    return MOUNT.fullmatch(resolve(unquote_to_bytes(raw_path))) is not None


def resolve(path: bytes) -> bytes:
    """Return the path as a server reads it that folds slashes and resolves dots."""
    parts: list[bytes] = []
    for part in FOLDED.sub(b"/", path).split(b"/")[1:]:
        if part != b"..":
            parts.append(part)
        elif parts:
            parts.pop()
    return b"/" + b"/".join(parts)

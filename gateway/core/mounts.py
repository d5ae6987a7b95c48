"""Where the API is: its mounts, defined here alone, and addresses that were meant for it.

Every mount has the same endpoints; /compat/<profile>/v1 chooses a profile besides.
"""

from __future__ import annotations

import re

MOUNTS = ("/v1", "/api/v1", "/openai/v1")
CHAT = "chat/completions"
MESSAGES = "messages"

_FIXED = "|".join(mount[1:] for mount in MOUNTS)
# Regular expressions for every mount, without its first slash. The last is for a path as it was
# sent: no name of a profile has a percent sign.
ANY_MOUNT = f"(?:{_FIXED}|compat/[^/]+/v1)"
NAMED_MOUNT = f"(?:{_FIXED}|compat/(?P<profile>[^/]+)/v1)"
RAW_MOUNT = f"(?:{_FIXED}|compat/[^/%]+/v1)".encode()
_MOUNT = re.compile(f"/{ANY_MOUNT}(?=/|$)")
# What programs ask for whose base URL is wrong. Nothing of this is the address of a page.
_MEANT = re.compile(
    r"/+(?:api|openai|compat|v[0-9][a-z0-9]*)(?:/.*)?"
    r"|.*/chat/completions?/*"
    r"|/+(?:audio|completions|embeddings|images|responses|messages|moderations|rerank|engines|deployments)(?:/.*)?",
    re.DOTALL,
)
_COMPAT = re.compile(r"/compat/[^/]+")
_ENDPOINT = re.compile(
    r".*/(?:(?P<chat>chat/completions?)"
    r"|(?P<other>audio/(?:speech|transcriptions|translations)|(?<!chat/)completions|embeddings"
    r"|images/generations|language/(?:correct|detect)|messages(?:/count_tokens)?|models|moderations|processors|rerank"
    r"|responses(?:/input_tokens)?|generation|usage|health|status))/*",
    re.DOTALL,
)
MAX_PATH_CHARS = 200


def is_meant_for_api(path: str) -> bool:
    """True under every mount, and for an address that a program asks for whose base URL is
    wrong."""
    return _MEANT.fullmatch(path) is not None


def is_named_as_endpoint(path: str) -> bool:
    """True for an address that is an endpoint's but for what comes before."""
    return _ENDPOINT.fullmatch(path) is not None


def explain_missing(path: str, origin: str = "") -> str:
    """Return a sentence for an address that is no endpoint, and where the one is that was meant.

    path: decoded; where it is an endpoint's, some of its characters were sent as %2F and the like.
    origin: scheme and host under which callers reach us; empty leaves them out.
    """
    base = f"{origin}{_base_for(path)}"
    meant = _ENDPOINT.fullmatch(path)
    missing = f"There is no endpoint at {path[:MAX_PATH_CHARS]}."
    if meant is not None:
        endpoint = CHAT if meant["chat"] else meant["other"]
        if path == f"{_base_for(path)}/{endpoint}":
            return f"Send the address of this endpoint without percent signs: {base}/{endpoint}."
        if endpoint.startswith(MESSAGES):
            # Its SDKs add the version themselves.
            root = base.removesuffix("/v1") or "/"
            return f"{missing} Use the base URL {root}: this endpoint is {base}/{endpoint}."
        return f"{missing} Use the base URL {base}: this endpoint is {base}/{endpoint}."
    if _MOUNT.match(path):
        return f"{missing} {base}/openapi.json lists the endpoints."
    return f"{missing} Use the base URL {base}; {base}/openapi.json lists its endpoints."


def _base_for(path: str) -> str:
    """Return the mount that is nearest to what was asked for."""
    if (mount := _MOUNT.match(path)) is not None:
        return mount[0]
    if (compat := _COMPAT.match(path)) is not None:
        return f"{compat[0]}/v1"
    first = f"/{path.lstrip('/').partition('/')[0]}/"
    return next((mount for mount in MOUNTS if mount.startswith(first)), MOUNTS[0])

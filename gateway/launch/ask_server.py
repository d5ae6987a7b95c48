"""Asks the running server of this installation, for commands that need what it has in memory."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from urllib.parse import urlsplit

ANSWERS_WITHIN_S = 30


def post_json(origin: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Return status and body of the answer. Raises OSError where no server answers."""
    place = urlsplit(origin)
    is_https = place.scheme == "https"
    make = http.client.HTTPSConnection if is_https else http.client.HTTPConnection
    link = make(place.hostname or "", place.port, timeout=ANSWERS_WITHIN_S)
    try:
        link.request("POST", path, body, {"content-type": "application/json", **headers})
        answer = link.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"the response of the server cannot be read: {error!r}") from error
    finally:
        link.close()

"""Waits until a server that was started responds."""

from __future__ import annotations

import http.client


def answers(host: str, port: int, path: str, *, api_key: str = "") -> bool:
    """True when a GET of the path gets any answer below 500."""
    link = http.client.HTTPConnection(host, port, timeout=5)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        link.request("GET", path, headers=headers)
        return link.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        link.close()

"""Where a scanner of uploads is, as TOLLHOUSE_FILE_SCANNER says it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

DEFAULT_PORT = 3310
FORMS = "tcp://host[:port] or unix:///path/of/socket"


class ScannerAddress(msgspec.Struct, frozen=True, kw_only=True):
    host: str = ""
    port: int = DEFAULT_PORT
    # Of a socket; empty for a host and port.
    path: str = ""

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


def read_scanner_url(text: str) -> ScannerAddress:
    """Raises ValueError."""
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise ValueError(f"must look like {FORMS}") from None
    is_socket = parts.scheme == "unix"
    has_more = bool(parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("tcp", "unix") or has_more:
        raise ValueError(f"must look like {FORMS}")
    if is_socket and not parts.netloc and parts.path.strip("/"):
        return ScannerAddress(path=unquote(parts.path))
    if is_socket or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"must look like {FORMS}")
    return ScannerAddress(host=parts.hostname, port=port)

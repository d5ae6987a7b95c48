"""Where a Redis or Valkey server is, as REDIS_URL says it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

DEFAULT_PORT = 6379
FORMS = "redis://[[user]:password@]host[:port][/database], rediss://… or unix:///path/of/socket"


class RedisAddress(msgspec.Struct, frozen=True, kw_only=True):
    host: str = ""
    port: int = DEFAULT_PORT
    # Of a socket; empty for a host and port.
    path: str = ""
    username: str = ""
    password: str = ""
    database: int = 0
    uses_tls: bool = False

    def __str__(self) -> str:
        """What may be shown to people: no password."""
        place = self.path or f"{self.host}:{self.port}"
        return f"{place}/{self.database}" if self.database else place


def read_redis_url(text: str) -> RedisAddress:
    """Raises ValueError, with a message that repeats nothing of the URL."""
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise ValueError(f"must look like {FORMS}") from None
    is_socket = parts.scheme == "unix"
    if parts.scheme not in ("redis", "rediss", "unix") or parts.query or parts.fragment:
        raise ValueError(f"must look like {FORMS}")
    if not (parts.path.strip("/") if is_socket else parts.hostname):
        raise ValueError(f"must look like {FORMS}")
    database = "" if is_socket else parts.path.strip("/")
    if database and not (database.isascii() and database.isdigit()):
        raise ValueError("must end with the number of a database, or with nothing")
    return RedisAddress(
        host=parts.hostname or "",
        port=port,
        path=unquote(parts.path) if is_socket else "",
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=int(database or 0),
        uses_tls=parts.scheme == "rediss",
    )

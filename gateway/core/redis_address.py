"""Where a Redis or Valkey server is, as REDIS_URL says it."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

DEFAULT_PORT = 6379
FORMS = "redis://[[user]:password@]host[:port][/database], rediss://… or unix:///path/of/socket"
# What may stand behind the ? of rediss://, named as redis-py and Celery name it.
TLS_FILES = {
    "ssl_ca_certs": "ca_file",
    "ssl_certfile": "certificate_file",
    "ssl_keyfile": "key_file",
}


class RedisAddress(msgspec.Struct, frozen=True, kw_only=True):
    host: str = ""
    port: int = DEFAULT_PORT
    # Of a socket; empty for a host and port.
    path: str = ""
    username: str = ""
    password: str = ""
    database: int = 0
    uses_tls: bool = False
    # PEM files, each empty for none. ca_file: trusted instead of the system's authorities.
    ca_file: str = ""
    # Of ours, for a server that asks for one.
    certificate_file: str = ""
    key_file: str = ""

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
    uses_tls = parts.scheme == "rediss"
    if parts.scheme not in ("redis", "rediss", "unix") or parts.fragment:
        raise ValueError(f"must look like {FORMS}")
    if parts.query and not uses_tls:
        raise ValueError("can have parameters only with rediss://")
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
        uses_tls=uses_tls,
        **_read_tls_files(parts.query),
    )


def _read_tls_files(query: str) -> dict[str, str]:
    """Return the files of a connection with TLS, by their field. Raises ValueError."""
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValueError(f"must look like {FORMS}") from None
    if len(dict(given)) < len(given):
        raise ValueError("has a parameter twice")
    if not set(dict(given)) <= set(TLS_FILES):
        raise ValueError(f"can have the parameters {', '.join(TLS_FILES)} and no others")
    files = {TLS_FILES[name]: file for name, file in given}
    if not all(files.values()):
        raise ValueError("must have a path in each of its parameters")
    if "key_file" in files and "certificate_file" not in files:
        raise ValueError("must have ssl_certfile if it has ssl_keyfile")
    return files

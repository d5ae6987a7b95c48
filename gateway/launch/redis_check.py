"""Whether the Redis that REDIS_URL names can be used, told before anything is started."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from django.conf import settings

from gateway.core.redis_address import RedisAddress
from gateway.launch.failure import CannotStart
from gateway.outbound.redis_tls import tls_context

CONNECT_S = 3.0


def check_redis() -> str:
    """Return a sentence for the person at the terminal where Redis is away, otherwise nothing: the
    server starts without it. Raises CannotStart when it answers and cannot be used."""
    address: RedisAddress | None = settings.REDIS
    if address is None:
        return ""
    if address.uses_tls:
        _check_tls(address)
    import redis  # a third of a second, for those who use it

    client = redis.Redis(
        host=address.host,
        port=address.port,
        unix_socket_path=address.path or None,
        username=address.username or None,
        password=address.password or None,
        db=address.database,
        ssl=address.uses_tls,
        ssl_ca_certs=address.ca_file or None,
        ssl_certfile=address.certificate_file or None,
        ssl_keyfile=address.key_file or address.certificate_file or None,
        socket_connect_timeout=CONNECT_S,
        socket_timeout=CONNECT_S,
    )
    try:
        client.ping()
    except redis.exceptions.AuthenticationError:
        raise CannotStart(
            f"Redis at {address} rejects the user or password of REDIS_URL."
        ) from None
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError):
        return (
            f"Redis at {address} cannot be reached. Until it can, each process enforces its share "
            "of the limits."
        )
    except redis.exceptions.RedisError as error:
        raise CannotStart(f"Redis at {address} cannot be used: {error}.") from None
    finally:
        client.close()
    return ""


def _check_tls(address: RedisAddress) -> None:
    """See whether both sides accept each other's certificate, as the server will ask for it.
    Whether Redis is there at all is seen by who asks it next. Raises CannotStart."""
    for file in filter(None, (address.ca_file, address.certificate_file, address.key_file)):
        try:
            open(file, "rb").close()
        except OSError as error:
            raise CannotStart(f"REDIS_URL names {file}: {error.strerror}.") from None
    try:
        context = tls_context(address)
    except OSError as error:
        raise CannotStart(
            f"The files in REDIS_URL are not a certificate and its key in PEM format: {error}."
        ) from None
    try:
        with (
            socket.create_connection((address.host, address.port), CONNECT_S) as plain,
            context.wrap_socket(plain, server_hostname=address.host) as link,
        ):
            # A client's certificate is judged after the handshake, so something has to be read. By
            # then the server may have closed its side.
            with suppress(ssl.SSLEOFError, BrokenPipeError):
                link.sendall(b"PING\r\n")
            link.recv(1)
    except ssl.SSLCertVerificationError as error:
        raise CannotStart(
            f"The certificate of Redis at {address} is not trusted: {error.verify_message}. "
            "Name the file of its certificate authority: "
            "REDIS_URL=rediss://…?ssl_ca_certs=/path/to/ca.pem."
        ) from None
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return
    except ssl.SSLError as error:
        raise CannotStart(
            f"TLS with Redis at {address} failed: {error.reason}. Check the port, and whether "
            "Redis requires a certificate (ssl_certfile and ssl_keyfile in REDIS_URL)."
        ) from None
    except OSError:
        return

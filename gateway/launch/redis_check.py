"""Whether the Redis that REDIS_URL names can be used, told before anything is started."""

from __future__ import annotations

from django.conf import settings

from gateway.core.redis_address import RedisAddress
from gateway.launch.failure import CannotStart

CONNECT_S = 3.0


def check_redis() -> str:
    """Return a sentence for the person at the terminal where Redis is away, otherwise nothing: the
    server starts without it. Raises CannotStart when it answers and cannot be used."""
    address: RedisAddress | None = settings.REDIS
    if address is None:
        return ""
    import redis  # a third of a second, for those who use it

    client = redis.Redis(
        host=address.host,
        port=address.port,
        unix_socket_path=address.path or None,
        username=address.username or None,
        password=address.password or None,
        db=address.database,
        ssl=address.uses_tls,
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

"""The TLS of connections to Redis, with the files that REDIS_URL names."""

from __future__ import annotations

import ssl
from functools import lru_cache

from gateway.core.redis_address import RedisAddress


@lru_cache(maxsize=1)
def tls_context(address: RedisAddress) -> ssl.SSLContext:
    """Raises OSError, of which an SSLError is one. Kept: to read the system's authorities takes
    long enough to be felt by calls, and a Redis that is away is tried every second."""
    context = ssl.create_default_context(cafile=address.ca_file or None)
    if address.certificate_file:
        context.load_cert_chain(address.certificate_file, address.key_file or None)
    return context

"""Whether a key's IP rules allow the address that a call comes from."""

from __future__ import annotations

from functools import lru_cache

from gateway.admission.address import is_in, parse_address
from gateway.snapshot.types import KeyRecord


@lru_cache(maxsize=4096)
def may_call_from(key: KeyRecord, ip: str) -> bool:
    """True when the key's rules allow the address, given in canonical form, empty when unknown.

    Remembered per record: those who call come again from where they are.
    """
    address = parse_address(ip)
    return address is not None and is_in(address, key.networks or ())

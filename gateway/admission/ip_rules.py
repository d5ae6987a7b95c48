"""Whether IP rules allow the address that a call comes from."""

from __future__ import annotations

from functools import lru_cache

from gateway.admission.address import is_in, parse_address
from gateway.snapshot.types import AddressRules


@lru_cache(maxsize=4096)
def may_call_from(rules: AddressRules, ip: str) -> bool:
    """True when the rules allow the address, given in canonical form, empty when unknown.

    Remembered: those who call come again from where they are.
    """
    address = parse_address(ip)
    if address is None or is_in(address, rules.denied):
        return False
    return all(is_in(address, networks) for networks in rules.allowed)

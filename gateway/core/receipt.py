"""What a call came to: given back by settling, shown to the caller, kept in the record."""

from __future__ import annotations

import msgspec

from gateway.core.money import Usage


class Receipt(msgspec.Struct, frozen=True):
    """status and charge_basis are the values of the call record. Durations in microseconds."""

    status: str
    charge_basis: str
    usage: Usage
    charge_nusd: int
    absorbed_nusd: int
    total_us: int
    admit_us: int
    queued_us: int
    failed_us: int
    upstream_us: int
    ttft_us: int | None

"""Who calls, as far as everything behind identification needs to know."""

from __future__ import annotations

import msgspec

from gateway.core.rate_limit_status import Rates
from gateway.snapshot.types import KeyRecord


class Caller(msgspec.Struct, frozen=True):
    """A known key, where it calls from (canonical address, empty when unknown), and the limits on
    requests that it is under, None where there are none. is_batch: our worker makes the request,
    for a line of a batch that the key created from that address."""

    key: KeyRecord
    ip: str
    rates: Rates | None = None
    is_batch: bool = False

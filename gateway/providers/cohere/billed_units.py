"""What Cohere bills. https://docs.cohere.com/docs/how-does-cohere-pricing-work"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.providers.token_counts import read_whole


def read_billed(report: object, name: str) -> int | None:
    """Return a count of the billed units of an answer, None where there is none that makes sense.

    report: the answer's `meta`, or with some look-alikes its `usage`.
    """
    units = report.get("billed_units") if isinstance(report, Mapping) else None
    return read_whole(units.get(name)) if isinstance(units, Mapping) else None

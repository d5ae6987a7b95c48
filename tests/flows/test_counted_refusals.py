"""A key that is refused again and again fills no disk: refusals beyond a few are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.flows.site import Site
from tests.support.waiting import wait_until

REFUSALS, LISTED = 40, 10


def test_refusals_beyond_ten_a_minute_are_one_row_with_a_count(site: Site) -> None:
    caller = site.caller()
    neighbour = site.another_key(caller.workspace_id)

    statuses = [caller.ask(model="no-such-model").status for _ in range(REFUSALS)]
    assert neighbour.ask(model="no-such-model").status == 404

    def rows() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = site.office.do("records", key_id=caller.key_id)
        counted: Counter[str] = Counter()
        for row in found:
            counted[row["error_code"]] += row["counted_calls"]
        return found if sum(counted.values()) == REFUSALS else []

    found = wait_until(rows, what="all refusals to be counted")
    assert set(statuses) == {found[0]["http_status"]}
    minutes = {row["created_at"][:16] for row in found}
    assert len(found) <= len(minutes) * (LISTED + 1)
    assert max(row["counted_calls"] for row in found) > LISTED
    assert {row["status"] for row in found} == {"refused"}
    [own] = site.records(neighbour)
    assert own["counted_calls"] == 1

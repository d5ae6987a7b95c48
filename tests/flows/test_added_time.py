"""What a call took beyond its providers: the time that we added."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site


@pytest.fixture(scope="module")
def twice(site: Site) -> str:
    """A model that two targets serve."""
    site.office.do("model", name="twice-served", provider="fake", native_model="first")
    site.office.do("target", model="twice-served", provider="fake")
    site.add_model("after-twice-served")  # when this one is there, the other is, too
    return "twice-served"


def test_a_failed_attempt_is_not_time_that_we_added(site: Site, caller: Caller, twice: str) -> None:
    slow = caller.with_(model=twice)
    answer = slow.ask("script:fail=503&fail_times=1&first_ms=120", stream=False)
    site.record(answer.call_id)
    path = f"/v1/generation?id={answer.call_id}"
    recorded = slow.ask(path=path, method="GET").json["data"]["timings"]

    told = answer.json["timings"]
    assert told["failed_ms"] >= 115
    assert told["total_ms"] == sum(
        told.get(name, 0) for name in ("upstream_ms", "queued_ms", "failed_ms", "gateway_ms")
    )
    parts = ("admit_ms", "queued_ms", "failed_ms", "upstream_ms", "gateway_ms")
    assert recorded["failed_ms"] >= 115
    assert recorded["total_ms"] == pytest.approx(sum(recorded[name] for name in parts))

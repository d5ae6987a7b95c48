"""A key that is rotated while programs call with it."""

from __future__ import annotations

from dataclasses import replace

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

OBEYED_WITHIN_S = 20


def rotated(site: Site, caller: Caller, *, overlap_s: float) -> Caller:
    """Return the caller with the new secret of its key."""
    secret = site.office.do("rotate", key_id=caller.key_id, overlap_s=overlap_s)
    return replace(caller, secret=secret)


def wait_for(caller: Caller, status: int) -> None:
    wait_until(
        lambda: caller.ask(max_tokens=10).status == status,
        within_s=OBEYED_WITHIN_S,
        what=f"a call to be answered with {status}",
    )


def test_both_secrets_work_during_the_overlap_and_count_under_the_same_limits(site: Site) -> None:
    old = site.limited_caller(max_requests_per_minute=4, burst=4)
    new = rotated(site, old, overlap_s=3_600)

    answers = [caller.ask(max_tokens=10).status for caller in (new, old, old, new, old, new)]

    assert answers == [200] * 4 + [429] * 2
    records = site.records(old, count=4)
    assert {record["key_id"] for record in records} == {old.key_id}


def test_the_old_secret_ends_with_the_overlap(site: Site, caller: Caller) -> None:
    assert caller.ask().status == 200
    new = rotated(site, caller, overlap_s=0)

    wait_for(caller, 401)

    assert new.ask().status == 200
    assert caller.ask().error["code"] == "invalid_api_key"


def test_a_second_rotation_ends_all_older_secrets_with_its_overlap(
    site: Site, caller: Caller
) -> None:
    second = rotated(site, caller, overlap_s=3_600)
    assert [one.ask().status for one in (caller, second)] == [200, 200]
    third = rotated(site, second, overlap_s=0)

    wait_for(caller, 401)
    wait_for(second, 401)

    assert third.ask().status == 200


def test_revocation_and_tightened_rules_reach_the_old_secret_too(
    site: Site, caller: Caller
) -> None:
    new = rotated(site, caller, overlap_s=3_600)
    assert [one.ask().status for one in (caller, new)] == [200, 200]

    site.office.do("edit_key", key_id=caller.key_id, denied_models=["fake-model"])
    for one in (caller, new):
        wait_for(one, 403)
    site.office.do("revoke", key_id=caller.key_id)
    for one in (caller, new):
        wait_for(one, 401)


def test_running_streams_go_on_when_their_secret_ends(site: Site, caller: Caller) -> None:
    with caller.begin("script:endless&delay_ms=20", stream=True, max_tokens=100) as live:
        live.wait_for_tokens(3)
        rotated(site, caller, overlap_s=0)
        wait_for(caller, 401)
        answer = live.answer()

    assert answer.events[-1] == "[DONE]"
    assert not any("error" in chunk for chunk in answer.chunks)

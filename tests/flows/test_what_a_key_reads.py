"""A key reads its own usage and calls; the whole workspace's only with a scope for that."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

UNKNOWN = "019f0000-0000-7000-8000-000000000000"


def read(caller: Caller, path: str) -> Answer:
    return caller.ask(method="GET", path=path, raw=b"")


def usage(caller: Caller, query: str = "group_by=key") -> Any:
    return read(caller, f"/v1/usage?{query}").json["data"]


def keys_in(caller: Caller) -> set[str]:
    return {group["key"] for group in usage(caller)["groups"]}


def test_a_key_reads_its_own_usage_and_the_whole_workspaces_with_a_scope(site: Site) -> None:
    one = site.caller()
    two = site.another_key(one.workspace_id)
    reader = site.another_key(one.workspace_id, scopes=["usage.workspace"])
    one.ask()
    two.ask()
    both = {one.key_id, two.key_id}

    wait_until(lambda: keys_in(reader) == both, what="the rollups of both calls")

    assert (keys_in(one), keys_in(two)) == ({one.key_id}, {two.key_id})
    assert (usage(one)["of"], usage(reader)["of"]) == ("key", "workspace")
    assert usage(one, "group_by=")["total"]["calls"] == 1
    assert usage(reader, "group_by=")["total"]["calls"] == 2


def test_a_key_reads_its_own_calls_and_the_whole_workspaces_with_a_scope(site: Site) -> None:
    one = site.caller()
    two = site.another_key(one.workspace_id)
    reader = site.another_key(one.workspace_id, scopes=["usage.workspace"])
    stranger = site.another_key(site.caller().workspace_id, scopes=["usage.workspace"])
    mine = one.ask(headers={"x-client-request-id": "nightly"}).headers["x-request-id"]
    theirs = two.ask(headers={"x-client-request-id": "nightly"}).headers["x-request-id"]

    def found(caller: Caller, name: str) -> Any:
        answer = read(caller, f"/v1/generation?id={name}")
        return answer.json["data"]["id"] if answer.status == 200 else answer.status

    # The API itself waits for half a second only, and a busy machine may need longer.
    wait_until(lambda: found(reader, theirs) != 404, what="the records of both calls")
    assert mine in found(one, mine)
    assert mine in found(one, "nightly")
    assert theirs in found(two, "nightly")
    assert [found(two, mine), found(one, theirs), found(stranger, mine)] == [404, 404, 404]
    assert mine in found(reader, mine)
    assert theirs in found(reader, theirs)


def test_a_call_of_another_key_is_answered_as_one_that_never_was(site: Site) -> None:
    one = site.caller()
    two = site.another_key(one.workspace_id)
    call_id = one.ask().headers["x-request-id"]

    hidden = read(two, f"/v1/generation?id={call_id}")
    absent = read(two, f"/v1/generation?id={UNKNOWN}")

    said = hidden.error["message"].replace(call_id, UNKNOWN)
    assert (hidden.status, said) == (absent.status, absent.error["message"])


def test_the_scope_for_the_workspace_is_not_the_scope_to_call(site: Site) -> None:
    reader = site.another_key(site.caller().workspace_id, scopes=["usage.workspace"])

    answer = reader.ask()

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")


def test_a_key_reads_all_budgets_that_its_calls_are_charged_to(site: Site) -> None:
    caller = site.members_caller()
    reader = site.another_key(caller.workspace_id, scopes=["usage.workspace"])
    blind = site.another_key(caller.workspace_id, scopes=["completions"])
    limits = {"member": "daily", "workspace": "monthly", "key": "total"}
    for level, period in limits.items():
        wish = {f"{period}_limit_nusd": 10**8}
        site.office.do("budget", level=level, key_id=caller.key_id, **wish)
    wish = {"amount_nusd": 10**8, "for_s": 3_600}
    until = site.office.do("raise_budget", level="member", key_id=caller.key_id, **wish)
    cost_nusd = int(site.record(caller.ask().call_id)["charge_nusd"])

    def budgets(of: Caller) -> list[dict[str, Any]]:
        found = read(of, "/v1/key").json["data"]
        assert (found["id"], found["workspace_id"]) == (of.key_id, of.workspace_id)
        listed: list[dict[str, Any]] = found["budgets"]
        return listed

    wait_until(
        lambda: budgets(caller)[-1]["spent_nano_usd"] == str(cost_nusd), what="what was spent"
    )
    of_workspace, of_member, of_key = budgets(caller)
    assert [of_workspace["level"], of_workspace["period"]] == ["organisation", "month"]
    assert [of_workspace["spent"], of_workspace["remaining"]] == [None, None]
    assert [of_member["level"], of_member["period"]] == ["user", "day"]
    assert of_member["limit"] == 0.2
    assert of_member["raised_by"] == 0.1
    assert datetime.fromisoformat(of_member["raised_until"]) == datetime.fromisoformat(until)
    assert of_member["remaining_nano_usd"] == str(2 * 10**8 - cost_nusd)
    assert [of_key["level"], of_key["period"], of_key["resets_at"]] == ["token", "total", None]
    [shown] = budgets(reader)
    assert shown["spent_nano_usd"] == str(cost_nusd)
    assert read(blind, "/v1/key").status == 403

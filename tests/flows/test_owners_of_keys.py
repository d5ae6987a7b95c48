"""A member's key does no more than the member may (docs/adr/0050)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

OBEYED_WITHIN_S = 20
_numbers = count(1)


@dataclass(frozen=True)
class Member:
    """A member of a workspace with a key that calls models and reads all usage."""

    site: Site
    email: str
    caller: Caller

    def becomes(self, role: str) -> None:
        workspace_id = self.caller.workspace_id
        self.site.office.do("set_role", workspace_id=workspace_id, email=self.email, role=role)

    def leaves(self, *, keeps_keys: bool) -> None:
        details = {"workspace_id": self.caller.workspace_id, "email": self.email}
        self.site.office.do("end_membership", keeps_keys=keeps_keys, **details)

    def calls(self) -> Answer:
        return self.caller.ask(max_tokens=10)

    def reads(self) -> Answer:
        return self.caller.ask(path="/v1/usage", method="GET")


@pytest.fixture
def member(site: Site) -> Member:
    workspace_id = site.caller().workspace_id
    email = f"ada{next(_numbers)}@example.com"
    site.office.do(
        "person",
        workspace_id=workspace_id,
        email=email,
        password="a long enough passphrase 27",
        role="admin",
    )
    scopes = ["completions", "usage.workspace"]
    return Member(site, email, site.another_key(workspace_id, owner=email, scopes=scopes))


def wait_for(ask: Callable[[], Answer], status: int) -> Answer:
    def find() -> Answer | None:
        answer = ask()
        return answer if answer.status == status else None

    answer = wait_until(find, within_s=OBEYED_WITHIN_S, what=f"an answer of {status}")
    assert answer is not None
    return answer


def test_a_demoted_member_s_key_loses_what_the_new_role_may_not_assign(member: Member) -> None:
    assert (member.calls().status, member.reads().status) == (200, 200)

    member.becomes("developer")

    refused = wait_for(member.reads, 403)
    assert refused.error["code"] == "insufficient_scope"
    assert member.calls().status == 200


def test_who_may_make_no_keys_has_none_that_work_until_they_may_again(member: Member) -> None:
    member.becomes("viewer")
    refused = wait_for(member.calls, 403)
    assert refused.error["code"] == "insufficient_scope"
    assert refused.error["details"] == {"required_scope": "completions"}

    member.becomes("admin")
    wait_for(member.calls, 200)
    assert member.reads().status == 200


def test_what_an_admin_gives_a_developer_s_key_works(site: Site, member: Member) -> None:
    member.becomes("developer")
    wait_for(member.reads, 403)

    site.office.do("edit_key", key_id=member.caller.key_id)
    wait_for(member.reads, 200)
    member.becomes("viewer")
    wait_for(member.reads, 403)


def test_keys_left_to_the_workspace_keep_working(member: Member) -> None:
    assert member.calls().status == 200

    member.leaves(keeps_keys=True)

    wait_for(member.reads, 200)
    assert member.calls().status == 200


def test_keys_of_who_has_left_are_refused(member: Member) -> None:
    assert member.calls().status == 200

    member.leaves(keeps_keys=False)

    wait_for(member.calls, 401)

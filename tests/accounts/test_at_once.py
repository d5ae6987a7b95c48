"""Orders that several people give at the same moment, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from accounts.models import AuditEvent, Membership, Role, Workspace
from accounts.services import add_member, change_role, create_workspace
from keys.models import ApiKey
from keys.services import revoke_key
from tests.factories import ACTOR, make_key, make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(orders: Sequence[Callable[[], object]]) -> list[object]:
    """Give the orders from threads that start together; return answers and refusals."""
    outcomes: list[object] = []
    start = threading.Barrier(len(orders))

    def give(order: Callable[[], object]) -> None:
        start.wait()
        try:
            outcomes.append(order())
        except ValidationError as refusal:
            outcomes.append(refusal)
        finally:
            connection.close()

    threads = [threading.Thread(target=give, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_one_of_many_revocations_is_the_one_that_counts() -> None:
    key, _ = make_key(make_workspace())
    copies = [ApiKey.objects.get(pk=key.pk) for _ in range(6)]

    outcomes = at_once([partial(revoke_key, copy, actor=ACTOR) for copy in copies])

    assert sorted(map(bool, outcomes)) == [False] * 5 + [True]
    assert AuditEvent.objects.filter(action="key.revoke").count() == 1


def test_owners_who_all_step_down_leave_one_behind() -> None:
    workspace = make_workspace()
    owners = [
        add_member(workspace, user=make_user(), role=Role.OWNER, actor=ACTOR) for _ in range(4)
    ]

    outcomes = at_once(
        [partial(change_role, owner, role="viewer", actor=ACTOR) for owner in owners]
    )

    assert sum(isinstance(outcome, ValidationError) for outcome in outcomes) == 1
    assert Membership.objects.filter(role=Role.OWNER).count() == 1


def test_workspaces_of_one_name_that_start_together_get_slugs_of_their_own() -> None:
    orders = [partial(create_workspace, name="Acme", actor=ACTOR)] * 4

    at_once(orders)

    slugs = Workspace.objects.order_by("slug").values_list("slug", flat=True)
    assert list(slugs) == ["acme", "acme-2", "acme-3", "acme-4"]

"""One host does the work that is done once for all of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gateway.models import Lease
from gateway.services.leases import BACKGROUND, hold_lease, own_name, release_lease
from gateway.tasks import prune_task, roll_up_task

pytestmark = pytest.mark.django_db


def test_the_first_has_it_and_keeps_it() -> None:
    assert hold_lease(owner="one")
    assert not hold_lease(owner="two")
    assert hold_lease(owner="one")

    [lease] = Lease.objects.all()
    assert lease.owner == "one"
    assert timedelta(seconds=50) < lease.expires_at - timezone.now() <= timedelta(seconds=61)


def test_one_that_was_not_renewed_goes_to_the_next() -> None:
    hold_lease(owner="one")
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert hold_lease(owner="two")
    assert not hold_lease(owner="one")


def test_one_that_was_released_is_free_at_once() -> None:
    hold_lease(owner="one")
    release_lease(owner="two")
    assert not hold_lease(owner="two")

    release_lease(owner="one")

    assert hold_lease(owner="two")


def test_work_of_all_is_left_to_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("gateway.tasks.roll_up", lambda: done.append("roll up"))
    monkeypatch.setattr("gateway.tasks.prune", lambda: done.append("prune"))
    hold_lease(owner="another host")

    roll_up_task()
    prune_task()
    release_lease(owner="another host")
    prune_task()

    assert done == ["prune"]
    assert Lease.objects.get(pk=BACKGROUND).owner == own_name()

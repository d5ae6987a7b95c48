"""The change feed hands over every change once, whatever order its ids become visible in."""

from __future__ import annotations

import pytest

from accounts.models import ConfigChange
from gateway.stores.feed import ChangeFeed, Changes, newest_change
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def change(change_id: int, ref: str) -> None:
    ConfigChange.objects.create(pk=change_id, kind=ConfigChange.Kind.KEY, ref=ref)


def test_changes_after_a_place_come_once_and_in_order() -> None:
    change(1, "old")
    feed = ChangeFeed(lambda changes: None, after=newest_change())
    change(2, "a")
    change(3, "b")

    assert feed.poll() == [("key", "a"), ("key", "b")]
    assert feed.poll() == []


def test_change_that_commits_late_with_an_earlier_id_is_not_missed() -> None:
    feed = ChangeFeed(lambda changes: None, after=0)
    change(1, "a")
    change(4, "d")

    assert feed.poll() == [("key", "a"), ("key", "d")]

    change(3, "c")
    assert feed.poll() == [("key", "c")]
    change(2, "b")
    change(5, "e")
    assert feed.poll() == [("key", "b"), ("key", "e")]
    assert feed.poll() == []


def test_running_feed_hands_changes_over() -> None:
    heard: list[Changes] = []
    feed = ChangeFeed(heard.append, after=newest_change())
    feed.start()

    change(9, "a")

    assert wait_until(lambda: heard, what="the change") == [[("key", "a")]]
    feed.stop()

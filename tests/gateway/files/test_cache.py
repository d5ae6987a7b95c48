"""Pages kept in memory: for a day, and no more than there is room for."""

from __future__ import annotations

from gateway.core.files import Page
from gateway.files.cache import KEPT_S, PageCache

KB = 1024


def page(size: int) -> list[Page]:
    return [Page("", "x" * size)]


def test_what_is_kept_is_found_for_a_day() -> None:
    now = [0.0]
    cache = PageCache(clock=lambda: now[0])
    cache.keep("a", page(KB))

    now[0] = KEPT_S
    assert cache.find("a") == page(KB)
    now[0] = KEPT_S + 1
    assert cache.find("a") is None
    assert cache.find("b") is None


def test_the_least_recently_wanted_makes_room() -> None:
    cache = PageCache(most_bytes=4 * KB)
    for key in ("a", "b", "c"):
        cache.keep(key, page(KB))
    cache.find("a")

    cache.keep("d", page(KB))

    assert [key for key in "abcd" if cache.find(key)] == ["a", "c", "d"]


def test_what_is_too_large_is_not_kept_and_costs_nothing_else_its_place() -> None:
    cache = PageCache(most_bytes=4 * KB)
    cache.keep("a", page(KB))

    cache.keep("huge", page(5 * KB))

    assert cache.find("huge") is None
    assert cache.find("a")


def test_the_same_key_again_takes_its_place_once() -> None:
    cache = PageCache(most_bytes=4 * KB)
    for _ in range(10):
        cache.keep("a", page(KB))
    cache.keep("b", page(KB))

    assert cache.find("a")
    assert cache.find("b")

"""Where a caller is, when a proxy that we trust says so."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

# What the trusted proxy at 127.0.0.1 passes on, and whether 203.0.113.7 is the caller then.
FORWARDED = [
    ("203.0.113.7", True),
    (" 203.0.113.7 ", True),
    ("::ffff:203.0.113.7", True),
    ("198.51.100.1, 203.0.113.7", True),
    ("nonsense, 203.0.113.7", True),
    ("203.0.113.7, 10.1.2.3", True),
    ("203.0.113.7, 10.1.2.3, 127.0.0.1", True),
    ("203.0.113.7, 198.51.100.1", False),
    ("203.0.113.7, 198.51.100.1, 10.1.2.3", False),
    ("203.0.113.7, nonsense", False),
    ("203.0.113.7, nonsense, 10.1.2.3", False),
    ("203.0.113.7:443", False),
    ('"203.0.113.7"', False),
    ("unknown", False),
    ("", False),
    ("0xcb.0.113.7", False),
    ("203.0.113.007", False),
]


@pytest.fixture(scope="module")
def caller(files_site: Site) -> Caller:
    return files_site.caller(allowed_ips=["203.0.113.7"])


@pytest.mark.parametrize(("forwarded", "is_let_in"), FORWARDED)
def test_the_last_hop_that_is_no_proxy_of_ours_is_the_caller(
    caller: Caller, forwarded: str, is_let_in: bool
) -> None:
    answer = caller.ask(headers={"x-forwarded-for": forwarded})

    assert answer.status == (200 if is_let_in else 403), answer.body
    assert is_let_in or answer.error["code"] == "ip_not_allowed"


def test_without_the_header_the_proxy_itself_is_the_caller(files_site: Site) -> None:
    caller = files_site.caller(allowed_ips=["127.0.0.1"])

    assert caller.ask().status == 200
    assert caller.ask(headers={"x-real-ip": "203.0.113.7"}).status == 200
    assert caller.ask(headers={"x-forwarded-for": "203.0.113.7"}).status == 403


def test_the_record_shows_where_the_caller_was(files_site: Site, caller: Caller) -> None:
    answer = caller.ask(headers={"x-forwarded-for": "::ffff:203.0.113.7"})

    assert files_site.record(answer.call_id)["ip"] == "203.0.113.7"

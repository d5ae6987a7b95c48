"""Which hosts the rules of a workspace let through."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from gateway.core.egress import HostRules
from keys.fetch_hosts import read_allowed_hosts, read_denied_hosts, read_host


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("example.com", "example.com", True),
        ("example.com", "EXAMPLE.com.", True),
        ("example.com", "www.example.com", False),
        ("example.com", "notexample.com", False),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evil-example.com", False),
        ("192.0.2.7", "[::ffff:192.0.2.7]", True),
        ("2001:db8::7", "[2001:DB8:0::7]", True),
        ("*", "anything.example", True),
    ],
)
def test_a_pattern_matches_names_under_it_and_nothing_like_them(
    pattern: str, host: str, matches: bool
) -> None:
    assert HostRules(allowed=(pattern,)).allow(host) is matches
    assert HostRules(denied=(pattern,)).allow(host) is not matches


def test_a_denied_host_is_refused_whatever_allows_it() -> None:
    rules = HostRules(allowed=("*.example.com",), denied=("secret.example.com",))

    assert rules.allow("www.example.com")
    assert not rules.allow("secret.example.com")
    assert not rules.allow("example.org")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (" EXAMPLE.com. ", "example.com"),
        ("*.Bücher.example", "*.xn--bcher-kva.example"),
        ("[2001:DB8::7]", "2001:db8::7"),
        ("*", "*"),
    ],
)
def test_hosts_are_kept_in_their_usual_form(text: str, read: str) -> None:
    assert read_host(text) == read


@pytest.mark.parametrize(
    "text",
    [
        *("", "https://example.com", "example.com/path", "example.com:443", "user@example.com"),
        *("ex*mple.com", "*.*.com", "*example.com", "a..b", "2130706433", "0x7f.1", "10.0.0.0/8"),
        *("a b.example", "." * 300, "a" * 300 + ".example"),
    ],
)
def test_what_is_no_host_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_denied_hosts([text])
    assert "is not a host" in caught.value.message_dict["denied_hosts"][0]


def test_all_hosts_may_be_denied_and_not_be_allowed_by_a_star() -> None:
    assert read_denied_hosts(["*"]) == ["*"]
    with pytest.raises(ValidationError):
        read_allowed_hosts(["*"])
    with pytest.raises(ValidationError):
        read_allowed_hosts(["a.example"] * 1_001)

"""IP rules as people write them: the table of what is taken, as what, and what is not."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from keys.rules import MAX_RULES, read_network, read_networks

TAKEN = [
    ("203.0.113.7", "203.0.113.7/32"),
    ("203.0.113.7/32", "203.0.113.7/32"),
    ("203.0.113.0/24", "203.0.113.0/24"),
    ("0.0.0.0/0", "0.0.0.0/0"),
    ("2001:db8::7", "2001:db8::7/128"),
    ("2001:DB8::/32", "2001:db8::/32"),
    ("2001:0db8:0000:0000:0000:0000:0000:0007", "2001:db8::7/128"),
    ("::/0", "::/0"),
    # IPv4-mapped forms are how some sockets show an IPv4 caller.
    ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
    ("::ffff:203.0.113.7", "203.0.113.7/32"),
    ("::FFFF:CB00:7107/128", "203.0.113.7/32"),
    ("::ffff:0.0.0.0/96", "0.0.0.0/0"),
    # Other forms that carry an IPv4 address are not taken for it.
    ("64:ff9b::cb00:7107", "64:ff9b::cb00:7107/128"),
    ("2002:cb00:7107::/48", "2002:cb00:7107::/48"),
    ("::203.0.113.7", "::cb00:7107/128"),
    # What copying leaves at the ends.
    ("203.0.113.7\n", "203.0.113.7/32"),
    (" 203.0.113.7\t", "203.0.113.7/32"),
    ("203.0.113.7,", "203.0.113.7/32"),
    ("203.0.113.0/24 ,\r\n", "203.0.113.0/24"),
]
REFUSED = [
    *("", " ", ",", "\n", "/", "/24", "x", "localhost", "example.com", "*", "203.0.113.*"),
    *("203.0.113.07", "0313.0.113.7", "3405803783", "0xcb007107", "0xcb.0.113.7", "203.0.113"),
    *("203.0.113.7.1", "203.0.113.256", "-1.0.0.0", "203..113.7"),
    *("203.0.113.7/33", "203.0.113.7/-1", "203.0.113.7/", "203.0.113.0/024", "203.0.113.0/+24"),
    *(
        "203.0.113.0/24/24",
        "203.0.113.0/ 24",
        "203.0.113.0/\uff12\uff14",
        "\uff12\uff10\uff13.0.113.7",
        "203.0.113.0/1e1",
    ),
    *("203.0.113.0/255.255.255.0", "203.0.113.0/0.0.0.255", "203.0.113.0-203.0.113.9"),
    *("203.0.113.7 198.51.100.9", "203.0.113.7,198.51.100.9", "203.0.113.7:443", "[2001:db8::7]"),
    *("fe80::1%eth0", "fe80::1%25eth0", "fe80::%eth0/64", "203.0.113.7%1", "%"),
    *("2001:db8::/129", "2001:db8:::7", "2001:db8", "::ffff:203.0.113.7/129", "12345::"),
    *("::ffff:203.0.113.07", "::ffff:0:0/90", "::ffff:203.0.113.7/0", "1" * 10_000, "1" * 70),
    *("203.0.113.7\x00", "203.0.113.7\u200b", "http://203.0.113.7", "' or 1=1 --"),
]


@pytest.mark.parametrize(("rule", "network"), TAKEN)
def test_a_rule_is_stored_in_one_form(rule: str, network: str) -> None:
    assert str(read_network(rule)) == network


@pytest.mark.parametrize("rule", REFUSED)
def test_what_is_not_a_rule_is_refused_in_one_sentence(rule: str) -> None:
    with pytest.raises(ValueError, match=r"\.") as refusal:
        read_network(rule)

    assert len(str(refusal.value)) < 250


def test_a_mapped_network_wider_than_ipv4_is_refused_for_what_it_is() -> None:
    with pytest.raises(ValueError, match="covers more than all of IPv4"):
        read_network("::ffff:0.0.0.0/80")


@pytest.mark.parametrize("rule", [None, 3405803783, b"203.0.113.7", ["203.0.113.7"], 1.5, True])
def test_a_rule_that_is_not_text_is_refused(rule: object) -> None:
    with pytest.raises(ValueError, match="text"):
        read_network(rule)


@pytest.mark.parametrize(
    ("rule", "network", "alone"),
    [
        ("203.0.113.7/24", "203.0.113.0/24", "203.0.113.7"),
        ("2001:db8::7/32", "2001:db8::/32", "2001:db8::7"),
        ("::ffff:203.0.113.7/120", "203.0.113.0/24", "203.0.113.7"),
        ("203.0.113.7/0", "0.0.0.0/0", "203.0.113.7"),
    ],
)
def test_host_bits_are_refused_with_what_was_probably_meant(
    rule: str, network: str, alone: str
) -> None:
    with pytest.raises(ValueError, match="both an address") as refusal:
        read_network(rule)

    assert f"write {network} for the network or {alone} for" in str(refusal.value)


@given(st.ip_addresses(), st.integers(0, 128))
def test_every_real_network_is_taken_and_keeps_its_meaning(address: object, prefix: int) -> None:
    width = ip_address(str(address)).max_prefixlen
    network = ip_network((str(address), min(prefix, width)), strict=False)

    stored = read_network(str(network))

    mapped = getattr(network.network_address, "ipv4_mapped", None)
    assert stored == network or (mapped is not None and stored.network_address == mapped)
    assert read_network(str(stored)) == stored


@given(st.text(alphabet="0123456789abcdef.:/%x-+, \n", max_size=45))
def test_whatever_is_typed_becomes_a_network_or_a_sentence(rule: str) -> None:
    outcome: object
    try:
        outcome = read_network(rule)
    except ValueError as error:
        outcome = str(error)

    if isinstance(outcome, str):
        assert outcome.endswith(".")
    else:
        assert read_network(str(outcome)) == outcome


def test_no_rules_and_an_empty_list_are_different_things() -> None:
    assert read_networks(None, allow_any_address=False) is None
    assert read_networks([], allow_any_address=False) == []


def test_an_address_written_twice_is_kept_once() -> None:
    rules = ["203.0.113.7", "::ffff:203.0.113.7", "2001:DB8::7", "2001:db8:0::7"]

    stored = read_networks(rules, allow_any_address=False)

    assert stored == ["203.0.113.7/32", "2001:db8::7/128"]


@pytest.mark.parametrize(
    "rules",
    [
        ["0.0.0.0/0"],
        ["::/0"],
        ["::ffff:0:0/96"],
        ["203.0.113.7", "::/0"],
        ["0.0.0.0/1", "128.0.0.0/1"],
        ["::/1", "8000::/2", "c000::/2"],
    ],
)
def test_rules_that_let_everyone_in_need_to_be_confirmed(rules: list[str]) -> None:
    with pytest.raises(ValidationError, match="every IP address") as refusal:
        read_networks(rules, allow_any_address=False)
    confirmed = read_networks(rules, allow_any_address=True)

    assert set(refusal.value.message_dict) == {"allowed_ips"}
    assert confirmed is not None
    assert len(confirmed) == len(rules)


def test_a_thousand_rules_are_taken_and_one_more_is_not() -> None:
    rules = [f"10.0.{number // 256}.{number % 256}" for number in range(MAX_RULES + 1)]

    stored = read_networks(rules[:MAX_RULES], allow_any_address=False)
    with pytest.raises(ValidationError, match="at most 1000 rules"):
        read_networks(rules, allow_any_address=False)

    assert stored is not None
    assert len(stored) == MAX_RULES


def test_the_first_wrong_rules_are_all_named() -> None:
    with pytest.raises(ValidationError) as refusal:
        read_networks(["203.0.113.7", "x", "203.0.113.7/24"], allow_any_address=False)

    assert len(refusal.value.message_dict["allowed_ips"]) == 2


def test_one_text_is_not_a_list_of_rules() -> None:
    with pytest.raises(ValidationError):
        read_networks("203.0.113.7", allow_any_address=False)

"""Group IP: where are you? The key's rules against what the socket and the headers say.

Rules as they are typed (IP12, IP15 to IP17, IP21, IP22) are in tests/keys/test_ip_rules.py. Not
here, because there is nothing of the kind: rules that deny (IP20), PROXY protocol that is
enabled (IP28); where it is not, its preface is a line of group H (IP27).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gateway.admission.address import find_caller
from gateway.core.request import RequestHead
from tests.corpus.conftest import PROXY, WRONG_KEYS
from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import request, talk, with_key
from tests.flows.site import Site

ALLOWED = "203.0.113.7"
STRANGER = "127.0.0.50"


@dataclass(frozen=True)
class Case:
    """peer: where the connection comes from; the site believes PROXY and 198.51.100.0/24."""

    id: str
    peer: str
    headers: tuple[str, ...]
    rules: tuple[str, ...] | None = (ALLOWED,)
    may: bool = False


def forwarded(name: str, value: str, **more: object) -> Case:
    return Case(name, PROXY, (f"X-Forwarded-For: {value}",), **more)  # type: ignore[arg-type]


CASES = [
    Case("IP1 nobody believes a stranger", STRANGER, (f"X-Forwarded-For: {ALLOWED}",)),
    Case(
        "IP1 whatever the name", STRANGER, (f"X-Real-IP: {ALLOWED}", f"True-Client-IP: {ALLOWED}")
    ),
    Case("IP3", STRANGER, (f"Forwarded: for={ALLOWED}",)),
    Case("IP3 quoted", STRANGER, (f'Forwarded: for="{ALLOWED}:80"',)),
    Case("IP3 from the proxy", PROXY, (f"Forwarded: for={ALLOWED}",)),
    Case("the proxy itself is no caller", PROXY, ()),
    forwarded("what the proxy says", ALLOWED, may=True),
    forwarded("IP6 the right-most counts", f"{ALLOWED}, 192.0.2.9"),
    forwarded("IP6 behind two proxies", f"{ALLOWED}, 198.51.100.9", may=True),
    forwarded("IP6 behind two proxies, forged", f"{ALLOWED}, 192.0.2.9, 198.51.100.9"),
    forwarded("IP6 garbage on the way", f"{ALLOWED}, garbage, 198.51.100.9"),
    forwarded("IP6 garbage before", f"garbage, {ALLOWED}", may=True),
    forwarded("IP6 a trailing comma", f"{ALLOWED},", may=True),
    forwarded("IP6 a trailing comma and a tab", f"{ALLOWED} ,\t", may=True),
    forwarded("IP6 a comma between", f"{ALLOWED},,198.51.100.9", may=True),
    forwarded("IP6 commas alone", ",,"),
    Case(
        "IP6 an empty second header",
        PROXY,
        (f"X-Forwarded-For: {ALLOWED}", "X-Forwarded-For: "),
        may=True,
    ),
    forwarded("IP6 proxies alone", "198.51.100.9, 198.51.100.8"),
    forwarded("IP6 empty parts", f", {ALLOWED}, ,", may=True),
    forwarded("a port", f"{ALLOWED}:80"),
    forwarded("unknown", "unknown"),
    forwarded("a mask", f"{ALLOWED}/32"),
    forwarded("a leading zero", "203.0.113.07"),
    forwarded("one number", "3405803783"),
    forwarded("hexadecimal", "0xcb007107"),
    forwarded("full-width digits", "\uff12\uff10\uff13.0.113.7"),
    forwarded("IP10 mapped", f"::ffff:{ALLOWED}", may=True),
    forwarded("IP10 mapped, in hexadecimal", "::ffff:cb00:7107", may=True),
    forwarded("IP13 NAT64", "64:ff9b::cb00:7107"),
    forwarded("IP13 6to4", "2002:cb00:7107::1"),
    forwarded("IP13 Teredo", "2001:0:4136:e378:8000:63bf:34ff:8ef8"),
    forwarded("IP13 compatible", "::203.0.113.7"),
    forwarded("IP14 a zone", "fe80::1%eth0", rules=("fe80::1",)),
    Case("IP19 no rules", STRANGER, (), rules=None, may=True),
    Case("IP19 an empty list", STRANGER, (), rules=()),
    *(
        forwarded(f"IP23 {text}", text, rules=("2001:db8::7",), may=True)
        for text in ("2001:db8::7", "2001:DB8:0:0:0:0:0:7", "2001:0db8::0007", "2001:db8::0.0.0.7")
    ),
    *(
        forwarded(f"IP24 {text}", text, rules=("2001:db8:0:1::/64",), may=True)
        for text in ("2001:db8:0:1::", "2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8::1:a:b:c:d")
    ),
    forwarded("IP24 the next network", "2001:db8:0:2::1", rules=("2001:db8:0:1::/64",)),
    Case(
        "two headers are one list",
        PROXY,
        (f"X-Forwarded-For: {ALLOWED}", "X-Forwarded-For: 192.0.2.9"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_key_is_good_where_its_caller_really_is(site: Site, witness: Witness, case: Case) -> None:
    rules = None if case.rules is None else list(case.rules)
    holder = site.caller(allowed_ips=rules)
    raw = request(*(header.encode() for header in case.headers))
    witness.expected_calls = int(case.may)

    answered = talk(
        site.gateway.port, with_key(raw, holder.secret), source=case.peer, answers=1
    ).answer

    if case.may:
        assert answered.status == 200
    else:
        assert_refused(answered, 403, "ip_not_allowed")
    assert len(site.records(holder)) == 1


@pytest.mark.parametrize("peer", ["", "unix:", "/run/socket"])
def test_a_peer_without_an_address_is_nowhere(peer: str) -> None:  # IP26
    head = RequestHead(request_id="", headers=[], peer=peer, started_ns=0, fields={})

    assert find_caller(head, ()) is None


@pytest.mark.parametrize("through", [PROXY, STRANGER])
def test_names_that_a_caller_makes_up_are_one_place(  # IP30
    site: Site, witness: Witness, through: str, source: str
) -> None:
    """A stranger may say what it likes; through a proxy its real address comes last."""
    peer = source if through == STRANGER else PROXY
    statuses = []

    for number in range(WRONG_KEYS + 5):
        said = f"X-Forwarded-For: 192.0.2.{number}"
        said += f", {source}" if through == PROXY else ""
        raw = request(said, key="sk-gw-nobody")
        statuses.append(talk(site.gateway.port, raw, source=peer, answers=1).answer.status)

    assert statuses == [401] * WRONG_KEYS + [429] * 5


def test_guesses_of_every_form_count(site: Site, witness: Witness) -> None:
    """Whatever a key looks like, and whichever field it is shown in."""
    shapes = ("sk-gw-{}", "inf_{}", "sk-infer-{}", "bud_client_{}", "hi-{}", "rpk_{}", "{}")
    statuses = []

    for number in range(WRONG_KEYS + 5):
        key = shapes[number % len(shapes)].format(f"{number:032x}")
        field = f"X-Api-Key: {key}" if number % 2 else f"Authorization: {key}"
        raw = request("X-Forwarded-For: 198.51.100.77", field, key=None)
        statuses.append(talk(site.gateway.port, raw, source=PROXY, answers=1).answer.status)

    assert statuses == [401] * WRONG_KEYS + [429] * 5


def test_one_line_of_ipv6_is_one_place(site: Site, witness: Witness) -> None:
    statuses = []

    for number in range(WRONG_KEYS + 5):
        raw = request(f"X-Forwarded-For: 2001:db8:77:1::{number:x}", key="sk-gw-nobody")
        statuses.append(talk(site.gateway.port, raw, source=PROXY, answers=1).answer.status)

    assert statuses == [401] * WRONG_KEYS + [429] * 5

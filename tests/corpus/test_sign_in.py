"""Signing in over the wire: who guesses passwords waits, and nobody else does."""

from __future__ import annotations

import re
from itertools import count
from urllib.parse import urlencode

import pytest

from accounts.sign_in_throttle import FREE_TRIES, FREE_TRIES_PER_SUBNET
from tests.corpus.conftest import PROXY
from tests.corpus.wire import Line, request
from tests.flows.caller import Answer
from tests.flows.site import Site

FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_accounts = count(1)


class Visitor:
    """Somebody at the sign-in form. where: as a proxy says; peer: whom the connection is from."""

    def __init__(self, site: Site, where: str, peer: str = PROXY) -> None:
        self._site, self._peer = site, peer
        self.where = where

    def sign_in(self, email: str, password: str) -> Answer:
        said = f"X-Forwarded-For: {self.where}"
        with Line(self._site.gateway.port, self._peer) as line:
            line.send(request(said, line="GET /sign-in HTTP/1.1", key=None, body=b""))
            form = line.listen(answers=1).answer
            token, *_ = FIELD.findall(form.body.decode())
            cookie = form.headers["set-cookie"].partition(";")[0]
            fields = {"csrfmiddlewaretoken": token, "login": email, "password": password}
            line.send(
                request(
                    *(said, f"Cookie: {cookie}", "Content-Type: application/x-www-form-urlencoded"),
                    line="POST /sign-in HTTP/1.1",
                    key=None,
                    body=urlencode(fields).encode(),
                )
            )
            return line.listen(answers=1).answer

    def guess(self, email: str, times: int) -> list[int]:
        return [self.sign_in(email, f"wrong password {n}").status for n in range(times)]


@pytest.fixture
def email(site: Site) -> str:
    """Somebody's address that no other test guesses at."""
    return f"person-{next(_accounts)}@example.com"


def test_guessing_makes_the_guesser_wait_and_not_the_owner_elsewhere(site: Site) -> None:
    email, password = site.gateway.email, site.gateway.password
    guesser, owner = Visitor(site, "203.0.113.10"), Visitor(site, "203.0.113.11")

    statuses = guesser.guess(email, FREE_TRIES)
    waiting = guesser.sign_in(email, password)
    welcome = owner.sign_in(email, password)

    assert statuses == [200] * FREE_TRIES
    assert waiting.status == 429
    assert 1 <= int(waiting.headers["retry-after"]) <= 2
    assert (welcome.status, welcome.headers["location"]) == (302, "/")


def test_who_waits_at_one_account_is_served_at_another(site: Site, email: str) -> None:
    office = Visitor(site, "203.0.113.12")
    office.guess(email, FREE_TRIES)

    assert office.guess(email, 1) == [429]
    assert office.sign_in(site.gateway.email, site.gateway.password).status == 302


def test_one_line_of_ipv6_waits_together(site: Site, email: str) -> None:
    places = ["2001:db8:5:1::1", "2001:db8:5:1:ffff::2", "2001:db8:5:2::1"]
    guessers = [Visitor(site, place) for place in places]

    guessers[0].guess(email, FREE_TRIES)

    assert [guesser.guess(email, 1) for guesser in guessers] == [[429], [429], [200]]


def test_nobody_believes_what_a_stranger_says_of_its_address(site: Site, email: str) -> None:
    stranger = "127.0.0.60"
    statuses = []

    for number in range(FREE_TRIES + 1):
        statuses += Visitor(site, f"192.0.2.{number}", peer=stranger).guess(email, 1)

    assert statuses == [200] * FREE_TRIES + [429]


def test_a_place_that_tries_many_accounts_waits_at_all_of_them(site: Site) -> None:
    place = Visitor(site, "203.0.113.13")

    statuses = [place.guess(f"nobody-{n}@example.com", 1)[0] for n in range(FREE_TRIES_PER_SUBNET)]

    assert statuses == [200] * FREE_TRIES_PER_SUBNET
    assert place.guess("nobody@example.com", 1) == [429]

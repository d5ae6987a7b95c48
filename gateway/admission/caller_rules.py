"""Whether a workspace's rules allow the program that calls and the country that it calls from."""

from __future__ import annotations

import re

from gateway.admission.address import Network, is_in, parse_address
from gateway.core.errors import RequestBlocked
from gateway.core.name_patterns import NamePatterns
from gateway.core.request import RequestHead
from gateway.snapshot.types import CallerRules, CountryRules

USER_AGENT = b"user-agent"
UNKNOWN_COUNTRY = "XX"
_COUNTRY = re.compile(rb"[A-Z][A-Z0-9]")


class CallerScreen:
    """country_header: in lower case, empty where no proxy says a country. trusted_proxies: the only
    ones that are believed."""

    def __init__(self, country_header: str, trusted_proxies: tuple[Network, ...]) -> None:
        self._country_header = country_header.lower().encode()
        self._trusted = trusted_proxies

    def check(self, rules: CallerRules, head: RequestHead) -> None:
        """Raise RequestBlocked."""
        if rules.denied_user_agents is not None:
            _check_program(rules.denied_user_agents, head)
        if rules.countries is not None:
            _check_country(rules.countries, self.find_country(head))

    def find_country(self, head: RequestHead) -> str:
        """Return the code that a trusted proxy says; XX where it says none, or two."""
        said = head.values(self._country_header)
        address = parse_address(head.peer)
        if len(said) != 1 or address is None or not is_in(address, self._trusted):
            return UNKNOWN_COUNTRY
        code = said[0].strip().upper()
        return code.decode() if _COUNTRY.fullmatch(code) else UNKNOWN_COUNTRY


def _check_program(denied: NamePatterns, head: RequestHead) -> None:
    for value in head.values(USER_AGENT):
        if denied.match(value.decode("latin-1").lower()):
            raise RequestBlocked(
                "The access rules of the workspace block this User-Agent.",
                details={"rule": "user_agent"},
            )


def _check_country(rules: CountryRules, country: str) -> None:
    if country in rules.denied or (rules.allowed is not None and country not in rules.allowed):
        raise RequestBlocked(
            "The access rules of the workspace block calls from this country.",
            details={"rule": "country", "country": country},
        )

"""What tests of providers find, in words: what went wrong on the way to an answer is said here.

Messages are made of what operators entered and of numbers.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from yarl import URL

from gateway.outbound.guarded_sockets import NotPermitted
from gateway.outbound.proxies import ProxyRefused

_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}


class Outcome(StrEnum):
    """What came of a test."""

    REACHABLE = "reachable"
    DNS = "dns"
    REFUSED = "connection_refused"
    NO_ROUTE = "no_route"
    TLS = "tls"
    PROXY_REFUSED = "proxy_refused"
    TIMEOUT = "timeout"
    NOT_HTTP = "not_http"
    NOT_PERMITTED = "not_permitted"
    KEY_REFUSED = "key_refused"
    NOT_FOUND = "not_found"
    REDIRECT = "redirect"
    NOT_OPENAI = "not_openai"
    BAD_STATUS = "bad_status"
    NO_CREDENTIAL = "credential_unreadable"
    # Of a call alone.
    SERVED = "served"
    NO_ACCESS = "no_access"
    UNKNOWN_MODEL = "unknown_model"
    QUOTA = "quota"
    BAD_ANSWER = "bad_answer"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome, a sentence for people, and the provider's names for its models where it has a
    list of them."""

    outcome: Outcome
    message: str
    models: frozenset[str] | None = None

    @property
    def is_reachable(self) -> bool:
        return self.outcome in (Outcome.REACHABLE, Outcome.SERVED)


class Way:
    """The way to a provider. proxy_url: what is connected to; empty for the provider itself."""

    def __init__(self, base: URL, proxy_url: str = "") -> None:
        self._base = base
        self._dialled = URL(proxy_url, encoded=True) if proxy_url else base

    @property
    def where(self) -> str:
        place = f"{self._dialled.raw_host}, port {self._dialled.port}"
        return place if self._dialled is self._base else f"the proxy {place}"

    def describe(self, error: Exception) -> Finding:
        """Return what went wrong before there was an answer."""
        where, name = self.where, self._dialled.raw_host
        for cause in _causes(error):
            match cause:
                case ProxyRefused():
                    answered = describe_status(cause.status)
                    said = f"{where} refused the connection: it answered {answered}."
                    outcome = Outcome.PROXY_REFUSED
                case ssl.SSLCertVerificationError():
                    said = f"The TLS certificate is not valid: {cause.verify_message}."
                    outcome = Outcome.TLS
                case ssl.SSLError():
                    place = f"{self._base.raw_host}, port {self._base.port}"
                    said = f"No TLS connection with {place}. Should the URL begin with http://?"
                    outcome = Outcome.TLS
                case NotPermitted():
                    said = f"The gateway may not connect to {where}: link-local or metadata."
                    outcome = Outcome.NOT_PERMITTED
                case socket.gaierror():
                    said, outcome = f"The name {name} does not resolve (DNS).", Outcome.DNS
                case ConnectionRefusedError():
                    said = f"Connection refused: nothing listens at {where}."
                    outcome = Outcome.REFUSED
                case OSError() if cause.errno in _NO_ROUTE:
                    said, outcome = f"There is no route to {where}.", Outcome.NO_ROUTE
                case TimeoutError():
                    said, outcome = f"{where} does not answer: timed out.", Outcome.TIMEOUT
                case _:
                    continue
            return Finding(outcome, said)
        said = f"{where} closed the connection without an HTTP answer."
        return Finding(Outcome.NOT_HTTP, said)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and what it came from, the last first told."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__


def describe_status(status: int) -> str:
    """Return a status with its phrase."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)

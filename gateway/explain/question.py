"""The head that an imagined call has, so that everything which reads heads reads it as ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gateway.admission.address import Network
from gateway.core.ids import new_request_id
from gateway.core.request import RequestHead

# What is of the question and not of the call that it is about.
LEFT_OUT = frozenset(
    {
        *(b"authorization", b"x-api-key", b"cookie", b"expect"),
        *(b"content-length", b"content-type", b"content-encoding", b"transfer-encoding"),
        *(b"x-request-id", b"x-client-request-id", b"idempotency-key"),
    }
)


class Origin(NamedTuple):
    """Where a call comes from and by which program; None for what asks the question."""

    address: str | None = None
    country: str | None = None
    user_agent: str | None = None


def imagined_head(
    asking: RequestHead,
    asking_ip: str,
    origin: Origin,
    *,
    trusted: Sequence[Network],
    country_header: str,
) -> RequestHead:
    """Return the head of a call from there.

    asking, asking_ip: of the question. With trusted proxies the call comes by one of them, which
    says the address and, where one is set, the country.
    """
    given: dict[bytes, str] = {}
    peer = asking.peer
    if origin.user_agent is not None:
        given[b"user-agent"] = origin.user_agent
    if not trusted:
        peer = peer if origin.address is None else origin.address
    elif origin.address is not None or origin.country is not None:
        peer = str(trusted[0].network_address)
        given[b"x-forwarded-for"] = asking_ip if origin.address is None else origin.address
        if origin.country is not None and country_header:
            given[country_header.lower().encode()] = origin.country
    headers = [
        (name, value)
        for name, value in asking.headers
        if name not in LEFT_OUT and name not in given
    ]
    headers += [(name, text.encode("latin-1")) for name, text in given.items() if text]
    return replace(
        asking, request_id=new_request_id(), headers=headers, fields=dict(headers), peer=peer
    )

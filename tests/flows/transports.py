"""Providers of both transports on one site: a test so marked runs once over each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.site import CREDENTIAL, Site

DIRECT, HTTPX = "direct", "httpx"
TRANSPORTS = (DIRECT, HTTPX)
both_transports = pytest.mark.parametrize("transport", TRANSPORTS, indirect=True)


def named(name: str, transport: str) -> str:
    """Return the name of a provider, or of a model at it, whose calls go by this transport."""
    return name if transport == DIRECT else f"{name}-by-{transport}"


def add_provider(site: Site, name: str, *, transport: str, **fields: Any) -> str:
    """Add a provider whose calls go by this transport. Returns its name."""
    provider = named(name, transport)
    site.office.do("provider", name=provider, **({"credential": CREDENTIAL} | fields))
    used = site.office.do("connect_provider", name=provider, transport=transport)
    assert used == transport
    return provider

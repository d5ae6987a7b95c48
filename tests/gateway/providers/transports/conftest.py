"""One battery for both transports; tests marked `direct` are about our own connections alone."""

from __future__ import annotations

import pytest

from tests.gateway.providers.transports import peer

MAKERS = {"direct": peer.make_direct, "httpx": peer.make_httpx}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make connecting() give each transport in turn."""
    only = metafunc.definition.get_closest_marker("direct")
    metafunc.parametrize("kind", ["direct"] if only else list(MAKERS), indirect=True)


@pytest.fixture(autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(peer, "make_transport", MAKERS[request.param])
    return str(request.param)

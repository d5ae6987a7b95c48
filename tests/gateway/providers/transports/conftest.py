"""One battery for both transports; tests marked `direct` or `httpx` are about one alone."""

from __future__ import annotations

import pytest

from tests.gateway.providers.transports import peer

MAKERS = {"direct": peer.make_direct, "httpx": peer.make_httpx}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make connecting() give each transport in turn."""
    marked = [kind for kind in MAKERS if metafunc.definition.get_closest_marker(kind)]
    metafunc.parametrize("kind", marked or list(MAKERS), indirect=True)


@pytest.fixture(autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(peer, "make_transport", MAKERS[request.param])
    return str(request.param)

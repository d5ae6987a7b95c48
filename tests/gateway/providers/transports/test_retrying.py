"""What is asked of a transport again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from gateway.core.errors import GatewayError, ProviderUnavailable, ProviderUnreachable
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import UpstreamResponse
from gateway.providers.transports.retrying import RetryingTransport

REQUEST = UpstreamRequest(url="http://up/v1", headers={}, body=b"{}")

pytestmark = pytest.mark.direct


class Response:
    """The head of an answer, and whether its connection was given back."""

    broken_by: tuple[type[Exception], ...] = ()

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self.is_encoded = False
        self.is_released = False

    async def read(self) -> bytes:
        return b""

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        return False

    def take_whole(self) -> bytes | None:
        return None

    async def read_rest(self) -> None:
        pass

    def release(self) -> None:
        self.is_released = True


class Ways:
    """A transport on which each request goes as the next of these says."""

    def __init__(self, *ways: Response | GatewayError) -> None:
        self.ways = list(ways)

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        way = self.ways.pop(0)
        if isinstance(way, GatewayError):
            raise way
        return way

    async def aclose(self) -> None:
        pass


def later(retry_after: str = "0") -> Response:
    return Response(429, {"retry-after": retry_after})


@pytest.mark.parametrize(
    ("ways", "left"),
    [
        ([Response(200)], 0),
        ([ProviderUnreachable(), Response(200)], 0),
        ([ProviderUnreachable(), later(), Response(200)], 0),
        ([later(), ProviderUnreachable(), Response(500), Response(200)], 1),
        ([Response(503), Response(529), later(), Response(200)], 1),
        ([later("11"), Response(200)], 1),
        ([later("soon"), Response(200)], 0),
    ],
)
async def test_only_what_did_not_take_the_request_is_asked_again(
    ways: list[Response | GatewayError], left: int
) -> None:
    transport = Ways(*ways)

    response = await RetryingTransport(transport, 2, pause_s=0).open(REQUEST)

    expected: object = ways[len(ways) - left - 1]
    assert response is expected
    assert len(transport.ways) == left
    passed = [way for way in ways[: len(ways) - left - 1] if isinstance(way, Response)]
    assert all(way.is_released for way in passed)


@pytest.mark.parametrize(
    ("ways", "error"),
    [
        ([ProviderUnavailable(), Response(200)], ProviderUnavailable),
        ([ProviderUnreachable(), ProviderUnavailable(), Response(200)], ProviderUnavailable),
        ([ProviderUnreachable()] * 3 + [Response(200)], ProviderUnreachable),
    ],
)
async def test_sent_and_dropped_is_not_asked_again(
    ways: list[Response | GatewayError], error: type[GatewayError]
) -> None:
    transport = Ways(*ways)

    with pytest.raises(error):
        await RetryingTransport(transport, 2, pause_s=0).open(REQUEST)

    assert len(transport.ways) == 1

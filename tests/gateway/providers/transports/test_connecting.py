"""What is sent, to whom, and what it means when nothing can be."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import uvloop

from gateway.core.errors import ProviderUnreachable
from gateway.providers.transports.dialing import DnsCache
from gateway.providers.transports.direct_connection import Connection
from gateway.providers.transports.loop_quotas import LoopQuotas
from tests.gateway.providers.transports.peer import (
    DEADLINE_S,
    answer,
    ask,
    connecting,
    count_open,
    playing,
    request,
)
from tests.support.ports import free_port

FIRST, SECOND = answer(b"first"), answer(b"second")


# What is sent


@pytest.mark.parametrize("body", [b"{}", b"", b"x" * 70_000], ids=["small", "none", "large"])
async def test_a_request_is_written_as_it_is(body: bytes) -> None:
    async with playing([FIRST]) as peer, connecting() as transport:
        response = await transport.open(
            request(peer, body, {"authorization": "Bearer kéy", "x-request-id": "1"})
        )
        response.release()

        place = peer.url.split("/")[2]
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {place}\r\n"
            f"authorization: Bearer kéy\r\nx-request-id: 1\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        assert peer.requests == [head.encode() + body]


@pytest.mark.direct
@pytest.mark.parametrize(
    ("url", "begin"),
    [
        ("http://a.example/v1", "POST /v1 HTTP/1.1\r\nhost: a.example"),
        ("http://a.example:80/v1", "POST /v1 HTTP/1.1\r\nhost: a.example"),
        ("https://a.example:443/v1", "POST /v1 HTTP/1.1\r\nhost: a.example"),
        ("https://a.example:80/v1", "POST /v1 HTTP/1.1\r\nhost: a.example:80"),
        ("https://A.Example/V1", "POST /V1 HTTP/1.1\r\nhost: A.Example"),
        ("http://a.example", "POST / HTTP/1.1\r\nhost: a.example"),
        ("http://a.example/%0d%0a/v1", "POST /%0d%0a/v1 HTTP/1.1\r\nhost: a.example"),
        ("http://a.example/v1?b=c#d", "POST /v1?b=c HTTP/1.1\r\nhost: a.example"),
        ("http://[::1]:8080/v1", "POST /v1 HTTP/1.1\r\nhost: [::1]:8080"),
        ("http://[::1]/v1", "POST /v1 HTTP/1.1\r\nhost: [::1]"),
    ],
)
async def test_the_head_names_the_place(url: str, begin: str) -> None:
    async with connecting() as transport:
        assert transport._find(url).begin == begin


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer a\r\nx-injected: b"},
        {"authorization": "Bearer a\nx-injected: b"},
        {"authorization": "Bearer a\rx-injected: b"},
        {"authorization": "Bearer a\r\n\r\nPOST / HTTP/1.1"},
        {"authorization": "Bearer a\r\n"},
        {"authorization": "Bearer \0"},
        {"authorization\r\nx-injected": "b"},
        {"authorization": "Bearer \ud800"},
    ],
    ids=repr,
)
async def test_a_field_that_would_be_another_head_is_not_sent(headers: dict[str, str]) -> None:
    async with playing([FIRST], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        with pytest.raises(ProviderUnreachable):
            await transport.open(request(peer, headers=headers))

        assert len(peer.requests) == 1
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:x/v1",
        "http:///v1",
        "/v1",
        "",
        "http://127.0.0.1/v1 HTTP/1.1",
        "http://127.0.0.1/\x01",
        "http://127.0.0.1/é",
        "http://[::1/v1",
    ],
)
async def test_an_address_that_cannot_be_written_is_unreachable(url: str) -> None:
    async with connecting() as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, url)


# Whom it reaches


async def test_a_port_that_nobody_listens_on_is_unreachable() -> None:
    async with connecting() as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, f"http://127.0.0.1:{free_port()}/v1")


async def test_an_ipv6_address_is_reached() -> None:
    async with playing([FIRST], host="::1") as peer, connecting() as transport:
        assert (await ask(transport, peer)).body == b"first"
        assert peer.requests[0].split(b"\r\n")[1] == b"host: " + peer.url.split("/")[2].encode()


async def test_of_several_addresses_one_that_answers_is_enough() -> None:
    async with playing([FIRST], name="localhost") as peer, connecting() as transport:
        assert (await ask(transport, peer)).body == b"first"


@pytest.mark.parametrize(
    "host",
    ["a." * 150 + "example", "a" * 64 + ".example", "a..example", "1.2.3.4.5.6.7." * 20],
    ids=["long", "long label", "empty label", "numbers"],
)
async def test_a_host_that_has_no_address_is_unreachable(host: str) -> None:
    async with connecting() as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, f"http://{host}/v1")


@contextmanager
def deaf_port() -> Iterator[int]:
    """Yield a port of a server that takes no more connections: they are never made."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        port = server.getsockname()[1]
        for _ in range(8):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port


async def test_connecting_has_its_own_clock() -> None:
    with deaf_port() as port:
        async with connecting(connect_s=0.1) as transport:
            with pytest.raises(ProviderUnreachable):
                await ask(transport, f"http://127.0.0.1:{port}/v1")


async def test_a_call_given_up_while_it_connects_is_gone() -> None:
    with deaf_port() as port:
        async with connecting() as transport:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await ask(transport, f"http://127.0.0.1:{port}/v1")

            assert count_open(transport) == 0


@pytest.mark.parametrize("steps", range(12))
async def test_a_call_can_be_given_up_at_any_moment(steps: int) -> None:
    async with playing(*[[SECOND]] * 2) as peer, connecting() as transport:
        call = asyncio.create_task(ask(transport, peer))
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])

        assert call.cancelled() or call.result().body == b"second"
        assert (await ask(transport, peer)).body == b"second"


async def test_a_server_that_speaks_first_is_not_believed() -> None:
    ended = asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"of nobody"))
        await asyncio.gather(reader.read(), return_exceptions=True)
        writer.close()
        ended.set()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    alive: set[Connection] = set()
    async with server, asyncio.timeout(DEADLINE_S):
        loop = asyncio.get_running_loop()
        connection = Connection(loop, [], alive, LoopQuotas(loop))
        await loop.create_connection(lambda: connection, *server.sockets[0].getsockname())
        await ended.wait()

        assert not connection.is_open
        assert alive == set()


# Names


class Loop(uvloop.Loop):
    """Knows names only when it is told: `answers`, one for each time it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.answers: list[asyncio.Future[Any]] = []

    async def getaddrinfo(self, *_: object, **__: object) -> Any:
        self.asked += 1
        self.answers.append(self.create_future())
        return await self.answers[-1]


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    own = "loop" in request.fixturenames
    return "asyncio", {"loop_factory": Loop} if own else {"use_uvloop": True}


@pytest.fixture
async def loop() -> Loop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    return loop


async def waiting(names: DnsCache, count: int = 1) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(names.look_up("a.example", 80)) for _ in range(count)]
    for _ in range(5):  # turns of the loop, until it has been asked
        await asyncio.sleep(0)
    return tasks


async def test_a_name_is_asked_for_once_by_all(loop: Loop) -> None:
    names = DnsCache()
    tasks = await waiting(names, 5)
    tasks[0].cancel()  # who asked first may leave
    await asyncio.sleep(0)
    loop.answers[0].set_result(["here"])

    assert await asyncio.gather(*tasks[1:]) == [["here"]] * 4
    assert list[object](await names.look_up("a.example", 80)) == ["here"]
    assert loop.asked == 1


async def test_a_name_that_failed_is_asked_for_again(loop: Loop) -> None:
    names = DnsCache()
    tasks = await waiting(names, 2)
    loop.answers[0].set_exception(socket.gaierror("no"))
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    [again] = await waiting(names)
    loop.answers[1].set_result(["here"])

    assert [type(end) for end in ends] == [socket.gaierror] * 2
    assert await again == ["here"]


async def test_an_old_answer_is_asked_for_again_and_a_late_one_is_waited_for(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.providers.transports.dialing.DNS_CACHE_S", -1.0)
    names = DnsCache()
    tasks = await waiting(names) + await waiting(names)
    assert loop.asked == 1
    loop.answers[0].set_result(["here"])
    await asyncio.gather(*tasks)

    [again] = await waiting(names)
    loop.answers[1].set_result(["there"])
    assert await again == ["there"]


async def test_a_failure_that_nobody_waits_for_is_no_news(loop: Loop) -> None:
    told: list[object] = []
    loop.set_exception_handler(lambda _loop, context: told.append(context))
    names = DnsCache()
    [task] = await waiting(names)
    task.cancel()
    await asyncio.sleep(0)
    loop.answers[0].set_exception(socket.gaierror("no"))
    await asyncio.sleep(0)
    loop.answers.clear()
    del names, task
    await asyncio.sleep(0.01)

    assert told == []


async def test_a_call_given_up_while_its_name_is_looked_up_is_gone(loop: Loop) -> None:
    async with connecting(connect_s=0.05) as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, "http://a.example/v1")

        assert loop.asked == 1
        assert count_open(transport) == 0


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/v1", "http://[fe80::1]:1/v1", "http://[::ffff:a9fe:a9fe]/"]
)
async def test_no_connection_is_made_where_a_cloud_tells_credentials(url: str) -> None:
    async with connecting() as transport:
        with pytest.raises(ProviderUnreachable) as refused:
            await ask(transport, url)

    assert "metadata" in refused.value.detail


async def test_a_name_that_leads_there_is_no_way_around(loop: Loop) -> None:
    async with connecting() as transport:
        call = asyncio.create_task(ask(transport, "http://a.example/v1"))
        for _ in range(5):  # turns of the loop, until it has been asked
            await asyncio.sleep(0)
        family, kind = socket.AF_INET, socket.SOCK_STREAM
        found = [(family, kind, 6, "", (ip, 80)) for ip in ("8.8.8.8", "169.254.169.254")]
        loop.answers[0].set_result(found)

        with pytest.raises(ProviderUnreachable) as refused:
            await call

    assert "metadata" in refused.value.detail

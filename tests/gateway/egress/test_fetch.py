"""The fetcher against real sockets: where it goes, how much it takes, and what it tells."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle

import pytest

from gateway.core.egress import HostRules, NotFetched
from gateway.egress.fetch import FAILED, Fetcher
from gateway.egress.orders import MCP_UNREACHABLE, Fetched, McpOrder, Order
from gateway.outbound import guarded_sockets
from gateway.outbound.guarded_sockets import LookUp
from gateway.outbound.permitted_addresses import read_networks
from tests.support.file_server import Answer, FileServer, serving_files
from tests.support.ports import free_port

# The test's servers are at the first; nobody may be sent to the second.
OPEN, CLOSED = "127.0.0.1", "127.0.0.2"
MB = 2**20
ANY_HOST = HostRules()


@asynccontextmanager
async def fetching(look_up: LookUp = guarded_sockets.look_up) -> AsyncIterator[Fetcher]:
    fetcher = Fetcher(read_networks([f"{OPEN}/32"]), look_up=look_up)
    try:
        yield fetcher
    finally:
        await fetcher.aclose()


async def fetch(
    fetcher: Fetcher, url: str, *, hosts: HostRules = ANY_HOST, limit_s: float = 20.0
) -> Fetched:
    return await fetcher.fetch(Order(url=url, owner="a", hosts=hosts, limit_s=limit_s))


async def refusal(fetcher: Fetcher, url: str, *, limit_s: float = 20.0) -> str:
    """Return in which words fetching from here is refused."""
    with pytest.raises(NotFetched) as caught:
        await fetch(fetcher, url, limit_s=limit_s)
    return caught.value.message


@pytest.fixture
def canary() -> Iterator[FileServer]:
    """A server inside: whatever happens, nobody may have come."""
    with serving_files(lambda path: (200, {}, b"inside"), host=CLOSED) as server:
        yield server
        assert server.requests == []


async def test_a_file_is_fetched_with_nothing_of_ours_in_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", f"http://{CLOSED}:1")
    monkeypatch.setenv("HTTP_PROXY", f"http://{CLOSED}:1")
    cookie = {"set-cookie": "a=b; Path=/"}
    with serving_files(lambda path: (200, cookie, b"hello")) as server:
        async with fetching() as fetcher:
            first = await fetch(fetcher, server.url("/a%2Fb/report%20one.pdf?sig=%2f"))
            again = await fetch(fetcher, server.url("/x"))

    assert (first.content, first.name) == (b"hello", "report one.pdf")
    assert (again.content, again.name) == (b"hello", "x")
    assert server.paths == ["/a%2Fb/report%20one.pdf?sig=%2f", "/x"]
    for _, headers in server.requests:
        assert set(headers) == {"host", "accept", "accept-encoding", "user-agent", "connection"}


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="a b.pdf"', "a b.pdf"),
        ("attachment; filename*=UTF-8''%C3%BC.pdf", "ü.pdf"),
        ("inline", "path.bin"),
        (";;;=", "path.bin"),
    ],
)
async def test_a_file_is_called_what_its_server_calls_it(disposition: str, name: str) -> None:
    headers = {"content-disposition": disposition}
    with serving_files(lambda path: (200, headers, b"x")) as server:
        async with fetching() as fetcher:
            found = await fetch(fetcher, server.url("/path.bin"))

    assert found.name == name


async def test_redirects_are_followed_three_times(canary: FileServer) -> None:
    def serve(path: str) -> Answer:
        left = int(path[1:])
        return (307, {"location": f"/{left - 1}"}, b"") if left else (200, {}, b"here")

    with serving_files(serve) as server:
        async with fetching() as fetcher:
            assert (await fetch(fetcher, server.url("/3"))).content == b"here"
            assert await refusal(fetcher, server.url("/4")) == FAILED
            assert "/0" not in server.paths[4:]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_leads_inside(canary: FileServer, status: int) -> None:
    where = {"location": canary.url("/secret")}
    with serving_files(lambda path: (status, where, b"")) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == FAILED


@pytest.mark.parametrize(
    "location",
    [
        *("ftp://127.0.0.1/", "file:///etc/passwd", "http://user@127.0.0.1/", "http://[::1]/"),
        *("http://127.1/", "http://2130706434/", "//0x7f.2/", "\\\\127.0.0.2\\x"),
        *("http://169.254.169.254/", "http://localhost.:1/", "data:text/plain,x"),
    ],
)
async def test_no_redirect_leads_where_no_address_does(canary: FileServer, location: str) -> None:
    with serving_files(lambda path: (302, {"location": location}, b"")) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == FAILED
            assert len(server.paths) == 1


async def test_addresses_that_only_look_like_redirects_are_not_followed(canary: FileServer) -> None:
    page = f'<meta http-equiv="refresh" content="0;url={canary.url()}">'.encode()
    with serving_files(lambda path: (200, {"refresh": f"0; url={canary.url()}"}, page)) as server:
        async with fetching() as fetcher:
            assert (await fetch(fetcher, server.url())).content == page


@pytest.mark.parametrize(
    "addresses",
    [
        [CLOSED],
        [OPEN, CLOSED],
        [CLOSED, OPEN],
        ["8.8.8.8", CLOSED],
        ["::1"],
        ["::ffff:127.0.0.2"],
        ["64:ff9b::7f00:2"],
        ["169.254.169.254"],
        ["fe80::1%1"],
        [],
    ],
)
async def test_a_name_with_any_address_inside_is_refused(
    canary: FileServer, addresses: list[str]
) -> None:
    async with fetching(lambda host, port: addresses) as fetcher:
        url = f"http://inside.example:{canary.port}/"

        assert await refusal(fetcher, url) == FAILED


async def test_a_name_is_resolved_once_however_its_answers_change(canary: FileServer) -> None:
    asked: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return [OPEN] if len(asked) % 2 else [CLOSED]

    with serving_files(lambda path: (200, {}, b"outside")) as server:
        async with fetching(look_up) as fetcher:
            url = f"http://turning.example:{server.port}/"
            for tries in range(1, 101):
                try:
                    assert (await fetch(fetcher, url)).content == b"outside"
                except NotFetched:
                    assert tries % 2 == 0
                assert len(asked) == tries
        assert len(server.requests) == 50
        assert {headers["host"] for _, headers in server.requests} == {url[7:-1]}


async def test_every_hop_is_resolved_anew(canary: FileServer) -> None:
    answers = cycle([[OPEN], [CLOSED]])
    with serving_files(lambda path: (302, {"location": "/again"}, b"")) as server:
        async with fetching(lambda host, port: next(answers)) as fetcher:
            url = f"http://turning.example:{server.port}/"

            assert await refusal(fetcher, url) == FAILED
            assert server.paths == ["/"]


async def test_a_socket_is_refused_even_if_a_resolver_of_ours_were_wrong(
    canary: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = guarded_sockets.check, []

    def check(address: str, port: int, allowed: object) -> None:
        seen.append(address)
        if len(seen) > 1:  # the first look is the resolver's
            real(address, port, allowed)  # type: ignore[arg-type]

    monkeypatch.setattr(guarded_sockets, "check", check)
    async with fetching(lambda host, port: [CLOSED]) as fetcher:
        assert await refusal(fetcher, f"http://inside.example:{canary.port}/") == FAILED
    assert seen == [CLOSED, CLOSED]


async def test_a_name_that_is_not_there_and_one_that_is_inside_sound_alike() -> None:
    def look_up(host: str, port: int) -> list[str]:
        if host == "inside.example":
            return ["10.0.0.1"]
        raise OSError("no such name")

    async with fetching(look_up) as fetcher:
        told = {
            await refusal(fetcher, f"http://{name}/") for name in ("inside.example", "no.example")
        }

    assert told == {FAILED}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "localhost.localdomain"])
async def test_this_host_by_its_name_is_inside(host: str) -> None:
    async with fetching() as fetcher:
        assert await refusal(fetcher, f"http://{host}:80/") == FAILED


async def test_a_redirect_leads_to_no_host_that_the_workspace_denies(canary: FileServer) -> None:
    where = {"location": "/again"}
    with serving_files(
        lambda path: (302, where, b"") if path == "/" else (200, {}, b"x")
    ) as server:
        names = iter(["first.example", "second.example"])

        def look_up(host: str, port: int) -> list[str]:
            assert host == next(names)
            return [OPEN]

        where["location"] = f"http://second.example:{server.port}/again"
        async with fetching(look_up) as fetcher:
            url = f"http://first.example:{server.port}/"
            with pytest.raises(NotFetched):
                await fetch(fetcher, url, hosts=HostRules(denied=("second.example",)))

        assert server.paths == ["/"]


async def test_names_that_nobody_answers_for_in_time_are_given_up() -> None:
    answered = threading.Event()

    def look_up(host: str, port: int) -> list[str]:
        answered.wait(30)
        return [OPEN]

    async with fetching(look_up) as fetcher:
        assert "within" in await refusal(fetcher, "http://slow.example/", limit_s=0.2)
        answered.set()


async def test_a_name_with_a_thousand_addresses_is_refused_for_one_of_them(
    canary: FileServer,
) -> None:
    many = [f"8.8.{one >> 8}.{one & 255}" for one in range(1_000)]
    async with fetching(lambda host, port: [*many, CLOSED]) as fetcher:
        assert await refusal(fetcher, f"http://many.example:{canary.port}/") == FAILED


@pytest.mark.parametrize("status", [201, 204, 206, 304, 401, 403, 404, 500])
async def test_nothing_is_told_of_what_was_answered(status: int) -> None:
    with serving_files(lambda path: (status, {"x-secret": "hush"}, b"")) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == FAILED


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, gzip", "zstd"])
async def test_packed_bodies_are_not_unpacked(encoding: str) -> None:
    with serving_files(lambda path: (200, {"content-encoding": encoding}, b"x")) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == FAILED


async def test_twenty_megabytes_are_taken_and_not_a_byte_more() -> None:
    def serve(path: str) -> Answer:
        size = 20 * MB + int(path[1:])
        return 200, {}, bytes(size)

    with serving_files(serve) as server:
        async with fetching() as fetcher:
            assert len((await fetch(fetcher, server.url("/0"))).content) == 20 * MB
            assert await refusal(fetcher, server.url("/1")) == "The response is larger than 20 MB."


async def test_bytes_are_counted_whatever_length_is_declared() -> None:
    endless = {"connection": "close"}
    with serving_files(lambda path: (200, endless, cycle([bytes(MB)]))) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == "The response is larger than 20 MB."


async def test_a_body_that_breaks_off_is_no_file() -> None:
    with serving_files(lambda path: (200, {"content-length": "10"}, b"short")) as server:
        async with fetching() as fetcher:
            assert await refusal(fetcher, server.url()) == FAILED


async def test_what_takes_too_long_is_given_up() -> None:
    given_up = threading.Event()

    def dripping() -> Iterator[bytes]:
        yield b"begin"
        given_up.wait(30)

    with serving_files(lambda path: (200, {"content-length": "10"}, dripping())) as server:
        async with fetching() as fetcher:
            assert "within" in await refusal(fetcher, server.url(), limit_s=0.2)
        given_up.set()


async def test_nothing_is_said_in_the_clear_where_a_certificate_is_due() -> None:
    with serving_files(lambda path: (200, {}, b"x")) as server:
        async with fetching(lambda host, port: [OPEN]) as fetcher:
            assert await refusal(fetcher, f"https://name.example:{server.port}/") == FAILED
        assert server.requests == []


async def test_an_mcp_server_that_takes_no_connection_is_not_waited_for_again() -> None:
    asked: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return [OPEN]

    async with fetching(look_up) as fetcher:
        with pytest.raises(NotFetched) as caught:
            await fetcher.ask(McpOrder(url=f"http://mcp.test:{free_port()}/mcp", owner="a"))

    assert caught.value.message == MCP_UNREACHABLE
    assert asked == ["mcp.test"]

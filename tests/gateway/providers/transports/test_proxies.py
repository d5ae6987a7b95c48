"""Proxies, certificate authorities and client certificates of a provider's own."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.errors import ProviderUnavailable, ProviderUnreachable
from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.proxies import read_environment
from gateway.providers.secrets import secrets_of
from gateway.providers.transports.response_body import read_body
from tests.gateway.providers.transports.certificates import Authority
from tests.gateway.providers.transports.http2_peer import Call, serving_http2
from tests.gateway.providers.transports.peer import (
    HOLD,
    answer,
    ask,
    ask_within,
    chunked,
    connecting,
    playing,
    request,
)
from tests.support.proxy import running_proxy

pytestmark = pytest.mark.httpx
FIRST, SECOND = answer(b"first"), answer(b"second")
CREDENTIAL = "gateway:a pass:wörd 8f3c"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.mark.parametrize("credential", ["", CREDENTIAL])
async def test_a_provider_of_https_is_reached_by_a_tunnel(
    authority: Authority, credential: str
) -> None:
    tls = authority.server_context("localhost")
    with running_proxy(credential) as proxy:
        settings = ConnectionSettings(
            proxy_url=proxy.url,
            proxy_credential=credential,
            ca_certificate=authority.path.read_text(),
        )
        async with (
            playing([FIRST], [SECOND], tls=tls, name="localhost") as peer,
            connecting(settings) as transport,
        ):
            assert (await ask(transport, peer)).body == b"first"
            assert (await ask(transport, peer)).body == b"second"

            assert peer.connections == 1
            assert peer.asked_names == ["localhost"]
            assert b"proxy-authorization" not in peer.requests[0].lower()
    port = peer.url.split(":")[2].split("/")[0]
    assert [line for line, _ in proxy.seen] == [f"CONNECT localhost:{port} HTTP/1.1"]


@pytest.mark.parametrize("credential", ["", CREDENTIAL])
async def test_a_provider_of_http_is_reached_by_the_proxy(credential: str) -> None:
    with running_proxy(credential) as proxy:
        settings = ConnectionSettings(proxy_url=proxy.url, proxy_credential=credential)
        stream = [chunked(b"a", end=b""), b"1\r\nb\r\n", b"0\r\n\r\n"]
        async with playing(stream) as peer, connecting(settings) as transport:
            assert (await ask(transport, peer, b"{}")).body == b"ab"

            assert peer.requests[0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
            assert peer.requests[0].endswith(b"{}")
    assert proxy.seen[0][0] == f"POST {peer.url} HTTP/1.1"


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("credential", ["", "gateway:wrong"])
async def test_a_proxy_that_refuses_has_sent_nothing(
    authority: Authority, credential: str, tls: bool
) -> None:
    context = authority.server_context("localhost") if tls else None
    with running_proxy(CREDENTIAL) as proxy:
        settings = ConnectionSettings(proxy_url=proxy.url, proxy_credential=credential)
        async with playing([FIRST], tls=context) as peer, connecting(settings) as transport:
            sent = request(peer)
            with pytest.raises(ProviderUnreachable) as refused:
                await transport.open(sent)

            assert "407" in refused.value.detail
            assert "wrong" not in refused.value.detail
            assert not sent.was_sent
            assert peer.requests == []


async def test_a_proxy_that_is_not_there_has_sent_nothing() -> None:
    settings = ConnectionSettings(proxy_url="http://127.0.0.1:1")
    async with playing([FIRST]) as peer, connecting(settings) as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, peer)


async def test_a_call_given_up_ends_its_tunnel(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    with running_proxy() as proxy:
        settings = ConnectionSettings(
            proxy_url=proxy.url, ca_certificate=authority.path.read_text()
        )
        async with (
            playing([HOLD], tls=tls, name="localhost") as peer,
            connecting(settings) as transport,
        ):
            assert await ask_within(transport, peer, 0.05) is None
            await peer.all_ended()


async def test_what_the_proxy_is_shown_is_never_quoted() -> None:
    with running_proxy(CREDENTIAL, echoes=True) as proxy:
        settings = ConnectionSettings(proxy_url=proxy.url, proxy_credential=CREDENTIAL)
        async with playing() as peer, connecting(settings) as transport:
            sent = request(peer)
            response = await transport.open(sent)
            said = (await read_body(response)).decode()
            response.release()

            hidden = [secret.decode() for secret in secrets_of(sent)]
            assert any(secret in said for secret in hidden)
            assert CREDENTIAL in hidden
    assert CREDENTIAL not in repr(settings)


async def test_http2_goes_through_a_tunnel(authority: Authority) -> None:
    async def echo(call: Call) -> None:
        call.head()
        await call.send(bytes(call.body), end=True)

    tls = authority.server_context("localhost")
    with running_proxy() as proxy:
        settings = ConnectionSettings(
            http2=True, proxy_url=proxy.url, ca_certificate=authority.path.read_text()
        )
        async with serving_http2(echo, tls) as peer, connecting(settings) as transport:
            assert (await ask(transport, peer.url, b"hello")).body == b"hello"


# Certificates


async def test_an_authority_that_is_not_given_is_not_believed(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing([FIRST], tls=tls, name="localhost") as peer,
        connecting() as transport,
    ):
        with pytest.raises(ProviderUnreachable):
            await ask(transport, peer)


async def test_a_client_certificate_is_shown_where_it_is_asked_for(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    tls.load_verify_locations(cafile=authority.path)
    tls.verify_mode = ssl.CERT_REQUIRED
    certificate, key = authority.client_certificate("gateway")
    without = ConnectionSettings(ca_certificate=authority.path.read_text())
    shown = replace(without, client_certificate=certificate, client_key=key)
    async with playing([FIRST], tls=tls, name="localhost") as peer:
        async with connecting(shown) as transport:
            assert (await ask(transport, peer)).body == b"first"
        async with connecting(without) as transport:
            with pytest.raises((ProviderUnreachable, ProviderUnavailable)):
                await ask(transport, peer)
    assert key not in repr(shown)


# The environment


@pytest.mark.parametrize(
    ("base_url", "no_proxy", "port"),
    [
        ("https://api.example.com/v1", "", 3129),
        ("http://api.example.com/v1", "", 3128),
        ("https://api.example.com/v1", "*", 0),
        ("https://api.example.com/v1", "example.com", 0),
        ("https://api.example.com/v1", "other.example, .example.com", 0),
        ("https://api.example.com/v1", "ample.com", 3129),
        ("https://api.example.com/v1", "api.example.com:8443", 3129),
        ("https://api.example.com:8443/v1", "api.example.com:8443", 0),
        ("https://10.1.2.3/v1", "10.0.0.0/8", 0),
        ("https://11.1.2.3/v1", "10.0.0.0/8", 3129),
        ("https://[fd00::1]/v1", "fd00::/8", 0),
        ("http://localhost:8000/v1", "", 0),
        ("http://127.0.0.1:8000/v1", "", 0),
        ("http://[::1]:8000/v1", "", 0),
    ],
)
def test_the_environment_names_proxies(base_url: str, no_proxy: str, port: int) -> None:
    proxies = read_environment(
        {
            "HTTPS_PROXY": "http://name:pass%3Aword@proxy.example:3129",
            "http_proxy": "proxy.example:3128",
            "NO_PROXY": no_proxy,
        }
    )

    found = proxies.proxy_for(base_url)

    assert (found.url if found else "") == (f"http://proxy.example:{port}" if port else "")
    assert found is None or found.credential == ("name:pass:word" if port == 3129 else "")


@pytest.mark.parametrize("text", ["socks5://proxy.example:1080", "http://", "http://a/b"])
def test_a_proxy_of_the_environment_that_cannot_be_used_names_its_variable(text: str) -> None:
    with pytest.raises(ValueError, match="HTTPS_PROXY"):
        read_environment({"HTTPS_PROXY": text})

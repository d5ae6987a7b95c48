"""Redis over TLS: who is trusted is in REDIS_URL, and limits and outages are as without TLS."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.core.redis_address import RedisAddress, read_redis_url
from tests.flows.site import running_site
from tests.gateway.providers.transports.certificates import Authority
from tests.launch.installation import assert_refused_with, up_process
from tests.support.ports import free_port
from tests.support.redis import RedisServer, running_redis
from tests.support.waiting import wait_until

BURST = 3


@dataclass(frozen=True)
class Secured:
    server: RedisServer
    port: int
    authority: Path
    # Of a client, with its key.
    certificate: Path

    def url(self, host: str = "127.0.0.1", /, **files: Path) -> str:
        query = "&".join(f"{name}={file}" for name, file in files.items())
        return f"rediss://:s3cret@{host}:{self.port}" + (f"?{query}" if query else "")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A server whose certificate is of its own authority, for 127.0.0.1 alone."""
    folder = tmp_path_factory.mktemp("tls")
    authority, port = Authority(folder), free_port()
    authority.server_context("127.0.0.1")
    certificate = folder / "client.pem"
    certificate.write_text("".join(authority.client_certificate("tollhouse")))
    pem = folder / "server.pem"
    options = [
        *("--tls-cert-file", pem, "--tls-key-file", pem, "--tls-ca-cert-file", authority.path),
        *("--tls-port", port, "--tls-auth-clients", "no"),
    ]
    with running_redis(*map(str, options)) as server:
        yield Secured(server, port, authority.path, certificate)


@pytest.fixture
def asking(secured: Secured) -> Iterator[Secured]:
    """The same server, which wants the certificate of every client."""
    secured.server.client.config_set("tls-auth-clients", "yes")
    yield secured
    secured.server.client.config_set("tls-auth-clients", "no")


def start(home: Path, url: str) -> str:
    """Start with a Redis that is refused; return what was said."""
    done = up_process(home, port=free_port(), env={"REDIS_URL": url})
    assert "s3cret" not in done.stdout + done.stderr
    assert_refused_with(done, "")
    return done.stdout + done.stderr


def test_a_certificate_of_an_unknown_authority(home: Path, secured: Secured) -> None:
    said = start(home, secured.url())

    assert f"The certificate of Redis at 127.0.0.1:{secured.port} is not trusted:" in said
    assert "ssl_ca_certs=" in said


def test_a_certificate_of_another_host(home: Path, secured: Secured) -> None:
    said = start(home, secured.url("localhost", ssl_ca_certs=secured.authority))

    assert "Hostname mismatch" in said


def test_a_certificate_is_required(home: Path, asking: Secured) -> None:
    said = start(home, asking.url(ssl_ca_certs=asking.authority))

    assert "whether Redis requires a certificate (ssl_certfile and ssl_keyfile" in said


def test_files_that_are_missing_or_something_else(home: Path, secured: Secured) -> None:
    missing = start(home, secured.url(ssl_ca_certs=home / "none.pem"))
    other = start(home, secured.url(ssl_ca_certs=home / "quickstart.json"))

    assert f"REDIS_URL names {home / 'none.pem'}: No such file or directory." in missing
    assert "The files in REDIS_URL are not a certificate and its key in PEM format" in other


@pytest.mark.parametrize("files", ["authority", "authority and certificate"])
def test_limits_and_an_outage(
    home_template: Path, tmp_path: Path, request: pytest.FixtureRequest, files: str
) -> None:
    home = Path(shutil.copytree(home_template, tmp_path / "home"))
    secured: Secured = request.getfixturevalue("asking" if "and" in files else "secured")
    given = {"ssl_ca_certs": secured.authority}
    if "and" in files:
        given |= {"ssl_certfile": secured.certificate}
    with running_site(home, {"REDIS_URL": secured.url(**given).replace(":s3cret@", "")}) as site:
        log = site.gateway.log
        limited = site.limited_caller(max_requests_per_minute=1, burst=BURST)
        counted = [limited.ask("a", max_tokens=5).status for _ in range(BURST)]
        keys = secured.server.client.keys("*")
        secured.server.stop()
        away = [site.caller().ask("a", max_tokens=5).status for _ in range(2)]
        wait_until(lambda: "is away" in log.read_text(), what="the outage to be told")
        secured.server.start()
        wait_until(lambda: "answers again" in log.read_text(), what="Redis to be asked again")
        counted.append(limited.ask("a", max_tokens=5).status)

    assert counted == [*[200] * BURST, 429]
    assert keys
    assert away == [200, 200]


def test_an_address_with_files() -> None:
    url = "rediss://redis.example?ssl_ca_certs=/a%20b.pem&ssl_certfile=c.pem&ssl_keyfile=/k.pem"

    assert read_redis_url(url) == RedisAddress(
        host="redis.example",
        uses_tls=True,
        ca_file="/a b.pem",
        certificate_file="c.pem",
        key_file="/k.pem",
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://h?ssl_ca_certs=/a.pem", "can have parameters only with rediss://"),
        ("rediss://h?ssl_cert_reqs=none", "can have the parameters ssl_ca_certs, ssl_certfile"),
        ("rediss://h?ssl_ca_certs=/a.pem&ssl_ca_certs=/b.pem", "has a parameter twice"),
        ("rediss://h?ssl_ca_certs=", "must have a path in each of its parameters"),
        ("rediss://h?ssl_keyfile=/k.pem", "must have ssl_certfile if it has ssl_keyfile"),
        ("rediss://h?/a.pem", "must look like redis://"),
    ],
)
def test_parameters_that_an_address_cannot_have(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_redis_url(url)

"""PostgreSQL over TLS: DATABASE_URL says who is trusted and who we are, to whatever uses it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.gateway.providers.transports.certificates import Authority
from tests.launch.installation import assert_refused_with, running, up_process
from tests.support.ports import free_port
from tests.support.postgresql import PostgresqlServer, ServerTls, running_postgresql
from tests.support.servers import run_manage
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

USER, KEY_PASSWORD = "tollhouse", "open-sesame"


@dataclass(frozen=True)
class Secured:
    server: PostgresqlServer
    folder: Path
    port: int

    def url(self, host: str = "127.0.0.1", /, *, database: str = USER, **files: str) -> str:
        """Return DATABASE_URL with all that is right, but for `files`, by their parameter."""
        given = {
            "sslrootcert": "authority.pem",
            "sslcert": "client.pem",
            "sslkey": "client.key",
        } | files
        named = [f"{name}={self.folder / file}" for name, file in given.items() if file]
        query = "&".join(["sslmode=verify-full", *named])
        return f"postgresql://{USER}:s3cret@{host}:{self.port}/{database}?{query}"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A server whose certificate is of its own authority, for 127.0.0.1 alone. It wants one of
    each client."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    authority.server_context("127.0.0.1")
    _write_client(folder, authority, "client", name=USER)
    _write_client(folder, authority, "other", name="somebody")
    (folder / "stranger").mkdir()
    _write_client(folder / "stranger", Authority(folder / "stranger"), "client", name=USER)
    shutil.copy(folder / "client.key", folder / "open.key")
    (folder / "open.key").chmod(0o644)
    key = serialization.load_pem_private_key((folder / "client.key").read_bytes(), None)
    sealed = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(KEY_PASSWORD.encode()),
    )
    (folder / "sealed.key").touch(mode=0o600)
    (folder / "sealed.key").write_bytes(sealed)
    (folder / "text.pem").write_text("no certificate")
    tls = ServerTls(free_port(), folder / "server.pem", folder / "authority.pem")
    with running_postgresql(tls) as server:
        server.run(f"CREATE ROLE {USER} LOGIN")
        server.run(f"CREATE DATABASE {USER} OWNER {USER}")
        yield Secured(server, folder, tls.port)


def _write_client(folder: Path, authority: Authority, file: str, *, name: str) -> None:
    certificate, key = authority.client_certificate(name)
    (folder / f"{file}.pem").write_text(certificate)
    (folder / f"{file}.key").touch(mode=0o600)
    (folder / f"{file}.key").write_text(key)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"sslrootcert": "stranger/authority.pem"}, "is not trusted or has expired. Name the file"),
        ({"host": "localhost"}, "not for localhost"),
        ({"sslcert": "", "sslkey": ""}, "requires a certificate of the gateway. Name it"),
        (
            {"sslcert": "other.pem", "sslkey": "other.key"},
            "rejects the certificate of the gateway for the user tollhouse",
        ),
        (
            {"sslcert": "stranger/client.pem", "sslkey": "stranger/client.key"},
            "rejects the certificate of the gateway: unknown ca",
        ),
        ({"sslkey": "other.key"}, "does not belong to the certificate (sslcert)"),
        ({"sslkey": "open.key"}, "open.key. Run `chmod 600 "),
        ({"sslkey": ""}, "without its key. Add sslkey."),
        ({"sslcert": "none.pem"}, "none.pem (sslcert): No such file or directory."),
        ({"sslrootcert": "text.pem"}, "text.pem, which is not a certificate or key in PEM format"),
        ({"sslrootcert": ""}, "Add sslrootcert=/path/to/ca.pem"),
    ],
)
def test_a_certificate_that_is_refused(
    tmp_path: Path, secured: Secured, files: dict[str, str], words: str
) -> None:
    host = files.get("host", "127.0.0.1")
    named = {name: file for name, file in files.items() if name != "host"}
    env = {"DATABASE_URL": secured.url(host, **named), "HOME": str(tmp_path)}

    done = up_process(tmp_path / "home", port=free_port(), env=env)

    assert_refused_with(done, words)
    assert "s3cret" not in done.stderr


def test_commands_say_the_same(tmp_path: Path, secured: Secured) -> None:
    env = {"DATABASE_URL": secured.url(sslrootcert="stranger/authority.pem")}

    done = run_manage(tmp_path, "prove", env=env)

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "is not trusted or has expired. Name the file" in done.stderr


def test_a_move_an_outage_a_backup_and_its_restore(home: Path, secured: Secured) -> None:
    """With a key that is encrypted, of which every program has to know the password."""
    url = f"{secured.url(sslkey='sealed.key')}&sslpassword={KEY_PASSWORD}"
    backup = home.parent / "backup"

    def manage(*arguments: str) -> str:
        done = run_manage(home, *arguments, env={"DATABASE_URL": url})
        assert done.returncode == 0, done.stderr
        return done.stdout

    moved = manage("move_to_postgres")
    with running(home, env={"DATABASE_URL": url}) as installation:
        assert installation.ask()["choices"]
        secured.server.stop()
        wait_until(lambda: not installation.answers(), what="calls to be refused")
        secured.server.start()
        wait_until(installation.answers, what="calls to be answered again")
        written = manage("backup", str(backup))
    proved = manage("prove")
    restored = manage("restore", str(backup), "--replace")

    assert "The ledger adds up in both databases." in moved
    assert "postgresql" in written
    assert "PROVED" in proved
    assert "PROVED" in restored

"""A PostgreSQL server of the tests' own, behind a socket in its own folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import quote

from tests.support.require import do_without

NAME = "postgres"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a server needs that also listens on 127.0.0.1, to those alone who have a certificate in
    the name of their user. certificate: with its key. authority: of its clients."""

    port: int
    certificate: Path
    authority: Path


@dataclass(frozen=True, slots=True)
class PostgresqlServer:
    """A running server. Everybody on this machine who finds its folder may use it."""

    folder: Path
    programs: Path
    account: str | None
    tls: ServerTls | None = None

    def url(self, database: str = NAME) -> str:
        return f"postgresql://{NAME}@/{database}?host={quote(str(self.folder))}"

    def new_database(self, *, like: str = "template1") -> str:
        """Make a database, a copy of one that nobody is connected to; return its name."""
        name = f"test_{next(_numbers)}"
        self.run(f'CREATE DATABASE {name} TEMPLATE "{like}"')
        return name

    def run(self, statement: str, *, database: str = NAME) -> str:
        """Run a statement and return its rows, as psql prints them without anything else."""
        command = [str(self.programs / "psql"), "-h", str(self.folder), "-U", NAME, "-d", database]
        command += ["-p", str(self.tls.port)] if self.tls else []
        return subprocess.check_output(
            [*command, "-v", "ON_ERROR_STOP=1", "-Atqc", statement], text=True, timeout=120
        ).strip()

    def start(self) -> None:
        options = f"-c unix_socket_directories={self.folder} -c fsync=off"
        if self.tls is None:
            options += " -c listen_addresses=''"
        else:
            data = self.folder / "data"
            options += f" -c listen_addresses=127.0.0.1 -c port={self.tls.port} -c ssl=on"
            options += f" -c ssl_cert_file={data}/server.pem -c ssl_key_file={data}/server.pem"
            options += f" -c ssl_ca_file={data}/authority.pem"
        self._control("-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        """End it at once, as a crash does."""
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        control = [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-w"]
        _run([*control, *arguments], self.account)


@contextmanager
def running_postgresql(tls: ServerTls | None = None) -> Iterator[PostgresqlServer]:
    """Start a server. Skips where there is none to start."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    if not found and on_path is None:
        do_without("pg_ctl is not installed: the system package postgresql brings it")
    programs = found[-1].parent if found else Path(str(on_path)).parent
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="tollhouse-pg-", dir="/tmp"))  # sockets have short names
    folder.chmod(0o755)
    if account is not None:
        shutil.chown(folder, account)
    server = PostgresqlServer(folder, programs, account, tls)
    try:
        initdb = [str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", NAME]
        _run([*initdb, "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8"], account)
        if tls is not None:
            _take_files(tls, folder / "data", account)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_files(tls: ServerTls, data: Path, account: str | None) -> None:
    """Put copies of the files where the server may read them, and say who may connect."""
    (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 cert\n")
    for source, name in ((tls.certificate, "server.pem"), (tls.authority, "authority.pem")):
        copy = Path(shutil.copy(source, data / name))
        copy.chmod(0o600)
        if account is not None:
            shutil.chown(copy, account)


def _account() -> str | None:
    """Return whose account runs the server, which refuses to run as root; None: our own."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(NAME).pw_name
    except KeyError:
        do_without("there is no account to run PostgreSQL: the system package postgresql makes one")


def _run(command: list[str], account: str | None) -> None:
    subprocess.run(
        command,
        user=account,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )

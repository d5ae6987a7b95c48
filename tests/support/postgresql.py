"""A PostgreSQL server of a test's own, behind a socket in its own folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.require import do_without, require_module

NAME = "postgres"


@contextmanager
def running_postgresql() -> Iterator[dict[str, str]]:
    """Start a server; yield the environment in which the product uses it. Skips without one."""
    require_module("psycopg", package="psycopg[binary]")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    if not found and on_path is None:
        do_without("pg_ctl is not installed: the system package postgresql brings it")
    programs = found[-1].parent if found else Path(str(on_path)).parent
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="tollhouse-pg-", dir="/tmp"))  # sockets have short names
    if account is not None:
        shutil.chown(folder, account)
    data = folder / "data"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w"]
    try:
        _run([str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", NAME], account)
        _run([*control, "-o", options, "-l", str(folder / "log"), "start"], account)
        try:
            yield {"DJANGO_SETTINGS_MODULE": "tests.postgresql_settings", "PGHOST": str(folder)}
        finally:
            _run([*control, "-m", "immediate", "stop"], account)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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

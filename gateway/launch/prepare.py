"""Everything before the first server starts: folders, database, static files, contents."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from gateway import __version__
from gateway.celery import make_broker_folders
from gateway.config.env import unknown_variables
from gateway.launch import preflight
from gateway.launch.from_environment import add_found_providers
from gateway.launch.quickstart import Quickstart
from gateway.launch.redis_check import check_redis
from gateway.launch.seed import seed


def prepare(*, say: Callable[[str], object], new_database: bool = False) -> Quickstart:
    """Bring the installation in HOME up to date and return how to use it.

    say: takes a line for the person at the terminal. new_database: make an empty database also
    where one is missing that was there. Raises CannotStart.
    """
    home = Path(settings.HOME)
    preflight.check_home(home)
    preflight.check_settings()
    preflight.check_file_storage()
    for line in unknown_variables(os.environ):
        say(line)
    if trouble := check_redis():
        say(trouble)
    preflight.make_database(is_wanted=new_database)
    make_broker_folders()
    _collect_static(home)
    preflight.check_database()
    with preflight.preparing_alone():
        return _prepare_database(home, say)


def _prepare_database(home: Path, say: Callable[[str], object]) -> Quickstart:
    if preflight.check_database():
        say("Migrating the database.")
        call_command("migrate", interactive=False, verbosity=0)
    preflight.check_keys()
    quickstart = seed(home, base_url=f"{public_origin()}/v1")
    for line in add_found_providers(os.environ):
        say(f"Found an API key in the environment. Added {line}.")
    return quickstart


def public_origin() -> str:
    """Return scheme://host:port as people reach this installation."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL)
    host = "127.0.0.1" if settings.HOST in ("0.0.0.0", "::") else settings.HOST  # noqa: S104
    return f"http://[{host}]:{settings.PORT}" if ":" in host else f"http://{host}:{settings.PORT}"


def _collect_static(home: Path) -> None:
    """Copy, name by content and compress the static files, when any of them has changed."""
    stamp_path = home / "static.stamp"
    stamp = _static_stamp()
    if stamp_path.exists() and stamp_path.read_text() == stamp:
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp_path.write_text(stamp)


def _static_stamp() -> str:
    """Return what changes when any static file does, or the way they are stored."""
    digest = sha256(f"{__version__} {settings.STORAGES['staticfiles']['BACKEND']}".encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            facts = os.stat(storage.path(path))
            digest.update(f"\n{path} {facts.st_mtime_ns} {facts.st_size}".encode())
    return digest.hexdigest()

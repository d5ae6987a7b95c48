"""Whether all hosts keep their files in the same folder.

Where several homes may serve one database, each writes a marker file to its folder of files before
it serves. A home whose processes serve and whose marker is not in our folder has another one: what
is uploaded there cannot be read here.
"""

from __future__ import annotations

import logging
import socket
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from gateway.models import ServingProcess

log = logging.getLogger(__name__)

MARKER_PREFIX = "tollhouse-home-"
MARKERS_KEPT_FOR_S = 24 * 60 * 60
ELSEWHERE = (
    "Stored files: %s is not the folder of %s. Files that are uploaded there cannot be read here. "
    "On every host, set TOLLHOUSE_FILES_DIR to a folder that all of them share, or set "
    "TOLLHOUSE_FILES_S3_BUCKET."
)
UNWRITABLE = (
    "Stored files: the folder %s (TOLLHOUSE_FILES_DIR) cannot be written: %s. Files cannot be "
    "uploaded until it can."
)


def write_marker() -> None:
    """Say in the folder of files that this home uses it. To be done before the home serves.

    A folder that cannot be written is told in the log. Calls do not need it, so we serve.
    """
    if settings.FILES_S3_BUCKET:
        return
    folder: Path = settings.FILES_DIR
    try:
        _try_to_write(folder)
        if _may_differ():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / _marker(*_own_home())).touch(mode=0o600)
    except OSError as error:
        log.warning(UNWRITABLE, folder, error.strerror)


def _try_to_write(folder: Path) -> None:
    """Raises OSError where the folder is and nothing can be written to it, or is not and cannot be
    made. It is made with the first file."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=existing) as probe:
        probe.write(b"x")


def homes_elsewhere() -> list[str]:
    """Return the homes that serve and keep their files elsewhere: their hosts and folders."""
    if not _may_differ():
        return []
    found = _markers_there()
    others = _serving_homes() - {_own_home()}
    return sorted(f"{host} ({home})" for host, home in others if _marker(host, home) not in found)


def warn_of_homes_elsewhere() -> None:
    """Say it in the log, and delete the markers of homes that serve no more."""
    if not _may_differ():
        return
    if homes := homes_elsewhere():
        log.warning(ELSEWHERE, settings.FILES_DIR, ", ".join(homes))
    _delete_old({_marker(*home) for home in _alive().values_list("host", "home")})


def _may_differ() -> bool:
    """A database file has one home; a bucket is the same from everywhere."""
    return settings.DATABASE_FILE is None and not settings.FILES_S3_BUCKET


def _serving_homes() -> set[tuple[str, str]]:
    return set(_alive().filter(lease_until__gte=Now()).values_list("host", "home"))


def _alive() -> QuerySet[ServingProcess]:
    return ServingProcess.objects.filter(state=ServingProcess.State.ALIVE)


def _own_home() -> tuple[str, str]:
    """Return host and home as they are in the rows of our processes."""
    return socket.gethostname(), str(settings.HOME)[:400]


def _marker(host: str, home: str) -> str:
    return MARKER_PREFIX + sha256(f"{host}\n{home}".encode()).hexdigest()[:32]


def _markers_there() -> set[str]:
    try:
        return {path.name for path in settings.FILES_DIR.glob(f"{MARKER_PREFIX}*")}
    except OSError:
        return set()


def _delete_old(kept: Iterable[str]) -> None:
    before = time.time() - MARKERS_KEPT_FOR_S
    for name in _markers_there().difference(kept):
        with suppress(OSError):
            if (settings.FILES_DIR / name).stat().st_mtime < before:
                (settings.FILES_DIR / name).unlink()

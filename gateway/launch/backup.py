"""`manage.py backup`: everything that an installation is, in one new folder.

The server may run. The database is copied as of one moment, and right after that moment the
journals: what was not in the database yet is in them (docs/adr/0049).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from accounts.management.newer_database import OUR_APPS
from gateway import __version__
from gateway.file_storage.open_store import open_store
from gateway.launch import database_copies, preflight
from gateway.launch.failure import CannotStart
from gateway.services.files.homes import MARKER_PREFIX

MANIFEST = "manifest.json"
FORMAT = 1
LOCK_NAME = "lock"
# How often a server may have removed a segment of its journal before it could be copied.
TRIES = 10
READ_BYTES = 1024 * 1024
# The folder of stored files, in the home and in a backup of it.
STORED_FILES = "files"


class File(msgspec.Struct):
    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, kw_only=True):
    """What a backup is, and of what it consists."""

    format: int = FORMAT
    version: str
    created_at: datetime
    # sqlite or postgresql.
    database: str
    # Applied ones of ours, app.name.
    migrations: list[str]
    # Of the key that encrypts credentials: to tell whether the right one is there.
    sealing_key_sha256: str
    # Processes of this host that were alive without a journal, and those of other hosts.
    missing_journals: int
    other_hosts: int
    files: dict[str, File]
    # Where the bytes of stored files are that are not in the backup; empty where they are.
    stored_files: str = ""


def make_backup(target: Path) -> Manifest:
    """Write a backup to a folder that does not exist yet. Raises CannotStart, DatabaseError."""
    home = Path(settings.HOME)
    if target.exists():
        raise CannotStart(f"{target} exists already. Name a new folder.")
    if target.resolve().is_relative_to(home / "journal"):
        raise CannotStart("A backup cannot be written to the folder of the journals.")
    preflight.check_database_is_current()
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        draft.mkdir(mode=0o700, parents=True)
        missing, others = _copy_database_and_journals(home, draft)
        for name in ("secrets", "quarantine"):
            if (home / name).is_dir():
                shutil.copytree(home / name, draft / name, ignore=shutil.ignore_patterns(".*"))
        if files_are_ours():
            _link_files(settings.FILES_DIR, draft / STORED_FILES)
        if (home / "quickstart.json").exists():
            shutil.copy2(home / "quickstart.json", draft / "quickstart.json")
        manifest = Manifest(
            version=__version__,
            created_at=datetime.now(UTC),
            database="sqlite" if database_copies.is_sqlite() else "postgresql",
            migrations=our_migrations(),
            sealing_key_sha256=fingerprint(settings.SEALING_KEYS[0]),
            missing_journals=missing,
            other_hosts=others,
            files={name: describe(draft / name) for name in files_in(draft)},
            stored_files="" if files_are_ours() else open_store().place,
        )
        content = msgspec.json.format(msgspec.json.encode(manifest))
        (draft / MANIFEST).write_bytes(content)
        _make_durable(draft)
        draft.rename(target)
    except OSError as error:
        raise CannotStart(f"The backup cannot be written to {target}: {error.strerror}.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def files_are_ours() -> bool:
    """True where stored files are in the home, and so a part of its backup."""
    return not settings.FILES_S3_BUCKET and settings.FILES_DIR == settings.HOME / STORED_FILES


def _link_files(source: Path, target: Path) -> None:
    """Link stored files into the backup, or copy them to another file system: they never change.
    After the database: what came later is no file of the backup, and is cleaned up when it is
    restored. The markers of homes are left out."""
    found = (path for path in source.rglob("*") if path.is_file())
    for path in sorted(path for path in found if not path.name.startswith(MARKER_PREFIX)):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.link(path, copy)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except OSError:
            with suppress(FileNotFoundError):
                shutil.copy2(path, copy)


def our_migrations() -> list[str]:
    """Return the migrations of ours that the database has had."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied if app in OUR_APPS)


def fingerprint(secret: str) -> str:
    """Return what tells a random secret from others and says nothing else of it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def files_in(folder: Path) -> list[str]:
    """Return the files of a backup, relative to it, without the manifest."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


def describe(path: Path) -> File:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(READ_BYTES):
            digest.update(piece)
    return File(path.stat().st_size, digest.hexdigest())


def _copy_database_and_journals(home: Path, draft: Path) -> tuple[int, int]:
    """Return how many processes of this host have no journal, and how many are of other hosts."""
    for number in range(TRIES):
        with database_copies.open_snapshot() as snapshot:
            needed = snapshot.drained_of(socket.gethostname())
            missing = _copy_journals(home / "journal", draft / "journal", needed)
            if missing and number < TRIES - 1:
                continue  # a server went on to its next segment, or ended: another moment then
            snapshot.write(draft / database_copies.file_name())
            return missing, len(snapshot.drained) - len(needed)
    raise AssertionError("the last try returns")


def _copy_journals(source: Path, target: Path, needed: Mapping[uuid.UUID, int]) -> int:
    """Copy all journals, without the room behind their last record. Return how many have lost a
    segment that is needed."""
    shutil.rmtree(target, ignore_errors=True)
    for folder in sorted(source.glob("*/")):
        copy = target / folder.name
        copy.mkdir(mode=0o700, parents=True)
        for file in sorted(folder.iterdir()):
            try:
                content = b"" if file.name == LOCK_NAME else file.read_bytes().rstrip(b"\0")
            except FileNotFoundError:
                continue  # posted meanwhile, or needed: see below
            (copy / file.name).write_bytes(content)
    return sum(not _has_segment(target / str(pk), segment) for pk, segment in needed.items())


def _has_segment(folder: Path, segment: int) -> bool:
    return any(path.stem == f"{segment:08d}" for path in folder.glob("*"))


def _make_durable(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

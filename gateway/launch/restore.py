"""`manage.py restore`: an installation as a backup has it, proved."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from gateway.config.home import made_here, note_use
from gateway.launch import database_copies, preflight
from gateway.launch.backup import (
    FORMAT,
    MANIFEST,
    STORED_FILES,
    Manifest,
    describe,
    files_are_ours,
    files_in,
    fingerprint,
)
from gateway.launch.exclusive import SERVER, only_one
from gateway.launch.failure import CannotStart
from gateway.models import ServingProcess
from gateway.services.proving import Proof, prove, record_proof
from gateway.services.replaying import Replayed, replay_journals

KEPT = ("secrets", "journal", "quarantine", "quickstart.json")
DRAFT = ".restoring"
MB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Restored:
    """aside: the folder that what was here before has gone to, schema_aside: the schema that the
    tables on PostgreSQL have gone to; None where there was nothing."""

    manifest: Manifest
    proof: Proof
    replayed: Replayed
    aside: Path | None
    schema_aside: str | None
    warnings: list[str]


def restore(source: Path, *, replace: bool) -> Restored:
    """Make the home and its database what the backup has. Raises CannotStart before anything is
    changed, where the backup is damaged or this installation runs or has a database.

    replace: put what is here aside.
    """
    home = Path(settings.HOME)
    manifest = read_manifest(source)
    preflight.check_home(home)
    with ExitStack() as stack:
        stack.enter_context(only_one(home))
        stack.enter_context(only_one(home, SERVER))
        _check_target(manifest, replace=replace)
        _check_space(manifest, home)
        aside = home / f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        with _copied(source, home, _parts(manifest)) as draft:
            database_copies.load(source / database_copies.file_name(), aside)
            for name in _parts(manifest):
                _put(draft / name, home / name, aside)
        if preflight.check_database():
            call_command("migrate", interactive=False, verbosity=0)
        replayed = replay_journals()
        proof = prove()
        record_proof(proof)
    note_use(home)
    folder = aside if aside.exists() else None
    return Restored(
        manifest=manifest,
        proof=proof,
        replayed=replayed,
        aside=folder,
        schema_aside=_find_schema(aside),
        warnings=_find_warnings(manifest, home),
    )


def read_manifest(source: Path) -> Manifest:
    """Return what a backup says of itself, once every file was compared with it."""
    try:
        manifest = msgspec.json.decode((source / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        raise CannotStart(f"{source} is no backup: it has no readable {MANIFEST}.") from None
    if manifest.format != FORMAT:
        raise CannotStart(f"The backup was made by a newer version: {manifest.version}. Use that.")
    names = files_in(source)
    wrong = sorted(manifest.files.keys() ^ set(names))
    wrong += [name for name in names if manifest.files.get(name) != describe(source / name)]
    if wrong:
        raise CannotStart(f"The backup is damaged: {wrong[0]} is missing or was changed.")
    return manifest


def _check_target(manifest: Manifest, *, replace: bool) -> None:
    kind = "sqlite" if database_copies.is_sqlite() else "postgresql"
    if manifest.database != kind:
        raise CannotStart(
            f"The backup is of {manifest.database}, and this installation uses {kind}. "
            "Set or unset DATABASE_URL."
        )
    loader = MigrationLoader(None)
    known = {f"{app}.{name}" for app, name in loader.disk_migrations}
    unknown = sorted(set(manifest.migrations) - known)
    if unknown:
        raise CannotStart(
            f"The backup was made by version {manifest.version}, which is newer: this one does not "
            f"know {unknown[-1]}. Use that version."
        )
    if not database_copies.has_contents():
        return
    if not replace:
        raise CannotStart(
            "This installation has a database. To put it aside and restore the backup, add "
            "--replace."
        )
    if kind == "postgresql":
        _check_nobody_serves()


def _check_nobody_serves() -> None:
    if ServingProcess._meta.db_table not in connection.introspection.table_names():
        return
    alive = ServingProcess.objects.filter(
        state=ServingProcess.State.ALIVE, lease_until__gt=Now()
    ).first()
    if alive is not None:
        raise CannotStart(
            f"The database is in use by process {alive.pid} on {alive.host}. Stop it first. After "
            "a crash, wait 30 s."
        )


def _parts(manifest: Manifest) -> list[str]:
    """Return what a backup has beside the database that comes into the home."""
    has_files = files_are_ours() and not manifest.stored_files
    return [*KEPT, STORED_FILES] if has_files else list(KEPT)


def _check_space(manifest: Manifest, home: Path) -> None:
    """Raises CannotStart where a disk has less free than will be written to it. PostgreSQL's disk
    is its own affair, and what is put aside stays on its disk."""
    parts = _parts(manifest)
    needed: dict[Path, int] = {}
    for name, file in manifest.files.items():
        if name == database_copies.file_name():
            folder = database_copies.sqlite_file()
        else:
            folder = home / name if name.partition("/")[0] in parts else None
        if folder is not None:
            existing = next(path for path in folder.parents if path.exists())
            needed[existing] = needed.get(existing, 0) + file.size_bytes
    by_disk: dict[int, tuple[Path, int]] = {}
    for folder, size in needed.items():
        first, before = by_disk.setdefault(folder.stat().st_dev, (folder, 0))
        by_disk[folder.stat().st_dev] = first, before + size
    for folder, size in by_disk.values():
        free = shutil.disk_usage(folder).free
        if size > free:
            raise CannotStart(
                f"The backup needs {size / MB:,.1f} MB on the disk of {folder}, which has "
                f"{free / MB:,.1f} MB free. Free space there, or restore to another TOLLHOUSE_HOME."
            )


@contextmanager
def _copied(source: Path, home: Path, names: Sequence[str]) -> Iterator[Path]:
    """Copy parts of a backup beside where they come, so that a disk that is full is noticed before
    anything is changed. Raises CannotStart."""
    draft = home / DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # of one that was killed
    try:
        try:
            draft.mkdir(mode=0o700)
            for name in names:
                if (source / name).is_dir():
                    shutil.copytree(source / name, draft / name)
                elif (source / name).exists():
                    shutil.copy2(source / name, draft / name)
        except OSError as error:  # shutil.Error has a list instead of strerror
            raise CannotStart(
                f"The backup cannot be copied to {home}: {error.strerror or error}."
            ) from None
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(source: Path, target: Path, aside: Path) -> None:
    """Move a part of the backup to its place; what is there goes aside."""
    if target.name == "secrets":
        if not source.exists():
            return  # they are in the environment
        if made_here.issuperset(path.name for path in target.glob("*")):
            shutil.rmtree(target)  # by this command, a moment ago
    if target.exists():
        database_copies.move_aside(target, aside)
    if source.exists():
        shutil.move(source, target)


def _find_schema(aside: Path) -> str | None:
    """Return the schema with the tables that were here before; None where there is none."""
    if database_copies.is_sqlite():
        return None
    with connection.cursor() as cursor:
        name = database_copies.schema_name(aside)
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [name])
        return name if cursor.fetchone() else None


def _find_warnings(manifest: Manifest, home: Path) -> list[str]:
    found = []
    file = home / "secrets" / "sealing_key"
    keys = [file.read_text().strip()] if file.exists() else []
    if manifest.sealing_key_sha256 not in map(fingerprint, [*settings.SEALING_KEYS, *keys]):
        found.append(
            "The key that encrypts credentials is not in the backup. Set TOLLHOUSE_SEALING_KEYS, "
            "or enter the credentials of providers again."
        )
    if manifest.stored_files:
        found.append(
            f"The content of stored files is not in the backup: it was in {manifest.stored_files}."
        )
    elif not files_are_ours():
        found.append(
            "Stored files were not restored: TOLLHOUSE_FILES_DIR or TOLLHOUSE_FILES_S3_BUCKET is "
            f"set. They are in the folder {STORED_FILES} of the backup."
        )
    if manifest.other_hosts or manifest.missing_journals:
        number = manifest.other_hosts + manifest.missing_journals
        found.append(
            f"Journals of {number} server processes are not in the backup: calls that only they "
            "had are missing. On PostgreSQL their money stays reserved: adopt these journals, or "
            "declare them lost (page Hosts)."
        )
    return found

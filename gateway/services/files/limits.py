"""How much a workspace may store. The installation's limits, unless an operator set others."""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import differences, record_audit
from accounts.models import Workspace
from gateway.models import WorkspaceStorage
from gateway.services.files.places import storage_of

_MB = 1024 * 1024
# Beyond any upload that comes to its end.
MOST_FILE_BYTES = 64 * 1024**3
MOST_FILES = 10_000_000
MOST_STORAGE_BYTES = 1024**5
_FIELDS = {
    "max_file_bytes": MOST_FILE_BYTES,
    "max_files": MOST_FILES,
    "max_storage_bytes": MOST_STORAGE_BYTES,
}


class StorageLimits(NamedTuple):
    max_file_bytes: int
    max_files: int
    max_storage_bytes: int


def limits_of(storage: WorkspaceStorage | None) -> StorageLimits:
    """Return the limits of a workspace. None: of one that has stored nothing yet."""
    own = [None if storage is None else getattr(storage, name) for name in _FIELDS]
    usual = (settings.MAX_FILE_BYTES, settings.MAX_FILES, settings.MAX_STORAGE_BYTES)
    both = zip(own, usual, strict=True)
    return StorageLimits(*(ours if mine is None else mine for mine, ours in both))


@transaction.atomic
def set_storage_limits(
    workspace: Workspace, *, actor: str, limits: dict[str, int | None]
) -> WorkspaceStorage:
    """Change limits of a workspace, by field; None: the installation's. What is stored already
    stays. Raises ValidationError."""
    storage = storage_of(workspace.pk)
    wrong = {
        name: ValidationError(f"The limit must be between 0 and {_say(name, _FIELDS[name])}.")
        for name, value in limits.items()
        if value is not None and not 0 <= value <= _FIELDS[name]
    }
    if wrong:
        raise ValidationError(wrong)
    changed = differences(storage, limits)
    if changed:
        for name, (_, value) in changed.items():
            setattr(storage, name, value)
        storage.save(update_fields=list(changed))
        record_audit(
            actor=actor,
            action="storage.limits",
            target=workspace.name,
            workspace=workspace,
            details=changed,
        )
    return storage


def _say(name: str, most: int) -> str:
    """Return the highest limit in the unit that people enter it in."""
    return f"{most // _MB:,} MB" if name.endswith("_bytes") else f"{most:,}"

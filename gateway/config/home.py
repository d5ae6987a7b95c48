"""The installation's own folder (TOLLHOUSE_HOME): made on first use, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gateway.config.env import SettingError

# The secrets that were made since this process began: before it, this home had none.
made_here: set[str] = set()
# In a home whose secrets are older than its first database.
UNUSED = ".unused"


def find_or_make_secret(home: Path, name: str) -> str:
    """Return the secret kept in home/secrets/name, made from 384 random bits on first use.

    Two processes that start at once agree: the file is linked into place whole.
    Raises SettingError when the folder cannot be read or written.
    """
    try:
        return _find_or_make(home / "secrets", name)
    except OSError as error:
        raise SettingError(
            f"TOLLHOUSE_HOME ({home}) cannot be used: {error.strerror}. "
            "Choose a folder that this account can write to."
        ) from None


def signs_of_use(home: Path) -> list[str]:
    """Return what in the home says that it had a database, for people."""
    found = []
    if not made_here and not (home / UNUSED).exists():
        found = [f"secrets/{path.name}" for path in home.glob("secrets/[a-z]*")]
    if (home / "quickstart.json").exists():
        found.append("quickstart.json")
    journals = len(list(home.glob("journal/*/")))
    if journals:
        found.append(f"{journals} journal{'s' if journals > 1 else ''}")
    return sorted(found)


def note_use(home: Path) -> None:
    """From now on the home's secrets say that it has been used: its database has been begun."""
    (home / UNUSED).unlink(missing_ok=True)


def _find_or_make(folder: Path, name: str) -> str:
    path = folder / name
    if path.exists():
        return path.read_text().strip()
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.exists():
        # A first start that is killed right afterwards leaves both.
        (folder.parent / UNUSED).touch(mode=0o600)
    folder.mkdir(mode=0o700, exist_ok=True)
    draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
        made_here.add(name)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()

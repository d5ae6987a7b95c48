"""The file that scripts and people read to make their first call: HOME/quickstart.json."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Quickstart:
    """base_url ends in /v1. password is empty when the operator has chosen another."""

    base_url: str
    api_key: str
    model: str
    email: str
    password: str

    def __repr__(self) -> str:
        return f"Quickstart({self.base_url}, {self.model}, {self.email})"


def path_in(home: Path) -> Path:
    return home / "quickstart.json"


def read_quickstart(home: Path) -> Quickstart | None:
    """Return what was written last, or None when the file is lost or is not ours."""
    try:
        members = json.loads(path_in(home).read_text())
        return Quickstart(**members)
    except (OSError, ValueError, TypeError):
        return None


def write_quickstart(home: Path, quickstart: Quickstart) -> None:
    """Replace the file as a whole, readable by its owner alone."""
    draft = home / f".quickstart.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(quickstart), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path_in(home))

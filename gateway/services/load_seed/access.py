"""The file with which programs that measure get in: HOME/load-test.json."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE_NAME = "load-test.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAccess:
    """What is of one workspace is of that with most calls."""

    email: str
    password: str
    slug: str
    model: str
    # How long ago the first calls were.
    days: int
    # Of its ledger.
    entries: int
    # IDs of the keys with most and with fewest calls.
    busy_key: str
    rare_key: str
    # Of its first keys, of which the very first may read the usage of the workspace.
    secrets: list[str]

    def __repr__(self) -> str:
        return f"LoadAccess({self.slug})"


def read_access(home: Path) -> LoadAccess:
    """Raises OSError where there is no such file."""
    return LoadAccess(**json.loads((home / FILE_NAME).read_text()))


def write_access(home: Path, access: LoadAccess) -> Path:
    """Write it, readable by its owner alone, and return where."""
    path = home / FILE_NAME
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(access), file)
    return path

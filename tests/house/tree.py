"""The files that belong to the repository."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def all_tracked() -> tuple[str, ...]:
    """Return the path of every file that is, or is about to be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(path for path in listed.stdout.splitlines() if (ROOT / path).is_file())


def tracked(*suffixes: str) -> list[str]:
    """Return the tracked files that end in one of the suffixes; all of them without any."""
    return [path for path in all_tracked() if not suffixes or path.endswith(suffixes)]

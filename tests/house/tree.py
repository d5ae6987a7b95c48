"""The files that belong to the repository."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {"var", "node_modules", "staticfiles", "__pycache__"}


@cache
def all_tracked() -> tuple[str, ...]:
    """Return the path of every file that is, or is about to be, in the repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return tuple(sorted(_walk(ROOT)))  # an unpacked archive: everything that is not made
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


def text_of(path: str) -> str:
    return (ROOT / path).read_text()


def _walk(folder: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        hidden = entry.name.startswith(".") and entry.name not in (".ci", ".gitignore")
        if hidden or entry.name in NOT_OURS:
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield str(entry.relative_to(ROOT))

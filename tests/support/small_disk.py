"""A file system of a test's own that is soon full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.require import do_without


@contextmanager
def mounted(folder: Path, size_mb: int) -> Iterator[Path]:
    """Mount one at a new folder. Skips without the right to."""
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounting, timeout=60, check=False).returncode != 0:
        do_without("a file system of a test's own takes the right to mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)

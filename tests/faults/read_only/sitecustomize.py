"""A disk that turns read-only for a process's own writes, while the file READ_ONLY_WHILE exists.

Python imports this module at its start where its folder is on PYTHONPATH: the product has no part
in it. What SQLite writes is not stopped.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

FLAG = os.environ.get("READ_ONLY_WHILE", "")


def _refusing(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if os.path.exists(FLAG):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(*arguments, **options)

    return call


if FLAG:
    for name in ("fsync", "ftruncate", "posix_fallocate", "mkdir", "rename", "unlink"):
        setattr(os, name, _refusing(getattr(os, name)))

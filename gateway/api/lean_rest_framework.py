"""Load REST framework without two libraries that it takes where it finds them, unused here.

`django.contrib.postgres.fields` would bring psycopg along even where the database is SQLite, and
`requests` is for a client in tests. Together they take 16 MB of every process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import cast

NOT_USED = ("django.contrib.postgres.fields", "requests")


def load_rest_framework() -> None:
    """Call it before anything else imports REST framework; later it changes nothing."""
    modules = cast(dict[str, ModuleType | None], sys.modules)
    absent = [name for name in NOT_USED if name not in modules]
    modules.update(dict.fromkeys(absent))  # what is None there cannot be imported
    try:
        import_module("rest_framework.compat")
    finally:
        for name in absent:
            del modules[name]

"""The product's settings with a home of their own, gone when the test run ends."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from tests.support.storage import is_postgresql_wanted, shared_server

_HOME = Path(tempfile.mkdtemp(prefix="tollhouse-test-"))
_OWNER_PID = os.getpid()


def _remove_home() -> None:
    if os.getpid() == _OWNER_PID:  # a forked child must not take the folder away
        shutil.rmtree(_HOME, ignore_errors=True)


atexit.register(_remove_home)
_OURS = ("TOLLHOUSE_", "DATABASE_URL", "REDIS_URL")
for _name in [name for name in os.environ if name.startswith(_OURS)]:
    if _name != "TOLLHOUSE_REQUIRE":
        del os.environ[_name]
os.environ["TOLLHOUSE_HOME"] = str(_HOME)
if is_postgresql_wanted():
    os.environ["DATABASE_URL"] = shared_server().url()

from gateway.settings import *  # noqa: E402, F403
from gateway.settings import DATABASES, HOME, STATIC_ROOT, STORAGES  # noqa: E402

# A file, not memory: an in-memory database hides locking and is not shared between threads.
if not is_postgresql_wanted():
    DATABASES["default"]["TEST"] = {"NAME": HOME / "test.sqlite3"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Pages rendered in this process need no collected files; live servers have theirs.
STATIC_ROOT.mkdir()
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}

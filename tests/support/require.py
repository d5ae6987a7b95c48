"""Parts a test needs that pip does not bring.

Where one is missing the test is skipped and says which package brings it. With
TOLLHOUSE_REQUIRE=all, which CI sets, it fails instead: a skip nobody reads is no test.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from typing import NoReturn

import pytest


def require_binary(name: str, *, package: str) -> str:
    """Return the path of a program, or skip (fail under TOLLHOUSE_REQUIRE=all)."""
    path = shutil.which(name)
    if path is None:
        do_without(f"{name} is not installed: the system package {package} brings it")
    return path


def require_module(name: str, *, package: str) -> None:
    """Skip (fail under TOLLHOUSE_REQUIRE=all) unless Python can import `name`."""
    if importlib.util.find_spec(name) is None:
        do_without(f"{name} cannot be imported: the Python package {package} brings it")


def require_font(family: str, *, package: str) -> None:
    """Skip (fail under TOLLHOUSE_REQUIRE=all) unless the system has the font."""
    lister = require_binary("fc-list", package="fontconfig")
    found = subprocess.run([lister, "--quiet", family], check=False, timeout=60)
    if found.returncode:
        do_without(f"the font {family} is not installed: the system package {package} brings it")


def do_without(reason: str) -> NoReturn:
    """Skip the running test with a reason, or fail it when everything is required."""
    if os.environ.get("TOLLHOUSE_REQUIRE") == "all":
        pytest.fail(f"{reason} (TOLLHOUSE_REQUIRE=all)", pytrace=False)
    pytest.skip(reason)

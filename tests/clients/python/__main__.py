"""Run programs of the matrix: `python -m tests.clients.python openai_python autogen`.

Prints one JSON line for each cell of each. One that fails does not stop the rest.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from functools import partial
from typing import Any

from tests.clients.python.cells import Seen

# The clients that read streams by themselves are tried under the other profiles, too.
IN_PROFILES = ("streamed", "usage asked")
PROFILES: dict[str, list[str]] = json.loads(os.environ["PROFILES"])
SNIPPETS: dict[str, str] = json.loads(os.environ["SNIPPETS"])


async def perform(work: Any) -> dict[str, Any]:
    """Return what a cell came to, or where it failed."""
    seen = Seen()
    try:
        done = work(seen)
        if inspect.isawaitable(done):
            await done
    except Exception:
        return {"failed": traceback.format_exc()}
    return {"result": asdict(seen)}


async def main(names: list[str]) -> None:
    """Run every cell of the named programs."""
    for name in names:
        program = importlib.import_module(f"tests.clients.python.{name}")
        tell(name, "version", {"result": program.version()})
        for cell, work in program.CELLS.items():
            tell(name, cell, await perform(work))
        for profile in PROFILES.get(name, ()):
            with at_profile(profile):
                for cell in IN_PROFILES:
                    tell(name, f"{cell} in {profile}", await perform(program.CELLS[cell]))
        if name in SNIPPETS:
            tell(name, "snippet", await perform(partial(run_snippet, SNIPPETS[name])))


@contextmanager
def at_profile(profile: str) -> Iterator[None]:
    """Have the calls of a block made under a profile."""
    address = os.environ["BASE_URL"]
    os.environ["BASE_URL"] = address.replace("/v1", f"/compat/{profile}/v1")
    yield
    os.environ["BASE_URL"] = address


async def run_snippet(text: str, seen: Seen) -> None:
    """Run how the client is connected. In a thread: it may have a loop of its own."""
    with redirect_stdout(io.StringIO()) as printed:
        await asyncio.to_thread(exec, text, {})
    seen.text = printed.getvalue()


def tell(name: str, cell: str, told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"case": f"{name}: {cell}"} | told) + "\n")


asyncio.run(main(sys.argv[1:]))

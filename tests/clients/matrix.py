"""The clients that are tried against the gateway, cell by cell, and what each cell asks for.

tests/clients/test_matrix.py tries them all; docs/clients.md shows the same (tests.clients.page).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.core import profiles
from tests.clients.environments import LOCKS

NODE_LOCK = Path(__file__).parent / "node" / "package-lock.json"
PROMPTS = {
    "plain": "script:tokens=5",
    "broken": "script:tokens=9&reset_after=3",
    "tool": "script:tools=1&text=Mild",
    "echo": "script:echo",
}
# Each cell, and what it says at the head of its column.
CELLS = {
    "buffered": "Buffered",
    "streamed": "Streamed",
    "usage asked": "Usage asked for",
    "usage declined": "Usage declined",
    "failure": "Failure mid-stream",
    "tools": "Tools",
    "tools streamed": "Tools, streamed",
    "image": "Image",
}
# The two cells that are tried under every other profile, too, with clients that read streams by
# themselves: a loop of one's own can be written for any form.
IN_PROFILES = ("streamed", "usage asked")
PROFILES = tuple(profile.name for profile in profiles.ALL if not profile.is_ours)


@dataclass(frozen=True)
class Client:
    """One row. name: what its program calls it. title: how people know it. lock: the lock file
    with its version, empty for what has none. missing: the cells that the client by itself has
    not, with the reason. notes: what is worth knowing of others. asks: whether it asks for the
    usage of a stream by default; None for a loop of one's own. odd: what it makes of a profile's
    streams that is not right, by profile and cell; profile_notes says it in words."""

    name: str
    title: str
    lock: str = ""
    package: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    asks: bool | None = None
    odd: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    profile_notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Return the version that is tried, or nothing where there is no package."""
        if self.lock == "node":
            packages = json.loads(NODE_LOCK.read_text())["packages"]
            return str(packages[f"node_modules/{self.package}"]["version"])
        if not self.lock:
            return ""
        text = (LOCKS / f"{self.lock}.lock").read_text()
        [found] = re.findall(rf"^{re.escape(self.package)}==(\S+)", text, re.MULTILINE)
        return str(found)


ALWAYS_ASKS = "always asks for the usage of a stream"
ADDS_UP = "adds up the usage of both last chunks"
DOUBLE = {("infery", cell): {"usage": [2, 10]} for cell in IN_PROFILES}
# Programs that run together, by where they run: a lock of tests/clients/python, Node, or the
# environment of the tests themselves.
CLIENTS: Mapping[str, tuple[Client, ...]] = {
    "openai-1.0": (
        Client(
            "openai_python",
            "openai-python",
            "openai-1.0",
            "openai",
            notes={
                "failure": "takes the error for a chunk without `choices`: the loop ends with an "
                "`AttributeError`, and `chunk.error` says why.."
            },
        ),
    ),
    "newest": (
        Client("openai_python", "openai-python", "newest", "openai"),
        Client(
            "langchain",
            "LangChain (`ChatOpenAI`)",
            "newest",
            "langchain-openai",
            asks=False,
            odd=DOUBLE,
            profile_notes={"infery": ADDS_UP},
        ),
        Client(
            "pydantic_agent",
            "Pydantic AI",
            "newest",
            "pydantic-ai-slim",
            missing={"usage declined": ALWAYS_ASKS},
            asks=True,
            odd=DOUBLE,
            profile_notes={"infery": ADDS_UP},
        ),
        Client(
            "autogen",
            "AutoGen",
            "newest",
            "autogen-ext",
            asks=False,
            odd={("bud", "usage asked"): {"finish": "unknown"}},
            profile_notes={
                "bud": "passes over a `finish_reason` that has usage beside it, and says `unknown` "
                "where it asks for usage"
            },
        ),
    ),
    "node": (
        Client("openai-node", "openai-node", "node", "openai"),
        Client(
            "@ai-sdk/openai",
            "`@ai-sdk/openai` (`.chat()`)",
            "node",
            "@ai-sdk/openai",
            missing={"usage declined": ALWAYS_ASKS},
            asks=True,
        ),
        Client(
            "@ai-sdk/openai-compatible",
            "`@ai-sdk/openai-compatible`",
            "node",
            "@ai-sdk/openai-compatible",
            missing={"usage declined": "asks for the usage, or says nothing of it"},
            asks=False,
        ),
        Client(
            "fetch",
            "`fetch`, as Bud's documentation reads a stream, in its profile `bud`",
            notes={
                "streamed": "as in Bud, usage comes only where it is asked for",
                "failure": "a `TypeError`: the loop takes the first choice of what has none",
            },
        ),
    ),
    "tests": (
        Client("go_openai", "go-openai: a reader of ours by the rules of its 1.x"),
        Client("curl", "curl"),
    ),
}

"""What callers that leave are charged, against what their provider counted, kind by kind.

    python -m tests.money.billing_corpus

runs a gateway and a fake upstream that counts as OpenAI does (tests/fakes/counting.py), makes two
calls of every kind and prints a table: prompts whose callers leave before the first token, and
answers whose callers leave in the middle.
"""

from __future__ import annotations

import base64
import struct
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.flows.caller import Caller, LiveCall
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, Site, running_site
from tests.support.servers import prepare_home
from tests.support.texts import TEXTS

MADE = 400  # tokens of each answer
PIECES = {"a token a piece": 1, "five tokens a piece": 5}
Message = dict[str, Any]
Prompt = tuple[str, Mapping[str, Any]]
Scripted = tuple[str, str, int]


@dataclass(frozen=True)
class Line:
    """What one kind came to, in tokens. bound: what was held for a prompt; 0 for answers."""

    kind: str
    theirs: int
    ours: int
    bound: int = 0

    @property
    def error(self) -> float:
        return abs(self.ours - self.theirs) / self.theirs

    def __str__(self) -> str:
        bound = f"{self.bound:,} ({self.bound / self.theirs:.2f} x)" if self.bound else ""
        off = (self.ours - self.theirs) / self.theirs
        return f"| {self.kind} | {self.theirs:,} | {self.ours:,} | {off:+.1%} | {bound} |"


HEAD = "| Kind | Upstream | Ours | Difference | Bound |\n|---|---|---|---|---|"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"{verb}_{thing}",
            "description": f"{verb.capitalize()} a {thing} of the customer who is asking.",
            "parameters": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": f"Which {thing} it is."},
                    "state": {"type": "string", "enum": ["open", "paid", "cancelled"]},
                    "limit": {"type": "integer", "description": "How many to return at most."},
                    "labels": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id"],
            },
        },
    }
    for verb in ("find", "update", "cancel", "refund")
    for thing in ("order", "invoice", "subscription")
]


def picture(width: int, height: int) -> str:
    """Return a data: URL whose bytes begin as a PNG of this size does."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + bytes(64)
    return "data:image/png;base64," + base64.b64encode(content).decode()


def text_of(kind: str) -> Message:
    return {"role": "user", "content": TEXTS[kind]}


def pictures(*sizes: tuple[int, int], detail: str = "auto") -> Message:
    parts = [
        {"type": "image_url", "image_url": {"url": picture(*size), "detail": detail}}
        for size in sizes
    ]
    return {"role": "user", "content": [{"type": "text", "text": "What is this?"}, *parts]}


def prompts() -> Iterator[Prompt]:
    """Yield each kind of prompt: its name, and members of the body."""
    for kind in TEXTS:
        yield kind, {"messages": [text_of(kind)]}
    system = {"role": "system", "content": TEXTS["prose"][:8_000]}
    yield "system prompt", {"messages": [system, {"role": "user", "content": "Hello."}]}
    turns = [
        {"role": role, "content": TEXTS["prose"][60 * n : 60 * n + 150]}
        for n in range(100)
        for role in ("user", "assistant")
    ]
    yield "200 turns", {"messages": turns}
    yield "tools", {"messages": [{"role": "user", "content": "Refund it."}], "tools": TOOLS}
    yield "picture, 1024 x 1024", {"messages": [pictures((1024, 1024))]}
    yield "picture, 4000 x 3000", {"messages": [pictures((4000, 3000))]}
    yield "picture, low detail", {"messages": [pictures((1024, 1024), detail="low")]}
    yield "six pictures", {"messages": [pictures(*[(800 + 100 * n, 600) for n in range(6)])]}
    data = base64.b64encode(TEXTS["table"].encode()).decode()
    file = {"filename": "a.csv", "file_data": f"data:text/csv;base64,{data}"}
    yield "text file", {"messages": [{"role": "user", "content": [{"type": "file", "file": file}]}]}


def answers() -> Iterator[Scripted]:
    """Yield each kind of answer: its name, its script, and the tokens of a piece."""
    for pieces, size in PIECES.items():
        for kind in TEXTS:
            yield f"{kind}, {pieces}", f"says={kind}&per_event={size}", size
    yield "reasoning", f"reasoning={MADE}", 1
    yield "tool calls", "tools=1&args=" + "abcd" * MADE, 1


def begin_prompt(caller: Caller, members: Mapping[str, Any]) -> LiveCall:
    script = {"role": "user", "content": "script:counts=o200k&hang"}
    messages = [*members["messages"], script]
    return caller.begin(**(dict(members) | {"messages": messages, "max_tokens": 1}))


def measure_prompts(site: Site, wanted: Iterable[Prompt]) -> Iterator[Line]:
    """Yield a line for each kind of prompt whose caller leaves before the first token."""
    for kind, members in wanted:
        caller = site.caller(credit_nusd=100 * NUSD_PER_USD)
        call = begin_prompt(caller, members)
        [running] = site.running(caller, count=1)
        theirs = site.wait_for_try(str(running["id"]), state="running")["prompt_tokens"]
        call.leave()
        record = site.record(str(running["id"]))
        bound = record["hold_nusd"] // INPUT_NUSD
        assert record["charge_nusd"] == record["prompt_tokens"] * INPUT_NUSD, kind
        yield Line(kind, theirs, record["prompt_tokens"], bound)


def measure_answers(site: Site, wanted: Iterable[Scripted]) -> Iterator[Line]:
    """Yield a line for each kind of answer whose caller leaves in its middle."""
    caller = site.caller(credit_nusd=100 * NUSD_PER_USD)
    for kind, script, size in wanted:
        prompt = f"script:stall_after={MADE}&{script}"
        call = caller.begin(prompt, stream=True, max_tokens=2 * MADE)
        arrived = 0
        for event in call.events():
            arrived += bool(event["choices"][0]["delta"])
            # The first says the role; characters of several tokens come with nothing in between.
            if arrived * size >= MADE // 2:
                break
        theirs = site.wait_for_try(call.call_id, state="running")["completion_tokens"]
        while theirs < MADE:
            theirs = site.tries(call.call_id)[0]["completion_tokens"]
        time.sleep(0.2)  # what was made is on its way to us
        call.leave()
        yield Line(kind, theirs, site.record(call.call_id)["completion_tokens"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        prepare_home(home)
        with running_site(home) as site:
            print_tables(site)


def print_tables(site: Site) -> None:
    sys.stdout.write(f"{HEAD}\n")
    for line in measure_prompts(site, prompts()):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"\n{HEAD}\n")
    for line in measure_answers(site, answers()):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()

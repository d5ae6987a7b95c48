"""Asking for text completions, and reading them."""

from __future__ import annotations

import json
from typing import Any

from tests.flows.caller import Answer, Caller

COMPLETIONS = "/v1/completions"


def complete(caller: Caller, prompt: Any, *, path: str = COMPLETIONS, **members: Any) -> Answer:
    """Ask for the completion of a prompt. headers: of the request; the rest goes into the body."""
    headers = members.pop("headers", None)
    body = {"model": caller.model, "prompt": prompt} | members
    return caller.ask(path=path, raw=json.dumps(body).encode(), headers=headers)


def texts(answer: Answer) -> list[str]:
    """Return the text of each choice, streamed or not."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return [choice["text"] for choice in answer.json["choices"]]
    said: dict[int, str] = {}
    for chunk in answer.chunks:
        assert chunk["object"] == "text_completion", chunk
        for choice in chunk["choices"]:
            said[choice["index"]] = said.get(choice["index"], "") + choice["text"]
    return [said[index] for index in sorted(said)]


def reasons(answer: Answer) -> list[str]:
    """Return the finish_reason of each choice."""
    chunks = answer.chunks if answer.headers["content-type"].startswith("text/") else [answer.json]
    found = [(one["index"], one["finish_reason"]) for chunk in chunks for one in chunk["choices"]]
    return [reason for _, reason in sorted(one for one in found if one[1])]


def upstream_text(count: int) -> str:
    """Return what the fake upstream says in so many tokens."""
    return "".join(f"tok{n} " for n in range(count))

"""The provider of the scratch dialect, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.http_server import serving

# Prompt tokens, completion tokens, pages.
USED = [3, 5, 2]
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "hi_sum", "arguments": '{"numbers":[1,2,3]}'},
}
asked: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    """Repeats what it is asked; calls the first tool that it is given, once, or as often as a task
    says: {"calls": 3, "used": [3, 5, 2]}."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(body)
        if self.path.endswith("/words"):
            counts = [len(text.split()) for text in body["texts"]]
            self.answer(json.dumps({"counts": counts, "used": USED}).encode())
            return
        task = json.loads(body["task"]) if body["task"].startswith("{") else {}
        calls = bool(body["tools"]) and body["may_call"] and body["results"] < task.get("calls", 1)
        used = task.get("used", USED) if calls else USED
        reply = "" if calls else f"You said: {body['question']}"
        if not body["stream"]:
            said = {"reply": reply, "call": CALL if calls else None, "used": used}
            self.answer(json.dumps(said).encode())
            return
        frames: list[dict[str, Any]] = [{"call": CALL}] if calls else []
        frames += [{"piece": word} for word in reply.split(" ")] if reply else []
        frames.append({"end": "tool_calls" if calls else "stop", "used": used})
        texts = [json.dumps(frame).encode() for frame in frames]
        self.answer(b"".join(b"%d:%b," % (len(text), text) for text in texts))

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at what was asked instead."""


@contextmanager
def running_scratch_provider() -> Iterator[str]:
    """Yield the base URL of a running provider."""
    with serving(Handler) as server:
        yield f"http://127.0.0.1:{server.server_port}"

"""A provider with several keys, and the token endpoints of Google, Microsoft Entra ID and AWS.

Tests run it in a thread and turn its knobs: which keys it refuses, with what, and what the token
endpoints answer. The provider answers in OpenAI's dialect with what it was shown.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from tests.fakes.accounts.issuers import answer_sts, check_assertion, token_name
from tests.support.http_server import serving


class Accounts:
    """The state of one such server, for the tests that run it."""

    def __init__(self) -> None:
        # By what is shown: the status, and the headers beside it.
        self.refusals: dict[str, tuple[int, dict[str, str]]] = {}
        # Every call that was answered or refused, by what it showed.
        self.shown: Counter[str] = Counter()
        self.running = self.most_running = 0
        self.holds_s = 0.0
        # Of the token endpoints.
        self.life_s = 3600
        self.issued: list[str] = []
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.token_delay_s = 0.0
        # Instead of a token: the status and the body.
        self.token_refusal: tuple[int, bytes] | None = None
        self.lock = threading.Lock()

    def issue(self, issuer: str) -> str:
        with self.lock:
            token = token_name(issuer, len(self.issued) + 1)
            self.issued.append(token)
        return token

    def tokens_of(self, issuer: str) -> list[str]:
        with self.lock:
            return [token for token in self.issued if token.startswith(f"{issuer}-")]


class RunningAccounts(Accounts):
    def __init__(self, port: int) -> None:
        super().__init__()
        self.origin = f"http://127.0.0.1:{port}"


@contextmanager
def running_accounts() -> Iterator[RunningAccounts]:
    with serving(Handler) as server:
        server.accounts = accounts = RunningAccounts(server.server_port)  # type: ignore[attr-defined]
        yield accounts


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def accounts(self) -> Accounts:
        found: Accounts = self.server.accounts  # type: ignore[attr-defined]
        return found

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at what was asked, not at a log."""

    def do_GET(self) -> None:
        self._answer(200, json.dumps({"data": [{"id": "m"}]}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.endswith("/chat/completions"):
            self._complete(json.loads(body))
            return
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.accounts.asked.append((self.path, form, headers))
        time.sleep(self.accounts.token_delay_s)
        if self.accounts.token_refusal is not None:
            self._answer(*self.accounts.token_refusal)
        elif self.path.startswith("/google"):
            self._answer_oauth("google", check_assertion(form))
        elif self.path.startswith("/sts"):
            self._answer(200, answer_sts(self.accounts.issue("sts"), self.accounts.life_s))
        else:
            is_right = form.get("client_secret") == "entra-secret-value"
            self._answer_oauth("entra", "" if is_right else "invalid_client")

    def _answer_oauth(self, issuer: str, error: str) -> None:
        if error:
            self._answer(401, json.dumps({"error": error}).encode())
            return
        token = self.accounts.issue(issuer)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.accounts.life_s}
        self._answer(200, json.dumps(answer).encode())

    def _complete(self, asked: dict[str, Any]) -> None:
        accounts = self.accounts
        shown = self.headers.get("authorization", "").removeprefix("Bearer ")
        with accounts.lock:
            accounts.shown[shown] += 1
            accounts.running += 1
            accounts.most_running = max(accounts.most_running, accounts.running)
        try:
            time.sleep(accounts.holds_s)
            refusal = accounts.refusals.get(shown)
            if refusal is not None:
                status, headers = refusal
                said = {"error": {"message": f"Wrong key {shown}."}}
                self._answer(status, json.dumps(said).encode(), headers)
            elif asked.get("stream"):
                self._stream(shown)
            else:
                self._answer(200, json.dumps(completion(shown)).encode())
        finally:
            with accounts.lock:
                accounts.running -= 1

    def _stream(self, shown: str) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        first = {"index": 0, "delta": {"content": shown}, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        events = [
            chunk | {"choices": [first]},
            chunk | {"choices": [last]},
            chunk | {"choices": [], "usage": USAGE},
        ]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self._answer(200, text.encode(), {"content-type": "text/event-stream"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return head | {"choices": [choice], "usage": USAGE}

"""The cases that every profile answers, and how an answer becomes the text of a file.

What differs from run to run is replaced: ids, the time, durations. Costs stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gateway.core.profiles import BY_NAME
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

FOLDER = Path(__file__).parent
PROFILES = tuple(BY_NAME)
USER, POOR, NARROW, STRANGER = "user", "poor", "narrow", "stranger"
SPEECH = "script:reasoning=2&tokens=3&first_ms=20"
FALLBACK = {"prompt": "script:fail=503&fail_times=1&tokens=3", "models": ["small-model"]}
# Of the connection and of the clock; everything else is the contract's.
NOT_SHOWN = frozenset(
    {"connection", "content-length", "date", "server", "server-timing", "transfer-encoding"}
)
# There only when the rounded parts leave something over.
MAYBE = ("failed_ms", "gateway_ms", "tokens_per_second")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Case:
    """One request. caller: USER may call, POOR has no credit, NARROW may not use the model, a
    STRANGER has no key of ours."""

    name: str
    caller: str = USER
    members: Mapping[str, Any] = field(default_factory=dict)


CASES = (
    Case("buffered", members={"prompt": SPEECH, "stream": False}),
    Case("stream", members={"prompt": SPEECH, "stream": True}),
    Case("400", members={"temperature": 3}),
    Case("401", STRANGER),
    Case("402", POOR),
    Case("403", NARROW),
    Case("404", members={"model": "no-such-model"}),
    Case("429", members={"prompt": "script:fail=429&retry_after=7"}),
    Case("fallback", members=FALLBACK | {"stream": False}),
    Case("fallback-stream", members=FALLBACK | {"stream": True}),
    Case("mid-stream-error", members={"prompt": "script:tokens=5&error_after=2", "stream": True}),
)


def make_callers(site: Site) -> dict[str, Caller]:
    user = site.caller()
    return {
        USER: user,
        POOR: site.caller(credit_nusd=0),
        NARROW: site.caller(allowed_models=["small-model"]),
        STRANGER: user.with_(secret="none-of-ours"),
    }


def file_of(profile: str, case: Case) -> Path:
    return FOLDER / profile / f"{case.name}.txt"


def perform(callers: Mapping[str, Caller], profile: str, case: Case) -> str:
    """Make the call over a socket and return what the file should say."""
    mount = "" if profile == "unified" else f"/compat/{profile}"
    path = f"{mount}/v1/chat/completions"
    answer = callers[case.caller].ask(**{"path": path, **case.members})
    return write(answer, path)


def write(answer: Answer, path: str) -> str:
    """Return the request's line, the status, the headers and the body, what varies replaced."""
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    body = write_stream(answer.body) if is_stream else write_json(answer.json)
    lines = [
        f"POST {path}",
        "",
        f"HTTP/1.1 {answer.status} {reason_of(answer.status)}",
        *(f"{name}: {answer.headers[name]}" for name in sorted(answer.headers.keys() - NOT_SHOWN)),
        "",
        body,
    ]
    return UUID.sub("<episode>", "\n".join(lines).replace(answer.call_id, "<call>"))


def reason_of(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else ""


def write_stream(body: bytes) -> str:
    """Return the frames as they came."""
    return re.sub(r'"created":\d+', '"created":"<seconds>"', body.decode())


def write_json(body: dict[str, Any]) -> str:
    if isinstance(body.get("created"), int):
        body["created"] = "<seconds>"
    timings = body.get("timings", {})
    for name in MAYBE:
        timings.pop(name, None)
    timings.update(dict.fromkeys(timings, "<ms>"))
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"

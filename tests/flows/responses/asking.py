"""Asking for responses, and reading them as the openai SDK would: whatever comes back is judged by
its types."""

from __future__ import annotations

import json
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.site import Site

RESPONSES = "/v1/responses"
LOOK_UP: dict[str, Any] = {
    "type": "function",
    "name": "look_up",
    "description": "Look something up.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
ECHO = {"role": "user", "content": "script:echo"}
_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def begin(
    caller: Caller, given: Any = "hello there", *, path: str = RESPONSES, **members: Any
) -> LiveCall:
    """Send a call. headers: of the request; the rest goes into the body."""
    headers = members.pop("headers", None)
    body = {"model": caller.model, "input": given} | members
    body = {name: value for name, value in body.items() if value is not ...}
    return caller.begin(path=path, raw=json.dumps(body).encode(), headers=headers)


def respond(caller: Caller, given: Any = "hello there", **options: Any) -> Answer:
    """Ask for a response and read all of it."""
    return begin(caller, given, **options).answer()


def response_of(answer: Answer) -> Response:
    """Return the response of a buffered answer, or of a stream's last event."""
    assert answer.status == 200, answer.body
    if answer.headers["content-type"].startswith("text/event-stream"):
        return Response.model_validate(events_of(answer)[-1]["response"])
    return Response.model_validate(answer.json)


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the events of a stream: each of a type that the SDK knows, named before it, numbered
    in order."""
    assert answer.status == 200, answer.body
    events = []
    for frame in answer.frames:
        if frame.startswith(":"):
            continue
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert type(_EVENT.validate_python(event)).__name__ != "dict"
        events.append(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def kinds(answer: Answer) -> list[str]:
    """Return the types of a stream's events, each once where it is repeated at once."""
    found: list[str] = []
    for event in events_of(answer):
        kind = event["type"].removeprefix("response.")
        if not found or found[-1] != kind:
            found.append(kind)
    return found


def sent(caller: Caller, given: Any, **members: Any) -> dict[str, Any]:
    """Return the body that reached the provider, as it was sent for this input."""
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    answer = respond(caller, [*items, ECHO], **members)
    body: dict[str, Any] = json.loads(json.loads(response_of(answer).output_text)["body_text"])
    return body


def assert_leaver_pays(site: Site, caller: Caller) -> None:
    """Assert that a caller who hangs up in the middle of a text pays for what was said."""
    with begin(caller, "script:endless&delay_ms=5", stream=True) as live:
        call_id = live.call_id
        for line in live.lines():
            if "output_text.delta" in line:
                break
        live.leave()

    record = site.record(call_id)
    assert record["status"] == "cancelled"
    assert record["charge_nusd"] > 0

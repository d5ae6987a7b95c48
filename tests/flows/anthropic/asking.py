"""What reached the Messages API, as the fake upstream has it: every request was judged there by the
API's rules and by the anthropic SDK's own types, so what is here would have been taken."""

from __future__ import annotations

import json
from typing import Any

from tests.flows.caller import Caller

ECHO = {"role": "user", "content": "script:echo"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
LOOK_UP: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}


def sent(caller: Caller, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the body that reached the API."""
    answer = caller.ask(messages=[*messages, ECHO], **fields)
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said} | more

"""What chats with every dialect ask, and what of it reached the provider.

The fake upstream judges each request by the provider's rules and by the types of its SDK, so a body
that is returned here would have been taken.
"""

from __future__ import annotations

import json
from typing import Any

from tests.flows.caller import Answer, Caller

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
    """Return the body that reached the provider."""
    return body_of(caller.ask(messages=[*messages, ECHO], **fields))


def body_of(answer: Answer) -> dict[str, Any]:
    """Return the body that reached the provider, of an answer to `script:echo`."""
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body


def dropped(answer: Answer) -> set[str]:
    """Return the names of what did not reach the provider."""
    assert answer.status == 200, answer.body
    return set(filter(None, answer.headers.get("x-dropped-params", "").split(",")))

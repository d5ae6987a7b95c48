"""What Mistral refuses: by the types of its own SDK, which are made of its published API document,
and by the order of messages that mistral-common, its tokenizer's package, checks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from tests.fakes.refused import Refused

# By the end of the path: the SDK's type of the request.
TYPES = {
    "chat/completions": "ChatCompletionRequest",
    "fim/completions": "FIMCompletionRequest",
    "embeddings": "EmbeddingRequest",
    "moderations": "ClassificationRequest",
}
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")
# Which roles may follow one.
FOLLOWERS = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool"},
}
Body = dict[str, Any]


def reports_usage(path: str) -> bool:
    """Return whether it is this API, which reports the usage of each stream, asked or not."""
    return path.startswith("/mistral/")


def refuse_body(path: str, body: Body) -> None:
    """Raise Refused for what the API does not take."""
    name = path.partition("?")[0].partition("/v1/")[2]
    try:
        read = _type(name).model_validate(body)
    except ValidationError as error:
        said = error.errors()[0]
        raise Refused(f"{'.'.join(map(str, said['loc']))}: {said['msg']}") from None
    known = read.model_dump(mode="json", by_alias=True, warnings=False)
    for place in _unknown(body, known, "body"):
        raise Refused(f"{place}: Extra inputs are not permitted")
    if "messages" in body:
        _refuse_order(body["messages"])


@cache
def _type(name: str) -> type[BaseModel]:
    # Reading the SDK takes seconds, which only calls to this provider have to wait for.
    module = importlib.import_module(f"mistralai.client.models.{TYPES[name].lower()}")
    found: type[BaseModel] = getattr(module, TYPES[name])
    return found


def _unknown(given: object, known: object, place: str) -> Iterator[str]:
    """Yield what was given and is not known."""
    if isinstance(given, dict) and isinstance(known, dict):
        for name, value in given.items():
            if name in known:
                yield from _unknown(value, known[name], f"{place}.{name}")
            elif value is not None:
                yield f"{place}.{name}"
    elif isinstance(given, list) and isinstance(known, list):
        for index, (one, other) in enumerate(zip(given, known, strict=True)):
            yield from _unknown(one, other, f"{place}.{index}")


def _refuse_order(messages: list[Body]) -> None:
    before = ""
    open_calls = 0
    for message in messages:
        role = message["role"]
        if before and role not in FOLLOWERS[before]:
            raise Refused(f"Unexpected role '{role}' after role '{before}'")
        calls = message.get("tool_calls") or []
        ids = [call.get("id", "null") for call in calls]
        ids += [message["tool_call_id"]] if role == "tool" else []
        for one in ids:
            if not CALL_ID.fullmatch(one):
                raise Refused(
                    f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
                )
        if role == "assistant" and open_calls:
            raise Refused("Not the same number of function calls and responses")
        open_calls += len(calls) - (role == "tool")
        before = role
    if open_calls:
        raise Refused("Not the same number of function calls and responses")
    is_begun = before == "assistant" and messages[-1].get("prefix")
    if before not in ("user", "tool") and not is_begun:
        raise Refused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            f"{before}"
        )

"""The anthropic SDK's own types, as judges of what is asked and of what is answered.

The SDK is of the line that speaks anthropic-version 2023-06-01. It took the sampling parameters
out of its types in 1.0.0 (simonw/llm-anthropic#82), the API version still has them: they are
judged in tests/fakes/anthropic/requests.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from anthropic.types import (
    ContentBlockParam,
    Message,
    RawMessageStreamEvent,
    StopReason,
    TextBlockParam,
    message_create_params,
)
from pydantic import ConfigDict, TypeAdapter, ValidationError

SAMPLING = ("temperature", "top_p", "top_k")
STOP_REASONS = frozenset(get_args(StopReason))
_NO_MORE = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class TypeMismatch(AssertionError):
    """The SDK's types say no."""


@cache
def _params() -> TypeAdapter[Any]:
    return TypeAdapter(
        message_create_params.MessageCreateParamsNonStreaming
        | message_create_params.MessageCreateParamsStreaming,
        config=_NO_MORE,
    )


@cache
def _blocks() -> TypeAdapter[Any]:
    return TypeAdapter(list[ContentBlockParam], config=_NO_MORE)


@cache
def _system() -> TypeAdapter[Any]:
    return TypeAdapter(list[TextBlockParam], config=_NO_MORE)


@cache
def _event() -> TypeAdapter[Any]:
    return TypeAdapter(RawMessageStreamEvent)


def judge_request(body: dict[str, Any]) -> None:
    """Raise TypeMismatch unless the SDK could have been asked for just this.

    Its message type also takes answers' blocks, which may have any member, so blocks are judged
    once more by the type for requests alone.
    """
    plain = {name: value for name, value in body.items() if name not in SAMPLING}
    try:
        _exhaust(_params().validate_python(plain))
        for message in body["messages"]:
            if isinstance(message["content"], list):
                _exhaust(_blocks().validate_python(message["content"]))
        if isinstance(body.get("system"), list):
            _exhaust(_system().validate_python(body["system"]))
    except ValidationError as error:
        raise TypeMismatch(str(error)) from None


def judge_answer(answer: dict[str, Any]) -> None:
    _judge(Message.model_validate, answer)


def judge_event(event: dict[str, Any]) -> None:
    _judge(_event().validate_python, event)


def _judge(validate: Any, value: Any) -> None:
    try:
        validate(value)
    except ValidationError as error:
        raise TypeMismatch(f"The fake upstream wrote what the SDK cannot read: {error}") from None


def _exhaust(value: Any) -> None:
    """Look at everything: pydantic judges the items of an Iterable when they are asked for."""
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif hasattr(value, "__iter__") and not isinstance(value, str):
        for item in value:
            _exhaust(item)

"""The google-genai SDK's own types, as judges of what is asked and of what is answered.

They forbid members that they do not know. They take either spelling of a member, as the API does;
ours is the one of its documentation, so the other one is refused here.
"""

from __future__ import annotations

import json
from typing import Any

from google.genai import types
from pydantic import BaseModel, ValidationError

FINISH_REASONS = frozenset(reason.value for reason in types.FinishReason)
# Each member of a request, and whether there are many.
MEMBERS: dict[str, tuple[type[BaseModel], bool]] = {
    "contents": (types.Content, True),
    "systemInstruction": (types.Content, False),
    "generationConfig": (types.GenerationConfig, False),
    "tools": (types.Tool, True),
    "toolConfig": (types.ToolConfig, False),
    "safetySettings": (types.SafetySetting, True),
}
PLAIN = ("cachedContent", "labels")
# Below these stand names that callers have chosen.
OPEN = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "responseSchema")


class TypeMismatch(AssertionError):
    """The SDK's types say no."""


def judge_request(body: dict[str, Any]) -> None:
    """Raise TypeMismatch unless the SDK's types know everything in it."""
    for name, value in body.items():
        if name in PLAIN:
            continue
        if name not in MEMBERS:
            raise TypeMismatch(f'Unknown name "{name}": Cannot find field.')
        _refuse_snakes(value, name)
        kind, is_many = MEMBERS[name]
        for each in value if is_many else [value]:
            _judge(kind, each)


def judge_answer(answer: dict[str, Any]) -> None:
    _judge(types.GenerateContentResponse, answer)


def judge(kind: type[BaseModel], value: object) -> None:
    """Raise TypeMismatch unless one of the SDK's types knows everything in the value."""
    _refuse_snakes(value, kind.__name__)
    _judge(kind, value)


def _judge(kind: type[BaseModel], value: object) -> None:
    try:
        kind.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise TypeMismatch(str(error)) from None


def _refuse_snakes(value: object, where: str) -> None:
    if isinstance(value, list):
        for each in value:
            _refuse_snakes(each, where)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if "_" in name:
                raise TypeMismatch(f'Unknown name "{name}" at {where}.')
            if name not in OPEN:
                _refuse_snakes(inner, f"{where}.{name}")

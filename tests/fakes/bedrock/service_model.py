"""botocore's model of Bedrock, as judge of what is asked and of what is answered.

botocore's own validator looks for unknown and missing members, for unions and for types; enums,
patterns and the greatest lengths are judged here, as the service does.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

_PLAIN = {
    "string": str,
    "integer": int,
    "long": int,
    "float": int | float,
    "double": int | float,
    "boolean": bool,
}


class ModelMismatch(AssertionError):
    """The service's model says no."""


@cache
def service(name: str = "bedrock-runtime") -> Any:
    return botocore.session.Session().get_service_model(name)


@cache
def _validator() -> ParamValidator:
    return ParamValidator()


def judge_request(operation: str, body: dict[str, Any], model_id: str) -> None:
    """Raise ModelMismatch unless an SDK could have been asked for just this."""
    _judge(service().operation_model(operation).input_shape, body | {"modelId": model_id})


def judge_answer(answer: dict[str, Any]) -> None:
    _judge(service().operation_model("Converse").output_shape, answer)


def judge_event(event: dict[str, Any]) -> None:
    """Raise ModelMismatch unless the event is one of ConverseStream's."""
    _judge(service().operation_model("ConverseStream").output_shape.members["stream"], event)


def _judge(shape: Any, value: Any) -> None:
    errors = _validator().validate(_read(shape, value, shape.name), shape)
    if errors.has_errors():
        raise ModelMismatch(errors.generate_report())


def _read(shape: Any, value: Any, path: str) -> Any:
    """Return the value as an SDK has it, bytes for base64."""
    if shape.metadata.get("document") or (
        shape.type_name == "structure" and shape.is_document_type
    ):
        return value
    match shape.type_name:
        case "structure" if isinstance(value, dict):
            members = shape.members
            return {
                name: _read(members[name], each, f"{path}.{name}") if name in members else each
                for name, each in value.items()
            }
        case "list" if isinstance(value, list):
            _measure(shape, len(value), path)
            return [_read(shape.member, each, f"{path}[{i}]") for i, each in enumerate(value)]
        case "map" if isinstance(value, dict):
            return {
                name: _read(shape.value, each, f"{path}.{name}") for name, each in value.items()
            }
        case "blob":
            return _read_blob(value, path)
    _judge_plain(shape, value, path)
    return value


def _read_blob(value: Any, path: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ModelMismatch(f"{path} is not base64") from None


def _judge_plain(shape: Any, value: Any, path: str) -> None:
    kind = _PLAIN.get(shape.type_name)
    is_wrong = kind is not None and not isinstance(value, kind)
    if is_wrong or (isinstance(value, bool) and shape.type_name != "boolean"):
        raise ModelMismatch(f"{path} is no {shape.type_name}: {value!r}")
    if shape.type_name == "string":
        _measure(shape, len(value), path)
        if shape.enum and value not in shape.enum:
            raise ModelMismatch(f"{path} is none of {shape.enum}: {value!r}")
        pattern = shape.metadata.get("pattern")
        if pattern and not re.fullmatch(pattern, value):
            raise ModelMismatch(f"{path} does not match {pattern}: {value!r}")
    elif kind is not None:
        _measure(shape, value, path)


def _measure(shape: Any, value: float, path: str) -> None:
    if not shape.metadata.get("min", value) <= value <= shape.metadata.get("max", value):
        raise ModelMismatch(f"{path} is out of range: {value}")

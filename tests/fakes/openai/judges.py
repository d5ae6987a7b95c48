"""The openai SDK's own types, as judges of what is asked and of what is answered."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tests.fakes.strictness import Refused

_NO_MORE = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


@cache
def _adapter(params: Any) -> TypeAdapter[Any]:
    # In a list, as the configuration of a TypedDict by itself would be its own.
    return TypeAdapter(list[params], config=_NO_MORE)


def judge_request(params: Any, body: dict[str, Any]) -> None:
    """Raise Refused unless the SDK could have been asked for just this.

    params: the type of the SDK's parameters.
    """
    try:
        _exhaust(_adapter(params).validate_python([body]))
    except ValidationError as error:
        said = error.errors()[0]
        name = ".".join(map(str, said["loc"][1:]))
        if said["type"] == "extra_forbidden":
            raise Refused(f"Unrecognized request argument supplied: {name}") from None
        raise Refused(f"Invalid '{name}': {said['msg']}.") from None


def judge_answer(model: type[BaseModel], answer: dict[str, Any]) -> None:
    """Raise AssertionError for an answer that the SDK cannot read."""
    try:
        model.model_validate(answer)
    except ValidationError as error:
        raise AssertionError(f"The fake upstream wrote what the SDK cannot read: {error}") from None


def _exhaust(value: Any) -> None:
    """Look at everything: pydantic judges the items of an Iterable when they are asked for."""
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        for item in value:
            _exhaust(item)

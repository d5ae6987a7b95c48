"""The built-in provider answers whatever a valid call may hold, at a bounded size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from gateway.providers.simulated import MALFORMED, MAX_NUMBER, read_script
from gateway.providers.simulated_json import fill_schema

FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {}}}
CUSTOM = {"type": "custom", "custom": {"name": "shell"}, "function": "not looked into"}


def asked(said: str = "Please look", **members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": said}], **members}


@pytest.mark.parametrize(
    "choice",
    [
        None,
        "none",
        {"type": "custom", "custom": {"name": "shell"}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{}]}},
    ],
)
def test_tools_that_are_no_functions_are_never_called(choice: Any) -> None:
    script = read_script(asked(tools=[CUSTOM], tool_choice=choice))

    assert script.tool is None
    assert script.words


def test_a_function_beside_another_tool_is_called() -> None:
    script = read_script(asked(tools=[CUSTOM, FUNCTION], tool_choice="required"))

    assert script.tool is not None
    assert script.tool["function"] == {"name": "look", "arguments": "{}"}


@pytest.mark.parametrize("number", ["inf", "-inf", "nan", "1e308", "-7", "12x", ""])
def test_any_number_of_a_script_is_taken(number: str) -> None:
    names = ("tokens", "reasoning", "first_ms", "delay_ms", "fail_after", "break_after")

    script = read_script(asked(f"script:{'&'.join(f'{name}={number}' for name in names)}"))

    assert len(script.words) <= MAX_NUMBER
    assert len(script.reasoning) <= MAX_NUMBER


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": [1]},
        {"anyOf": {"a": 1}},
        {"enum": {"a": 1}},
        {"type": "array", "minItems": "many"},
        {"type": "integer", "minimum": [1]},
        {"$ref": 7},
        {"type": ["array", None], "items": 7},
    ],
)
def test_what_is_no_schema_is_filled_or_known_to_be_none(schema: Any) -> None:
    with suppress(*MALFORMED):
        msgspec.json.encode(fill_schema(schema))


def test_schemas_that_multiply_stay_small() -> None:
    lists: dict[str, Any] = {"type": "array", "minItems": 10, "items": {"$ref": "#"}}
    copies = {"type": "array", "minItems": 10, "items": {"type": "array", "minItems": 10}}
    copies["items"] |= {"items": {"default": "x" * 10_000}}  # type: ignore[operator]
    selves = {"properties": {name: {"$ref": "#"} for name in "abcdef"}}

    sizes = [len(msgspec.json.encode(fill_schema(schema))) for schema in (lists, copies, selves)]

    assert max(sizes) < 100_000


# Each was looked at in full as often as it is referred to: a billion times and more.
BY_ITSELF = {f"p{number}": {"$ref": "#"} for number in range(20_000)}
AGAIN = {f"p{number}": {"$ref": "#/$defs/a"} for number in range(500)}
HOSTILE = {
    "itself, often": {"type": "object", "properties": BY_ITSELF},
    "a long title": {
        "properties": AGAIN,
        "$defs": {"a": {"type": "string", "title": ["x" * 1_000_000]}},
    },
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_what_a_schema_multiplies_is_not_looked_at_each_time(schema: Any) -> None:
    filled = fill_schema(schema)

    assert count_values(filled) <= 2_000


def count_values(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else ()
    return 1 + sum(map(count_values, parts))


def test_a_long_reference_is_none() -> None:
    with pytest.raises(MALFORMED):
        fill_schema({"$ref": "#/" + "a/" * 1_000})


def test_a_long_question_calls_no_tool_and_is_no_script() -> None:
    tools = [{**FUNCTION, "function": {"name": "look", "parameters": {}}}]

    assert read_script(asked("x" * 3_000 + " look", tools=tools)).tool is None
    assert len(read_script(asked("script:" + "&tokens=3" * 10_000)).words) > 3

"""Stored responses as the API shows them, beside the response itself
(gateway.endpoints.responses.response_schema)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gateway.core.json_types import JsonObject


class DeletedResponse(Struct):
    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


class InputItemList(Struct, kw_only=True):
    """Input items as they were sent, with IDs."""

    object: Literal["list"] = "list"
    data: list[JsonObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


def write_items(response_id: str, given: object) -> list[JsonObject]:
    """Return the items of a stored request. One without an ID gets one by its position."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    stem = response_id.removeprefix("resp_").replace("-", "")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    return [write_item(item, f"{stem}_in{number}") for number, item in enumerate(items)]


def write_item(item: JsonObject, stem: str) -> JsonObject:
    """Return an item with the members that SDKs look for."""
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    prefix = "msg" if kind == "message" else "item"
    item_id = item.get("id")
    shown = item | {"type": kind, "id": item_id if item_id else f"{prefix}_{stem}"}
    if kind != "item_reference":
        shown["status"] = item.get("status") or "completed"
    content = item.get("content")
    if kind == "message":
        parts = [{"text": content}] if isinstance(content, str) else content
        role = str(item.get("role"))
        shown["content"] = [
            write_part(role, part) for part in parts or () if isinstance(part, dict)
        ]
    return shown


def write_part(role: str, part: JsonObject) -> JsonObject:
    """Return a part of a message with the members that SDKs look for."""
    kind = part.get("type") or ("output_text" if role == "assistant" else "input_text")
    always: JsonObject = {"type": kind}
    if kind == "output_text":
        always["annotations"] = []
    elif kind == "input_image":
        always["detail"] = "auto"
    return always | {name: value for name, value in part.items() if value is not None}

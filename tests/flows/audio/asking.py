"""Asking for speech, and for the text of recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

# In pico-USD: for a millisecond, and for a character.
PRICES = {"second": 100_000, "character": 15_000_000}
BOUNDARY = "----a-boundary:7"
# Two seconds at the bit rate of the fake upstream.
RECORDING = bytes(range(256)) * 125
SCRIPTED = {"speech": "input", "transcriptions": "prompt", "translations": "prompt"}
OPERATIONS = tuple(SCRIPTED)


def add_model(site: Site, name: str, **fields: Any) -> str:
    """Add a model whose prices are per second and per character alone."""
    prices = {"input_pusd": 0, "output_pusd": 0} | fields
    return site.add_model(name, unit_prices=dict(PRICES), **prices)


def write_form(fields: Mapping[str, Any], content: bytes, filename: str = "a.mp3") -> bytes:
    """Return a form; of lists each item, in a field with brackets."""
    parts = b""
    for name, value in fields.items():
        is_list = isinstance(value, list)
        for one in value if is_list else [value]:
            written = f"{name}[]" if is_list else name
            parts += write_part(f'name="{written}"', str(one).encode())
    file = write_part(f'name="file"; filename="{filename}"\r\nContent-Type: audio/mpeg', content)
    return parts + file + f"--{BOUNDARY}--\r\n".encode()


def write_part(disposition: str, content: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def request_of(
    caller: Caller, operation: str, *, content: bytes = RECORDING, **members: Any
) -> dict[str, Any]:
    """Return path, body and headers of a request."""
    headers = members.pop("headers", None) or {}
    mount = members.pop("mount", "/v1")
    fields = {"model": caller.model} | members
    path = f"{mount}/audio/{operation}"
    if operation == "speech":
        body = {"input": "Hello there", "voice": "alloy"} | fields
        return {"path": path, "raw": json.dumps(body).encode(), "headers": headers}
    kind = {"content-type": f'multipart/form-data; boundary="{BOUNDARY}"'}
    return {"path": path, "raw": write_form(fields, content), "headers": kind | headers}


def ask(caller: Caller, operation: str, **members: Any) -> Answer:
    return caller.ask(**request_of(caller, operation, **members))


def ask_scripted(caller: Caller, operation: str, script: str, **members: Any) -> Answer:
    """Make a call that the fake upstream answers as the script says."""
    return ask(caller, operation, **{SCRIPTED[operation]: f"script:{script}"}, **members)

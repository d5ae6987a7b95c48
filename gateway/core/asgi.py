"""The types of ASGI: what a server and an application say to each other.

Specification: https://asgi.readthedocs.io/en/latest/specs/main.html
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

# A connection or request, by the names of the specification.
Scope = dict[str, Any]
# The same for who only reads it.
ReadOnlyScope = Mapping[str, Any]
# What happens on it.
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

"""What views say of themselves in the OpenAPI document, kept until the document is written.

drf-spectacular's decorator for this loads all of it, with the test clients of Django and REST
framework: 5 MB of memory, which a server process needs only once somebody asks for the document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., object])

# The methods of views, and what drf_spectacular.utils.extend_schema is told of each.
DESCRIBED: list[tuple[Callable[..., object], dict[str, Any]]] = []


def described(**options: Any) -> Callable[[Method], Method]:
    """Describe the method of a view. options: those of extend_schema."""

    def keep(method: Method) -> Method:
        DESCRIBED.append((method, options))
        return method

    return keep

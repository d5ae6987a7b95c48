"""A restricted Jinja2: no loaders, nothing random, no clock.

Templates are programs of operators. They run in a process of their own
(gateway.prompts.sandbox_worker), never where calls are carried: nothing in here stops one that does
not end.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jinja2 import Template, TemplateSyntaxError, Undefined, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from gateway.core.json_types import JsonValue

MAX_RENDERED_BYTES = 64 * 1024
TOO_LONG = f"The rendered prompt exceeds {MAX_RENDERED_BYTES // 1024} KB."
_LOADING = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
# Each has something loaded that is not loaded before it is asked for.
_WARMING = (
    *("{% if x %}", "{{ x.y|length }}", "{{ 1 / 0 }}", "{{ ''.__class__ }}", "{{ 'a\\n' }}"),
    *("{{ 'a b'|wordwrap(1) }}", "{{ 1|pprint }}", "{{ 1|tojson }}", "{{ 'a'|urlize }}"),
)


class InvalidTemplate(Exception):
    """The template cannot be used. line: the line at fault, from 1, when that is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class KeepUndefined(Undefined):
    """A name without a value: rendered as it was typed, dots included; false in a condition.

    What a value has not, or may not be asked for, is a mistake like any other.
    """

    __slots__ = ()

    def __str__(self) -> str:
        if self._undefined_obj is not missing:
            self._fail_with_undefined_error()
        return f"{{{{ {self._undefined_name} }}}}"

    def __getattr__(self, name: str) -> KeepUndefined:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._undefined_obj is not missing:
            self._fail_with_undefined_error()
        return KeepUndefined(name=f"{self._undefined_name}.{name}")

    # Jinja's own raises, which its type says.
    def __getitem__(self, name: object) -> KeepUndefined:  # type: ignore[override]
        return self.__getattr__(str(name))


class Environment(ImmutableSandboxedEnvironment):
    """Members of objects go before Python's methods of the same name: data may have any names."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _environment() -> Environment:
    environment = Environment(undefined=KeepUndefined, autoescape=False, keep_trailing_newline=True)
    # What one rendering says, the next of the same values says too: answers are kept.
    del environment.globals["lipsum"]
    del environment.filters["random"]
    return environment


_ENVIRONMENT = _environment()


def compile_template(text: str) -> tuple[Template, list[str]]:
    """Return the program, and the names it asks for, sorted. Raises InvalidTemplate."""
    try:
        tree = _ENVIRONMENT.parse(text)
        for node in tree.find_all(_LOADING):
            raise InvalidTemplate("Templates cannot be loaded or imported.", node.lineno)
        names = sorted(find_undeclared_variables(tree) - _ENVIRONMENT.globals.keys())
        return _ENVIRONMENT.from_string(text), names
    except TemplateSyntaxError as error:
        raise InvalidTemplate(error.message or "The template is not valid.", error.lineno) from None
    except RecursionError:
        raise InvalidTemplate("The template is nested too deeply.") from None


def render(template: Template, values: Mapping[str, JsonValue]) -> str:
    """Return the rendered text. Raises InvalidTemplate, or MemoryError."""
    parts, size = [], 0
    try:
        for part in template.generate(values):
            size += len(part.encode())
            if size > MAX_RENDERED_BYTES:
                raise InvalidTemplate(TOO_LONG)
            parts.append(part)
    except (InvalidTemplate, MemoryError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InvalidTemplate(reason, _line_of(error)) from None
    return "".join(parts)


def warm_up() -> None:
    """Import what templates may need, error messages included, before the limits apply."""
    for text in _WARMING:
        with suppress(InvalidTemplate):
            render(compile_template(text)[0], {})


def _line_of(error: Exception) -> int | None:
    """Return the line of the template that failed, as its rewritten traceback has it."""
    lines = [
        line
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == "<template>"
    ]
    return lines[-1] if lines else None

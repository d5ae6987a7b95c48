"""The `inferada` object of a request (gateway contract, section 6.5.2), as types.

Unknown members are refused here and not passed on: the object is ours, and a misspelt guard that
is ignored would guard nothing. null means absent throughout.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject
from gateway.endpoints.reading import explain
from gateway.processors.registry import option_types


class ProcessorOptions(Struct, kw_only=True):
    """What there is whichever processors there are."""

    # In any order. Which names there are is not a matter of types.
    processors: list[str] | None = None
    language: Annotated[str, Meta(max_length=64)] | None = None
    skip_model_default: bool | None = None


@cache
def inferada_type() -> type[Struct]:
    """Return the whole object as a type: with a member for the options of each processor."""
    members = [(name, options | None, None) for name, options in option_types().items()]
    return msgspec.defstruct(
        "Inferada",
        members,
        bases=(ProcessorOptions,),
        namespace={"__doc__": "Which processors run, and their options."},
        kw_only=True,
        forbid_unknown_fields=True,
    )


@cache
def _body_type() -> type[Struct]:
    """Return a body with nothing else, so that messages name a member by its whole path."""
    return msgspec.defstruct("Body", [("inferada", inferada_type())])


def check_options(given: JsonObject) -> None:
    """Raise RequestError for an object that is not of the type."""
    try:
        msgspec.convert({"inferada": given}, _body_type())
    except msgspec.ValidationError as error:
        raise explain(error, lambda param: param, _body_type()) from None

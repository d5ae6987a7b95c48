"""The form of an answer as TGI takes it: `response_format` with a type and a value.

Reference: https://huggingface.co/docs/text-generation-inference/basic_tutorials/using_guidance
vLLM's constraints are put into it by gateway.providers.openai_compatible.guided.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.providers.openai_compatible import vllm

FORMAT = "response_format"


class JsonSchema(msgspec.Struct):
    """The schema of an answer; null where there is none."""

    schema: msgspec.Raw = msgspec.Raw(b"null")


class ResponseFormat(msgspec.Struct):
    """The form of an answer, as OpenAI has it."""

    type: str = "text"
    json_schema: JsonSchema = msgspec.field(default_factory=JsonSchema)


_read_format = msgspec.json.Decoder(ResponseFormat | None).decode
_encode = msgspec.json.encode
_NOTHING = b"null"


def is_constrained(fields: Mapping[str, bytes]) -> bool:
    """True when the answer has to have a form."""
    wanted = _read_format(fields.get(FORMAT, _NOTHING))
    if wanted is not None and wanted.type != "text":
        return True
    return not vllm.GUIDED.isdisjoint(fields) and bool(vllm.read_constraints(fields))


def respell(fields: dict[str, bytes]) -> set[str]:
    """Say OpenAI's form in the server's words. Returns the names of what it has no word for."""
    wanted = _read_format(fields.pop(FORMAT, _NOTHING))
    if wanted is None or wanted.type == "text":
        return set()
    if wanted.type != "json_schema":
        # Any JSON at all is no form that it knows; that the answer is to be JSON stands in the
        # prompt.
        return {FORMAT}
    schema = wanted.json_schema.schema
    value = {} if bytes(schema) == _NOTHING else schema
    fields[FORMAT] = _encode({"type": "json", "value": value})
    return set()

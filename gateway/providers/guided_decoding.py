"""vLLM's parameters of guided decoding in dialects that have a JSON Schema for the response alone.

A schema becomes a response_format, which the dialect translates as any other. A choice becomes the
schema of an object, and is unwrapped from the whole answer: in a stream a caller would see the
object. What cannot be kept is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.events import ChatAnswer
from gateway.providers.base import UpstreamRequest
from gateway.providers.openai_compatible import guided, vllm
from gateway.providers.openai_compatible.guided import HINTS
from gateway.providers.translation import UNTRANSLATABLE

KEPT = frozenset({"json", guided.CHOICE})
# The fields that are translated, and what else a dialect has no words for.
GUIDED = frozenset({"guided_json", "guided_choice", "structured_outputs"})
REFUSED = UNTRANSLATABLE - GUIDED - HINTS
FORMAT = "response_format"
_encode = msgspec.json.encode


def respell(call: ChatCall) -> tuple[ChatCall, set[str]]:
    """Return the call with its constraint as a response_format, and the names of hints that are
    left out. Raises UnsupportedParameter for a constraint that cannot be kept."""
    fields = call.payload.fields
    if vllm.GUIDED.isdisjoint(fields):
        return call, set()
    lost = guided.check_constraints(call, KEPT, wraps_choice=True)
    said = guided.write_format(fields)
    if not said:
        return call, lost
    written = {name: _encode(value) for name, value in said.items()}
    return call.with_payload(fields={**fields, **written}), lost


def wraps_choice(call: ChatCall) -> bool:
    """Return whether the answer's text will be an object that has the choice inside it."""
    fields = call.payload.fields
    return not vllm.GUIDED.isdisjoint(fields) and guided.CHOICE in vllm.read_constraints(fields)


def unwrap(answer: ChatAnswer, request: UpstreamRequest) -> ChatAnswer:
    """Return the answer with the choice alone as its text, where it was wrapped."""
    return guided.unwrap_choice(answer) if request.wraps_choice else answer


def param_of_format(fields: Mapping[str, bytes]) -> str:
    """Return the field by which a caller asked for a form of the response."""
    if vllm.GUIDED.isdisjoint(fields):
        return FORMAT
    for name in sorted(KEPT & vllm.read_constraints(fields).keys()):
        is_by_itself = fields.get(vllm.SPELLINGS[name], b"null") != b"null"
        return vllm.SPELLINGS[name] if is_by_itself else f"structured_outputs.{name}"
    return FORMAT

"""vLLM's parameters of guided decoding, as far as Gemini can be held to them: a schema, and a
choice among texts, which it gives as it is, streamed or not.

Reference: https://ai.google.dev/gemini-api/docs/structured-output
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import UnsupportedParameter
from gateway.providers.openai_compatible import vllm
from gateway.providers.openai_compatible.guided import HINTS, SWITCHES, check_constraints

Fields = dict[str, object]
JSON, ENUM = "application/json", "text/x.enum"
KEPT = frozenset({"json", "choice"})
TEMPLATE = "chat_template_kwargs"
# The fields that are translated.
GUIDED = frozenset({"guided_json", "guided_choice", "structured_outputs", TEMPLATE})
_read_kwargs = msgspec.json.Decoder(dict[str, object] | None).decode


def check_guided(call: ChatCall) -> None:
    """Raise UnsupportedParameter for a constraint that cannot be kept, and for what a template is
    to have that is no switch for thinking."""
    payload = call.payload
    check_constraints(call, KEPT, wraps_choice=False)
    if payload.has(TEMPLATE) and switch_of(payload.fields) is None:
        raise UnsupportedParameter(
            f"{call.facts.model} does not support {TEMPLATE}.", param=TEMPLATE
        )


def switch_of(fields: Mapping[str, bytes]) -> bool | None:
    """Return whether a template is to let the model think, None where nothing or more is said."""
    asked = _read_kwargs(fields.get(TEMPLATE, b"null")) or {}
    values = list(asked.values())
    if not values or not asked.keys() <= SWITCHES or not isinstance(values[0], bool):
        return None
    return values[0] if values.count(values[0]) == len(values) else None


def write_constraint(fields: Mapping[str, bytes]) -> Fields:
    """Return what of generationConfig holds an answer to the constraints, nothing without any."""
    constraints = vllm.read_constraints(fields)
    if "choice" in constraints:
        schema = {"type": "STRING", "enum": constraints["choice"]}
        return {"responseMimeType": ENUM, "responseSchema": schema}
    schema_or_text = constraints.get("json")
    if schema_or_text is None:
        return {}
    if isinstance(schema_or_text, str):
        schema_or_text = msgspec.Raw(schema_or_text.encode())
    return {"responseMimeType": JSON, "responseJsonSchema": schema_or_text}


def hints_of(fields: Mapping[str, bytes]) -> set[str]:
    """Return the names of hints, for which the API has no words."""
    return {vllm.SPELLINGS.get(name, name) for name in vllm.read_constraints(fields)} & HINTS

"""What adapters have in common that translate from OpenAI's spelling to another dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateway.core.call import Call, Payload
from gateway.core.chat import ChatCall
from gateway.core.errors import UnsupportedParameter
from gateway.core.grant import Grant
from gateway.providers.request_body import OURS, OURS_PREFIX
from gateway.snapshot.types import TargetRecord

BYTES_PER_TOKEN = 4
# To leave these out would change what is answered, not only how.
UNTRANSLATABLE = frozenset(
    {
        *("functions", "function_call", "chat_template", "chat_template_kwargs"),
        *("mm_processor_kwargs", "guided_choice", "guided_grammar", "guided_json", "guided_regex"),
        *("guided_decoding_backend", "guided_whitespace_pattern", "structural_tag"),
        "structured_outputs",
    }
)


def refuse_fields(call: ChatCall, names: Iterable[str]) -> None:
    """Raise UnsupportedParameter for the first of these that the call has."""
    for name in names:
        if call.payload.has(name):
            raise UnsupportedParameter(f"{call.facts.model} does not support {name}.", param=name)


def fields_of(call: Call[Payload], target: TargetRecord) -> dict[str, bytes]:
    """Return the caller's fields that have a value, and the model's where the caller has none."""
    fields = {name: raw for name, raw in call.payload.fields.items() if raw != b"null"}
    for name, raw in target.default_params:
        fields.setdefault(name, raw)
    return fields


def wanted_fields(call: Call[Payload], grant: Grant, target: TargetRecord) -> dict[str, bytes]:
    """Return the fields of the call and of its model, without those that are dropped."""
    dropped = frozenset(grant.dropped_params)
    fields = fields_of(call, target)
    return {name: raw for name, raw in fields.items() if name not in dropped}


def left_out(fields: Mapping[str, bytes], known: frozenset[str]) -> set[str]:
    """Return the names of fields that are neither known nor the gateway's own."""
    return {name for name in fields.keys() - known - OURS if not name.startswith(OURS_PREFIX)}


def bound_prompt(call: ChatCall) -> int:
    """Return about how many tokens the prompt has."""
    return len(call.payload.fields["messages"]) // BYTES_PER_TOKEN + 1

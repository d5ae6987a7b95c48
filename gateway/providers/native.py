"""Requests that go to a provider in the format they came in: nothing of them is respelled.

Only where the provider's dialect is the caller's format, and the model adds nothing of its own.
"""

from __future__ import annotations

from gateway.core.call import Call, NativeBody, Payload
from gateway.core.errors import UnsupportedParameter
from gateway.providers.catalogue import BY_NAME
from gateway.snapshot.types import ModelRecord, TargetRecord


def native_body(call: Call[Payload], target: TargetRecord) -> NativeBody | None:
    """Return the caller's own body where it can go to the target, else None: then the fields of the
    call are translated."""
    payload = call.payload
    body = payload.native
    if body is None:
        return None
    kind = BY_NAME[target.kind]
    if not kind.takes_body(body.dialect, target.native_model, target.settings):
        return None
    # The model's own defaults are in OpenAI's spelling.
    has_all = all(payload.has(name) for name, _ in target.default_params)
    return body if has_all else None


def without_native(call: Call[Payload], model: ModelRecord) -> Call[Payload]:
    """Return the call as the model will get it: one with a system prompt of its own gets no native
    body (gateway.call_steps.prompt_prep)."""
    if call.payload.native is None or model.prompt is None:
        return call
    return call.with_payload(native=None)


def dropped_from_native(call: Call[Payload], model: ModelRecord) -> set[str]:
    """Return the fields that some target of the model will not get, because only the dialect of the
    caller's format has them.

    Raises UnsupportedParameter for what must not be left out.
    """
    only = call.payload.native_only
    if only is None:
        return set()
    dropped = set(only.left_out)
    for target in model.targets:
        if native_body(call, target) is not None:
            continue
        if only.part is not None:
            param, name = only.part
            raise UnsupportedParameter(f"{model.name} does not support {name}.", param=param)
        if BY_NAME[target.kind].body_dialect != only.dialect:
            dropped.update(only.fields)
    return dropped

"""What of a call a model's providers can be told, and what has to stay here."""

from __future__ import annotations

from gateway.core.call import Call, Payload
from gateway.core.errors import (
    AudioNotSupported,
    EndpointNotSupported,
    GatewayError,
    ImageNotSupported,
    PdfNotSupported,
    RequestError,
    UnsupportedParameter,
)
from gateway.core.operations import is_for
from gateway.providers.native import dropped_from_native, without_native
from gateway.providers.registry import adapter_of, has_adapter, supported_by_all
from gateway.snapshot.types import ModelRecord

LACKS: dict[str, type[GatewayError]] = {
    "vision": ImageNotSupported,
    "audio": AudioNotSupported,
    "pdf": PdfNotSupported,
}


def check_parameters(call: Call[Payload], model: ModelRecord) -> tuple[str, ...]:
    """Return the parameters that will be dropped, sorted.

    Raises EndpointNotSupported where the model is for something else, or one of its providers has
    no such operation;
    UnsupportedParameter for what the model's providers cannot be told, and for anything
    dropped when the caller requires every parameter; RequestError for an unknown one where the
    model rejects those.
    """
    payload = call.payload
    if model.operation and not is_for(model.operation, payload.operation):
        raise EndpointNotSupported(f"{model.name} is for {model.operation} only.", param="model")
    if (
        payload.n == 1
        and not payload.needs
        and payload.native_only is None
        and not payload.message_fields
        and payload.fields.keys() <= supported_by_all(payload.operation, model.target_kinds)
    ):
        return ()
    _check_operation(payload.operation, model)
    _check_abilities(call, model)
    dropped: set[str] = set()
    if payload.unknown and model.unknown_fields == "reject":
        raise RequestError(f"Unknown parameter: {payload.unknown[0]}.", param=payload.unknown[0])
    if payload.unknown and model.unknown_fields == "drop":
        dropped.update(payload.unknown)
    call = without_native(call, model)
    dropped |= dropped_from_native(call, model)
    for target in model.targets:
        dropped.update(adapter_of(payload.operation, target.kind).check(call, target))
    names = sorted(dropped)
    if names and call.facts.requires_parameters:
        raise UnsupportedParameter(
            f"{model.name} does not support {', '.join(names)}.",
            param=names[0],
            details={"params": names},
        )
    return tuple(names)


def _check_operation(operation: str, model: ModelRecord) -> None:
    if not all(has_adapter(operation, target.kind) for target in model.targets):
        raise EndpointNotSupported(f"{model.name} does not support {operation}.", param="model")


def _check_abilities(call: Call[Payload], model: ModelRecord) -> None:
    for ability in sorted(call.payload.needs):
        if not model.can(ability):
            raise LACKS[ability](f"{model.name} does not support {ability}.", param="messages")
    if not model.can("tools"):
        for name in ("tools", "functions"):
            if call.payload.has(name):
                raise UnsupportedParameter(f"{model.name} does not support tools.", param=name)

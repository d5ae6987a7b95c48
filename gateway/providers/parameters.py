"""What of a call a model's providers can be told, and what has to stay here."""

from __future__ import annotations

from gateway.core.call import Call
from gateway.core.errors import (
    AudioNotSupported,
    GatewayError,
    ImageNotSupported,
    PdfNotSupported,
    RequestError,
    UnsupportedParameter,
)
from gateway.providers.registry import adapter_of
from gateway.snapshot.types import ModelRecord

LACKS: dict[str, type[GatewayError]] = {
    "vision": ImageNotSupported,
    "audio": AudioNotSupported,
    "pdf": PdfNotSupported,
}
# Every provider takes these, n as far as it is 1: a call of nothing else needs no look at the
# model.
TAKEN_BY_ALL = frozenset(
    {
        "frequency_penalty",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "presence_penalty",
        "response_format",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
    }
)


def check_parameters(call: Call, model: ModelRecord) -> tuple[str, ...]:
    """Return the parameters that will be dropped, sorted.

    Raises UnsupportedParameter for what the model's providers cannot be told, and for anything
    dropped when the caller requires every parameter; RequestError for an unknown one where the
    model rejects those.
    """
    if call.members.keys() <= TAKEN_BY_ALL and not call.needs and call.n == 1:
        return ()
    _check_abilities(call, model)
    dropped: set[str] = set()
    if call.unknown and model.unknown_fields == "reject":
        raise RequestError(f"Unknown parameter: {call.unknown[0]}.", param=call.unknown[0])
    if call.unknown and model.unknown_fields == "drop":
        dropped.update(call.unknown)
    for target in model.targets:
        dropped.update(adapter_of(target.kind).check(call, target))
    names = sorted(dropped)
    if names and call.requires_parameters:
        raise UnsupportedParameter(
            f"{model.name} does not support {', '.join(names)}.",
            param=names[0],
            details={"params": names},
        )
    return tuple(names)


def _check_abilities(call: Call, model: ModelRecord) -> None:
    for ability in sorted(call.needs):
        if not model.can(ability):
            raise LACKS[ability](f"{model.name} does not support {ability}.", param="messages")
    if not model.can("tools"):
        for name in ("tools", "functions"):
            if call.gives(name):
                raise UnsupportedParameter(f"{model.name} does not support tools.", param=name)

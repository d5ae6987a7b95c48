"""Which model a name means (gateway contract, section 5.6)."""

from __future__ import annotations

from gateway.core.admission_steps import at_step
from gateway.core.errors import FunctionNotFound, ModelNotAllowed, ModelNotFound, RequestError
from gateway.snapshot.types import KeyRecord, ModelRecord, Snapshot

OF_A_MODEL = "tensorzero::model_name::"
OF_A_FUNCTION = "tensorzero::"
NAMELESS = frozenset({OF_A_MODEL, OF_A_FUNCTION, "tensorzero::function_name::"})
OF_A_SERVICE = ":chat"


def resolve_model(snapshot: Snapshot, key: KeyRecord, name: str, *, hides: bool) -> ModelRecord:
    """Return the model meant by the name. Raises as find_by_any_name does, ModelNotFound and
    ModelNotAllowed; with hides, a model the key may not use is not found either."""
    model = snapshot.find(name) or find_by_any_name(snapshot, name)
    if model is None or (hides and not key.may_use(model.name)):
        raise ModelNotFound(f"The model {name[:256]} does not exist.", param="model")
    if not key.may_use(model.name):
        raise ModelNotAllowed(f"The API key may not use the model {model.name}.", param="model")
    return model


def find_by_any_name(snapshot: Snapshot, name: str) -> ModelRecord | None:
    """Return the model that is called so, or None.

    A model's own name goes first, then one it has beside. Else the name may say that it is a
    model's, or a provider's for one, or end in the service that is wanted of it. Raises
    FunctionNotFound for a name that says it is a function's, and RequestError for one that says no
    more than whose it would be.
    """
    if (model := snapshot.find(name)) is not None:
        return model
    if name in NAMELESS:
        nameless = RequestError(f"{name} must be followed by a name.", param="model")
        raise at_step(nameless, "model")
    if name.startswith(OF_A_MODEL):
        name = name.removeprefix(OF_A_MODEL)
        if (direct := snapshot.shorthands.get(name)) is not None:
            return direct
    elif name.startswith(OF_A_FUNCTION):
        function = name.removeprefix(OF_A_FUNCTION).removeprefix("function_name::")
        raise FunctionNotFound(f"The function {function[:256]} does not exist.", param="model")
    return (
        snapshot.find(name)
        or snapshot.find(name.removesuffix(OF_A_SERVICE))
        or snapshot.passthroughs.get(name)
    )

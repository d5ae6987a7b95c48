"""The checks of admission by name, in their order, and which of them an error comes from.

An error says its step by its class. Where a class stands for several checks, who raises it sets
`step`. `numbers` are what an error says besides its details: they are kept with the record of the
call and shown to the workspace, and not sent to the caller. `last_passed` is the last check that
the call has passed, where a check refuses before its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from gateway.core import errors
from gateway.core.errors import GatewayError

# Where a check is not the caller's: a server that is overloaded, a database that is away.
SERVER: Final = "server"
# Each with what it asks. The page of a call and the list of a trace show them.
STEPS: Final[Mapping[str, str]] = {
    "key": "API key",
    "life": "Expiry and revocation",
    "address": "IP rules",
    "user_agent": "User-Agent rules",
    "country": "Country rules",
    "scope": "Scope",
    "request": "Request body",
    "model": "Model access",
    "parameters": "Parameters",
    "idempotency": "Idempotency key",
    "files": "Files",
    "fallbacks": "Fallback models",
    "prompt": "System prompt",
    "workspace": "Workspace lock",
    "losses": "Losses of the key",
    "context": "Context window",
    "caps": "Limits per request",
    "money": "Balance",
    "budget": "Budgets",
    "limits": "Limits per period",
    "concurrency": "Concurrent requests",
}
ORDER: Final = {step: place for place, step in enumerate(STEPS)}
# The nearest class counts.
_BY_CLASS: Mapping[type[GatewayError], str] = {
    errors.InvalidKey: "key",
    errors.IpNotAllowed: "address",
    errors.InsufficientScope: "scope",
    errors.RequestError: "parameters",
    errors.ModelNotFound: "model",
    errors.FunctionNotFound: "model",
    errors.ModelNotAllowed: "model",
    errors.Conflict: "idempotency",
    errors.AnswerNotKept: "idempotency",
    errors.IdempotencyMismatch: "idempotency",
    errors.FileNotFound: "files",
    errors.InvalidFile: "files",
    errors.WorkspaceLocked: "workspace",
    errors.KeyLossExceeded: "losses",
    errors.PromptTooLong: "context",
    errors.InsufficientCredits: "money",
    errors.KeyLimitExceeded: "budget",
    errors.RateLimited: "limits",
    errors.LimitExceeded: "limits",
    errors.ConcurrencyLimited: "concurrency",
}
# What records may keep of an error's details: nothing that a caller's body says, but for the name
# of the field at fault (MAX_PARAM_CHARS).
_KEPT = ("level", "limit", "current", "requested", "rule_id", "resets_at")
_NAMED = ("required_scope", "required_permission", "rule", "country")
# Of a processor's: what it found by type or rule (gateway.core.processor_errors).
_OF_PROCESSORS = ("processor", "reason", "entity_types", "rule_ids")

MAX_PARAM_CHARS = 100

E = TypeVar("E", bound=GatewayError)
StepResult = Literal["passed", "refused", "not_reached"]


def at_step(error: E, step: str) -> E:
    """Return the error, which is this step's."""
    error.step = step
    return error


def before_turn(error: E, last_passed: str) -> E:
    """Return the error, whose check refuses right after this one has passed."""
    error.last_passed = last_passed
    return error


def step_result(step: str, refusing: str, last_passed: str) -> StepResult:
    """Return what a check came to in a call that another one, or this, refuses."""
    if step == refusing:
        return "refused"
    if last_passed:
        return "passed" if ORDER[step] <= ORDER[last_passed] else "not_reached"
    return "passed" if ORDER[step] < ORDER[refusing] else "not_reached"


def with_context(error: E, context_tokens: int, wanted_tokens: int) -> E:
    """Return the error, which says now how long the context is and how much was to fit in."""
    limit = {"metric": "context_tokens", "period": None, "max": context_tokens}
    error.numbers = {
        "level": "model",
        "limit": limit | {"per_request": True},
        "current": 0,
        "requested": wanted_tokens,
    }
    return error


def step_of(error: GatewayError) -> str:
    """Return the step that the error comes from."""
    if error.step:
        return error.step
    if isinstance(error, errors.RequestError) and "rule_id" in error.details:
        return "caps"
    if isinstance(error, errors.RequestBlocked):
        return str(error.details.get("rule", SERVER))
    for one in type(error).__mro__:
        if one in _BY_CLASS:
            return _BY_CLASS[one]
    return SERVER


def describe_refusal(error: GatewayError) -> dict[str, object]:
    """Return what the record of a refused call says of the check that refused it."""
    early = {"last_passed": error.last_passed} if error.last_passed else {}
    field = {"param": error.param[:MAX_PARAM_CHARS]} if error.param else {}
    return {"step": step_of(error), **early, **field, **numbers_of(error)}


def numbers_of(error: GatewayError) -> dict[str, object]:
    """Return what an error says of the limit that refuses: whose, how much, by what."""
    said = {**error.details, **(error.numbers or {})}
    kept = (*_KEPT, *_NAMED, *(_OF_PROCESSORS if "processor" in said else ()))
    return {name: said[name] for name in kept if name in said}

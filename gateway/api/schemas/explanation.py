"""POST /admission/explain: what is asked, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, cast
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from gateway.core.admission_steps import STEPS
from gateway.core.errors import GatewayError
from gateway.core.json_types import JsonObject
from gateway.endpoints.registry import ENDPOINTS, call_paths
from gateway.explain.explainer import Explanation, StepTrace

NAMES = [endpoint.name for endpoint in ENDPOINTS]
PRINTABLE = r"^[\x20-\x7e]*(?![\s\S])"


Address = Annotated[
    str,
    Meta(
        max_length=45,
        description="IP address of the client.",
        extra_json_schema={"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    ),
]
Country = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z][A-Za-z0-9](?![\s\S])",
        description="Code that the proxy sends. Ignored where no country header is set up.",
    ),
]
LimitResult = Literal["passed", "waits", "refused", "not_reached"]
Program = Annotated[str, Meta(max_length=1024, pattern=PRINTABLE, description="Default: yours.")]


class ExplainRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A call to explain. By default it comes from where the question comes from."""

    model: (
        Annotated[
            str, Meta(min_length=1, max_length=256, description="Replaces the model of the body.")
        ]
        | UnsetType
    ) = UNSET
    endpoint: Annotated[
        str,
        Meta(
            max_length=64,
            description="Path or name of the endpoint.",
            extra_json_schema={"enum": list(dict.fromkeys([*call_paths(), *NAMES]))},
        ),
    ] = "chat/completions"
    body: (
        Annotated[dict[str, Raw], Meta(description="Body of the call. Default: a short example.")]
        | UnsetType
    ) = UNSET
    address: Address | UnsetType = UNSET
    country: Country | UnsetType = UNSET
    user_agent: Program | UnsetType = UNSET
    key_id: (
        Annotated[
            UUID,
            Meta(description="Another key of the workspace. Needs the scope usage.workspace."),
        ]
        | UnsetType
    ) = UNSET


class LimitShown(Struct, kw_only=True):
    """A limit that a check looked at."""

    level: Annotated[str, Meta(description="What the limit belongs to.")]
    metric: str
    period: str | None
    max: Annotated[int | None, Meta(description="Null where it is not known.")]
    burst: int | UnsetType = UNSET
    current: Annotated[int | None, Meta(description="Used now. Null where it is not known.")]
    requested: Annotated[int | None, Meta(description="What the call would use at most.")]
    rule_id: str | UnsetType = UNSET
    result: (
        Annotated[
            LimitResult,
            Meta(description="Where a check has several limits, what each came to."),
        ]
        | UnsetType
    ) = UNSET


class StepShown(Struct, kw_only=True):
    """A check of admission."""

    step: str
    title: str
    result: Literal["passed", "waits", "refused", "skipped", "not_reached"]
    limits: list[LimitShown]


class RefusalShown(Struct, kw_only=True):
    """The error that the call would get."""

    status: int
    code: str
    type: str
    message: str
    param: str | None
    details: JsonObject
    step: Annotated[str, Meta(description="The check that refuses.")]


class ExplanationShown(Struct, kw_only=True):
    decision: Annotated[
        Literal["admitted", "queued", "refused"],
        Meta(description="queued: the call would wait for a slot."),
    ]
    key_id: str
    endpoint: str
    model: Annotated[str | None, Meta(description="Null if the call is refused before.")]
    address: Annotated[str, Meta(description="Empty if unknown.")]
    hold_nano_usd: Annotated[
        str, Meta(pattern=r"^\d+$", description="What would be set aside for the call.")
    ]
    max_output_tokens: Annotated[int, Meta(description="Output tokens that the hold covers.")]
    steps: Annotated[list[StepShown], Meta(description="In the order of admission.")]
    error: RefusalShown | None
    notes: list[str]


class ExplanationResponse(Struct):
    data: ExplanationShown


def write_explanation(
    found: Explanation, *, key_id: str, endpoint: str, address: str
) -> ExplanationShown:
    return ExplanationShown(
        decision=_decision(found),
        key_id=key_id,
        endpoint=endpoint,
        model=found.model or None,
        address=address,
        hold_nano_usd=str(found.hold_nusd),
        max_output_tokens=found.limit_tokens,
        steps=[_step(trace) for trace in found.steps],
        error=None if found.error is None else _refusal(found.error, found.refusing),
        notes=list(found.notes),
    )


def _decision(found: Explanation) -> Literal["admitted", "queued", "refused"]:
    if found.error is not None:
        return "refused"
    return "queued" if any(trace.result == "waits" for trace in found.steps) else "admitted"


def _step(trace: StepTrace) -> StepShown:
    return StepShown(
        step=trace.step,
        title=STEPS[trace.step],
        result=trace.result,
        limits=list(_limits(trace)),
    )


def _limits(trace: StepTrace) -> Iterator[LimitShown]:
    for numbers in trace.limits:
        limit = numbers.get("limit")
        if not isinstance(limit, dict):
            continue
        rule_id = numbers.get("rule_id")
        burst = numbers.get("burst", UNSET)
        yield LimitShown(
            level=str(numbers.get("level", "")),
            metric=str(limit["metric"]),
            period=limit.get("period"),
            max=limit.get("max"),
            burst=burst if isinstance(burst, int) else UNSET,
            current=_number(numbers.get("current")),
            requested=_number(numbers.get("requested")),
            rule_id=UNSET if rule_id is None else str(rule_id),
            result=_result(numbers.get("result")),
        )


def _result(value: object) -> LimitResult | UnsetType:
    return UNSET if value is None else cast(LimitResult, value)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _refusal(error: GatewayError, step: str) -> RefusalShown:
    return RefusalShown(
        status=error.status,
        code=error.code,
        type=error.type,
        message=error.message,
        param=error.param,
        details=error.details,
        step=step,
    )

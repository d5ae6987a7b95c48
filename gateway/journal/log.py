"""From the values of the stages to the three records of a journal."""

from __future__ import annotations

import time
from typing import Protocol

import msgspec

from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.core.receipt import Receipt
from gateway.journal.record import Admitted, Refused, Settled
from gateway.streaming.meter import Meter


class Sink(Protocol):
    """Where records go (gateway.stores.bank)."""

    def admitted(self, record: Admitted) -> None: ...

    def settled(self, record: Settled) -> None: ...

    def refused(self, record: Refused) -> None: ...


class CallLog:
    """Writes what happened to calls. admitted may raise OSError; the rest never raise."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def admitted(self, grant: Grant) -> None:
        self._sink.admitted(
            Admitted(
                call_id=grant.call_id,
                workspace_id=grant.workspace_id,
                key_id=grant.key_id,
                at=grant.admitted_at,
                hold_nusd=grant.hold_nusd,
                requested_model=grant.requested_model,
                streamed=grant.streamed,
                client_request_id=grant.client_request_id,
                user=grant.user,
                ip=grant.ip,
                model=grant.model,
                input_pusd=grant.price.input_pusd,
                cached_input_pusd=grant.price.cached_input_pusd,
                output_pusd=grant.price.output_pusd,
                profile=grant.profile,
                episode_id=grant.episode_id,
            )
        )

    def settled(
        self,
        grant: Grant,
        meter: Meter,
        receipt: Receipt,
        *,
        error: GatewayError | None,
        request_body: str = "",
        response_body: str = "",
    ) -> None:
        target, usage = meter.target, receipt.usage
        price = grant.price if target is None else target.price
        self._sink.settled(
            Settled(
                call_id=grant.call_id,
                workspace_id=grant.workspace_id,
                key_id=grant.key_id,
                at=grant.admitted_at,
                status=receipt.status,
                charge_basis=receipt.charge_basis,
                hold_nusd=grant.hold_nusd,
                charge_nusd=receipt.charge_nusd,
                absorbed_nusd=receipt.absorbed_nusd,
                http_status=200 if error is None or meter.has_answered else error.status,
                error_code="" if error is None else error.code,
                requested_model=grant.requested_model,
                model=grant.model,
                provider="" if target is None else target.provider,
                native_model="" if target is None else target.native_model,
                streamed=grant.streamed,
                finish_reason=meter.finish_reason,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cached_tokens=usage.cached_tokens,
                reasoning_tokens=usage.reasoning_tokens,
                input_pusd=price.input_pusd,
                cached_input_pusd=price.cached_input_pusd,
                output_pusd=price.output_pusd,
                total_us=receipt.total_us,
                admit_us=receipt.admit_us,
                queued_us=receipt.queued_us,
                failed_us=receipt.failed_us,
                ttft_us=receipt.ttft_us,
                upstream_us=receipt.upstream_us,
                attempts=msgspec.json.encode(meter.attempts).decode(),
                client_request_id=grant.client_request_id,
                user=grant.user,
                ip=grant.ip,
                request_body=request_body,
                response_body=response_body,
                profile=grant.profile,
                episode_id=grant.episode_id,
                dropped_params=msgspec.json.encode(grant.dropped_params).decode()
                if grant.dropped_params
                else "[]",
            )
        )

    def refused(
        self,
        *,
        call_id: str,
        workspace_id: str,
        key_id: str,
        error: GatewayError,
        requested_model: str,
        total_us: int,
        client_request_id: str,
        ip: str,
    ) -> None:
        self._sink.refused(
            Refused(
                call_id=call_id,
                workspace_id=workspace_id,
                key_id=key_id,
                at=time.time(),
                http_status=error.status,
                error_code=error.code,
                requested_model=requested_model,
                total_us=total_us,
                client_request_id=client_request_id,
                ip=ip,
            )
        )

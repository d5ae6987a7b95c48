"""From the values of the stages to the three records of a journal."""

from __future__ import annotations

import time
from typing import Protocol

import msgspec

from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.core.receipt import Receipt
from gateway.journal.record import Admitted, Refused, Settled
from gateway.journal.refusals import RefusalLog
from gateway.streaming.meter import Meter


class Sink(Protocol):
    """Where records go (gateway.stores.record_log)."""

    def admitted(self, record: Admitted) -> None: ...

    def settled(self, record: Settled) -> None: ...

    def refused(self, record: Refused) -> None: ...


class CallLog:
    """Writes what happened to calls. admitted may raise OSError; the rest never raise.

    paid_nusd: the part of the receipt's charge that the process's purse has paid.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.refusals = RefusalLog(sink)

    def admitted(self, grant: Grant) -> None:
        price = grant.price
        # In the order of the fields: names are looked up one by one, and cost more than the rest.
        self._sink.admitted(
            Admitted(
                grant.call_id,
                grant.workspace_id,
                grant.key_id,
                grant.admitted_at,
                grant.hold_nusd,
                grant.requested_model,
                grant.streamed,
                grant.client_request_id,
                grant.user,
                grant.ip,
                grant.model,
                price.input_pusd,
                price.cached_input_pusd,
                price.output_pusd,
                grant.profile,
                grant.episode_id,
            )
        )

    def settled(
        self,
        grant: Grant,
        meter: Meter,
        receipt: Receipt,
        *,
        paid_nusd: int,
        error: GatewayError | None,
        request_body: str = "",
        response_body: str = "",
        kept: bytes = b"",
    ) -> None:
        target, usage = meter.target, receipt.usage
        price = grant.price if target is None else target.price
        dropped = grant.dropped_params
        self._sink.settled(
            Settled(
                grant.call_id,
                grant.workspace_id,
                grant.key_id,
                grant.admitted_at,
                receipt.status,
                receipt.charge_basis,
                grant.hold_nusd,
                paid_nusd,
                receipt.absorbed_nusd,
                200 if error is None or meter.has_answered else error.status,
                "" if error is None else error.code,
                grant.requested_model,
                grant.model,
                "" if target is None else target.provider,
                "" if target is None else target.native_model,
                grant.streamed,
                meter.finish_reason,
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.cached_tokens,
                usage.reasoning_tokens,
                price.input_pusd,
                price.cached_input_pusd,
                price.output_pusd,
                receipt.total_us,
                receipt.admit_us,
                receipt.queued_us,
                receipt.failed_us,
                receipt.ttft_us,
                receipt.upstream_us,
                msgspec.json.encode(meter.attempts).decode(),
                grant.client_request_id,
                grant.user,
                grant.ip,
                request_body,
                response_body,
                grant.profile,
                grant.episode_id,
                msgspec.json.encode(dropped).decode() if dropped else "[]",
                meter.native_finish_reason,
                len(meter.tool_calls),
                grant.fallback_from,
                grant.fallback_depth,
                grant.pdf_pages,
                grant.pdf_page_nusd,
                receipt.charge_nusd - paid_nusd,
                kept,
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
        self.refusals.refused(
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

"""From the values of the stages to the three records of a journal."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gateway.core.admission_steps import describe_refusal
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.core.receipt import Receipt
from gateway.journal.record import Admitted, Refused, Served, Settled
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
        self._sink.admitted(
            Admitted(
                identity=grant.identity,
                hold_nusd=grant.hold_nusd,
                model=grant.model,
                price=grant.price,
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
        dropped_params: tuple[str, ...] = (),
    ) -> None:
        target = meter.target
        self._sink.settled(
            Settled(
                identity=grant.identity,
                receipt=receipt,
                served=Served(
                    model=grant.model,
                    provider="" if target is None else target.provider,
                    native_model="" if target is None else target.native_model,
                    price=grant.price if target is None else target.price,
                    finish_reason=meter.finish_reason,
                    native_finish_reason=meter.native_finish_reason,
                    fallback_from=grant.fallback_from,
                    fallback_depth=grant.fallback_depth,
                ),
                hold_nusd=grant.held_nusd,
                owed_nusd=receipt.charge_nusd - paid_nusd,
                http_status=200 if error is None or meter.has_answered else error.status,
                error_code="" if error is None else error.code,
                attempts=tuple(meter.attempts),
                num_tool_calls=len(meter.tool_calls),
                dropped_params=dropped_params,
                request_body=request_body,
                response_body=response_body,
                kept=kept,
            )
        )

    def refused(self, identity: CallIdentity, *, error: GatewayError, total_us: int) -> None:
        self.refusals.refused(
            Refused(
                identity=identity,
                http_status=error.status,
                error_code=error.code,
                total_us=total_us,
                refusal=msgspec.json.encode(describe_refusal(error), enc_hook=str).decode(),
            )
        )

"""Closes a call: counts what nobody counted, settles, keeps the answer, logs. Once."""

from __future__ import annotations

from collections.abc import Awaitable

from msgspec import Struct

from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError, NoUpstreamAvailable
from gateway.core.events import Answer
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnyEndpoint
from gateway.snapshot.types import TargetRecord
from gateway.stages import Claim, Connection, Stages
from gateway.streaming.meter import Meter


class RefusedByRules(NoUpstreamAvailable):
    """Rules of a model refuse a call before any provider was asked; another model may serve it."""

    retry_elsewhere = True


class CallCloser(Struct, eq=False, kw_only=True):
    """What a call owes: closed once, by its end or by whatever came before its end."""

    stages: Stages
    meter: Meter
    caller: Connection
    endpoint: AnyEndpoint
    call: AnyCall
    grant: Grant
    claim: Claim | None
    _receipt: Receipt | None = None

    async def pass_to(
        self, target: TargetRecord, refusal: GatewayError | None
    ) -> tuple[Grant, AnyCall]:
        """Return the grant under which the target is to work, and the call: others, which
        everybody is told of, where the target is another model's. Where rules of that model refuse
        the call, it raises the refusal of the target before."""
        if target.model != self.grant.model:
            lease = self.grant.lease
            if lease is not None and not await lease.fall_back(target.model):
                raise refusal or RefusedByRules()
            self.grant, self.call = self.grant.passed_to(target.model)
            self.meter.fallback = self.grant.model
            self.caller.fall_back(self.call, self.grant)
        return self.grant, self.call

    def close_well(self, answer: Answer | None = None) -> Awaitable[Receipt]:
        """Settle a call that came to its end; called before its last bytes are written."""
        return self.close(None, answer)

    async def close(self, error: BaseException | None, answer: Answer | None = None) -> Receipt:
        """Settle and log, the first time it is called; the same receipt ever after.

        Counting takes a thread, and only a caller that is gone or a provider that
        reported nothing makes it necessary. An interruption meanwhile changes nothing.
        """
        if self._receipt is not None:
            return self._receipt
        stages, meter = self.stages, self.meter
        if isinstance(error, GatewayError):
            self.call.payload.locate(error)
        counted = Usage()
        if stages.needs_count(meter, error) and (error is None or isinstance(error, GatewayError)):
            counted = await stages.count(self.endpoint, self.call, meter)
        if error is not None and self.caller.has_head():
            meter.has_answered = True  # it was told 200 with the first keep-alive
        if self._receipt is None:
            receipt = stages.settle(self.grant, meter, error, counted)
            kept = b""
            if self.claim is not None and (error is None or receipt.charge_nusd):
                # A part of the record: neither is ever there without the other. What was charged
                # is not charged again, whatever ended it.
                kept = self.claim.keep(*self.caller.whole(receipt, answer, error))
            said = ""
            if self.grant.stores_bodies:
                said = self.caller.transcript(receipt if error is None else None, answer)
                if meter.processing is not None:
                    said = meter.processing.conceal(said)
            self._receipt = receipt
            stages.log(self.grant, meter, receipt, error, self.call, said, kept)
        return self._receipt

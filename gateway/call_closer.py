"""Closes a call: counts what nobody counted, settles, keeps the answer, logs. Once."""

from __future__ import annotations

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


class CallCloser:
    """What a call owes: closed once, by its end or by whatever came before its end."""

    __slots__ = (
        "_call",
        "_caller",
        "_claim",
        "_endpoint",
        "_grant",
        "_meter",
        "_receipt",
        "_stages",
    )

    def __init__(
        self,
        stages: Stages,
        meter: Meter,
        caller: Connection,
        *,
        endpoint: AnyEndpoint,
        call: AnyCall,
        grant: Grant,
        claim: Claim | None,
    ) -> None:
        self._stages = stages
        self._endpoint = endpoint
        self._call = call
        self._grant = grant
        self._meter = meter
        self._caller = caller
        self._claim = claim
        self._receipt: Receipt | None = None

    async def pass_to(
        self, target: TargetRecord, refusal: GatewayError | None
    ) -> tuple[Grant, AnyCall]:
        """Return the grant under which the target is to work, and the call: others, which
        everybody is told of, where the target is another model's. Where rules of that model refuse
        the call, it raises the refusal of the target before."""
        if target.model != self._grant.model:
            lease = self._grant.lease
            if lease is not None and not await lease.fall_back(target.model):
                raise refusal or RefusedByRules()
            self._grant, self._call = self._grant.passed_to(target.model)
            self._meter.fallback = self._grant.model
            self._caller.fall_back(self._call, self._grant)
        return self._grant, self._call

    async def close_well(self, answer: Answer | None = None) -> Receipt:
        """Settle a call that came to its end; called before its last bytes are written."""
        return await self.close(None, answer)

    async def close(self, error: BaseException | None, answer: Answer | None = None) -> Receipt:
        """Settle and log, the first time it is called; the same receipt ever after.

        Counting takes a thread, and only a caller that is gone or a provider that
        reported nothing makes it necessary. An interruption meanwhile changes nothing.
        """
        if self._receipt is not None:
            return self._receipt
        stages, meter = self._stages, self._meter
        if isinstance(error, GatewayError):
            self._call.payload.locate(error)
        counted = Usage()
        if stages.needs_count(meter, error) and (error is None or isinstance(error, GatewayError)):
            counted = await stages.count(self._endpoint, self._call, meter)
        if error is not None and self._caller.has_head():
            meter.has_answered = True  # it was told 200 with the first keep-alive
        if self._receipt is None:
            receipt = stages.settle(self._grant, meter, error, counted)
            kept = b""
            if self._claim is not None and (error is None or receipt.charge_nusd):
                # A part of the record: neither is ever there without the other. What was charged
                # is not charged again, whatever ended it.
                kept = self._claim.keep(*self._caller.whole(receipt, answer, error))
            said = ""
            if self._grant.stores_bodies:
                said = self._caller.transcript(receipt if error is None else None, answer)
                if meter.processing is not None:
                    said = meter.processing.conceal(said)
            self._receipt = receipt
            stages.log(self._grant, meter, receipt, error, self._call, said, kept)
        return self._receipt

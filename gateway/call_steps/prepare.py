"""Makes the attempt at one target: the exchange with its provider, and what wraps it."""

from __future__ import annotations

from dataclasses import replace

from gateway.core.answer_steps import needs_answer
from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.grant import Grant
from gateway.processors.exchange import ProcessedExchange
from gateway.providers.credentials.pools import CredentialPools
from gateway.providers.exchange import ProviderExchange
from gateway.providers.parts import PartsExchange
from gateway.providers.registry import adapter_of
from gateway.providers.transports.lookup import Transports
from gateway.snapshot.types import TargetRecord
from gateway.streaming.meter import Meter
from gateway.streaming.relay import Exchange
from gateway.tools.hold_bounds import most_fees_nusd
from gateway.tools.loop import ToolLoop
from gateway.tools.round_hold import GrowHold, RoundHold


class Preparation:
    """For all calls of a process. tool_s: how long one tool of the gateway may run."""

    def __init__(
        self,
        transports: Transports,
        credentials: CredentialPools,
        grow_hold: GrowHold,
        *,
        tool_s: float,
    ) -> None:
        self._transports = transports
        self._credentials = credentials
        self._grow_hold = grow_hold
        self._tool_s = tool_s

    def prepare(self, call: AnyCall, grant: Grant, target: TargetRecord, meter: Meter) -> Exchange:
        """Return the attempt at one target. Nothing is sent yet. meter: the call's, for what wraps
        several exchanges to note what each comes to."""
        payload = call.payload
        if isinstance(payload, ChatRequest) and (payload.tools or payload.answer_steps):
            return self._wrap(call, grant, target, meter)
        return self.ask(call, grant, target)

    def ask(self, call: AnyCall, grant: Grant, target: TargetRecord) -> Exchange:
        if target.has_choice:

            def make(secret: str) -> Exchange:
                return self._send(call, grant, replace(target, secret=secret))

            return self._credentials.open(target, make)
        return self._send(call, grant, target)

    def _send(self, call: AnyCall, grant: Grant, target: TargetRecord) -> Exchange:
        adapter = adapter_of(call.payload.operation, target.kind)
        transport = self._transports.for_target(target)
        request = adapter.build_request(call, grant, target)
        if not request.further:
            return ProviderExchange(adapter, transport, request)
        requests = (request, *request.further)
        return PartsExchange([ProviderExchange(adapter, transport, each) for each in requests])

    def _wrap(self, call: ChatCall, grant: Grant, target: TargetRecord, meter: Meter) -> Exchange:
        """Return an exchange that runs tools, and changes the answer that comes of it."""
        payload = call.payload
        if needs_answer(payload.answer_steps):
            call = call.buffered()
        exchange: Exchange
        if payload.tools:
            exchange = self._loop(call, grant, target, meter)
        else:
            exchange = self.ask(call, grant, target)
        if payload.answer_steps:
            assert payload.processing is not None
            exchange = ProcessedExchange(exchange, payload.answer_steps, payload.processing)
        return exchange

    def _loop(self, call: ChatCall, grant: Grant, target: TargetRecord, meter: Meter) -> ToolLoop:
        fees_nusd = most_fees_nusd(call.payload.tools)
        hold = RoundHold(self._grow_hold, grant, target.price, fees_nusd=fees_nusd)

        def ask(call: ChatCall, grant: Grant) -> Exchange:
            return self.ask(call, grant, target)

        return ToolLoop(ask, call, grant, hold=hold, meter=meter, run_s=self._tool_s)

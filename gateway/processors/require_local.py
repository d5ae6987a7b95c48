"""require_local: only providers on premises serve the call."""

from __future__ import annotations

from msgspec.structs import replace

from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall
from gateway.core.processing import ProcessorReport
from gateway.core.processor_errors import ProcessorRejected
from gateway.processors.base import Options, Processed, Processor, ProcessorContext


class RequireLocal(Processor):
    """Reads nothing of the request. What it demands is kept by gateway.routing.plan, for every
    target and every model to fall back to."""

    name = "require_local"
    scope = "completions"
    description = "Sends the call only to providers marked as on-premises."
    refuses_tools = True

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        """Raises ProcessorRejected."""
        demanding = self.require(call, is_model_local=context.is_model_local)
        if call.payload.server_tools:
            # They ask services elsewhere, and show them what the model wrote.
            raise ProcessorRejected.of(
                self.name,
                "Plugins cannot be used with require_local.",
                reason="server_tools",
                param="plugins",
            )
        return Processed(demanding, None, ProcessorReport("passed", {"upstream": "on_prem"}))

    def require(self, call: AnyCall, *, is_model_local: bool) -> AnyCall:
        if not is_model_local:
            raise ProcessorRejected.of(
                self.name,
                f"No provider of {call.facts.model} is marked as on-premises, which require_local"
                " needs.",
                reason="no_local_provider",
                param="model",
            )
        return replace(call, facts=replace(call.facts, needs_local=True))

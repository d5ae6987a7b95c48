"""What a call says, as its model is to get it: its files loaded, its prompt assembled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from copy import copy

from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.completions import CompletionsRequest
from gateway.core.errors import (
    GatewayError,
    NoUpstreamAvailable,
    PdfNotSupported,
    UnsupportedParameter,
)
from gateway.core.processor_rules import NO_RULES
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.egress.egress import Egress, requester_of
from gateway.endpoints.base import AnyEndpoint
from gateway.endpoints.chat_completions import attach
from gateway.endpoints.chat_completions.reread import reread
from gateway.endpoints.chat_completions.system_prompt import SystemPrompts
from gateway.endpoints.completions.read import read_as_chat
from gateway.files.attachment_loader import AttachmentLoader, StoresFiles, unless_gone
from gateway.files.pdf import PdfReader
from gateway.processors.base import ProcessorContext
from gateway.processors.engine_pool import BoundEngines, EnginePool
from gateway.processors.required import require_processors
from gateway.processors.run import (
    Wanted,
    place_stream,
    read_language,
    run_processors,
    wanted_processors,
)
from gateway.processors.services import ServiceClient
from gateway.processors.texts import LONG_BYTES
from gateway.prompts.renderer import Renderer
from gateway.providers.parameters import check_parameters
from gateway.snapshot.caller import Caller
from gateway.snapshot.types import ModelRecord

HoldMinimum = Callable[
    [Caller, AnyCall, AnyEndpoint, ModelRecord], AbstractAsyncContextManager[None]
]


class PromptPrep:
    """For all calls of a process.

    hold_minimum: keeps money set aside while files are loaded, for a caller who could pay.
    egress: fetches what calls name. stored_files: what else they name. page_nusd: what a page of a
    PDF costs that becomes a picture. services: asks those of workspaces.
    """

    def __init__(
        self,
        hold_minimum: HoldMinimum,
        egress: Egress,
        stored_files: StoresFiles,
        page_nusd: int,
        services: ServiceClient | None = None,
    ) -> None:
        self.egress = egress
        self._hold_minimum = hold_minimum
        self._page_nusd = page_nusd
        self._renderer = Renderer()
        self._prompts = SystemPrompts(self._renderer)
        self.pdf_reader = PdfReader()
        self.engines = EnginePool(services)
        self.stored_files = stored_files
        self._loader = AttachmentLoader(egress, stored_files, self.pdf_reader, attach)

    def engines_for(self, workspace_id: str) -> BoundEngines:
        """Return what a workspace's texts are processed with."""
        return self.engines.bind(workspace_id)

    async def prepare(self, templates: Iterable[str]) -> None:
        """Compile the prompts that are programs, and forget all others."""
        await self._renderer.prepare(templates)

    async def aclose(self) -> None:
        await self._renderer.aclose()
        await self.egress.aclose()
        await self.pdf_reader.aclose()
        await self.engines.aclose()

    def rehearsal(self, hold_minimum: HoldMinimum) -> PromptPrep:
        """Return the same with another way to hold (gateway.explain)."""
        twin = copy(self)
        twin._hold_minimum = hold_minimum
        return twin

    async def load_files(
        self,
        caller: Caller,
        call: AnyCall,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        hang_up: Callable[[], Awaitable[None]],
    ) -> AnyCall:
        """Return the call with its files as the model gets them, for a caller who could pay.

        Addresses that stay in the call are judged where a provider of ours would ask there.
        """
        requester = requester_of(caller.key)
        if call.payload.media_urls:
            has_others = call.facts.fallback_names is not None or bool(model.fallbacks)
            work = self.egress.check_media(
                call.payload.media_urls, model.targets, requester, may_go_elsewhere=has_others
            )
            await unless_gone(hang_up, work)
        wanted = self._loader.wanted(call, model)
        if not wanted:
            return call
        async with self._hold_minimum(caller, call, endpoint, model):
            loading = self._loader.load(call, model, wanted, requester)
            loaded: AnyCall = await unless_gone(hang_up, loading)
        if not loaded.payload.pdf_pages:
            return loaded
        return loaded.with_payload(pdf_page_nusd=self._page_nusd)

    async def process(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        hang_up: Callable[[], Awaitable[None]],
    ) -> AnyCall:
        """Return the call as its processors leave it, for a caller who could pay. Those that are
        mandatory for the key are among them."""
        rules = caller.key.processors or NO_RULES
        call = require_processors(call, rules, is_model_local=model.has_local)
        if not call.payload.processors:
            return call
        language = read_language(call, rules)
        wanted = wanted_processors(call, caller.key.scopes, language, rules)
        owner = caller.key.workspace_id
        context = ProcessorContext(
            language=language,
            model=model.name,
            is_model_local=model.has_local,
            workspace_id=owner,
            engines=self.engines.bind(owner),
            services=rules.services,
        )
        async with self._hold_minimum(caller, call, endpoint, model):
            work = self._run(call, wanted, context)
            processed: AnyCall = await unless_gone(hang_up, work)
        return place_stream(processed, head, profile)

    async def _run(self, call: ChatCall, wanted: Wanted, context: ProcessorContext) -> ChatCall:
        processed = await run_processors(call, wanted, context)
        if processed.payload.fields is call.payload.fields:
            return processed
        if len(processed.payload.fields["messages"]) < LONG_BYTES:
            return reread(processed)
        return await asyncio.to_thread(reread, processed)

    def check_other(self, call: AnyCall, model: ModelRecord) -> tuple[str, ...]:
        """Return the parameters that a model to fall back to would not get.

        Raises as check_parameters does, and PdfNotSupported for a model that would have to be
        given the call's PDFs in another way than the model before it, and NoUpstreamAvailable for
        one without the providers that the call needs.
        """
        if call.facts.needs_local and not model.has_local:
            raise NoUpstreamAvailable
        if call.payload.files and self._loader.wanted(call, model):
            raise PdfNotSupported
        dropped = check_parameters(call, model)
        if call.payload.tools and "tools" in dropped:
            raise UnsupportedParameter(f"{model.name} does not support tools.", param="plugins")
        return dropped

    async def assemble(
        self, call: AnyCall, model: ModelRecord, caller: Caller, head: RequestHead
    ) -> AnyCall:
        """Return the call with the system prompt that the model gives it."""
        if isinstance(call.payload, CompletionsRequest):
            call = read_as_chat(call)
        if not isinstance(call.payload, ChatRequest):
            return call
        if call.payload.native is not None:
            # As it was checked (gateway.providers.native), whether or not anything is rendered.
            call = call.with_payload(native=None)
        name = caller.key.workspace_name
        prompts, request_id = self._prompts, head.request_id
        try:
            return await prompts.assemble(call, model, org_name=name, request_id=request_id)
        except GatewayError as error:
            error.step = "prompt"
            raise

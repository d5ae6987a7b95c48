"""Everything one server process is made of, built once and handed to each other here.

Nothing below knows where its parts come from; nothing above knows how they are made.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from django.conf import settings
from msgspec.structs import replace

from gateway.accounting.settle import needs_estimate, settle
from gateway.admission.admit import Admission
from gateway.admission.counter_protocols import QueueLimits
from gateway.admission.fallback import Fallbacks
from gateway.admission.hold_growth import HoldGrowth
from gateway.admission.keyring import Keyring
from gateway.admission.limits import Limits
from gateway.admission.load_shedding import LoadShedder
from gateway.admission.profile import choose_profile
from gateway.call_steps.own_count import count_call
from gateway.call_steps.prepare import Preparation
from gateway.call_steps.prompt_prep import PromptPrep
from gateway.core.batch_pass import derive_secret
from gateway.core.call import AnyCall
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import GatewayError, ServerStopping, UpstreamError
from gateway.core.grant import Grant
from gateway.core.profiles import BY_NAME, UNIFIED, Profile
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.endpoints.registry import make_endpoints, make_token_counters
from gateway.explain.explainer import Explainer
from gateway.explain.explainer import Parts as ExplainerParts
from gateway.http.long_bodies import LongBodies
from gateway.journal.log import CallLog
from gateway.metrics.call_totals import CallTotals
from gateway.outbound.permitted_addresses import read_networks
from gateway.providers.credentials.making import TokenMaker
from gateway.providers.credentials.pools import CredentialPools
from gateway.providers.parameters import check_parameters
from gateway.providers.transports.lookup import open_transports
from gateway.routing.plan import Plan
from gateway.runtime.apply_changes import ChangeApplier
from gateway.runtime.counter_backends import CounterParts, make_counters
from gateway.runtime.egress_limits import open_egress
from gateway.runtime.recall import Recall
from gateway.runtime.request_rules import request_rules
from gateway.runtime.snapshot_loader import SnapshotLoader
from gateway.runtime.stored_files import StoredFiles
from gateway.runtime.tool_wiring import make_tool_prep, make_workspace_tools
from gateway.services.outbound_clients import open_proxied_client
from gateway.services.processor_services import open_service_client
from gateway.snapshot.caller import Caller
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import KeyRecord
from gateway.stages import Stages
from gateway.stores.budgets import Budgets
from gateway.stores.credential_states import keep_credential_state
from gateway.stores.feed import ChangeFeed, Changes, newest_change
from gateway.stores.free_space import FreeSpace
from gateway.stores.idempotency import Claim, IdempotencyStore
from gateway.stores.key_records import load_key_records, load_recent_key_records
from gateway.stores.ledger_spending import LedgerSpending
from gateway.stores.process import Company, is_database_shared
from gateway.stores.process_stores import ProcessStores
from gateway.stores.queries import Batches, QueryThreads
from gateway.stores.request_ids import RequestIds
from gateway.stores.writer import Writer
from gateway.streaming.call_supervisor import CallSupervisor
from gateway.streaming.meter import Meter
from gateway.streaming.timeouts import StreamTimeouts
from gateway.telemetry.setup import make_exporter

logger = logging.getLogger(__name__)

# Keys that are in memory from the start, those used last: about 1 MB and 0.1 s.
WARM_KEYS = 1_000


class Runtime:
    """One server process's parts. start() before the first call, stop() after the last."""

    def __init__(self) -> None:
        timeouts = StreamTimeouts(**settings.STREAM_TIMEOUTS)
        self.snapshot = SnapshotHolder()
        self.supervisor = CallSupervisor(timeouts)
        space = FreeSpace(settings.HOME, settings.MIN_FREE_MB, settings.MIN_FREE_PERCENT)
        writer = self.writer = Writer(settings.HOME / "journal", space, company=company())
        self.stores = ProcessStores(writer)
        self.ledger_spending = LedgerSpending(writer)
        self.budgets = Budgets(writer)
        self.limits = self._make_limits()
        self.stores.on_ledger_replaced = self.limits.spending.invalidate
        keys: Batches[str, KeyRecord | None]
        keys = Batches(QueryThreads("key-queries", 1).run, load_key_records)
        self.keyring = Keyring(keys.ask)
        # None: nobody reads metrics, there is no collector.
        self.totals = CallTotals(self.stores.records) if settings.COUNTS_CALLS else None
        self.telemetry = make_exporter(self.totals or self.stores.records)
        self.log = CallLog(self.telemetry or self.totals or self.stores.records)
        self.refused: Counter[str] = Counter()  # requests that did not become a call, by error code
        self.feed: ChangeFeed | None = None
        self.transports = open_transports(
            connect_s=timeouts.connect_s,
            takes_link_local=settings.LINK_LOCAL_PROVIDERS,
            retries=settings.RETRIES,
        )
        self.idempotency = IdempotencyStore(
            QueryThreads("idempotency", 1).run, partial(run_in_writer, writer), writer.mark
        )
        self.shedder = LoadShedder(settings.SHED_LAG_S)
        self.admission = self._make_admission()
        egress = open_egress(self.limits.counters)
        self.stored_files = StoredFiles()
        brought = (egress, self.stored_files, settings.PDF_PAGE_NUSD, open_service_client())
        self.prompt_prep = PromptPrep(self.admission.hold_minimum, *brought)
        self.workspace_tools = make_workspace_tools()
        self.credentials = CredentialPools(
            TokenMaker(open_proxied_client, self.note_credential).make, self.note_credential
        )
        self._loader = SnapshotLoader(
            read, self.snapshot, self.transports, self.credentials, self.prompt_prep
        )
        self._changes = ChangeApplier(
            keyring=self.keyring,
            limits=self.limits,
            supervisor=self.supervisor,
            credits=self.stores.credits,
            read=read,
            load_snapshot=self._loader.load,
            recall_budget=self.budgets.recall,
            forget_tools=self.workspace_tools.invalidate,
        )
        self.endpoints = make_endpoints(request_rules())
        self.token_counters = make_token_counters(request_rules())
        self.stages = self._make_stages()
        self.explainer = make_explainer(self)
        self._default_profile = BY_NAME[settings.DEFAULT_PROFILE]
        self._unified = replace(UNIFIED, usage_mode=settings.STREAM_USAGE_MODE)
        self._starting: asyncio.Future[None] | None = None
        self.is_ready = False

    def _make_admission(self) -> Admission:
        return Admission(
            keyring=self.keyring,
            snapshot=self.snapshot,
            credits=self.stores.credits,
            limits=self.limits,
            check=check_parameters,
            write_down=self.log.admitted,
            take_id=RequestIds(read).take,
            shedder=self.shedder,
            trusted_proxies=read_networks(settings.TRUSTED_PROXIES),
            country_header=settings.COUNTRY_HEADER,
            wrong_keys=settings.WRONG_KEYS,
            are_traced=self.telemetry is not None,
            pass_secret=derive_secret(settings.SECRET_KEY),
        )

    def _make_limits(self) -> Limits:
        parts = CounterParts(
            self.ledger_spending.read, self.budgets, lambda: self.stores.process_id
        )
        queue = QueueLimits(settings.QUEUE_TIMEOUT_S, settings.MAX_QUEUE)
        return Limits(make_counters(settings.COUNTERS, parts), queue)

    def _make_stages(self) -> Stages:
        prep = self.prompt_prep
        fallbacks = Fallbacks(self.snapshot, prep.check_other, prep.assemble)
        preparation = Preparation(
            self.transports,
            self.credentials,
            HoldGrowth(self.stores.credits).grow,
            tool_s=settings.TOOL_TIMEOUT_S,
        )
        return Stages(
            choose_profile=self.choose_profile,
            identify=self.admission.identify,
            screen=self.admission.screen_call,
            read_in_thread=LongBodies().read,
            recall=Recall(read).recall,
            choose_model=self.admission.choose_model,
            count_request=self.admission.count_request,
            choose_tools=make_tool_prep(
                self.workspace_tools, prep, preparation, self.snapshot
            ).choose_tools,
            process=prep.process,
            claim=self.claim,
            load_files=prep.load_files,
            find_fallbacks=fallbacks.find,
            assemble=prep.assemble,
            admit=self.admission.admit,
            refuse=self.refuse,
            route=Plan(self.credentials.choose).plan,
            prepare=preparation.prepare,
            needs_count=needs_estimate,
            count=count_call,
            settle=settle,
            log=self.close,
            supervisor=self.supervisor,
        )

    async def ready(self) -> Stages:
        """Return the stages, starting the process on first use: not every server says when."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        if not self._starting.done():
            await asyncio.shield(self._starting)
        self._starting.result()
        self.is_ready = True
        return self.stages

    async def _start(self) -> None:
        spare_the_collector()
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.stores.start, loop)
        if self.telemetry is not None:
            await asyncio.to_thread(self.telemetry.start)
        self.shedder.start(loop)

        # The feed's place is taken before the catalogue and keys are read: a change in between is
        # seen.
        def hand_over(changes: Changes) -> None:
            loop.call_soon_threadsafe(self._changes.apply, changes)

        self.feed = ChangeFeed(hand_over, after=await read(newest_change))
        await self._loader.load()
        self.keyring.fill(await read(load_recent_key_records, WARM_KEYS))
        await self.limits.counters.start()
        self.feed.start()

    async def stop(self) -> None:
        """Settle everything and close every connection. Calls still live are cut off."""
        if self._starting is None:
            return
        await asyncio.wait([self._starting])
        self.shedder.stop()
        self.limits.close()
        await self.supervisor.empty(ServerStopping())
        if self.feed is not None:
            await asyncio.to_thread(self.feed.stop)
        self.log.refusals.flush()
        await self.stores.stop()
        self.budgets.close()
        await self.limits.counters.aclose()
        self.credentials.close()
        await self.transports.aclose()
        await self.prompt_prep.aclose()
        if self.telemetry is not None:
            await asyncio.to_thread(self.telemetry.stop)

    @property
    def configuration_age_s(self) -> float | None:
        """How old this process's knowledge of keys, models and limits is at most; None before it
        has any."""
        return self.feed.age_s if self.is_ready and self.feed is not None else None

    def choose_profile(self, head: RequestHead, caller: Caller | None) -> Profile:
        key = None if caller is None else caller.key
        chosen = choose_profile(head, key, self._default_profile)
        return self._unified if chosen is UNIFIED else chosen

    async def claim(self, caller: Caller, call: AnyCall, head: RequestHead) -> Claim:
        """Return the claim on the call's idempotency key."""
        return await self.idempotency.claim(
            workspace_id=caller.key.workspace_id,
            key=call.facts.idempotency_key,
            fingerprint=sha256(call.facts.body).hexdigest(),
            call_id=head.request_id,
            process_id=self.stores.process_id,
        )

    def note_credential(self, credential_id: str, rest_s: float, code: str, message: str) -> None:
        """Show operators that a credential begins or ceases to fail."""
        self.writer.run(keep_credential_state, credential_id, rest_s, code, message)

    def refuse(
        self,
        caller: Caller,
        head: RequestHead,
        error: GatewayError,
        *,
        endpoint: AnyEndpoint,
        model: str,
        total_us: int,
    ) -> None:
        """Log a call of a known key that was not let in."""
        identity = CallIdentity(
            call_id=head.request_id,
            workspace_id=caller.key.workspace_id,
            key_id=caller.key.key_id,
            at=time.time(),
            requested_model=model,
            endpoint=endpoint.name,
            client_request_id=head.client_id(),
            ip=caller.ip,
            traceparent="" if self.telemetry is None else head.traceparent(),
        )
        self.log.refused(identity, error=error, total_us=total_us)

    def close(
        self,
        grant: Grant,
        meter: Meter,
        receipt: Receipt,
        error: BaseException | None,
        call: AnyCall,
        said: str,
        kept: bytes,
    ) -> None:
        """Release the hold and log the call's end, nothing awaited in between."""
        paid_nusd = 0
        for more_nusd in grant.more_holds or ():
            self.stores.credits.release(grant.identity.workspace_id, more_nusd, 0)
        if grant.hold_nusd:
            paid_nusd = self.stores.credits.release(
                grant.identity.workspace_id, grant.hold_nusd, receipt.charge_nusd
            )
        known = error if error is None or isinstance(error, GatewayError) else GatewayError()
        if known is not None and isinstance(known, UpstreamError):
            call_id = {"call_id": grant.identity.call_id}
            logger.info(
                "Call %s: %s: %s", grant.identity.call_id, known.code, known.detail, extra=call_id
            )
            if known.quote:
                logger.debug(
                    "Call %s: the provider said: %s",
                    grant.identity.call_id,
                    known.quote,
                    extra=call_id,
                )
        self.log.settled(
            grant,
            meter,
            receipt,
            paid_nusd=paid_nusd,
            error=known,
            request_body=call.facts.body.decode(errors="replace") if grant.stores_bodies else "",
            response_body=said,
            kept=kept,
            dropped_params=call.payload.places_of(grant.dropped_params)
            if grant.dropped_params
            else (),
        )
        if grant.lease is not None or self.limits.spending.is_counting:
            self.limits.charged(grant, receipt, self.ledger_spending.recorded)


def company() -> Company:
    """Return what other processes are to this one. The home's lock keeps a database in the home to
    one process."""
    return Company(counts_alone=settings.COUNTERS == "memory", is_possible=is_database_shared())


def spare_the_collector() -> None:
    """Let the garbage collector leave alone what lives as long as the process, and look less
    often for cycles: calls make none, and its passes cost a tenth of the throughput."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


read = QueryThreads("queries", 4).run


async def run_in_writer(writer: Writer, query: Callable[..., Any], *arguments: object) -> Any:
    """Run a query that writes in the thread of the process's writer."""
    return await asyncio.wrap_future(writer.run(query, *arguments))


def make_explainer(runtime: Runtime) -> Explainer:
    return Explainer(
        ExplainerParts(
            stages=runtime.stages,
            admission=runtime.admission,
            prompt_prep=runtime.prompt_prep,
            credits=runtime.stores.credits,
            limits=runtime.limits,
        )
    )

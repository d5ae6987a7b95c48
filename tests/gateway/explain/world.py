"""A gateway without sockets to make generated calls to: its admission, limits and credits are those
of the product."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from gateway.admission.admit import Admission
from gateway.admission.counter_protocols import QueueLimits
from gateway.admission.fallback import Fallbacks
from gateway.admission.keyring import Keyring
from gateway.admission.lease import Lease
from gateway.admission.limit_rules import Amounts
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limits
from gateway.admission.load_shedding import LoadShedder
from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.memory_spending import MemorySpendings
from gateway.call_steps.prompt_prep import PromptPrep
from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.core.profiles import UNIFIED
from gateway.endpoints.chat_completions.endpoint import ChatCompletions
from gateway.endpoints.rules import Rules
from gateway.explain.explainer import Explainer, Parts
from gateway.providers.parameters import check_parameters
from gateway.runtime.egress_limits import open_egress
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import (
    KeyLimits,
    KeyRecord,
)
from gateway.stages import Stages
from gateway.stores.credit_reserver import CreditReserver
from gateway.stores.redis_counters import RedisCounters
from gateway.stores.wallet_client import Answer, Draw, GiveBack
from gateway.stores.writer_inbox import WriterInbox
from tests.gateway.explain.case import (
    MUCH,
    NO_LIMITS,
    Case,
    balance_of,
    concurrency_rule,
    make_key,
    make_snapshot,
    period_rule,
    rules_by_level,
)

ENDPOINT = ChatCompletions(Rules())
TRUSTED = (ip_network("127.0.0.0/8"),)
USUAL = Amounts(1, 100, 100, 400_000)


class Bank(WriterInbox):
    """Has money for one workspace, and answers in the next turn of the loop."""

    def __init__(self, balance_nusd: int) -> None:
        super().__init__()
        self.wallet_nusd = balance_nusd
        self.credits = CreditReserver(self)

    def put(self, request: Draw | GiveBack) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(request, GiveBack):
            self.wallet_nusd += request.amount_nusd
            return
        gained_nusd = min(request.need_nusd + request.extra_nusd, self.wallet_nusd)
        if gained_nusd < request.least_nusd:
            gained_nusd = 0
        self.wallet_nusd -= gained_nusd
        has_more = self.wallet_nusd > 0 and gained_nusd > 0
        answer = Answer(request, gained_nusd, has_more=has_more, elsewhere_nusd=0)
        loop.call_soon(self.credits.on_drawn, answer)


class World:
    """What a case's call is made to."""

    def __init__(self, case: Case, counters: MemoryCounters | RedisCounters) -> None:
        self.case = case
        self.counters = counters
        self.key = make_key(case)
        snapshot = SnapshotHolder(make_snapshot(case))
        self.bank = Bank(balance_of(case))
        self.limits = Limits(counters, QueueLimits(max_queue=10 if case.may_queue else 0))
        self.refused = 0
        self.admission = Admission(
            keyring=Keyring(self._load),
            snapshot=snapshot,
            credits=self.bank.credits,
            limits=self.limits,
            check=check_parameters,
            write_down=self._write_down,
            take_id=self._take_id,
            shedder=LoadShedder(0),
            trusted_proxies=TRUSTED,
            country_header="x-country",
        )
        self.written: list[Grant] = []
        no_files: Any = None
        prep = PromptPrep(self.admission.hold_minimum, open_egress(counters), no_files, 0)
        fallbacks = Fallbacks(snapshot, prep.check_other, prep.assemble)
        unused: Any = None
        self.stages = Stages(
            choose_profile=lambda head, caller: UNIFIED,
            identify=self.admission.identify,
            screen=self.admission.screen_call,
            read_in_thread=unused,
            recall=unused,
            count_request=self.admission.count_request,
            choose_model=self.admission.choose_model,
            choose_tools=unused,
            process=prep.process,
            claim=unused,
            load_files=prep.load_files,
            find_fallbacks=fallbacks.find,
            assemble=prep.assemble,
            admit=self.admission.admit,
            refuse=self._refuse,
            route=unused,
            prepare=unused,
            needs_count=unused,
            count=unused,
            settle=unused,
            log=unused,
            supervisor=unused,
        )
        self.explainer = Explainer(
            Parts(
                stages=self.stages,
                admission=self.admission,
                prompt_prep=prep,
                credits=self.bank.credits,
                limits=self.limits,
            )
        )

    async def prepare(self) -> list[Lease]:
        """Use up what the case says; return what runs meanwhile."""
        self.bank.credits.start(asyncio.get_running_loop())
        case, running = self.case, []
        for number in range(case.calls_before):
            with suppress(GatewayError):
                lease = await self._make_call(KeyLimits(*NO_LIMITS, rules_by_level(case.rules)))
                if number % 2:
                    lease.end()
                else:
                    running.append(lease)
        of_key, of_workspace, *_ = self.key.limits or KeyLimits(*NO_LIMITS)
        is_setting = case.level == "setting"
        if "concurrency" in case.planted:
            own = () if is_setting else (concurrency_rule(case),)
            slots = of_key._replace(per_minute=None), of_workspace._replace(per_minute=None)
            running.append(await self._make_call(KeyLimits(*slots, None, own)))
        if "limits" in case.planted:
            own = () if is_setting else (period_rule(case),)
            rates = of_key._replace(at_once=None), of_workspace._replace(at_once=None)
            (await self._make_call(KeyLimits(*rates, None, own), used_up(case.metric))).end()
        return running

    async def _make_call(self, limits: KeyLimits, amounts: Amounts = USUAL) -> Lease:
        key = replace(self.key, limits=limits)
        return await self.limits.acquire(LimitedCall(key, "m", amounts), hangs_up)

    def taken(self) -> tuple[int, ...]:
        """Return all that a call could have taken: money, the key's budget, a line in the journal
        or in the list of refusals, and of the limits as they are counted in memory."""
        budgets = self.limits.spending
        assert isinstance(budgets, MemorySpendings)
        taken = (
            self.bank.credits.held_nusd("w"),
            sum([one.held_nusd for one in budgets._by_owner.values()]),
            len(self.written),
            self.refused,
        )
        return taken if self.counters.levels is not None else (*taken, *self._counted())

    def _counted(self) -> tuple[int, ...]:
        now_ns, now_us = time.monotonic_ns(), self.counters.now_us()
        settings, rules = self.limits._states.values(), self.limits._rules._states.values()
        slots = [one.concurrency for one in settings if one.concurrency is not None]
        slots += [one.concurrency for one in rules if one.concurrency is not None]
        return (
            sum([one.rate.burst - one.rate.remaining(now_ns) for one in settings if one.rate]),
            sum([one.counter.used(now_us) for one in rules if one.counter]),
            sum([one.in_use for one in slots]),
            sum([one.waiting for one in slots]),
        )

    async def _load(self, digest: str) -> KeyRecord | None:
        return None if "key" in self.case.planted else self.key

    async def _take_id(self, workspace_id: str, wanted: str) -> bool:
        return True

    def _write_down(self, grant: Grant) -> None:
        self.written.append(grant)

    def _refuse(self, *said: object, **more: object) -> None:
        self.refused += 1


def used_up(metric: str) -> Amounts:
    """Return what uses up a limit of MUCH."""
    return Amounts(
        MUCH if metric == "requests" else 1,
        MUCH if metric in ("tokens", "prompt_tokens") else 0,
        MUCH if metric == "completion_tokens" else 0,
        MUCH if metric == "cost_micro_usd" else 0,
    )


async def hangs_up() -> None:
    """A caller that does not wait in a queue."""

"""Rehearses the admission of a call and says what each check came to.

What runs is the pipeline's own `admit` with the stages of the process, so the outcome is that of a
call at this moment. Exchanged are those parts that would take something or reach outside: credits
and limits are asked and not taken, nothing is journalled or recorded, no idempotency key is
claimed, and files are not fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from gateway import pipeline
from gateway.admission.admit import Admission
from gateway.admission.limits import Limits
from gateway.admission.spending import micro_usd
from gateway.call_steps.prompt_prep import PromptPrep
from gateway.core.admission_steps import SERVER, STEPS, numbers_of, step_of, step_result
from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError, InvalidKey
from gateway.core.grant import Grant
from gateway.core.profiles import UNIFIED, Profile
from gateway.core.rate_limit_status import Rates
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.explain.standings import (
    Standing,
    budget_standings,
    cap_standings,
    standing_of,
    standings,
)
from gateway.explain.taking_nothing import AskedCredits, AskedLimits, Credits
from gateway.snapshot.caller import Caller
from gateway.snapshot.types import KeyRecord, ModelRecord
from gateway.stages import HangUp, KeptAnswer, Stages

FILES_LEFT_OUT = "Files and URLs in the body are not fetched."
NO_PROVIDER = "No provider serves the model now, so the call would fail after its admission."


Result = Literal["passed", "waits", "refused", "skipped", "not_reached"]


class StepTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What one check came to. limits: the numbers of each limit that it looked at, in their order
    (gateway.admission.limiter_state)."""

    step: str
    result: Result
    limits: Sequence[Standing] = ()


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a call. error: why it would be refused, None when it would not.

    model: the one that its name means, empty when that was not found out. hold_nusd: what would be
    set aside. limit_tokens: the output that this covers, over all answers.
    """

    steps: Sequence[StepTrace]
    error: GatewayError | None
    # The step that refuses; empty without an error.
    refusing: str = ""
    model: str
    hold_nusd: int = 0
    limit_tokens: int = 0
    notes: Sequence[str] = ()


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Of the process, whose calls are explained."""

    stages: Stages
    admission: Admission
    prompt_prep: PromptPrep
    credits: Credits
    limits: Limits


class Explainer:
    """For one process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def explain(
        self, key: KeyRecord | None, head: RequestHead, endpoint: AnyEndpoint, body: bytes
    ) -> Explanation:
        """Return what would become of a call of this key; None: of one that nobody has.

        Raises what is no answer of admission's, such as PlatformError.
        """
        rehearsal = Rehearsal(self._parts, key)
        try:
            admitted = await pipeline.admit(rehearsal.stages, endpoint, head, Requested(body))
        except GatewayError as error:
            if step_of(error) == SERVER:
                raise
            return rehearsal.explanation(error, None)
        return rehearsal.explanation(None, None if admitted is None else admitted.grant)


class Requested:
    """The caller's side of a call that nobody makes."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.profile: Profile = UNIFIED
        self.rates: Rates | None = None

    async def read_body(self, owner: str) -> bytes:
        return self._body

    async def wait_for_hang_up(self) -> None:
        await asyncio.get_running_loop().create_future()

    async def replay(self, kept: KeptAnswer) -> None:
        """There is no claim, so no answer is kept."""


class NoClaim:
    """What a call has instead of a claim on its idempotency key."""

    kept: KeptAnswer | None = None

    def keep(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
        return b""

    async def drop(self) -> None:
        """There is nothing to give up."""


class Rehearsal:
    """Of one call: its stages, and what was learned from them."""

    def __init__(self, parts: Parts, key: KeyRecord | None) -> None:
        self._key = key
        self._limits = parts.limits
        self._credits = AskedCredits(parts.credits)
        self._asked_limits = AskedLimits(parts.limits)
        self._admission = parts.admission.rehearsal(self._credits, self._asked_limits)
        self._model: ModelRecord | None = None
        self._skipped: set[str] = set()
        prep = parts.prompt_prep.rehearsal(self._admission.hold_minimum)
        self.stages = replace(
            parts.stages,
            identify=self._identify,
            screen=self._admission.screen,
            choose_model=self._choose_model,
            process=prep.process,
            claim=self._claim,
            load_files=self._load_files,
            admit=self._admission.admit,
            refuse=refuse_nothing,
        )

    def explanation(self, error: GatewayError | None, grant: Grant | None) -> Explanation:
        model = self._model
        notes = [FILES_LEFT_OUT] if "files" in self._skipped else []
        if error is None and model is not None and not model.targets:
            notes.append(NO_PROVIDER)
        return Explanation(
            steps=self._steps(error),
            error=error,
            refusing="" if error is None else step_of(error),
            model="" if model is None else model.name,
            hold_nusd=0 if grant is None else grant.hold_nusd,
            limit_tokens=0 if grant is None else grant.limit_tokens,
            notes=notes,
        )

    def _steps(self, error: GatewayError | None) -> list[StepTrace]:
        limits = self._standings()
        found = []
        for step in STEPS:
            result = self._result_of(step, error)
            is_reached = result in ("passed", "waits", "refused")
            known = limits.get(step, ()) if is_reached else ()
            if (
                result == "refused"
                and error is not None
                and not any("result" in one for one in known)
            ):
                known = [numbers_of(error)]
            found.append(StepTrace(step=step, result=result, limits=known))
        return found

    def _result_of(self, step: str, error: GatewayError | None) -> Result:
        if error is not None:
            result = step_result(step, step_of(error), error.last_passed)
            if result != "passed":
                return result
        if step in self._skipped:
            return "skipped"
        outlook = self._asked_limits.outlook
        if step == "concurrency" and outlook is not None and outlook.waits:
            return "waits"
        return "passed"

    def _standings(self) -> dict[str, list[Standing]]:
        key, call, outlook = self._key, self._asked_limits.call, self._asked_limits.outlook
        want_nusd = self._credits.wanted_nusd or 0
        found: dict[str, list[Standing]] = {} if outlook is None else standings(outlook)
        if call is not None:
            found["caps"] = cap_standings(call)
        if outlook is not None and key is not None and key.limits and key.limits.of_spending:
            spending, budgets = self._limits.spending, key.limits.of_spending
            held_nusd = self._credits.granted_nusd or 0
            found["budget"] = list(budget_standings(budgets, spending, held_nusd))
        if self._credits.wanted_nusd is not None:
            found["money"] = [standing_of("cost_micro_usd", requested=micro_usd(want_nusd))]
        if self._model is not None and self._model.context_tokens is not None:
            found["context"] = [standing_of("context_tokens", self._model.context_tokens)]
        return found

    # The stages that differ

    async def _identify(self, head: RequestHead) -> Caller:
        if self._key is None:
            raise InvalidKey("The API key is not valid.")
        return self._admission.caller_of(self._key, head)

    def _choose_model(
        self, caller: Caller, call: AnyCall, profile: Profile
    ) -> tuple[ModelRecord, tuple[str, ...]]:
        model, dropped = self._admission.choose_model(caller, call, profile)
        self._model = model
        return model, dropped

    async def _claim(self, caller: Caller, call: AnyCall, head: RequestHead) -> NoClaim:
        self._skipped.add("idempotency")
        return NoClaim()

    async def _load_files(
        self,
        caller: Caller,
        call: AnyCall,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        hang_up: HangUp,
    ) -> AnyCall:
        self._skipped.add("files")
        return call


def refuse_nothing(
    caller: Caller,
    head: RequestHead,
    error: GatewayError,
    *,
    endpoint: AnyEndpoint,
    model: str,
    total_us: int,
) -> None:
    """No call is refused, so none is recorded."""

"""The order of the checks, cheapest first; the last one sets money aside.

identify and screen need only the head of the request, so a refused caller's body is never
read; admit needs the call. Nothing that costs money happens before admit returns.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from datetime import UTC, datetime
from hmac import compare_digest
from secrets import token_bytes

from msgspec.structs import replace

from gateway.admission.address import Network, canonical_text, client_subnet, find_caller
from gateway.admission.auth_throttle import AuthThrottle
from gateway.admission.bearer import digest_of, has_no_credential, read_secret
from gateway.admission.call_reserver import CallReserver, Money
from gateway.admission.caller_rules import CallerScreen
from gateway.admission.counter_protocols import HangUp
from gateway.admission.fallback import CalledEndpoint, Check, fallback_models_within
from gateway.admission.ip_rules import may_call_from
from gateway.admission.keyring import Keyring
from gateway.admission.limit_rules import REQUEST
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limiter
from gateway.admission.load_shedding import LoadShedder
from gateway.admission.resolve_model import resolve_model
from gateway.core.admission_steps import at_step, before_turn
from gateway.core.batch_pass import BatchPass, read_pass
from gateway.core.call import AnyCall
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import (
    GatewayError,
    InsufficientScope,
    InvalidKey,
    IpNotAllowed,
    KeyLossExceeded,
    ModelNotAllowed,
    WorkspaceLocked,
)
from gateway.core.grant import Grant, Lease
from gateway.core.profiles import Profile
from gateway.core.receipt import PDF, ToolUse
from gateway.core.request import RequestHead
from gateway.snapshot.caller import Caller
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import KeyRecord, ModelRecord

LOST = "The owner of the API key may no longer assign this scope. An owner or admin can."


class Admission:
    """May this caller do this, now?

    country_header: in which trusted proxies name the caller's country; empty: in none.
    check: names the parameters that cannot go to the model's providers; raises when they matter.
    write_down: journals a grant; raises when that cannot be done, and the call must not go on.
    take_id: True when an id that a workspace's caller wants for its call was never used there.
    wrong_keys: how many calls with a bad key one address may make in ten seconds. are_traced:
    calls have traces. pass_secret: passes of batches are signed with it (gateway.core.batch_pass).
    """

    def __init__(
        self,
        *,
        keyring: Keyring,
        snapshot: SnapshotHolder,
        credits: Money,
        limits: Limiter,
        check: Check,
        write_down: Callable[[Grant], None],
        take_id: Callable[[str, str], Awaitable[bool]],
        shedder: LoadShedder,
        trusted_proxies: Sequence[Network] = (),
        country_header: str = "",
        wrong_keys: int = 50,
        are_traced: bool = False,
        pass_secret: bytes = b"",
    ) -> None:
        self._keyring = keyring
        self._snapshot = snapshot
        self._limits = limits
        self._reserver = CallReserver(credits, limits, snapshot)
        self._check = check
        self._write_down = write_down
        self._take_id = take_id
        self._shedder = shedder
        self._trusted = tuple(trusted_proxies)
        self._caller_screen = CallerScreen(country_header, self._trusted)
        self._auth_throttle = AuthThrottle(wrong_keys)
        self._are_traced = are_traced
        self._pass_secret = pass_secret or token_bytes(32)

    async def identify(self, head: RequestHead) -> Caller:
        """Return who calls. Raises InvalidKey; a database that is away is never that.

        Raises RateLimited for a client that sends invalid keys too often. Sending no key does not
        count.
        """
        try:
            secret, batch = read_secret(head), None
            digest = digest_of(secret)
            key = self._keyring.peek(digest)
            if key is None:
                batch = read_pass(self._pass_secret, secret)
                digest = digest if batch is None else batch.digest
                key = await self._keyring.find(digest)
            if key is None or not compare_digest(key.digest, digest):
                raise InvalidKey("The API key is not valid.")
        except InvalidKey:
            if not has_no_credential(head):
                address = find_caller(head, self._trusted)
                self._auth_throttle.record_failure(
                    "" if address is None else client_subnet(address)
                )
            raise
        return self.caller_of(key, head, batch)

    def caller_of(
        self, key: KeyRecord, head: RequestHead, batch: BatchPass | None = None
    ) -> Caller:
        """Return who calls with this key. batch: what our worker shows for a line of a batch."""
        snapshot = self._snapshot.current
        rates = None
        if key.limits is not None or snapshot.rules or snapshot.model_rules:
            rates = self._limits.rates_of(key, snapshot.rules)
        if batch is not None:
            return Caller(key, batch.ip, rates, is_batch=True)
        if not self._trusted:
            return Caller(key, canonical_text(head.peer), rates)
        address = find_caller(head, self._trusted)
        return Caller(key, "" if address is None else str(address), rates)

    def screen(self, caller: Caller, head: RequestHead, scope: str) -> None:
        """Check what the head alone decides: the key's life, its address rules, its scope."""
        key = caller.key
        if key.revoked:
            raise at_step(InvalidKey("The API key has been revoked."), "life")
        if key.expires_at is not None and key.expires_at <= time.time():
            raise at_step(InvalidKey("The API key has expired."), "life")
        if key.addresses is not None or key.callers is not None:
            self._check_rules(key, caller, head)
        if scope and scope not in key.scopes:
            lacks = f"The API key does not have the scope {scope}."
            why = LOST if scope in key.lost_scopes else lacks
            raise InsufficientScope(why, details={"required_scope": scope})

    def rehearsal(self, credits: Money, limits: Limiter) -> Admission:
        """Return an admission that makes the same checks and admits nothing, with credits and
        limits that take nothing (gateway.explain)."""
        twin = copy(self)
        twin._reserver = CallReserver(credits, limits, self._snapshot)
        twin._limits, twin._write_down = limits, _write_nothing
        return twin

    def _check_rules(self, key: KeyRecord, caller: Caller, head: RequestHead) -> None:
        """Raise IpNotAllowed, RequestBlocked. Of a batch, the request that created it was what
        country and client are known of, and was checked."""
        if key.addresses is not None and not may_call_from(key.addresses, caller.ip):
            raise IpNotAllowed
        if key.callers is not None and not caller.is_batch:
            self._caller_screen.check(key.callers, head)

    def screen_call(self, caller: Caller, head: RequestHead, scope: str) -> None:
        """Do the same for a call to a model, which is refused while there are too many."""
        if self._shedder.is_active:
            self._shedder.check(caller.key.key_id)
        self.screen(caller, head, scope)

    def choose_model(
        self, caller: Caller, call: AnyCall, profile: Profile
    ) -> tuple[ModelRecord, tuple[str, ...]]:
        """Return the model that the call is for, and the parameters that it will not get.

        Raises as resolve_model and `check` do, and InsufficientScope for members that the key may
        not send.
        """
        model = resolve_model(
            self._snapshot.current, caller.key, call.facts.model, hides=profile.hides_models
        )
        dropped = self._check(call, model)
        if not caller.key.may_use_chat_template and call.payload.has("chat_template"):
            refusal = InsufficientScope(
                "The API key may not send chat_template, which providers run as code.",
                param="chat_template",
                details={"required_permission": "allows_chat_template"},
            )
            raise at_step(refusal, "parameters")
        return model, dropped

    async def count_request(self, caller: Caller, model: ModelRecord, hang_up: HangUp) -> None:
        """Count a request about the model that does not call it in the limits on requests.

        Raises WorkspaceLocked, KeyLossExceeded, RateLimited, LimitExceeded, ConcurrencyLimited,
        DatabaseUnavailable, CallerLeft, ServerStopping.
        """
        key = caller.key
        check_key(key)
        rules = self._snapshot.current.rules_of(model.name)
        if key.limits is None and not rules:
            return
        call = LimitedCall(key, model.name, REQUEST, rules, caller.rates)
        lease = await self._limits.acquire(call, hang_up)
        lease.end()

    @asynccontextmanager
    async def hold_minimum(
        self, caller: Caller, call: AnyCall, endpoint: CalledEndpoint, model: ModelRecord
    ) -> AsyncIterator[None]:
        """Hold the least that a call can cost while its files are fetched.

        Raises WorkspaceLocked, KeyLossExceeded, InsufficientCredits, KeyLimitExceeded, RateLimited,
        DatabaseUnavailable: nothing is fetched then.
        """
        key = caller.key
        workspace_id = key.workspace_id
        try:
            check_key(key)
            bound = endpoint.cost_bound(call, model)
            bound = replace(bound, limit_tokens=min(bound.limit_tokens, 1))
            held_nusd = await self._reserver.check(key, model.name, bound)
        except GatewayError as error:
            before_turn(error, "parameters")
            raise
        try:
            yield
        finally:
            self._reserver.give_back(workspace_id, held_nusd, None)

    async def admit(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: CalledEndpoint,
        model: ModelRecord,
        dropped: tuple[str, ...],
        others: Sequence[Candidate],
        hang_up: HangUp,
    ) -> Grant:
        """Return the grant of one call, money set aside and journalled, its limits acquired.

        A balance below the most that the call can cost lowers the output limit to what it covers.
        The hold covers `others` (fallback models), too. hang_up returns when the caller hangs up.
        Raises AdmissionError, DatabaseUnavailable, StorageUnavailable, CallerLeft, ServerStopping.
        """
        key = caller.key
        check_key(key)
        adopted_id = head.wanted_id()
        if adopted_id and not await self._take_id(key.workspace_id, adopted_id):
            adopted_id = ""
        if model.context_tokens is not None:
            endpoint.check_context(call, model)
        bound = endpoint.cost_bound(call, model)
        taken = await self._reserver.take(caller, model.name, bound, others, hang_up)
        bound, others, lease = taken.bound, taken.others, taken.lease
        hold_nusd = taken.hold_nusd
        if self._keyring.peek(key.digest) is not key:
            others = await self._recheck_key(caller, head, model, others, hold_nusd, lease)
        cap, sent_cap = bound.cap(taken.affordable)
        grant = Grant(
            identity=make_identity(
                caller,
                call,
                head,
                endpoint=endpoint,
                profile=profile,
                adopted_id=adopted_id,
                traceparent=head.traceparent() if self._are_traced else "",
            ),
            model=model.name,
            price=bound.price,
            hold_nusd=hold_nusd,
            more_holds=[] if call.payload.tools else None,
            bound=bound,
            limit_tokens=cap * bound.n,
            cap_tokens=sent_cap,
            stores_bodies=key.stores_bodies,
            member=key.member,
            dropped_params=dropped,
            adopted_id=adopted_id,
            tools=_tools(call) if call.payload.pdf_pages else (),
            lease=lease,
            fallback_models=fallback_models_within(hold_nusd, others) if others else (),
        )
        self._journal(grant)
        return grant

    async def _recheck_key(
        self,
        caller: Caller,
        head: RequestHead,
        model: ModelRecord,
        others: Sequence[Candidate],
        hold_nusd: int,
        lease: Lease | None,
    ) -> Sequence[Candidate]:
        """Check a key of which something has changed while its call was being let in: it is on no
        list yet of those that a change ends. Return those of the fallback models that are left."""
        key = caller.key
        try:
            fresh = self._keyring.peek(key.digest) or await self._keyring.find(key.digest)
            if fresh is None or fresh.revoked:
                raise at_step(InvalidKey("The API key has been revoked."), "life")
            self._check_rules(fresh, caller, head)
            if not fresh.may_use(model.name):
                raise ModelNotAllowed(param="model")
            check_key(fresh)
        except BaseException:
            self._reserver.give_back(key.workspace_id, hold_nusd, lease)
            raise
        return [other for other in others if fresh.may_use(other.model.name)]

    def _journal(self, grant: Grant) -> None:
        """Write the admission down: from here on the call has a record, whatever is killed."""
        try:
            self._write_down(grant)
        except BaseException:
            self._reserver.give_back(grant.identity.workspace_id, grant.hold_nusd, grant.lease)
            raise


def _write_nothing(grant: Grant) -> None:
    """There is no call."""


def check_key(key: KeyRecord) -> None:
    """Raise WorkspaceLocked, and KeyLossExceeded while calls of the key are refused for what they
    have cost us."""
    if key.workspace_locked:
        raise WorkspaceLocked
    if key.refused_until and key.refused_until > time.time():
        until = datetime.fromtimestamp(key.refused_until, UTC)
        raise KeyLossExceeded(details={"level": "token", "resets_at": until.isoformat()})


def make_identity(
    caller: Caller,
    call: AnyCall,
    head: RequestHead,
    *,
    endpoint: CalledEndpoint,
    profile: Profile,
    adopted_id: str,
    traceparent: str,
) -> CallIdentity:
    """Return what is known of a call from its beginning."""
    key, facts = caller.key, call.facts
    return CallIdentity(
        call_id=head.request_id,
        workspace_id=key.workspace_id,
        key_id=key.key_id,
        at=time.time(),
        requested_model=facts.model,
        streamed=facts.stream,
        endpoint=endpoint.name,
        client_request_id=adopted_id or head.client_id(),
        user=facts.user,
        episode_id=facts.episode_id,
        ip=caller.ip,
        profile=profile.name,
        traceparent=traceparent,
    )


def _tools(call: AnyCall) -> tuple[ToolUse, ...]:
    """Return what was done for the call before it was let in."""
    payload = call.payload
    return (ToolUse(PDF, payload.pdf_pages, payload.pdf_page_nusd),)

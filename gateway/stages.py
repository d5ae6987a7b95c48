"""The stages of a call as types: what the pipeline is handed (gateway.wiring builds them).

Each takes what the ones before it returned and returns something new; none reaches back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError
from gateway.core.events import Answer
from gateway.core.grant import FallbackModel, Grant
from gateway.core.money import Usage
from gateway.core.profiles import Profile
from gateway.core.rate_limit_status import Rates
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.snapshot.caller import Caller
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.types import ModelRecord, TargetRecord
from gateway.streaming import relay
from gateway.streaming.call_supervisor import CallSupervisor
from gateway.streaming.live_call import SupervisedCaller
from gateway.streaming.meter import Meter

HangUp = Callable[[], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class KeptAnswer(Protocol):
    """The answer that a request under the same idempotency key had before."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    @property
    def body(self) -> bytes: ...


class Claim(Protocol):
    """The right to run the request of an idempotency key, or the answer that it had before
    (gateway.stores.idempotency)."""

    @property
    def kept(self) -> KeptAnswer | None: ...

    def keep(self, status: int, headers: Headers, body: bytes) -> bytes: ...

    async def drop(self) -> None: ...


class Requester(Protocol):
    """The caller's side of a call until it is admitted."""

    profile: Profile
    rates: Rates | None

    def read_body(self, owner: str) -> Awaitable[bytes]: ...

    async def wait_for_hang_up(self) -> None: ...

    async def replay(self, kept: KeptAnswer) -> None: ...


class Connection(Requester, relay.Caller, SupervisedCaller, Protocol):
    """The caller's side of a call (gateway.caller.connection)."""

    def has_head(self) -> bool: ...

    def begin(self, call: AnyCall, grant: Grant, claim: Claim | None) -> None: ...

    def fall_back(self, call: AnyCall, grant: Grant) -> None: ...

    def transcript(self, receipt: Receipt | None, answer: Answer | None) -> str: ...

    def whole(
        self, receipt: Receipt, answer: Answer | None, error: BaseException | None
    ) -> tuple[int, Headers, bytes]: ...


class ChooseProfile(Protocol):
    def __call__(self, head: RequestHead, caller: Caller | None) -> Profile: ...


class Identify(Protocol):
    async def __call__(self, head: RequestHead) -> Caller:
        """Return who calls. Raises InvalidKey, RateLimited."""


class Screen(Protocol):
    def __call__(self, caller: Caller, head: RequestHead, scope: str) -> None:
        """Check what the head alone decides. Raises AdmissionError, Overloaded."""


class ReadInThread(Protocol):
    async def __call__(
        self, endpoint: AnyEndpoint, body: bytes, head: RequestHead, profile: Profile
    ) -> AnyCall:
        """Read a body that takes long beside the event loop. Raises as Endpoint.read."""


class Recall(Protocol):
    async def __call__(self, caller: Caller, call: AnyCall) -> AnyCall:
        """Return a call that refers to stored answers, read to its end. Raises RequestError,
        DatabaseUnavailable."""


class ChooseModel(Protocol):
    def __call__(
        self, caller: Caller, call: AnyCall, profile: Profile
    ) -> tuple[ModelRecord, tuple[str, ...]]:
        """Return the model, and the parameters that it will not get."""


class CountRequest(Protocol):
    async def __call__(self, caller: Caller, model: ModelRecord, hang_up: HangUp) -> None:
        """Count a request that calls no model in the limits on requests. Raises AdmissionError."""


class ChooseTools(Protocol):
    async def __call__(
        self, caller: Caller, call: AnyCall, model: ModelRecord, request_id: str
    ) -> AnyCall:
        """Return a call that names plugins with the tools that they stand for. Raises RequestError,
        PluginUnavailable, DatabaseUnavailable."""


class MakeClaim(Protocol):
    async def __call__(self, caller: Caller, call: AnyCall, head: RequestHead) -> Claim:
        """Claim the call's idempotency key. Raises IdempotencyConflict and the like."""


class Process(Protocol):
    async def __call__(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        hang_up: HangUp,
    ) -> AnyCall:
        """Return the call as its processors leave it, and those that are mandatory for the key,
        with their steps on the answer."""


class LoadFiles(Protocol):
    async def __call__(
        self,
        caller: Caller,
        call: AnyCall,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        hang_up: HangUp,
    ) -> AnyCall:
        """Return the call with its files as the model gets them."""


class FindFallbacks(Protocol):
    async def __call__(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: AnyEndpoint,
        model: ModelRecord,
    ) -> Sequence[Candidate]: ...


class Assemble(Protocol):
    async def __call__(
        self, call: AnyCall, model: ModelRecord, caller: Caller, head: RequestHead
    ) -> AnyCall:
        """Return the call with the system prompt that the model gives it."""


class Admit(Protocol):
    async def __call__(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: AnyEndpoint,
        model: ModelRecord,
        dropped: tuple[str, ...],
        others: Sequence[Candidate],
        hang_up: HangUp,
    ) -> Grant:
        """Set money aside and take the call's place in its limits."""


class Refuse(Protocol):
    def __call__(
        self,
        caller: Caller,
        head: RequestHead,
        error: GatewayError,
        *,
        endpoint: AnyEndpoint,
        model: str,
        total_us: int,
    ) -> None:
        """Log a call of a known key that was not admitted."""


class Route(Protocol):
    def __call__(
        self, model: ModelRecord, fallback_models: Sequence[FallbackModel], call: AnyCall
    ) -> Iterable[TargetRecord]:
        """Return the targets in the order in which they are tried."""


class Prepare(Protocol):
    def __call__(
        self, call: AnyCall, grant: Grant, target: TargetRecord, meter: Meter
    ) -> relay.Exchange:
        """Return the attempt at one target. Nothing is sent yet."""


class NeedsCount(Protocol):
    def __call__(self, meter: Meter, error: BaseException | None) -> bool:
        """True when settling needs our own count of the call."""


class Count(Protocol):
    async def __call__(self, endpoint: AnyEndpoint, call: AnyCall, meter: Meter) -> Usage:
        """Return our own count of a call whose provider reported none."""


class Settle(Protocol):
    def __call__(
        self, grant: Grant, meter: Meter, error: BaseException | None, counted: Usage
    ) -> Receipt:
        """Return what the call came to. Never raises, never waits."""


class Log(Protocol):
    def __call__(
        self,
        grant: Grant,
        meter: Meter,
        receipt: Receipt,
        error: BaseException | None,
        call: AnyCall,
        said: str,
        kept: bytes,
    ) -> None:
        """Release the hold and record the call's end. Never raises, never waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Every decision the gateway makes, in the order in which a call meets them."""

    choose_profile: ChooseProfile
    identify: Identify
    screen: Screen
    read_in_thread: ReadInThread
    recall: Recall
    choose_model: ChooseModel
    count_request: CountRequest
    choose_tools: ChooseTools
    process: Process
    claim: MakeClaim
    load_files: LoadFiles
    find_fallbacks: FindFallbacks
    assemble: Assemble
    admit: Admit
    refuse: Refuse
    route: Route
    prepare: Prepare
    needs_count: NeedsCount
    count: Count
    settle: Settle
    log: Log
    supervisor: CallSupervisor

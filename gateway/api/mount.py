"""What stands between the ASGI server and REST framework's views under the API's mounts.

Views run in threads and know nothing of the event loop; admission lives on it. So the caller is
identified here, by the same admission as every call to a model, and handed on in the scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from django.http import HttpRequest

from gateway.admission.admit import Admission
from gateway.core.asgi import Application, Receive, Scope, Send
from gateway.core.errors import GatewayError
from gateway.core.profiles import UNIFIED, Profile
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.explain.explainer import Explanation
from gateway.http.head import read_head
from gateway.processors.base import Engines
from gateway.snapshot.caller import Caller
from gateway.snapshot.types import Snapshot

if TYPE_CHECKING:
    from gateway.wiring import Runtime

SCOPE_KEY = "tollhouse"
SERVING_KEY = "tollhouse.serving"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A request to the API: who calls, or why that could not be found out, and how to word it.

    error is raised by the view's authentication, not here: an address that does not exist
    answers 404 to everybody.
    """

    head: RequestHead
    caller: Caller | None
    error: GatewayError | None
    admission: Admission
    snapshot: Snapshot
    profile: Profile
    outage: GatewayError | None = None  # why no call can begin now


class WithEngines(Protocol):
    def __call__(self, workspace_id: str, work: Callable[[Engines], Awaitable[T]]) -> T:
        """Return what comes of work with the engines of processors, for a workspace. For threads.
        Raises ProcessorFailure, Overloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The process that serves a request, as far as views may ask it.

    explain: explains a call, given the digest of its key, from a thread.
    """

    endpoints: list[AnyEndpoint]
    explain: Callable[[str, RequestHead, AnyEndpoint, bytes], Explanation]
    with_engines: WithEngines


class ApiMount:
    """ASGI middleware in front of Django for the API's mounts."""

    def __init__(self, runtime: Runtime, application: Application) -> None:
        self._runtime = runtime
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = read_head(scope)
        inbound = await self._identify(head)
        await self._application({**scope, SCOPE_KEY: inbound}, receive, send)

    async def _identify(self, head: RequestHead) -> Inbound:
        await self._runtime.ready()
        caller, failure, profile = None, None, UNIFIED
        try:
            profile = self._runtime.choose_profile(head, None)
            caller = await self._runtime.admission.identify(head)
            profile = self._runtime.choose_profile(head, caller)
        except GatewayError as error:
            failure = error
        admission, snapshot = self._runtime.admission, self._runtime.snapshot.current
        outage = self._runtime.writer.outage
        return Inbound(
            head=head,
            caller=caller,
            error=failure,
            admission=admission,
            snapshot=snapshot,
            profile=profile,
            outage=outage,
        )


class ServingMount:
    """ASGI middleware in front of Django for pages and the API: tells views who serves them."""

    def __init__(self, runtime: Runtime, application: Application) -> None:
        self._runtime = runtime
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        serving = Serving(
            endpoints=self._runtime.endpoints,
            explain=partial(explain_from_thread, loop, self._runtime),
            with_engines=partial(work_from_thread, loop, self._runtime),
        )
        await self._application({**scope, SERVING_KEY: serving}, receive, send)


def serving_of(request: HttpRequest) -> Serving | None:
    """Return the process that serves this request; None where it is not one of ours."""
    serving: Serving | None = getattr(request, "scope", {}).get(SERVING_KEY)
    return serving


def explain_from_thread(
    loop: asyncio.AbstractEventLoop,
    runtime: Runtime,
    digest: str,
    head: RequestHead,
    endpoint: AnyEndpoint,
    body: bytes,
) -> Explanation:
    """Return what would become of a call. Raises as Explainer.explain does."""

    async def explain() -> Explanation:
        key = await runtime.keyring.find(digest)
        return await runtime.explainer.explain(key, head, endpoint, body)

    return asyncio.run_coroutine_threadsafe(explain(), loop).result()


def work_from_thread(
    loop: asyncio.AbstractEventLoop,
    runtime: Runtime,
    workspace_id: str,
    work: Callable[[Engines], Awaitable[T]],
) -> T:
    """Return what comes of work with the engines of processors. Raises as EnginePool.run does."""

    async def run() -> T:
        return await work(runtime.prompt_prep.engines_for(workspace_id))

    return asyncio.run_coroutine_threadsafe(run(), loop).result()

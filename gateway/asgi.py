"""The ASGI application: calls to models to our consumers, everything else to Django."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

import django
from asgiref.sync import markcoroutinefunction

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
django.setup(set_prefix=False)

from gateway.web.form_uploads import EncryptingHandler  # noqa: E402

django_application = EncryptingHandler()

from gateway.api.lean_rest_framework import load_rest_framework  # noqa: E402

load_rest_framework()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import re_path  # noqa: E402

from gateway.api.errors import origin_of  # noqa: E402
from gateway.api.mount import ApiMount, ServingMount  # noqa: E402
from gateway.api.uploads import Uploads  # noqa: E402
from gateway.config.database_url import use_for_serving  # noqa: E402
from gateway.consumers import CallConsumer, TokenCountConsumer  # noqa: E402
from gateway.core.asgi import Application, Receive, Scope, Send  # noqa: E402
from gateway.core.errors import NotFound, StorageUnavailable  # noqa: E402
from gateway.core.ids import new_request_id  # noqa: E402
from gateway.core.mounts import (  # noqa: E402
    MOUNTS,
    NAMED_MOUNT,
    explain_missing,
)
from gateway.edge.body_limits import BodyLimits  # noqa: E402
from gateway.edge.connection_limits import ConnectionLimiter  # noqa: E402
from gateway.edge.cors import Cors  # noqa: E402
from gateway.edge.limits import EdgeLimits  # noqa: E402
from gateway.edge.load import (  # noqa: E402
    memory_limit_bytes,
    most_connections,
    raise_descriptor_limit,
)
from gateway.edge.paths import is_other_spelling  # noqa: E402
from gateway.edge.protocol import GuardedHttpProtocol  # noqa: E402
from gateway.endpoints.registry import api_format_meant_by  # noqa: E402
from gateway.http.error_response import error_response  # noqa: E402
from gateway.launch import serving  # noqa: E402
from gateway.launch.failure import CannotStart  # noqa: E402
from gateway.launch.programs import KILL_AFTER_S, REPLACES, STORAGE_FAILED  # noqa: E402
from gateway.metrics.probes import Healthz, Readyz  # noqa: E402
from gateway.metrics.serving import make_metrics  # noqa: E402
from gateway.outbound.permitted_addresses import read_networks  # noqa: E402
from gateway.web.form_routes import FormRoutes, refusal_page  # noqa: E402
from gateway.web.unknown_paths import UnknownPaths, send_whole  # noqa: E402
from gateway.wiring import Runtime  # noqa: E402

logger = logging.getLogger(__name__)
use_for_serving(settings.DATABASES["default"], connections=settings.DATABASE_CONNECTIONS)
runtime = Runtime()


class Lifespan:
    """Starts the runtime with the server and stops it after the last call.

    Django's application refuses lifespan events and Channels' router has no place for them.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as stack:
            while True:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    await self._answer(send, "startup", partial(self._start, stack))
                elif message["type"] == "lifespan.shutdown":
                    await self._answer(send, "shutdown", self._stop)
                    outage = runtime.writer.outage
                    # With a detail the disk has failed; without it is only nearly full.
                    if isinstance(outage, StorageUnavailable) and outage.detail:
                        logging.shutdown()
                        os._exit(STORAGE_FAILED)  # uvicorn has no exit code for this
                    return

    async def _start(self, stack: ExitStack) -> None:
        await asyncio.to_thread(serving.enter, stack)
        await runtime.ready()
        await asyncio.to_thread(serving.warn_of_separate_folders)
        metrics.start(asyncio.get_running_loop())

    async def _stop(self) -> None:
        await runtime.stop()
        await metrics.stop()
        await asyncio.to_thread(serving.leave)

    async def _answer(self, send: Send, phase: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except CannotStart as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
            serving.stop_starting_again()
        except Exception as error:
            logger.exception("The %s failed.", phase)
            await send({"type": f"lifespan.{phase}.failed", "message": repr(error)})
        else:
            await send({"type": f"lifespan.{phase}.complete"})


# uvicorn makes the protocol's objects itself, so they are handed their limits by the class.
GuardedHttpProtocol.limiter = ConnectionLimiter(
    EdgeLimits(
        **settings.EDGE,
        allowed_hosts=settings.ALLOWED_HOSTS,
        cors_origins=settings.CORS_ORIGINS,
        default_profile=settings.DEFAULT_PROFILE,
        trusted_proxies=read_networks(settings.TRUSTED_PROXIES),
        is_public_https=settings.PUBLIC_URL.startswith("https:"),
        connections=most_connections(raise_descriptor_limit()),
        memory_bytes=memory_limit_bytes(settings.MEMORY_LIMIT_MB),
    ),
    BodyLimits(settings.BODY_LIMIT_BYTES, FormRoutes().form_bytes).find,
    refusal_page,
)
runtime.shedder.start_delay_s = GuardedHttpProtocol.limiter.start_delay_s
consumers = {
    path: CallConsumer(
        runtime, endpoint, settings.BODY_LIMIT_BYTES, whole_credits=settings.CREDITS_INTEGER
    )
    for endpoint in runtime.endpoints
    for path in endpoint.paths
}
consumers |= {
    path: TokenCountConsumer(runtime, counter, settings.BODY_LIMIT_BYTES)
    for counter in runtime.token_counters
    for path in counter.paths
}
# By the target as it stands in the request line.
consumers_by_target = {
    f"{mount}/{path}".encode(): consumer for mount in MOUNTS for path, consumer in consumers.items()
}
# The process that this one replaces may have the port for metrics until it ends.
patience_s = settings.EDGE["drain_s"] + KILL_AFTER_S if REPLACES in os.environ else 0
metrics = make_metrics(runtime, GuardedHttpProtocol.limiter, patience_s=patience_s)
pages = UnknownPaths(ServingMount(runtime, cast(Application, django_application)))
api = ApiMount(runtime, Uploads(pages))


def route(pattern: str, application: Application) -> Any:
    """Return a route of Channels' router. re_path's type knows Django's views only, and the
    router's type wants routes of a type that nothing makes."""
    return re_path(pattern, cast(Callable[..., HttpResponse], application))


routes = [
    *(
        route(f"^{NAMED_MOUNT}/{re.escape(path)}$", consumer)
        for path, consumer in consumers.items()
    ),
    route(f"^{NAMED_MOUNT}(?:/|$)", api),
    route(r"^healthz$", Healthz()),
    route(r"^readyz$", Readyz(runtime, GuardedHttpProtocol.limiter)),
    *(route(r"^metrics$", endpoint) for endpoint in metrics.endpoints),
    route(r"", pages),
]


async def refuse_spelling(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 404 to what is an address of the API only for servers that read paths loosely."""
    request_id = new_request_id()
    error = NotFound(explain_missing(scope["path"], origin_of(scope)))
    status, headers, body = error_response(
        error, request_id, api_format=api_format_meant_by(scope["path"])
    )
    headers.append((b"x-request-id", request_id.encode()))
    await send_whole(send, status, headers, body)


class Entrance:
    """Sends calls to models the short way; Channels' router finds the way of all the rest.

    The router tries patterns and builds a new scope, which costs more than a key is checked for.
    """

    def __init__(self) -> None:
        router = ProtocolTypeRouter({"lifespan": Lifespan(), "http": URLRouter(routes)})
        self._router = cast(Application, router)

    # Hands the coroutine on instead of awaiting it: a stream is resumed through every one of them.
    @markcoroutinefunction
    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        raw_path = scope.get("raw_path", b"")
        if not scope.get("root_path"):
            consumer = consumers_by_target.get(raw_path)
            if consumer is not None:
                return consumer(scope, receive, send)
        if is_other_spelling(raw_path):
            return refuse_spelling(scope, receive, send)
        return self._router(scope, receive, send)


application: Application = Entrance()
if GuardedHttpProtocol.limiter.origins is not None:
    application = Cors(application, GuardedHttpProtocol.limiter.origins)

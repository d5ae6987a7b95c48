"""The steps of `manage.py up`, in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from socket import socket

from django.conf import settings
from django.db import connections

from gateway.launch import local_model, local_provider, preflight
from gateway.launch.child import Child
from gateway.launch.exclusive import holder, only_one
from gateway.launch.failure import CannotStart
from gateway.launch.greeting import greeting
from gateway.launch.prepare import prepare, public_origin
from gateway.launch.programs import STORAGE_FAILED, server_command, worker_command
from gateway.launch.quickstart import Quickstart, path_in
from gateway.launch.ready import answers
from gateway.launch.seed import is_key_usable, name_served_model
from gateway.launch.server_child import ServerChild
from gateway.launch.serving import has_shared_counters
from gateway.launch.supervisor import REPLACE, Supervisor

READY_S = 60.0


def run(
    *, with_local_model: bool, new_database: bool = False, say: Callable[[str], object]
) -> None:
    """Start the installation in HOME and keep it running until somebody asks to stop.

    say: takes a line for the person at the terminal. Raises CannotStart.
    """
    home = Path(settings.HOME)
    os.umask(0o077)  # what we and our children write is for this account alone
    preflight.check_home(home)
    preflight.check_workers()
    preflight.check_telemetry()
    if can_replace() and (running := holder(home)) is not None:
        ask_to_replace(running, say)
        return
    with ExitStack() as stack:
        stack.enter_context(only_one(home))
        listener = stack.enter_context(preflight.listen(settings.HOST, settings.PORT))
        quickstart = prepare(say=say, new_database=new_database)
        model_port = _choose_model_port(with_local_model)
        prefer = local_model.MODEL if model_port else ""
        quickstart = name_served_model(home, quickstart, prefer=prefer)
        is_usable = is_key_usable(quickstart)
        connections.close_all()  # nothing of ours is open while the children run
        children, drain_s = _children(model_port, listener), settings.EDGE["drain_s"]
        supervisor = Supervisor(children, say=say, drain_s=drain_s)
        supervisor.listen_for_signals(can_replace=can_replace())
        try:
            supervisor.start()
            supervisor.wait_until(
                lambda: _is_ready(model_port, quickstart, children), within_s=READY_S
            )
            if not supervisor.is_stopping:
                say(
                    greeting(
                        quickstart,
                        origin=public_origin(),
                        file=str(path_in(home)),
                        key_is_usable=is_usable,
                    )
                )
            supervisor.watch()
            say(
                f"Stopping. Running calls have {drain_s} s to end. "
                "Press Ctrl-C again to end them now."
            )
        finally:
            supervisor.stop()
        if STORAGE_FAILED in supervisor.exit_codes():
            say("Stopped. The journal could not be written to disk. See the log.")
            sys.exit(STORAGE_FAILED)
        say("Stopped.")


def _choose_model_port(with_local_model: bool) -> int:
    """Return where the local model shall listen; 0 when it is not wanted."""
    if not with_local_model:
        local_provider.switch_off()
        return 0
    if local_model.find_weights() is None:
        raise CannotStart("The local model is not installed. Run `make up MODEL=local`.")
    port = local_model.free_port()
    local_provider.switch_on(port)
    return port


def can_replace() -> bool:
    """True when a new server process can serve beside the old one."""
    return settings.DATABASE_FILE is None and has_shared_counters()


def ask_to_replace(running: int, say: Callable[[str], object]) -> None:
    """Have the `up` that runs in this home replace its server processes. Raises CannotStart."""
    preflight.check_database_is_current()
    os.kill(running, REPLACE)
    say(
        f"This installation is running (process {running}). Its server processes are being "
        "replaced, one after another."
    )


def _children(model_port: int, listener: socket) -> list[Child]:
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "gateway.settings"}
    environ["PYTHONPATH"] = os.pathsep.join(
        [str(settings.BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    server = server_command(host=settings.HOST, port=settings.PORT)
    children: list[Child] = []
    for number in range(settings.WORKERS):
        name = "server" if settings.WORKERS == 1 else f"server {number + 1}"
        # Each has its own metrics, and its own port for them.
        port = {"TOLLHOUSE_METRICS_PORT": str(settings.METRICS_PORT + number)}
        own = environ | port if settings.METRICS_PORT else environ
        children.append(ServerChild(name, server, environ=own, listener=listener))
    children.append(Child("background worker", worker_command(), environ=environ))
    if model_port:
        model = local_model.command(model_port)
        children.append(Child("local model", model, environ=environ))
    return children


def _is_ready(model_port: int, quickstart: Quickstart, children: Sequence[Child]) -> bool:
    if not all(child.is_ready() for child in children if isinstance(child, ServerChild)):
        return False
    host = "127.0.0.1" if settings.HOST in ("0.0.0.0", "::") else settings.HOST  # noqa: S104
    if model_port and not answers("127.0.0.1", model_port, "/health"):
        return False
    return answers(host, settings.PORT, "/v1/models", api_key=quickstart.api_key)

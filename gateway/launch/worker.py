"""The background worker with its clock, in one process: `python -m gateway.launch.worker`.

Celery's own `worker --beat` runs the clock in a second process, which outlives a worker that is
killed and then queues work that nobody takes.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

# Two for what takes a moment, and those that make the requests of batches.
THREADS = 4


def run() -> int:
    """Work until SIGTERM or SIGINT, finish what is being done, return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    from celery.beat import EmbeddedService
    from celery.signals import worker_shutting_down
    from django.db import DatabaseError

    from gateway.celery import app, make_broker_folders

    make_broker_folders()
    app.set_default()
    app.loader.import_default_modules()
    from gateway.services.batches.working import stop_working
    from gateway.services.leases import release_lease

    worker_shutting_down.connect(lambda **_: stop_working(), weak=False)

    worker = app.Worker(
        pool="threads",
        concurrency=THREADS,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    clock = EmbeddedService(app, thread=True)
    clock.start()
    try:
        worker.start()
    finally:
        clock.stop()
        with suppress(DatabaseError):
            release_lease()
    return int(worker.exitcode or 0)


if __name__ == "__main__":
    sys.exit(run())

"""What runs in the background: thin entries, each one call to a service. When: gateway.celery."""

from __future__ import annotations

import logging

from django.core.management import call_command

from accounts.ledger_days import add_up_ledger
from gateway.background_task import background_task
from gateway.database.partitions import make_partitions
from gateway.services.batches.working import BatchWork
from gateway.services.checkpointing import checkpoint
from gateway.services.error_backfill import backfill_errors
from gateway.services.files.cleaning import clean_in_background
from gateway.services.leases import hold_lease
from gateway.services.periodic_proof import prove_what_is_due
from gateway.services.proving import record_proof
from gateway.services.pruning import prune
from gateway.services.rolling_up import roll_up
from gateway.services.vllm_versions import ask_versions
from gateway.stores.process import is_database_shared
from gateway.stores.reaping import Reaper

log = logging.getLogger(__name__)
# It remembers its doubts from one look to the next.
_reaper = Reaper(journals_elsewhere=is_database_shared())
_batch_work = BatchWork()


@background_task("gateway.reap")
def reap_task() -> None:
    """Settle what dead server processes left behind, also while no other process serves.

    On every host: each can tell which of its own are dead. Work that one host does for all is kept
    by the one that has it.
    """
    hold_lease()
    _reaper.run()


@background_task("gateway.prove")
def prove_task() -> None:
    """Check the ledger and record the verdict for the dashboard."""
    proof = prove_what_is_due() if hold_lease() else None
    if proof is None:
        return
    record_proof(proof)
    if not proof.holds:
        log.error("the ledger does not add up: run `manage.py prove` for details")


@background_task("gateway.roll_up")
def roll_up_task() -> None:
    """Add the totals of quarters of an hour up to those of hours and days, and errors of calls
    that are older than their totals."""
    if hold_lease():
        roll_up()
        backfill_errors()


@background_task("gateway.add_up_ledger")
def add_up_ledger_task() -> None:
    """Add usage in the ledger up to one row a day and key."""
    if hold_lease():
        add_up_ledger()


@background_task("gateway.ask_versions")
def ask_versions_task() -> None:
    """Ask vLLM servers for their versions, each once an hour."""
    if hold_lease():
        ask_versions()


@background_task("gateway.clean_files")
def clean_files_task() -> None:
    """Delete expired files, and what is left of uploads that never came to their end."""
    if hold_lease():
        clean_in_background(looks_for_orphans=False)


@background_task("gateway.find_orphans")
def find_orphans_task() -> None:
    """Delete bytes of files that no row knows."""
    if hold_lease():
        clean_in_background(looks_for_orphans=True)


@background_task("gateway.work_on_batches")
def work_on_batches_task() -> None:
    """Make the requests of batches: on every host, each batch on one of them."""
    _batch_work.run()


@background_task("gateway.checkpoint")
def checkpoint_task() -> None:
    """Empty SQLite's write-ahead log when it has grown."""
    checkpoint()


@background_task("gateway.prune")
def prune_task() -> None:
    """Delete what has outlived its use, sessions included."""
    if hold_lease():
        make_partitions()
        prune()
        call_command("clearsessions")

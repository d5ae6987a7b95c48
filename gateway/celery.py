"""The background worker's application: what runs, and how often."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

from gateway.core.time_spans import HOUR_S, MINUTE_S
from gateway.launch import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

TRANSPORT_ALIASES[broker.ALIAS] = "gateway.launch.broker:Transport"
app = Celery("tollhouse")
# A new batch begins so soon.
BATCHES_EVERY_S = 3
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["gateway"])
# A run that waited longer than its period is dropped: the next one does the same work.
app.conf.beat_schedule = {
    "reap": {"task": "gateway.reap", "schedule": 10, "options": {"expires": 10}},
    "checkpoint": {"task": "gateway.checkpoint", "schedule": 10, "options": {"expires": 10}},
    "prove": {"task": "gateway.prove", "schedule": MINUTE_S, "options": {"expires": MINUTE_S}},
    "work on batches": {
        "task": "gateway.work_on_batches",
        "schedule": BATCHES_EVERY_S,
        "options": {"expires": BATCHES_EVERY_S},
    },
    "roll up": {
        "task": "gateway.roll_up",
        "schedule": MINUTE_S,
        "options": {"expires": MINUTE_S},
    },
    "add up ledger": {
        "task": "gateway.add_up_ledger",
        "schedule": MINUTE_S,
        "options": {"expires": MINUTE_S},
    },
    "ask versions": {
        "task": "gateway.ask_versions",
        "schedule": MINUTE_S,
        "options": {"expires": MINUTE_S},
    },
    "clean files": {
        "task": "gateway.clean_files",
        "schedule": MINUTE_S,
        "options": {"expires": MINUTE_S},
    },
    "find orphans": {
        "task": "gateway.find_orphans",
        "schedule": HOUR_S,
        "options": {"expires": HOUR_S},
    },
    "prune": {"task": "gateway.prune", "schedule": HOUR_S, "options": {"expires": HOUR_S}},
}


def make_broker_folders() -> None:
    """Make the folders that the filesystem broker expects to find."""
    for name in ("queue", "control"):
        (Path(settings.HOME) / "broker" / name).mkdir(mode=0o700, parents=True, exist_ok=True)

"""The way out, as the settings of the installation limit it."""

from __future__ import annotations

from django.conf import settings

from gateway.admission.counter_protocols import Counters, RateCounter
from gateway.egress.egress import Egress
from gateway.outbound.permitted_addresses import read_networks


def open_egress(counters: Counters) -> Egress:
    """Return the way out of a process. counters: count the fetches of its keys."""
    per_minute = settings.FETCHES_PER_MINUTE

    def count(key_id: str, workspace_id: str) -> RateCounter:
        owner = f"fetches:{key_id}"
        return counters.rate(owner, per_minute, per_minute, workspace_id=workspace_id)

    networks = read_networks(settings.FETCH_ALLOWED_NETWORKS)
    return Egress(networks, count, settings.OWN_HOSTS)

"""Records a change: in the change feed for server processes, and in the audit log for people.

Both rows are written in the transaction that makes the change, so that neither is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import Model

from accounts.models import AuditEvent, ConfigChange, Workspace
from gateway.core.json_types import JsonObject

BATCH = 500


class OutsideTransaction(RuntimeError):
    """A line was to be written on its own, apart from the change that it speaks of."""


def record_change(kind: ConfigChange.Kind, ref: str = "") -> ConfigChange:
    """Tell every server process that something it keeps in memory is no longer true.

    ref: see ConfigChange.Kind; ids are written as 32 hex digits.
    Raises OutsideTransaction unless called inside one.
    """
    _require_transaction()
    return ConfigChange.objects.create(kind=kind, ref=ref)


def record_audit(
    *,
    actor: str,
    action: str,
    target: str,
    workspace: Workspace | None = None,
    details: Mapping[str, object] | None = None,
) -> AuditEvent:
    """Write down who did what. The ledger is append-only and holds no secret.

    actor: a person's e-mail address, or where the order came from (`command`, `seed`).
    action: noun and verb, such as `key.revoke`. target: what it was done to, as people know it.
    workspace: None for the installation's own matters. details: what changed, JSON only;
    for an edit, {field: [before, after]}.
    Raises OutsideTransaction unless called inside one.
    """
    _require_transaction()
    return AuditEvent.objects.create(
        workspace=workspace,
        actor=actor[:254],
        action=action,
        target=target[:200],
        details=details or {},
    )


def differences(row: Model, wanted: Mapping[str, object]) -> JsonObject:
    """Return {field: [before, after]} of the fields whose value is to be another, as record_audit
    takes them; empty when nothing is different."""
    pairs = {name: [getattr(row, name), value] for name, value in wanted.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def record_changes(kind: ConfigChange.Kind, refs: Sequence[str]) -> None:
    """Do what record_change does for many at once."""
    _require_transaction()
    lines = [ConfigChange(kind=kind, ref=ref) for ref in refs]
    ConfigChange.objects.bulk_create(lines, batch_size=BATCH)


def record_audits(events: Sequence[AuditEvent]) -> None:
    """Do what record_audit does for many at once."""
    _require_transaction()
    AuditEvent.objects.bulk_create(events, batch_size=BATCH)


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise OutsideTransaction("Write this line in the transaction that makes the change.")

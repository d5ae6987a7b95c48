"""All programs of a database have the sealing keys that its secrets are encrypted with.

The database knows each key by a check value. A host that lacks one of them could neither use the
providers nor let people with second factors in, and what it encrypted would be lost on the others.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from gateway.database.lock import SERVING, lock_for_transaction
from gateway.models import SealingKey, ServingProcess
from gateway.services.credential_encryption import check_value


class OtherSealingKeys(Exception):
    """This program's sealing keys are not those of the database."""


@transaction.atomic
def check_sealing_keys() -> None:
    """Have the database know the key that encrypts from now on. Raises OtherSealingKeys when this
    program lacks a key that the database knows."""
    lock_for_transaction(SERVING)
    own = [check_value(key) for key in settings.SEALING_KEYS]
    known = set(SealingKey.objects.values_list("pk", flat=True))
    if not known <= set(own):
        raise OtherSealingKeys(
            "The secrets in this database are encrypted with a sealing key that this program does "
            "not have. Set TOLLHOUSE_SEALING_KEYS to the value that the other hosts have, or "
            "restore secrets/sealing_key. If the key is lost, run "
            "`manage.py reseal_credentials --accept-loss` and enter the credentials again."
        )
    if own[0] not in known:
        SealingKey.objects.create(check_value=own[0], added_at=timezone.now())


def find_process_without_first_key() -> ServingProcess | None:
    """Return a server process that runs, and was started before the database knew the key that
    encrypts from now on: it could not decrypt what this program encrypts. None where all can."""
    alive = ServingProcess.objects.filter(
        state=ServingProcess.State.ALIVE, lease_until__gt=Now()
    ).order_by("started_at")
    first = SealingKey.objects.filter(pk=check_value(settings.SEALING_KEYS[0])).first()
    return (alive if first is None else alive.filter(started_at__lt=first.added_at)).first()


@transaction.atomic
def forget_other_keys() -> None:
    """Have the database know the first sealing key alone: nothing needs the others any more."""
    first = check_value(settings.SEALING_KEYS[0])
    SealingKey.objects.exclude(pk=first).delete()
    SealingKey.objects.get_or_create(pk=first, defaults={"added_at": timezone.now()})

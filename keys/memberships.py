"""End a membership together with the keys that the member made."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Membership, User
from accounts.services import remove_member
from keys.selectors import keys_left_by
from keys.services import disown_key, revoke_key


@transaction.atomic
def end_membership(
    membership: Membership, *, keeps_keys: bool, actor: str, asked_by: User | None = None
) -> int:
    """End a membership and revoke the keys that the person made; return how many there were.

    keeps_keys: leave those keys to the workspace instead. A key whose owner lost their membership
    must not go on as theirs: it is revoked, or nobody's.
    asked_by: see accounts.services.remove_member. Raises ValidationError as it does.
    """
    # Before the membership ends: with it, keys lose what they may do.
    keys = list(keys_left_by(membership))
    for key in keys:
        if keeps_keys:
            disown_key(key, actor=actor)
        else:
            revoke_key(key, actor=actor)
    remove_member(membership, actor=actor, asked_by=asked_by)
    return len(keys)

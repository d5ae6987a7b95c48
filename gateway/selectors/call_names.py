"""A call by any of its names: our id in every spelling that we ever showed, or the caller's own."""

from __future__ import annotations

import time
import uuid
from operator import attrgetter

from django.db.models import Q

from gateway.core.ids import find_request_id
from gateway.core.request import CLIENT_ID, MAX_CLIENT_ID_BYTES
from gateway.models import CallRecord
from gateway.selectors.visible import Visible

# A record reaches the database within two drains (gateway.stores.writer).
POSTED_WITHIN_S = 0.5
LOOK_EVERY_S = 0.05


def find_call_named(visible: Visible, text: str) -> CallRecord | None:
    """Return the call of those visible that the text means, the newest where its caller gave
    the same id to several."""
    calls = CallRecord.objects.filter(workspace_id=visible.workspace_id)
    if visible.key_ids is not None:
        calls = calls.filter(key_id__in=visible.key_ids)
    call_id = find_request_id(text)
    found = calls.filter(pk=call_id).first() if call_id else None
    if found is not None or len(text) > MAX_CLIENT_ID_BYTES or not CLIENT_ID.fullmatch(text):
        return found
    spellings = {text, str(call_id or text)}
    # The first condition repeats the partial index's own: SQLite needs to see it.
    given = calls.filter(~Q(client_request_id="")).order_by("-id")
    # One by one, so that the index yields the newest: one id may be given to a million calls.
    newest = (given.filter(client_request_id=each).first() for each in spellings)
    return max(filter(None, newest), key=attrgetter("id"), default=None)


def may_be_recent(call_id: uuid.UUID) -> bool:
    """True when a call of this id may just have begun, its record not written yet.

    The first 48 bits of a UUIDv7 are the milliseconds of its making; any other is its caller's
    own, and says nothing.
    """
    return call_id.version != 7 or abs(time.time() - (call_id.int >> 80) / 1000) < 2

"""Finds the stored answers that a call refers to, before it is read to its end."""

from __future__ import annotations

import asyncio
import time

from django.db import Error as DatabaseError

from gateway.core.call import AnyCall, Earlier, History
from gateway.core.errors import DatabaseUnavailable, RequestError
from gateway.selectors.call_names import LOOK_EVERY_S, POSTED_WITHIN_S
from gateway.selectors.stored_responses import (
    ChainTooLong,
    NotStored,
    NotThereYet,
    StillRunning,
    find_history,
)
from gateway.selectors.visible import Visible, read_by
from gateway.snapshot.caller import Caller
from gateway.stores.queries import RunQuery

OFF = (
    " Responses are stored only while Request logging is on in the workspace, which it is not:"
    " send all items of the conversation in input."
)
GONE = " It may have been deleted, or made with store: false. Send all items of the conversation."


class Recall:
    """For one process. run: carries a query out in a thread."""

    def __init__(self, run: RunQuery) -> None:
        self._run = run

    async def recall(self, caller: Caller, call: AnyCall) -> AnyCall:
        """Return the call, read to its end. Raises RequestError for what is not stored, or not to
        be read by this key; DatabaseUnavailable."""
        earlier: Earlier | None = call.payload.earlier
        if earlier is None:
            return call
        visible = read_by(caller.key)
        try:
            history = await self._find(visible, earlier)
        except (NotStored, NotThereYet) as error:
            raise not_found(caller, earlier, str(error)) from None
        except StillRunning:
            raise RequestError(
                "The previous response is not complete yet.", param="previous_response_id"
            ) from None
        except ChainTooLong:
            raise RequestError(
                "The conversation is too long to continue a stored response.",
                param="previous_response_id",
            ) from None
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        return await asyncio.to_thread(earlier.read_on, history)

    async def _find(self, visible: Visible, earlier: Earlier) -> History:
        """Return the answers. One that has just ended is waited for: its record is on the way from
        the journal."""
        deadline = time.monotonic() + POSTED_WITHIN_S
        while True:
            try:
                return await self._run(find_history, visible, earlier.answer_id, earlier.items)
            except StillRunning:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(LOOK_EVERY_S)


def not_found(caller: Caller, earlier: Earlier, item_id: str) -> RequestError:
    """Return the refusal of an ID, and what helps."""
    remedy = GONE if caller.key.stores_bodies else OFF
    if item_id:
        param = earlier.items.get(item_id, "previous_response_id")
        return RequestError(f"The item {item_id[:64]} is not stored.{remedy}", param=param)
    answer_id = earlier.answer_id[:64]
    return RequestError(
        f"The response {answer_id} is not stored.{remedy}", param="previous_response_id"
    )

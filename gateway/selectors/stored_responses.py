"""Responses that are stored: calls to /responses whose bodies their workspace stores.

What was said stands in the stored bodies alone (gateway.models.CallBody): a response is kept as
long as they are, and read by whoever may read its call.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from gateway.core.call import History, Turn
from gateway.core.ids import find_request_id
from gateway.core.json_types import JsonObject
from gateway.endpoints.responses.items import is_reference
from gateway.models import CallBody, CallRecord
from gateway.selectors.call_names import find_call_named, may_be_recent
from gateway.selectors.calls import find_body
from gateway.selectors.visible import Visible

ENDPOINT = "responses"
# How far back a conversation goes, and how long its stored requests and responses are.
MAX_CHAIN = 1_000
MAX_CHAIN_CHARS = 64 * 1024 * 1024
_ITEM_ID = re.compile(r"^(?:msg|rs|fc|ctc)_([0-9a-f]{32})_\d+$")


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """request, response: the objects as they were sent."""

    call_id: uuid.UUID
    workspace_id: uuid.UUID
    request: JsonObject
    response: JsonObject
    chars: int

    @property
    def id(self) -> str:
        return str(self.response.get("id", ""))

    @property
    def previous_id(self) -> str | None:
        previous = self.request.get("previous_response_id")
        return previous if isinstance(previous, str) else None


class StillRunning(Exception):
    """The response is on its way: its call runs, or its record is not written yet."""


class NotThereYet(StillRunning):
    """It may be that its call is not written down yet. Its argument: as of NotStored."""


class NotStored(Exception):
    """A response or an item is not there, or not to be read by this key. Its argument: the ID of
    the item."""


class ChainTooLong(Exception):
    """A conversation is too long to be put together from stored responses."""


def find_response(visible: Visible, response_id: str) -> StoredResponse | None:
    """Return the response, if it is stored and one of these. Raises StillRunning."""
    record = find_call_named(visible, response_id)
    if record is None:
        call_id = find_request_id(response_id)
        if call_id is not None and may_be_recent(call_id):
            raise NotThereYet
        return None
    if record.endpoint != ENDPOINT:
        return None
    if record.status == CallRecord.Status.IN_PROGRESS:
        raise StillRunning
    body = find_body(record)
    return None if body is None else read_body(body)


def read_body(body: CallBody) -> StoredResponse | None:
    """Return the response of stored bodies; None where it has not come to its end, or the caller
    asked not to store it."""
    try:
        request = msgspec.json.decode(body.request)
        response = msgspec.json.decode(last_data(body.response))
    except msgspec.DecodeError:
        return None
    if not isinstance(request, dict) or not isinstance(response, dict):
        return None
    inner = response.get("response", response)
    if not isinstance(inner, dict) or inner.get("object") != "response" or not inner.get("store"):
        return None
    chars = len(body.request) + len(body.response)
    return StoredResponse(body.call_id, body.workspace_id, request, inner, chars)


def last_data(text: str) -> str:
    """Return a buffered answer, or the data of a stream's last event."""
    return text if text.startswith("{") else text.rstrip().rpartition("\ndata: ")[2]


def find_chain(visible: Visible, response_id: str) -> list[StoredResponse]:
    """Return the response and those that it went on from, the first one first; nothing where one
    of them is not stored any more. Raises StillRunning, ChainTooLong."""
    chain: list[StoredResponse] = []
    wanted: str | None = response_id
    chars = 0
    while wanted is not None:
        found = find_response(visible, wanted)
        if found is None:
            return []
        chars += found.chars
        if len(chain) == MAX_CHAIN or chars > MAX_CHAIN_CHARS:
            raise ChainTooLong
        chain.append(found)
        wanted = found.previous_id
    chain.reverse()
    return chain


def find_history(visible: Visible, answer_id: str, item_ids: Iterable[str]) -> History:
    """Return what a call goes on from. Raises NotStored, StillRunning, ChainTooLong."""
    chain = find_chain(visible, answer_id) if answer_id else []
    if answer_id and not chain:
        raise NotStored
    turns = [Turn(request=one.request, response=one.response) for one in chain]
    wanted = [*item_ids, *(each for turn in turns for each in references(turn.request))]
    return History(turns=turns, items={each: find_item(visible, each) for each in wanted})


def references(request: JsonObject) -> Iterator[str]:
    """Yield the IDs of items that a request only refers to."""
    given = request.get("input")
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict) and is_reference(item):
            yield str(item["id"])


def find_item(visible: Visible, item_id: str) -> JsonObject:
    """Return an item of a stored response's output. Raises NotStored, StillRunning."""
    named = _ITEM_ID.match(item_id)
    try:
        found = find_response(visible, str(uuid.UUID(named[1]))) if named else None
    except NotThereYet:
        raise NotThereYet(item_id) from None
    output = [] if found is None else found.response.get("output")
    for item in output if isinstance(output, list) else ():
        if isinstance(item, dict) and item.get("id") == item_id:
            return item
    raise NotStored(item_id)

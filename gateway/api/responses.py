"""GET and DELETE /responses/{id}, and its input_items: responses that are stored.

A response is stored where its workspace stores bodies, as long as those are kept, unless the
request said store: false.
"""

from __future__ import annotations

import re
import time

from django.db import Error as DatabaseError
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.errors import READS
from gateway.api.schemas.responses import DeletedResponse, InputItemList, write_items
from gateway.api.views import KeyView, answers
from gateway.core.errors import (
    DatabaseUnavailable,
    NotFound,
    RequestError,
    UnsupportedParameter,
)
from gateway.core.json_types import JsonObject
from gateway.endpoints.responses.response_schema import ResponseObject
from gateway.selectors.call_names import LOOK_EVERY_S, POSTED_WITHIN_S
from gateway.selectors.stored_responses import StillRunning, StoredResponse, find_response
from gateway.selectors.visible import Visible, read_by
from gateway.services.stored_responses import delete_response
from gateway.snapshot.caller import Caller

MOST_ITEMS, USUAL_ITEMS = 100, 20
LIMIT = re.compile(r"[0-9]{1,3}")
ONCE = ("limit", "order", "after")


class StoredResponseView(KeyView):
    """Get a stored response, or delete it.

    An API key reads the responses of its own calls. With the scope usage.workspace it reads all of
    its workspace. Responses are stored while Request logging is on in the workspace, as long as the
    bodies of calls are kept, unless the request has store: false.
    """

    methods = (*READS, "DELETE")

    @answers(ResponseObject, operation_id="getResponse", tags=["calls"])
    def get(self, request: Request, response_id: str) -> Response:
        if request.query_params.get("stream", "false").lower() != "false":
            raise UnsupportedParameter("A stored response is not streamed again.", param="stream")
        return Response(find(request, response_id).response)

    @answers(DeletedResponse, operation_id="deleteResponse", tags=["calls"])
    def delete(self, request: Request, response_id: str) -> Response:
        found = find(request, response_id)
        try:
            delete_response(found)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        return Response(DeletedResponse(found.id))


class InputItemsView(KeyView):
    """List the input items of a stored response: those of its own request."""

    @answers(
        InputItemList,
        operation_id="listInputItems",
        tags=["calls"],
        parameters=[
            OpenApiParameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": USUAL_ITEMS},
            ),
            OpenApiParameter("order", {"enum": ["asc", "desc"], "default": "desc"}),
            OpenApiParameter("after", str, description="The last item of the previous page."),
        ],
    )
    def get(self, request: Request, response_id: str) -> Response:
        found = find(request, response_id)
        items = write_items(found.id, found.request.get("input"))
        return Response(read_page(request.query_params, items))


def find(request: Request, response_id: str) -> StoredResponse:
    """Return the response. One that has just ended is waited for: its record is on the way from
    the journal. Raises NotFound, RequestError, DatabaseUnavailable."""
    caller: Caller = request.auth  # type: ignore[assignment]
    found = look_for(read_by(caller.key), response_id)
    if found is None:
        raise NotFound(
            f"The response {response_id[:64]} is not stored. Responses are stored while Request"
            " logging is on in the workspace, unless the request has store: false.",
            param="response_id",
        )
    return found


def look_for(visible: Visible, response_id: str) -> StoredResponse | None:
    deadline = time.monotonic() + POSTED_WITHIN_S
    while True:
        try:
            return find_response(visible, response_id)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        except StillRunning:
            if time.monotonic() >= deadline:
                return None
        time.sleep(LOOK_EVERY_S)


def read_page(query: QueryDict, items: list[JsonObject]) -> InputItemList:
    """Return the part of the items that is asked for, the newest first. Raises RequestError."""
    for name in ONCE:
        if len(query.getlist(name)) > 1:
            raise RequestError(f"{name} was sent twice.", param=name)
    order, limit, after = (query.get(name) for name in ("order", "limit", "after"))
    if order not in (None, "asc", "desc"):
        raise RequestError("order must be asc or desc.", param="order")
    if limit is not None and (not LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST_ITEMS):
        raise RequestError(f"limit must be a number from 1 to {MOST_ITEMS}.", param="limit")
    if order != "asc":
        items = items[::-1]
    ids = [item["id"] for item in items]
    if after is not None and after not in ids:
        raise RequestError("after is not an item of this list.", param="after")
    start = 0 if after is None else ids.index(after) + 1
    shown = items[start : start + int(limit or USUAL_ITEMS)]
    return InputItemList(
        data=shown,
        first_id=shown[0]["id"] if shown else None,
        last_id=shown[-1]["id"] if shown else None,
        has_more=len(items) > start + len(shown),
    )

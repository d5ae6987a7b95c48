"""POST and GET /batches, GET /batches/{id}, POST /batches/{id}/cancel, under every mount."""

from __future__ import annotations

import re
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.authentication import inbound_of
from gateway.api.errors import READS
from gateway.api.files import SCOPE as FILES_SCOPE
from gateway.api.files import reading
from gateway.api.read_body import read_body
from gateway.api.schemas.batches import (
    BatchList,
    BatchObject,
    CreateBatchRequest,
    write_batch,
    write_batch_list,
)
from gateway.api.views import KeyView, answers
from gateway.core.errors import (
    FileNotFound,
    InvalidFile,
    NotFound,
    RequestError,
)
from gateway.endpoints.json_schema import REF
from gateway.http.headers import read_idempotency_key
from gateway.models import Batch
from gateway.selectors.batches import find_batch, list_batches
from gateway.selectors.files import find_file
from gateway.services.batches.creating import NewBatch, cancel_batch, create_batch
from gateway.snapshot.caller import Caller

PURPOSE = "batch"
MOST_BATCHES, USUAL_BATCHES = 100, 20
PAGE_SIZE = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_BATCHES,
    "default": USUAL_BATCHES,
}
LIMIT = re.compile(r"[0-9]{1,3}")
_decoder = msgspec.json.Decoder(CreateBatchRequest)


class BatchView(KeyView):
    """A view of the batches of the API key's workspace. The key needs the scope files, too, since
    requests and results are files."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        inbound = inbound_of(request)
        assert inbound.caller is not None
        inbound.admission.screen(inbound.caller, inbound.head, FILES_SCOPE)


class BatchListView(BatchView):
    """List the batches of the workspace, the newest first, or create one."""

    methods = (*READS, "POST")

    @answers(
        BatchList,
        operation_id="listBatches",
        tags=["batches"],
        parameters=[
            OpenApiParameter(
                "limit",
                {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_BATCHES,
                    "default": USUAL_BATCHES,
                },
            ),
            OpenApiParameter("after", str, description="The last batch of the previous page."),
        ],
    )
    def get(self, request: Request) -> Response:
        return Response(read_page(request))

    @answers(
        BatchObject,
        operation_id="createBatch",
        tags=["batches"],
        request={"application/json": {"$ref": REF.format(name="CreateBatchRequest")}},
    )
    def post(self, request: Request) -> Response:
        asked = read_body(_decoder, request.body)
        caller = caller_of(request)
        workspace_id = UUID(caller.key.workspace_id)
        file = reading(lambda: find_file(workspace_id, asked.input_file_id))
        if file is None:
            message = f"The file {asked.input_file_id} does not exist."
            raise FileNotFound(message, param="input_file_id")
        if file.purpose != PURPOSE:
            message = f"The purpose of the file is {file.purpose}, not {PURPOSE}."
            raise InvalidFile(message, param="input_file_id")
        expiry = asked.output_expires_after
        new = NewBatch(
            workspace_id=workspace_id,
            key_id=UUID(caller.key.key_id),
            ip=caller.ip,
            endpoint=asked.endpoint,
            input_file=file,
            metadata=asked.metadata or {},
            output_expires_after_s=expiry.seconds if expiry else None,
            idempotency_key=read_idempotency_key(inbound_of(request).head),
        )
        return Response(write_batch(reading(lambda: create_batch(new))))


class BatchDetailView(BatchView):
    """Get a batch."""

    @answers(BatchObject, operation_id="getBatch", tags=["batches"])
    def get(self, request: Request, batch_id: str) -> Response:
        return Response(write_batch(find(request, batch_id)))


class BatchCancelView(BatchView):
    """Cancel a batch: no further requests are made, and those under way are finished. What has
    come of it until then is in the files of results."""

    methods = ("POST", "OPTIONS")

    @answers(BatchObject, operation_id="cancelBatch", tags=["batches"], request=None)
    def post(self, request: Request, batch_id: str) -> Response:
        batch = find(request, batch_id)
        return Response(write_batch(reading(lambda: cancel_batch(batch))))


def caller_of(request: Request) -> Caller:
    caller: Caller = request.auth  # type: ignore[assignment]
    return caller


def find(request: Request, batch_id: str) -> Batch:
    """Return the batch. Raises NotFound, DatabaseUnavailable."""
    workspace_id = UUID(caller_of(request).key.workspace_id)
    found = reading(lambda: find_batch(workspace_id, batch_id))
    if found is None:
        raise NotFound(f"The batch {batch_id[:64]} does not exist.", param="batch_id")
    return found


def read_page(request: Request) -> BatchList:
    """Return the part of the batches that is asked for. Raises RequestError."""
    query = request.query_params
    for name in ("limit", "after"):
        if len(query.getlist(name)) > 1:
            raise RequestError(f"{name} was sent twice.", param=name)
    limit, after = query.get("limit"), query.get("after")
    if limit is not None and (not LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST_BATCHES):
        raise RequestError(f"limit must be a number from 1 to {MOST_BATCHES}.", param="limit")
    workspace_id = UUID(caller_of(request).key.workspace_id)
    cursor = None if after is None else reading(lambda: find_batch(workspace_id, after))
    if after is not None and cursor is None:
        raise RequestError("after is not a batch of this list.", param="after")
    page = reading(
        lambda: list_batches(
            workspace_id,
            limit=int(limit or USUAL_BATCHES),
            after=None if cursor is None else cursor.pk,
        )
    )
    return write_batch_list([write_batch(batch) for batch in page.batches], has_more=page.has_more)

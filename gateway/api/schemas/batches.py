"""Batches as the API takes and shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.api.schemas.files import MAX_EXPIRY_S, MIN_EXPIRY_S, FileId
from gateway.core.file_ids import write_file_id
from gateway.models import Batch

MAX_PAIRS = 16
Status = Batch.Status
BatchId = Annotated[str, Meta(pattern="^batch_[0-9a-f]{32}$")]
Metadata = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=64)], Annotated[str, Meta(max_length=512)]],
    Meta(max_length=MAX_PAIRS),
]
Seconds = Annotated[int | None, Meta(description="Seconds since 1970.")]


class OutputExpiry(Struct, kw_only=True, forbid_unknown_fields=True):
    """When the files of results expire."""

    anchor: Annotated[
        Literal["created_at"], Meta(description="The creation of the file, not of the batch.")
    ]
    seconds: Annotated[int, Meta(ge=MIN_EXPIRY_S, le=MAX_EXPIRY_S)]


class CreateBatchRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /batches."""

    input_file_id: Annotated[str, Meta(min_length=1, max_length=64)]
    endpoint: Annotated[
        Literal[
            "/v1/chat/completions",
            "/v1/completions",
            "/v1/embeddings",
            "/v1/images/generations",
            "/v1/messages",
            "/v1/moderations",
            "/v1/rerank",
            "/v1/responses",
        ],
        Meta(description="The endpoint of every line."),
    ]
    completion_window: Literal["24h"]
    metadata: Metadata | UnsetType | None = UNSET
    output_expires_after: OutputExpiry | UnsetType | None = UNSET


class RequestCounts(Struct):
    total: int
    completed: int
    failed: int


class BatchError(Struct, kw_only=True):
    code: str
    message: str
    param: str | None = None
    line: int | None = None


class BatchErrors(Struct, kw_only=True):
    object: Literal["list"] = "list"
    data: list[BatchError]


class BatchObject(Struct, kw_only=True):
    """A batch."""

    id: BatchId
    object: Literal["batch"] = "batch"
    endpoint: str
    errors: BatchErrors | None
    input_file_id: FileId
    completion_window: Literal["24h"] = "24h"
    status: str
    output_file_id: FileId | None
    error_file_id: FileId | None
    created_at: Annotated[int, Meta(description="Seconds since 1970.")]
    in_progress_at: Seconds
    expires_at: Seconds
    finalizing_at: Seconds
    completed_at: Seconds
    failed_at: Seconds
    expired_at: Seconds
    cancelling_at: Seconds
    cancelled_at: Seconds
    request_counts: RequestCounts
    metadata: dict[str, str] | None


class BatchList(Struct, kw_only=True):
    object: Literal["list"] = "list"
    data: list[BatchObject]
    first_id: BatchId | None
    last_id: BatchId | None
    has_more: bool


def write_batch(batch: Batch) -> BatchObject:
    def ended(status: Batch.Status) -> int | None:
        return _seconds(batch.ended_at) if batch.status == status else None

    errors = [BatchError(**error) for error in batch.errors]
    return BatchObject(
        id=batch.public_id,
        endpoint=batch.endpoint,
        errors=BatchErrors(data=errors) if errors else None,
        input_file_id=write_file_id(batch.input_file),
        status=batch.status,
        output_file_id=write_file_id(batch.output_file) if batch.output_file else None,
        error_file_id=write_file_id(batch.error_file) if batch.error_file else None,
        created_at=int(batch.created_at.timestamp()),
        in_progress_at=_seconds(batch.in_progress_at),
        expires_at=_seconds(batch.expires_at),
        finalizing_at=_seconds(batch.finalizing_at),
        completed_at=ended(Status.COMPLETED),
        failed_at=ended(Status.FAILED),
        expired_at=ended(Status.EXPIRED),
        cancelling_at=_seconds(batch.cancelling_at),
        cancelled_at=ended(Status.CANCELLED),
        request_counts=RequestCounts(batch.total, batch.completed, batch.failed),
        metadata=batch.metadata or None,
    )


def write_batch_list(batches: list[BatchObject], *, has_more: bool) -> BatchList:
    return BatchList(
        data=batches,
        first_id=batches[0].id if batches else None,
        last_id=batches[-1].id if batches else None,
        has_more=has_more,
    )


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())

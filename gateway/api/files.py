"""GET /files, GET and DELETE /files/{id}, GET /files/{id}/content, under every mount."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.db import Error as DatabaseError
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.anthropic_files import list_anthropic_files
from gateway.api.anthropic_models import speaks_anthropic
from gateway.api.authentication import inbound_of
from gateway.api.errors import READS
from gateway.api.schemas.anthropic_files import (
    AnthropicDeletedFile,
    AnthropicFile,
    AnthropicFileList,
    write_anthropic_file,
)
from gateway.api.schemas.files import (
    DeletedFile,
    FileList,
    FileObject,
    write_file_list,
    write_file_object,
)
from gateway.api.view_descriptions import described
from gateway.api.views import ANTHROPIC_VERSION, KeyView, answers
from gateway.core.errors import DatabaseUnavailable, NotFound, RequestError
from gateway.core.file_errors import FileExpired
from gateway.http.api_format import ANTHROPIC, OPENAI, ApiFormat
from gateway.models import StoredFile
from gateway.models.file import PURPOSES
from gateway.selectors.files import (
    find_cursor,
    find_file,
    find_storage,
    has_expired,
    list_files,
)
from gateway.services.files.deleting import delete_file
from gateway.services.files.limits import limits_of
from gateway.services.files.sending import content_response

SCOPE = "files"
MOST_FILES, USUAL_FILES = 1_000, 20
LIMIT = re.compile(r"[0-9]{1,4}")
T = TypeVar("T")
ONCE = ("limit", "order", "after", "purpose")


class FilesView(KeyView):
    """A view of the files of the API key's workspace."""

    scope = SCOPE

    def api_format(self, request: HttpRequest) -> ApiFormat:
        return ANTHROPIC if speaks_anthropic(request) else OPENAI

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        caller = inbound_of(request).caller
        if caller is not None and inbound_of(request).error is None:
            for name, value in storage_headers(UUID(caller.key.workspace_id)).items():
                final[name] = value
        return final


class FileListView(FilesView):
    """List the files of the workspace, the newest first.

    With the header anthropic-version, the list has the format of Anthropic's API.
    """

    methods = (*READS, "POST")

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Say that there are uploads, which are none of this view's (gateway.api.uploads)."""
        return {**super().default_response_headers, "Allow": ", ".join(self.methods)}

    @answers(
        FileList,
        AnthropicFileList,
        operation_id="listFiles",
        tags=["files"],
        parameters=[
            OpenApiParameter("purpose", {"enum": list(PURPOSES)}),
            OpenApiParameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MOST_FILES, "default": USUAL_FILES},
            ),
            OpenApiParameter("order", {"enum": ["asc", "desc"], "default": "desc"}),
            OpenApiParameter("after", str, description="The last file of the previous page."),
            ANTHROPIC_VERSION,
            OpenApiParameter("after_id", str, description="after, in Anthropic's format."),
            OpenApiParameter(
                "before_id",
                str,
                description="The first file of the next page, in Anthropic's format.",
            ),
            OpenApiParameter("page", str, description="next_page, in Anthropic's format."),
        ],
    )
    def get(self, request: Request) -> Response:
        query, workspace_id = request.query_params, workspace_of(request)
        check_page(query)
        if speaks_anthropic(request):
            return Response(reading(lambda: list_anthropic_files(query, workspace_id)))
        return Response(read_page(query, workspace_id))


class FileView(FilesView):
    """Get a file, or delete it."""

    methods = (*READS, "DELETE")

    @answers(
        FileObject,
        AnthropicFile,
        operation_id="getFile",
        tags=["files"],
        parameters=[ANTHROPIC_VERSION],
    )
    def get(self, request: Request, file_id: str) -> Response:
        found = find(request, file_id)
        if speaks_anthropic(request):
            return Response(write_anthropic_file(found))
        return Response(write_file_object(found))

    @answers(
        DeletedFile,
        AnthropicDeletedFile,
        operation_id="deleteFile",
        tags=["files"],
        parameters=[ANTHROPIC_VERSION],
    )
    def delete(self, request: Request, file_id: str) -> Response:
        found = find(request, file_id)
        if not reading(lambda: delete_file(found)):
            raise missing(file_id)
        if speaks_anthropic(request):
            return Response(AnthropicDeletedFile(id=found.public_id))
        return Response(DeletedFile(id=found.public_id))


class FileContentView(FilesView):
    """Get the content of a file: its bytes, as they were uploaded."""

    @described(
        operation_id="getFileContent",
        tags=["files"],
        responses={(200, "application/octet-stream"): {"type": "string", "format": "binary"}},
    )
    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        return content_response(find(request, file_id))

    def finalize_response(
        self, request: Request, response: Any, *args: object, **kwargs: object
    ) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        if final.status_code == 200 and final.streaming:
            final["cache-control"] = "private, max-age=0"
        return final


def reading(read: Callable[[], T]) -> T:
    """Return what the database answers. Raises DatabaseUnavailable."""
    try:
        return read()
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error


def workspace_of(request: Request) -> UUID:
    caller = inbound_of(request).caller
    assert caller is not None
    return UUID(caller.key.workspace_id)


def find(request: Request, file_id: str) -> StoredFile:
    """Return the file. Raises NotFound, FileExpired, DatabaseUnavailable."""
    workspace_id = workspace_of(request)
    try:
        found = find_file(workspace_id, file_id)
        if found is None and has_expired(workspace_id, file_id):
            raise FileExpired(param="file_id")
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
    if found is None:
        raise missing(file_id)
    return found


def missing(file_id: str) -> NotFound:
    return NotFound(f"The file {file_id[:64]} does not exist.", param="file_id")


def check_page(query: QueryDict) -> None:
    """Raise RequestError for what no list of files has, in either format."""
    for name in ONCE:
        if len(query.getlist(name)) > 1:
            raise RequestError(f"{name} was sent twice.", param=name)
    if query.get("order") not in (None, "asc", "desc"):
        raise RequestError("order must be asc or desc.", param="order")
    purpose = query.get("purpose")
    if purpose is not None and purpose not in PURPOSES:
        raise RequestError(f"purpose must be one of: {', '.join(PURPOSES)}.", param="purpose")


def read_page(query: QueryDict, workspace_id: UUID) -> FileList:
    """Return the part of the files that is asked for. Raises RequestError."""
    order, limit, after, purpose = (
        query.get(name) for name in ("order", "limit", "after", "purpose")
    )
    if limit is not None and (not LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST_FILES):
        raise RequestError(f"limit must be a number from 1 to {MOST_FILES}.", param="limit")
    try:
        cursor = None if after is None else find_cursor(workspace_id, after)
        if after is not None and cursor is None:
            raise RequestError("after is not a file of this list.", param="after")
        page = list_files(
            workspace_id,
            limit=int(limit or USUAL_FILES),
            purpose=purpose or "",
            after=cursor,
            ascending=order == "asc",
        )
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
    return write_file_list([write_file_object(file) for file in page.files], has_more=page.has_more)


def storage_headers(workspace_id: UUID) -> dict[str, str]:
    """Return what a workspace stores and may store, as every answer about files says it; nothing
    where the database is away."""
    try:
        storage = find_storage(workspace_id)
    except DatabaseError:
        return {}
    limits = limits_of(storage)
    return {
        "x-storage-used-bytes": str(0 if storage is None else storage.size_bytes),
        "x-storage-limit-bytes": str(limits.max_storage_bytes),
        "x-files-used": str(0 if storage is None else storage.files),
        "x-files-limit": str(limits.max_files),
    }

"""GET /models, /models/{id} and /generation, under both mounts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway.admission.admit import Caller
from gateway.api.authentication import (
    CatalogueAuthentication,
    KeyAuthentication,
    inbound_of,
)
from gateway.api.errors import error_response, handle, name_profile
from gateway.api.written import write_generation, write_model
from gateway.core.errors import DatabaseUnavailable, ModelNotFound, NotFound, RequestError
from gateway.core.ids import find_request_id
from gateway.models import CallRecord
from gateway.selectors.call_names import find_call_named

Method = TypeVar("Method", bound=Callable[..., Any])

# A record reaches the database within two drains (gateway.stores.writer).
POSTED_WITHIN_S = 0.5
LOOK_EVERY_S = 0.05


class KeyView(APIView):
    """A view for holders of an API key. scope: what the key must be good for, if anything."""

    authentication_classes: tuple[type[KeyAuthentication], ...] = (KeyAuthentication,)
    permission_classes = ()
    scope = "completions"

    def get_exception_handler(self) -> Any:
        return handle

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        inbound = inbound_of(request)
        final["x-request-id"] = inbound.head.request_id
        name_profile(final, inbound.profile)
        final["cache-control"] = "no-store"
        return final


def answers(name: str, **more: Any) -> Callable[[Method], Method]:
    """Say in the OpenAPI document what a view answers with: a type of gateway.api.shapes."""
    return extend_schema(responses={200: {"$ref": f"#/components/schemas/{name}"}}, **more)


class CatalogueView(KeyView):
    """A view of the models that the key may use, or of all where anybody may look."""

    authentication_classes = (CatalogueAuthentication,)

    def shows(self, request: Request, name: str) -> bool:
        caller: Caller | None = request.auth  # type: ignore[assignment]
        return caller is None or caller.key.may_use(name)


class ModelList(CatalogueView):
    """The models the key may use, by name."""

    @answers("ModelListShape", operation_id="listModels", tags=["models"])
    def get(self, request: Request) -> Response:
        models = inbound_of(request).snapshot.models
        shown = [models[name] for name in sorted(models) if self.shows(request, name)]
        return Response({"object": "list", "data": [write_model(model) for model in shown]})


class ModelDetail(CatalogueView):
    """One model. A hidden one answers as an absent one does."""

    @answers("ModelShape", operation_id="getModel", tags=["models"])
    def get(self, request: Request, name: str) -> Response:
        model = inbound_of(request).snapshot.models.get(name)
        if model is None or not self.shows(request, name):
            raise ModelNotFound(f"There is no model called {name[:256]}.", param="model")
        return Response(write_model(model))


class Generation(KeyView):
    """What happened to one call of the workspace, by any spelling of its id."""

    scope = ""

    @answers(
        "GenerationAnswer",
        operation_id="getGeneration",
        tags=["usage"],
        parameters=[OpenApiParameter("id", str, required=True)],
    )
    def get(self, request: Request) -> Response:
        text = request.query_params.get("id", "")
        if not text:
            raise RequestError("id is required.", param="id")
        caller: Caller = request.auth  # type: ignore[assignment]
        record = find_record(text, uuid.UUID(caller.key.workspace_id))
        if record is None:
            raise NotFound(f"There is no generation {text[:64]}.", param="id")
        asked = find_request_id(text)
        is_theirs = asked is not None and asked != record.pk
        return Response({"data": write_generation(record, str(asked) if is_theirs else "")})


def find_record(text: str, workspace_id: uuid.UUID) -> CallRecord | None:
    """Return the workspace's record. A call that has just ended is waited for: its record is on
    the way from the journal. Raises DatabaseUnavailable."""
    call_id = find_request_id(text)
    deadline = time.monotonic() + POSTED_WITHIN_S
    while True:
        try:
            record = find_call_named(workspace_id, text)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        is_settled = record is not None and record.status != CallRecord.Status.IN_PROGRESS
        is_coming = record is not None or (call_id is not None and may_be_recent(call_id))
        if is_settled or not is_coming or time.monotonic() >= deadline:
            return record
        time.sleep(LOOK_EVERY_S)


def may_be_recent(call_id: uuid.UUID) -> bool:
    """True when a call of this id may just have begun, its record not written yet.

    The first 48 bits of a UUIDv7 are the milliseconds of its making; any other is its caller's
    own, and says nothing.
    """
    return call_id.version != 7 or abs(time.time() - (call_id.int >> 80) / 1000) < 2


def unknown_path(request: HttpRequest) -> HttpResponse:
    """Any address under the mounts that is not an endpoint, for any method."""
    return error_response(request, NotFound(f"There is no endpoint at {request.path[:200]}."))

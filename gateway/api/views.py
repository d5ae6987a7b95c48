"""GET /models, /models/{id} and /generation, under both mounts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway.admission.admit import Caller
from gateway.api.authentication import KeyAuthentication, inbound_of
from gateway.api.errors import error_response, handle, name_profile
from gateway.api.written import write_generation, write_model
from gateway.core.errors import DatabaseUnavailable, ModelNotFound, NotFound, RequestError
from gateway.core.ids import find_request_id
from gateway.models import CallRecord

Method = TypeVar("Method", bound=Callable[..., Any])

# A record reaches the database within two drains (gateway.stores.writer).
POSTED_WITHIN_S = 0.5
LOOK_EVERY_S = 0.05
A_MODEL = OpenApiExample("simulated", "tollhouse/simulated")


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


class ModelList(KeyView):
    """The models the key may use, by name."""

    @answers("ModelListShape", operation_id="listModels", tags=["models"])
    def get(self, request: Request) -> Response:
        caller: Caller = request.auth  # type: ignore[assignment]
        models = inbound_of(request).snapshot.models
        shown = [models[name] for name in sorted(models) if caller.key.may_use(name)]
        return Response({"object": "list", "data": [write_model(model) for model in shown]})


class ModelDetail(KeyView):
    """One model. A hidden one answers as an absent one does."""

    @answers(
        "ModelShape",
        operation_id="getModel",
        tags=["models"],
        parameters=[OpenApiParameter("name", str, OpenApiParameter.PATH, examples=[A_MODEL])],
    )
    def get(self, request: Request, name: str) -> Response:
        caller: Caller = request.auth  # type: ignore[assignment]
        model = inbound_of(request).snapshot.models.get(name)
        if model is None or not caller.key.may_use(name):
            raise ModelNotFound(f"There is no model called {name[:256]}.", param="model")
        return Response(write_model(model))


class Generation(KeyView):
    """What happened to one call of the workspace, by any spelling of its id."""

    scope = ""

    @answers(
        "GenerationAnswer",
        operation_id="getGeneration",
        tags=["usage"],
        parameters=[OpenApiParameter("id", {"type": "string", "minLength": 1}, required=True)],
    )
    def get(self, request: Request) -> Response:
        text = request.query_params.get("id", "")
        if not text:
            raise RequestError("id is required.", param="id")
        caller: Caller = request.auth  # type: ignore[assignment]
        workspace_id = uuid.UUID(caller.key.workspace_id)
        call_id = find_request_id(text) or find_by_client_id(text, workspace_id)
        record = None if call_id is None else find_record(call_id, workspace_id)
        if record is None:
            raise NotFound(f"There is no generation {text[:64]}.", param="id")
        return Response({"data": write_generation(record)})


def find_record(call_id: uuid.UUID, workspace_id: uuid.UUID) -> CallRecord | None:
    """Return the workspace's record. A call that has just ended is waited for: its record is on
    the way from the journal. Raises DatabaseUnavailable."""
    deadline = time.monotonic() + POSTED_WITHIN_S
    while True:
        try:
            record = CallRecord.objects.filter(pk=call_id, workspace_id=workspace_id).first()
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        is_settled = record is not None and record.status != CallRecord.Status.IN_PROGRESS
        if is_settled or time.monotonic() >= deadline or not is_recent(call_id, record):
            return record
        time.sleep(LOOK_EVERY_S)


def find_by_client_id(text: str, workspace_id: uuid.UUID) -> uuid.UUID | None:
    """Return the newest call that its caller gave this id, or None."""
    calls = CallRecord.objects.filter(workspace_id=workspace_id, client_request_id=text)
    return calls.exclude(client_request_id="").order_by("-id").values_list("id", flat=True).first()


def is_recent(call_id: uuid.UUID, record: CallRecord | None) -> bool:
    """True when a record may be about to arrive: it is under way, or its call has just begun.

    The first 48 bits of a UUIDv7 are the milliseconds of its making.
    """
    if record is not None or call_id.version != 7:
        return record is not None
    return abs(time.time() - (call_id.int >> 80) / 1000) < 2


def unknown_path(request: HttpRequest) -> HttpResponse:
    """Any address under the mounts that is not an endpoint, for any method."""
    return error_response(request, NotFound(f"There is no endpoint at {request.path[:200]}."))

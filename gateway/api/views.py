"""GET /models, /models/{id} and /generation, under every mount."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, QueryDict
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from msgspec import UNSET, Struct
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway.api.anthropic_models import list_models, speaks_anthropic
from gateway.api.authentication import (
    CatalogueAuthentication,
    KeyAuthentication,
    inbound_of,
)
from gateway.api.errors import READS, handle, missing_endpoint, sign
from gateway.api.schemas.anthropic_models import (
    AnthropicModel,
    AnthropicModelList,
    write_anthropic_model,
)
from gateway.api.schemas.generation import GenerationResponse, write_generation
from gateway.api.schemas.models import Model, ModelList, write_model
from gateway.api.view_descriptions import Method, described
from gateway.core.errors import DatabaseUnavailable, ModelNotFound, NotFound, RequestError
from gateway.core.ids import find_request_id
from gateway.http.api_format import ANTHROPIC, OPENAI, ApiFormat
from gateway.models import CallRecord
from gateway.selectors.call_names import (
    LOOK_EVERY_S,
    POSTED_WITHIN_S,
    find_call_named,
    may_be_recent,
)
from gateway.selectors.visible import Visible, read_by
from gateway.snapshot.caller import Caller

A_MODEL = OpenApiExample("simulated", "tollhouse/simulated")
MOST_MODELS = 1000
LIMIT = re.compile(r"[0-9]{1,4}")


class KeyView(APIView):
    """A view for holders of an API key.

    scope: what the key must be good for, if anything. wider_scope: one that does as well.
    """

    authentication_classes: tuple[type[KeyAuthentication], ...] = (KeyAuthentication,)
    permission_classes = ()
    scope = "completions"
    wider_scope = ""
    methods: Sequence[str] = READS

    def api_format(self, request: HttpRequest) -> ApiFormat:
        """Return the format in which errors are written."""
        return OPENAI

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        return handle

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        inbound = inbound_of(request)
        sign(final, inbound)
        if id_header := self.api_format(request).id_header:
            final[id_header.decode()] = inbound.head.request_id
        final["cache-control"] = "no-store"
        return final


def answers(*structs: type[Struct], **more: Any) -> Callable[[Method], Method]:
    """Name the type of a view's answer for the OpenAPI document, or the types it may have."""
    references = [{"$ref": f"#/components/schemas/{struct.__name__}"} for struct in structs]
    # Lists of nothing fit either type.
    schema = {"anyOf": references} if len(references) > 1 else references[0]
    return described(responses={200: schema}, **more)


ANTHROPIC_VERSION = OpenApiParameter(
    "anthropic-version",
    str,
    OpenApiParameter.HEADER,
    description="Responses have the format of Anthropic's API.",
)


class CatalogueView(KeyView):
    """A view of the models that the key may use, or of all where anybody may look."""

    authentication_classes = (CatalogueAuthentication,)

    def api_format(self, request: HttpRequest) -> ApiFormat:
        return ANTHROPIC if speaks_anthropic(request) else OPENAI

    def shows(self, request: Request, name: str) -> bool:
        caller: Caller | None = request.auth  # type: ignore[assignment]
        return caller is None or caller.key.may_use(name)


class ModelListView(CatalogueView):
    """List the models that the API key may use, sorted by name.

    With the header anthropic-version, the list has the format of Anthropic's API: 20 models per
    page by default, the newest first.
    """

    @answers(
        ModelList,
        AnthropicModelList,
        operation_id="listModels",
        tags=["models"],
        parameters=[
            OpenApiParameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MOST_MODELS},
                description="Models per page. Default: all models.",
            ),
            OpenApiParameter("after", str, description="The last model of the previous page."),
            ANTHROPIC_VERSION,
            OpenApiParameter("after_id", str, description="after, in Anthropic's format."),
            OpenApiParameter(
                "before_id",
                str,
                description="The first model of the next page, in Anthropic's format.",
            ),
        ],
    )
    def get(self, request: Request) -> Response:
        models = inbound_of(request).snapshot.offered()
        names = [name for name in sorted(models) if self.shows(request, name)]
        if speaks_anthropic(request):
            return Response(list_models(request.query_params, [models[name] for name in names]))
        start, end = read_page(request.query_params, names)
        shown = [write_model(models[name]) for name in names[start:end]]
        has_more = len(names) > end if "limit" in request.query_params else UNSET
        return Response(ModelList("list", shown, has_more))


class ModelView(CatalogueView):
    """Get a model. A model that the API key may not use is reported as missing."""

    @answers(
        Model,
        AnthropicModel,
        operation_id="getModel",
        tags=["models"],
        parameters=[
            OpenApiParameter("name", str, OpenApiParameter.PATH, examples=[A_MODEL]),
            ANTHROPIC_VERSION,
        ],
    )
    def get(self, request: Request, name: str) -> Response:
        model = inbound_of(request).snapshot.find(name)
        if model is None or not model.targets or not self.shows(request, model.name):
            raise ModelNotFound(f"The model {name[:256]} does not exist.", param="model")
        if speaks_anthropic(request):
            return Response(write_anthropic_model(model))
        return Response(write_model(model))


class GenerationView(KeyView):
    """Get the record of a call by its ID, in any of its spellings.

    An API key reads its own calls. With the scope usage.workspace it reads all calls of its
    workspace.
    """

    scope = ""

    @answers(
        GenerationResponse,
        operation_id="getGeneration",
        tags=["usage"],
        parameters=[OpenApiParameter("id", {"type": "string", "minLength": 1}, required=True)],
    )
    def get(self, request: Request) -> Response:
        text = request.query_params.get("id", "")
        if not text:
            raise RequestError("id is required.", param="id")
        caller: Caller = request.auth  # type: ignore[assignment]
        record = find_record(text, read_by(caller.key))
        if record is None:
            raise NotFound(f"The generation {text[:64]} does not exist.", param="id")
        asked = find_request_id(text)
        is_theirs = asked is not None and asked != record.pk
        shown = write_generation(record, str(asked) if is_theirs else "")
        return Response(GenerationResponse(shown))


def read_page(query: QueryDict, names: list[str]) -> tuple[int, int]:
    """Return the part of the names that is asked for. Raises RequestError.

    A cursor is a name of the list; one that is hidden is refused as one that never was.
    """
    for name in ("limit", "after"):
        if len(query.getlist(name)) > 1:
            raise RequestError(f"{name} was sent twice.", param=name)
    after, limit = query.get("after"), query.get("limit")
    if after is not None and after not in names:
        raise RequestError("after is not a model of this list.", param="after")
    start = 0 if after is None else names.index(after) + 1
    if limit is None:
        return start, len(names)
    if not LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST_MODELS:
        raise RequestError(f"limit must be a number from 1 to {MOST_MODELS}.", param="limit")
    return start, start + int(limit)


def find_record(text: str, visible: Visible) -> CallRecord | None:
    """Return the record, if it is one of these. A call that has just ended is waited for: its
    record is on the way from the journal. Raises DatabaseUnavailable."""
    call_id = find_request_id(text)
    deadline = time.monotonic() + POSTED_WITHIN_S
    while True:
        try:
            record = find_call_named(visible, text)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        is_settled = record is not None and record.status != CallRecord.Status.IN_PROGRESS
        is_coming = record is not None or (call_id is not None and may_be_recent(call_id))
        if is_settled or not is_coming or time.monotonic() >= deadline:
            return record
        time.sleep(LOOK_EVERY_S)


def unknown_path(request: HttpRequest) -> HttpResponse:
    """Any address under the mounts that is not an endpoint, for any method."""
    return missing_endpoint(request)

"""POST /admission/explain: would this call be admitted, and which check refuses it?"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec
from django.conf import settings
from django.core import signing
from django.db import Error as DatabaseError
from django.http import HttpRequest
from msgspec import UNSET
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.admission.address import canonical_text, parse_address
from gateway.api.authentication import KeyAuthentication, inbound_of
from gateway.api.mount import Serving, serving_of
from gateway.api.read_body import read_body
from gateway.api.schemas.explanation import (
    ExplainRequest,
    ExplanationResponse,
    ExplanationShown,
    write_explanation,
)
from gateway.api.views import KeyView, answers
from gateway.core.errors import (
    DatabaseUnavailable,
    InsufficientScope,
    InvalidKey,
    NotFound,
    RequestError,
)
from gateway.core.json_types import JsonObject
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.endpoints.json_schema import REF
from gateway.endpoints.registry import ENDPOINTS
from gateway.explain.question import Origin, imagined_head
from gateway.outbound.permitted_addresses import read_networks
from gateway.snapshot.caller import Caller
from keys.models import ApiKey, Scope

# Who knows the installation's secret key may ask about every key: manage.py explain_call.
OPERATOR_HEADER = "x-tollhouse-operator"
_SALT = "gateway.api.explain"
SIGNED_FOR_S = 60
_decoder = msgspec.json.Decoder(ExplainRequest)


def sign_question(key_id: str) -> str:
    """Return what lets an operator's command ask about a key, for a minute."""
    return signing.TimestampSigner(salt=_SALT).sign(key_id)


def read_signature(text: str) -> str:
    """Return the id of the key that may be asked about; empty for a bad signature."""
    try:
        return signing.TimestampSigner(salt=_SALT).unsign(text[:300], max_age=SIGNED_FOR_S)
    except signing.BadSignature:
        return ""


class ExplainAuthentication(KeyAuthentication):
    """A key, or the signature of an operator's command: request.auth is None then."""

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        if read_signature(request.headers.get(OPERATOR_HEADER, "")):
            return None
        return super().authenticate(request)


class ExplainView(KeyView):
    """Explain whether a call would be admitted: each check of admission in its order, with numbers.

    No call is made and nothing is taken. An API key asks about itself. With the scope
    usage.workspace it asks about any key of its workspace.
    """

    authentication_classes = (ExplainAuthentication,)
    scope = ""
    methods = ("POST", "OPTIONS")

    @answers(
        ExplanationResponse,
        operation_id="explainAdmission",
        tags=["calls"],
        request={"application/json": {"$ref": REF.format(name="ExplainRequest")}},
    )
    def post(self, request: Request) -> Response:
        asked = read_body(_decoder, request.body)
        head = inbound_of(request).head
        caller: Caller | None = request.auth  # type: ignore[assignment]
        asking_ip = canonical_text(head.peer) if caller is None else caller.ip
        digest, key_id = key_asked_about(request, caller, asked)
        serving = serving_of(request._request)
        assert serving is not None
        shown = explain_call(serving, asked, head, asking_ip, digest=digest, key_id=key_id)
        return Response(ExplanationResponse(shown))


def explain_call(
    serving: Serving,
    asked: ExplainRequest,
    asking: RequestHead,
    asking_ip: str,
    *,
    digest: str,
    key_id: str,
) -> ExplanationShown:
    """Return what would become of the call. asking, asking_ip: of the question.

    Raises RequestError for a question that is none, and as Explainer.explain does.
    """
    endpoint = find_endpoint(asked.endpoint, serving.endpoints)
    origin = Origin(
        address=given_address(asked),
        country=None if asked.country is UNSET else asked.country,
        user_agent=None if asked.user_agent is UNSET else asked.user_agent,
    )
    head = imagined_head(
        asking,
        asking_ip,
        origin,
        trusted=read_networks(settings.TRUSTED_PROXIES),
        country_header=settings.COUNTRY_HEADER,
    )
    found = serving.explain(digest, head, endpoint, write_body(asked, endpoint))
    address = asking_ip if origin.address is None else origin.address
    return write_explanation(
        found, key_id=key_id, endpoint=endpoint.name, address=canonical_text(address)
    )


def explain_for_person(
    request: HttpRequest, key: ApiKey, question: Mapping[str, object]
) -> JsonObject | None:
    """Return ExplanationShown for a page; None where the process that serves it makes no calls.

    question: the members of an ExplainRequest. The call comes from the person's address unless the
    question names another, and has no headers but those that the question is about. Raises as
    explain_call does.
    """
    serving = serving_of(request)
    if serving is None:
        return None
    asked = read_body(_decoder, msgspec.json.encode(question))
    ip = canonical_text(request.META.get("REMOTE_ADDR", ""))
    asking = RequestHead(headers=[], peer=ip, fields={})
    shown = explain_call(serving, asked, asking, ip, digest=key.digest, key_id=str(key.pk))
    found: JsonObject = msgspec.to_builtins(shown)
    return found


def given_address(asked: ExplainRequest) -> str | None:
    if asked.address is UNSET:
        return None
    if parse_address(asked.address) is None:
        raise RequestError("address must be an IP address.", param="address")
    return asked.address


def endpoint_choices() -> list[tuple[str, str]]:
    """Return name and path of every endpoint that can be asked about."""
    return [(endpoint.name, endpoint.paths[0]) for endpoint in ENDPOINTS]


def find_endpoint(name: str, endpoints: list[AnyEndpoint]) -> AnyEndpoint:
    """Return the endpoint of this path or name. Raises RequestError."""
    for endpoint in endpoints:
        if name == endpoint.name or name.lstrip("/") in endpoint.paths:
            return endpoint
    paths = ", ".join(endpoint.paths[0] for endpoint in endpoints)
    raise RequestError(f"endpoint must be one of {paths}.", param="endpoint")


def write_body(asked: ExplainRequest, endpoint: AnyEndpoint) -> bytes:
    """Return the body of the call: the one given, or an example of the endpoint's."""
    if asked.body is not UNSET:
        body: dict[str, object] = dict(asked.body)
    else:
        body = dict(next(iter(endpoint.describe().examples.values())))
    if asked.model is not UNSET:
        body["model"] = asked.model
    return msgspec.json.encode(body)


def key_asked_about(
    request: Request, caller: Caller | None, asked: ExplainRequest
) -> tuple[str, str]:
    """Return the digest and the id of the key. Raises InsufficientScope, NotFound."""
    if caller is None:
        signed = read_signature(request.headers.get(OPERATOR_HEADER, ""))
        if not signed:  # it has just expired
            raise InvalidKey
        return find_digest(UUID(signed), None), signed
    key = caller.key
    if asked.key_id is UNSET or str(asked.key_id) == key.key_id:
        return key.digest, key.key_id
    if Scope.USAGE_WORKSPACE not in key.scopes:
        raise InsufficientScope(
            "Asking about another API key needs the scope usage.workspace.",
            details={"required_scope": Scope.USAGE_WORKSPACE.value},
        )
    return find_digest(asked.key_id, UUID(key.workspace_id)), str(asked.key_id)


def find_digest(key_id: UUID, workspace_id: UUID | None) -> str:
    """Return the digest of a key; workspace_id: None for one of any workspace."""
    keys = ApiKey.objects.filter(pk=key_id)
    if workspace_id is not None:
        keys = keys.filter(workspace_id=workspace_id)
    try:
        digest = keys.values_list("digest", flat=True).first()
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
    if digest is None:
        raise NotFound("The workspace has no API key with this ID.", param="key_id")
    return digest

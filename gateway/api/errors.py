"""Errors of everything under the API's mounts that Django answers: the same catalogue, as JSON."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions

from gateway.api.mount import SCOPE_KEY, Inbound
from gateway.core.asgi import ReadOnlyScope
from gateway.core.errors import GatewayError, MethodNotAllowed, NotFound, RequestError
from gateway.core.ids import new_request_id
from gateway.core.mounts import explain_missing
from gateway.core.profiles import UNIFIED
from gateway.endpoints.registry import api_format_meant_by
from gateway.http.api_format import OPENAI, ApiFormat
from gateway.http.error_response import error_response
from gateway.http.rate_headers import rate_headers

READS = ["GET", "HEAD", "OPTIONS"]  # the methods of every address that is not a call to a model
logger = logging.getLogger(__name__)


def json_error(
    request: HttpRequest, error: GatewayError, api_format: ApiFormat = OPENAI
) -> HttpResponse:
    """Return the error as every endpoint of the gateway words it."""
    inbound = getattr(request, "scope", {}).get(SCOPE_KEY)
    request_id = inbound.head.request_id if inbound else new_request_id()
    profile = inbound.profile if inbound else UNIFIED
    rendered_as = UNIFIED if profile.formats_only_call_errors else profile
    status, headers, body = error_response(error, request_id, rendered_as, api_format)
    response = HttpResponse(body, status=status)
    for name, value in headers:
        response[name.decode()] = value.decode()
    response["x-request-id"] = request_id
    if inbound:
        sign(response, inbound)
    return response


def missing_endpoint(request: HttpRequest) -> HttpResponse:
    """Return the 404 of an address that was meant for the API, and where to go instead."""
    message = explain_missing(request.path, origin_of(getattr(request, "scope", {})))
    return json_error(request, NotFound(message), api_format_meant_by(request.path))


def origin_of(scope: ReadOnlyScope) -> str:
    """Return scheme and host under which a caller reaches us, empty when that is not known."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL).rstrip("/")
    host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
    return f"{scope.get('scheme', 'http')}://{host}" if host else ""


def sign(response: HttpResponse, inbound: Inbound) -> None:
    """Add the headers that every answer has: its ids, whose flavour it is when not ours, and how
    many calls its caller may still make, where that is limited."""
    head, profile = inbound.head, inbound.profile
    response["x-request-id"] = head.request_id
    if client_id := head.client_id():
        response["x-client-request-id"] = client_id
    if not profile.is_ours:
        response["x-compat-profile"] = profile.name
    rates = None if inbound.caller is None else inbound.caller.rates
    for name, value in rate_headers(rates, response.status_code):
        response[name.decode()] = value.decode()


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """REST framework's exception handler."""
    request = context["request"]._request
    known = as_gateway_error(error)
    if isinstance(known, MethodNotAllowed):
        known.details["allow"] = list(context["view"].methods)
    return json_error(request, known, context["view"].api_format(request))


def as_gateway_error(error: Exception) -> GatewayError:
    """Return our error for one of the framework's. What we do not expect is logged, not shown."""
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, exceptions.MethodNotAllowed):
        return MethodNotAllowed(details={"allow": READS})
    if isinstance(error, exceptions.NotFound | Http404):
        return NotFound()
    if isinstance(error, TooManyFieldsSent):
        return RequestError("The query has too many parameters.")
    if isinstance(error, exceptions.APIException | PermissionDenied | SuspiciousOperation):
        return RequestError()
    logger.error("A view failed with an unexpected error.", exc_info=error)
    return GatewayError()


def error_of_status(status: int) -> GatewayError:
    """Return our error for a failure that Django found before any view ran."""
    if status == 404:
        return NotFound()
    return RequestError() if status < 500 else GatewayError()

"""Error pages, and JSON for the same under the API's paths.

Who is signed in gets them inside the frame of the pages. Nothing else here reads the database: an
error page comes up, without the frame, when that is what failed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

from accounts.models import User
from accounts.permissions import NotAllowed
from dashboard.http.current_workspace import NoWorkspace
from dashboard.http.query_params import UnknownPlace
from gateway.api.errors import error_of_status, json_error, missing_endpoint
from gateway.core.mounts import is_meant_for_api
from gateway.edge.form_bytes import FORM_BYTES
from gateway.web.form_uploads import NoRoom

log = logging.getLogger(__name__)

GENERIC_403 = "Your role does not cover this page. An owner of the workspace can change that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a person is told: a title, a sentence, and where to go next."""

    status: int
    title: str
    text: str
    icon: str = "circle-alert"
    next_url: str = "/"
    next_words: str = "Go to the overview"


BAD_REQUEST = Failure(
    status=400, title="Bad request", text="Go back and try again, or start from the overview."
)
REFUSED_TITLES = {
    408: "Request timeout",
    413: "Request too large",
    503: "The server is busy",
}
NOT_FOUND = Failure(
    status=404,
    title="Page not found",
    text="The address is wrong, or the item was deleted or belongs to a workspace you cannot see.",
    icon="signpost",
)
WRONG_METHOD = Failure(
    status=405,
    title="This address is not a page",
    text="It only accepts form submissions. Start from the overview.",
    icon="signpost",
)
SERVER_ERROR = Failure(
    status=500,
    title="Something went wrong",
    text="Try again in a moment. The server log has the details.",
)
BUSY_RETRY_S = 5
DATABASE_BUSY = Failure(
    status=503,
    title="The database is not answering",
    text="Nothing was saved. Go back and try again in a few seconds.",
    icon="hourglass",
)
CSRF_FAILED = Failure(
    status=403,
    title="This form has expired",
    text="You may have signed in or out since you opened it. Go back, reload the page and submit"
    " it again. Cookies must be enabled.",
    icon="timer-reset",
)
# What is said without a view, in the same words (gateway.web.unknown_paths).
WORDED = {403: CSRF_FAILED, 404: NOT_FOUND}
FORM_TOO_LONG = Failure(
    status=413,
    title="This form is too large",
    text=f"The maximum size is {FORM_BYTES // 1024} KB. Nothing was saved. Go back; if the form"
    " takes a file, upload the file instead of pasting its content.",
)
TOO_MANY = Failure(
    status=429,
    title="Too many attempts",
    text="There were too many failed attempts from your network. Try again in a few minutes,"
    " or sign in from another network.",
    icon="hourglass",
    next_words="Back to sign-in",
)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, UnknownPlace):
        return _answer(request, replace(BAD_REQUEST, text=str(exception)))
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, FORM_TOO_LONG)
    if isinstance(exception, NoRoom):
        return refused(request, 503, str(exception))
    return _answer(request, BAD_REQUEST)


def refused(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """Word what the server refused before any page was asked (gateway.web.form_routes)."""
    if status in WORDED:
        return _answer(request, WORDED[status])
    title = REFUSED_TITLES.get(status, BAD_REQUEST.title)
    return _answer(request, Failure(status=status, title=title, text=message))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, NoWorkspace):
        failure = Failure(
            status=403,
            title="You are not in a workspace yet",
            text="Ask the owner of a workspace, or an operator, for an invitation.",
            icon="users",
            next_url="/account",
            next_words="Go to your account",
        )
    elif isinstance(exception, NotAllowed):
        failure = Failure(
            status=403, title="You do not have permission", text=str(exception), icon="lock"
        )
    else:
        # Only sentences of our own are shown; what a library says stays in the log.
        failure = Failure(
            status=403, title="You do not have permission", text=GENERIC_403, icon="lock"
        )
    return _answer(request, failure)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, NOT_FOUND)


def wrong_method(request: HttpRequest, allow: str) -> HttpResponse:
    """allow: the methods that would do, as the Allow header names them."""
    response = _answer(request, _with_way_back(WRONG_METHOD, request.path))
    response["Allow"] = allow
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(request, SERVER_ERROR)


def database_busy(request: HttpRequest) -> HttpResponse:
    response = _answer(request, DATABASE_BUSY)
    response["Retry-After"] = str(BUSY_RETRY_S)
    return response


def too_many_requests(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, TOO_MANY)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, CSRF_FAILED)


def _with_way_back(failure: Failure, path: str) -> Failure:
    """Lead to the page whose forms send to this path, where the path above it is one."""
    above = path.rpartition("/")[0]
    try:
        resolve(above)
    except Resolver404:
        return failure
    text = "It only accepts form submissions."
    return replace(failure, text=text, next_url=above, next_words="Go to the page")


def _answer(request: HttpRequest, failure: Failure) -> HttpResponse:
    if is_meant_for_api(request.path):
        if failure.status == 404:
            return missing_endpoint(request)
        return json_error(request, error_of_status(failure.status))
    if failure is not DATABASE_BUSY and not request.headers.get("HX-Request"):
        try:
            if isinstance(getattr(request, "user", None), User):
                return _render(request, failure, "base.html")
        except DatabaseError as error:
            log.warning("an error page comes without its frame: %s", error)
    return _render(request, failure, "base_bare.html")


def _render(request: HttpRequest, failure: Failure, frame: str) -> HttpResponse:
    context = {"failure": failure, "frame": frame}
    return render(request, "dashboard/error_pages/error.html", context, status=failure.status)

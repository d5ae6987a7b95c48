"""Pages are compressed for browsers that take it: a quarter of the bytes, or less.

What a page shows and an attacker may both guess at from its length (BREACH) is kept apart: answers
that show a secret once are not compressed, the token of forms is masked anew in every answer
(Django), and every answer is lengthened at random (Django's GZipMiddleware).
"""

from __future__ import annotations

import re

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from gateway.core.mounts import is_meant_for_api

# Shown there on a plain visit: the secret of an authenticator app, recovery codes.
ACCOUNT = re.compile(r"/account(?:/|$)")
REFUSED = re.compile(r"\bgzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages that are looked at.

    Keys and invitations are shown in answers to forms, which are left as they are. So are exports,
    whose pieces would be compressed on the loop that serves calls, and the API.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if (
            request.method != "GET"
            or response.streaming
            or ACCOUNT.match(request.path)
            or is_meant_for_api(request.path)
            or REFUSED.search(request.headers.get("Accept-Encoding", ""))
        ):
            return response
        return super().process_response(request, response)

"""The Content-Security-Policy of pages, and that of pages which are nothing but an error."""

from __future__ import annotations

from csp.constants import NONCE, NONE, SELF

# For django-csp.
PAGES = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # data: is the QR code of an authenticator app
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
# For the error pages of the edge, which are sent without Django.
ERROR_PAGES = (
    b"default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

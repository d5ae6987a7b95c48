"""Where a provider is: the base URL that operators enter, checked."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError

URL_CHARS = 400
SIMULATED = "simulated"
_SCHEMES = {"http", "https"}


def read_base_url(text: str, *, kind: str) -> str:
    """Return the URL without a slash at its end.

    http and https are taken, with a host and without user name, query or fragment; the built-in
    simulated kind has simulated:// instead. Raises ValidationError for `base_url`.
    """
    url = text.strip()
    if len(url) > URL_CHARS:
        raise _refusal(f"At most {URL_CHARS} characters.")
    # Beyond these, parsers disagree about where the host ends.
    if not (url.isascii() and url.isprintable()) or set(url) & set(" \\"):
        raise _refusal("Only visible ASCII characters without spaces and backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refusal("This is not a URL.") from None
    if parts.scheme not in ({SIMULATED} if kind == SIMULATED else _SCHEMES):
        raise _refusal("Start with https:// or http://, and a provider's own address.")
    if not parts.hostname or port == 0:
        raise _refusal("The host is missing, or the port is 0.")
    if "@" in parts.netloc:
        raise _refusal("A URL is no place for a user name or password: use the credential.")
    if "?" in url or "#" in url:
        raise _refusal("A base URL ends before the ? and the #.")
    return url.rstrip("/")


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port: who receives what is sent to this URL."""
    parts: SplitResult = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _refusal(sentence: str) -> ValidationError:
    return ValidationError({"base_url": sentence})

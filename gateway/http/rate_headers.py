"""How many calls and tokens a caller may still use, in the head of an answer (gateway contract,
7.6)."""

from __future__ import annotations

from gateway.core.rate_limit_status import Rates

Headers = list[tuple[bytes, bytes]]


def rate_headers(rates: Rates | None, status: int) -> Headers:
    """Return the headers of an answer of this status. A caller that may not come in gets none.

    Those that end in -requests and -tokens are spelled and meant as OpenAI's: the limit is that of
    a whole period, as of a minute.
    """
    if rates is None or status == 401:
        return []
    headers = []
    if (found := rates.requests()) is not None:
        remaining, per_period = found.remaining, found.per_period
        headers = [
            (b"x-ratelimit-limit", b"%d" % found.limit),
            (b"x-ratelimit-remaining", b"%d" % remaining),
            (b"x-ratelimit-reset", b"%d" % found.reset_s),
            (b"x-ratelimit-limit-requests", b"%d" % per_period),
            (b"x-ratelimit-remaining-requests", b"%d" % min(remaining, per_period)),
            (b"x-ratelimit-reset-requests", write_duration(found.reset_in_s)),
        ]
    if (found := rates.tokens()) is not None:
        remaining, per_period = found.remaining, found.per_period
        headers += [
            (b"x-ratelimit-limit-tokens", b"%d" % per_period),
            (b"x-ratelimit-remaining-tokens", b"%d" % min(remaining, per_period)),
            (b"x-ratelimit-reset-tokens", write_duration(found.reset_in_s)),
        ]
    return headers


def write_duration(seconds: int) -> bytes:
    """Return a duration as OpenAI's headers have it: 1s, 6m0s, 1h0m0s."""
    if seconds < 60:
        return b"%ds" % seconds
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return b"%dm%ds" % (minutes, seconds)
    hours, minutes = divmod(minutes, 60)
    return b"%dh%dm%ds" % (hours, minutes, seconds)

"""How many calls and tokens a caller may still use, in the head of an answer (gateway contract,
7.6)."""

from __future__ import annotations

from functools import lru_cache

from gateway.core.rate_limit_status import Rates

Headers = list[tuple[bytes, bytes]]

# Those that end in -requests and -tokens are spelled and meant as OpenAI's: the limit is that of a
# whole period, as of a minute.
REQUESTS = (
    b"x-ratelimit-limit: %d\r\n"
    b"x-ratelimit-remaining: %d\r\n"
    b"x-ratelimit-reset: %d\r\n"
    b"x-ratelimit-limit-requests: %d\r\n"
    b"x-ratelimit-remaining-requests: %d\r\n"
    b"x-ratelimit-reset-requests: %b\r\n"
)
TOKENS = (
    b"x-ratelimit-limit-tokens: %d\r\n"
    b"x-ratelimit-remaining-tokens: %d\r\n"
    b"x-ratelimit-reset-tokens: %b\r\n"
)


def rate_headers(rates: Rates | None, status: int) -> Headers:
    """Return the headers of an answer of this status. A caller that may not come in gets none."""
    if rates is None or status == 401:
        return []
    return [
        (name, value)
        for name, _, value in [line.partition(b": ") for line in rate_lines(rates).splitlines()]
    ]


def rate_lines(rates: Rates) -> bytes:
    """Return the same as they are written, each with the end of its line."""
    requests, tokens = rates.statuses()
    lines = b""
    if requests is not None:
        remaining, per_period = requests.remaining, requests.per_period
        lines = REQUESTS % (
            requests.limit,
            remaining,
            requests.reset_s,
            per_period,
            remaining if remaining < per_period else per_period,
            write_duration(requests.reset_in_s),
        )
    if tokens is not None:
        remaining, per_period = tokens.remaining, tokens.per_period
        lines += TOKENS % (
            per_period,
            remaining if remaining < per_period else per_period,
            write_duration(tokens.reset_in_s),
        )
    return lines


# Calls of one second have the same few.
@lru_cache(maxsize=1024)
def write_duration(seconds: int) -> bytes:
    """Return a duration as OpenAI's headers have it: 1s, 6m0s, 1h0m0s."""
    if seconds < 60:
        return b"%ds" % seconds
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return b"%dm%ds" % (minutes, seconds)
    hours, minutes = divmod(minutes, 60)
    return b"%dh%dm%ds" % (hours, minutes, seconds)

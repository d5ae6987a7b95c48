"""docs/errors.md, made from the classes: `python -m gateway.core.error_page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from gateway.core import errors
from gateway.core.errors import AdmissionError, GatewayError, PlatformError, UpstreamError

FAMILIES = (AdmissionError, UpstreamError, PlatformError)  # never raised themselves
RETRIED = {408, 409, 429, 500, 502, 503, 504, 529}  # by the official SDKs, unless told otherwise
PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
HEAD = """\
# Errors

Made from [`gateway/core/errors.py`](../gateway/core/errors.py) by `make fix`; edit that instead.

Under `/v1`, `/api/v1` and `/openai/v1` every error is JSON, whatever caused it, and so is a 404 for
an address that was meant for the API, such as `/chat/completions`: its message says what base URL
to use.

```json
{"error": {"message": "…", "type": "…", "code": "…", "param": null, "request_id": "…"}}
```

`code` is stable: programs may branch on it. `message` is for people and may change. `param` names
the member of the request that is at fault, where one is; `details`, where there are any, say more:
when every target failed, those of fallback models included, `details.attempts` has `provider`,
`model`, `code` and `status` of each, and the error is the last one's; where a limit refuses a call,
`details` have its `level` (`token` for the key's own, `organisation` for the workspace's), `limit`,
`current` and `requested`.
`request_id` is the call's id, also in the
`x-request-id` header; an operator finds the call by it.

An error after the first byte of a stream cannot change the status any more: it comes as a last
`data:` event that has the body above, with `error` and without `choices`, then `data: [DONE]`.

*again* says what the official SDKs are told about trying the same call again: `no` when
`x-should-retry: false` is sent or the status is one they do not retry, else by their own rules.
`retry-after` is sent with 429, 503 and 529, and with the 409 of a request that runs; a 429 that
asks for more than 120 s has `x-should-retry: false` besides.

| Code | Status | Type | Again | Meaning |
|---|---|---|---|---|
"""


def every_class(cls: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    """Yield the catalogue's classes in the order of the drawing."""
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from every_class(child)


def render() -> str:
    """Return the whole page. Classes that a caller cannot tell apart share a row."""
    rows: dict[tuple[int, str, str, str], list[str]] = {}
    for cls in every_class():
        if cls in FAMILIES:
            continue
        again = "no" if cls.should_retry is False else "by status"
        key = (cls.status, cls.code, cls.type, again if cls.status in RETRIED else "no")
        meanings = rows.setdefault(key, [])
        if cls.meaning not in meanings:
            meanings.append(cls.meaning)
    lines = [
        f"| `{code}` | {status} | `{type_}` | {again} | {' Or: '.join(meanings)} |"
        for (status, code, type_, again), meanings in sorted(rows.items())
    ]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render())
    sys.stdout.write(f"Wrote {PAGE.name}.\n")

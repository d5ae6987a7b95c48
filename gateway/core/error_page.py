"""docs/errors.md, made from the classes: `python -m gateway.core.error_page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from gateway.core import errors, file_errors, processor_errors
from gateway.core.errors import AdmissionError, GatewayError, PlatformError, UpstreamError

MODULES = (errors.__name__, file_errors.__name__, processor_errors.__name__)
FAMILIES = (AdmissionError, UpstreamError, PlatformError)  # never raised themselves
RETRIED = {408, 409, 429, 500, 502, 503, 504, 529}  # by the official SDKs, unless told otherwise
PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
HEAD = """\
# Errors

Made from [`gateway/core/errors.py`](../gateway/core/errors.py),
[`file_errors.py`](../gateway/core/file_errors.py) and
[`processor_errors.py`](../gateway/core/processor_errors.py) by `make fix`; edit those instead.

Under `/v1`, `/api/v1` and `/openai/v1` every error is JSON. A 404 for a path that belongs to the
API, such as `/chat/completions`, is JSON too. Its message names the base URL to use.

```json
{"error": {"message": "…", "type": "…", "code": "…", "param": null, "request_id": "…"}}
```

- `code` is stable, so programs can use it. `message` is for people and can change.
- `param` names the field of the request that is wrong, if there is one.
- `request_id` is the ID of the call, also sent as `x-request-id`. Operators find the call by it.
- `details` has more information for some errors. If all targets failed, including fallback models,
  `details.attempts` has `provider`, `model`, `code` and `status` of each, and the error is that of
  the last one. If a limit refused the call, `details` has its `level` (`token` for the key, `user`
  for the member who owns it, `organisation` for the workspace, `model`, or `service` for the
  installation), `limit`, `current` and `requested`, and `rule_id` if it is a rule.

An error after the first byte of a stream cannot change the status. It is sent as a last `data:`
event with the body above, which has `error` and no `choices`, followed by `data: [DONE]`.

*Retried* says whether the official SDKs retry the call: `no` if `x-should-retry: false` is sent or
they do not retry the status; otherwise they follow their own rules. `retry-after` is sent with 429,
503 and 529, and with the 409 of a request that is still running. A 429 with a wait of more than
120 s also has `x-should-retry: false`.

| Code | Status | Type | Retried | Meaning |
|---|---|---|---|---|
"""


def every_class(cls: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    """Yield the catalogue's classes in the order of the drawing."""
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ in MODULES:
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

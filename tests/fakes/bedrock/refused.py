"""A refusal of an AWS service: its status, its name and its body."""

from __future__ import annotations

import msgspec

from tests.fakes.script import Script
from tests.support.event_stream import write_error, write_exception

NAMES = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


class Refused(Exception):
    """The service does not take this request."""

    def __init__(self, message: str, status: int = 400, name: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.name = name or NAMES[status]

    def body(self) -> dict[str, object]:
        return {"message": self.message}


class ModelRefused(Refused):
    """The server behind an endpoint of SageMaker does not take this request: said is its answer."""

    def __init__(self, status: int, said: str) -> None:
        message = f'Received client error ({status}) from primary with message "…".'
        super().__init__(message, 424, "ModelError")
        self._original: dict[str, object] = {"OriginalStatusCode": status, "OriginalMessage": said}

    def body(self) -> dict[str, object]:
        return {"Message": self.message} | self._original


def name_refusal(script: Script) -> list[tuple[bytes, bytes]]:
    """Return the header that names a scripted refusal."""
    name = NAMES.get(script.fail, "") if script.code == "scripted" else script.code
    return [(b"x-amzn-errortype", f"{name}:http://x/".encode())] if name else []


def write_failure(script: Script) -> bytes:
    """Return what a stream ends with that fails: an exception, or an error without a payload."""
    if script.code.startswith("error:"):
        return write_error(script.code.removeprefix("error:"), script.message)
    name = "modelStreamErrorException" if script.code == "scripted" else script.code
    return write_exception(name, msgspec.json.encode({"message": script.message}))

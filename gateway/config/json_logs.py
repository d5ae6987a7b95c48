"""Log lines as JSON, for programs that collect logs: one object a line."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import cast

import msgspec
from structlog.processors import JSONRenderer
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, WrappedLogger

# What a log call may say beside its message, in `extra`; everything else there is left out.
EXTRAS = {"call_id": "call_id", "status_code": "status"}


def make_formatter() -> logging.Formatter:
    """Return the formatter. The filters of gateway.config.logs and gateway.config.log_limits have
    rewritten what records say before."""
    return ProcessorFormatter(
        foreign_pre_chain=[describe],
        processors=[JSONRenderer(serializer=serialize)],
        use_get_message=True,
    )


def describe(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Return the fields of a line. The traceback is the text that the filters have made of it."""
    record = cast(logging.LogRecord, event["_record"])
    line: EventDict = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": event["event"],
    }
    for name, shown in EXTRAS.items():
        value = getattr(record, name, None)
        if value is not None:
            line[shown] = value
    if record.exc_text:
        line["exception"] = record.exc_text
    return line


def serialize(line: EventDict, **options: object) -> str:
    return msgspec.json.encode(line, enc_hook=str).decode()

"""Which processors a request names."""

from __future__ import annotations

from gateway.core.errors import UnknownProcessor
from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.processor_options import check_options
from gateway.processors.registry import PROCESSORS


def read_processors(inferada: JsonObject) -> tuple[str, ...]:
    """Return the names in `inferada.processors`.

    Raises RequestError for an object that is none of `inferada`, UnknownProcessor.
    """
    check_options(inferada)
    names = inferada.get("processors") or ()
    for index, name in enumerate(names):
        if name not in PROCESSORS:
            raise UnknownProcessor(
                f"The processor {name[:64]} does not exist.", param=f"inferada.processors[{index}]"
            )
    return tuple(names)

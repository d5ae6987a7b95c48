"""Looking at a prompt template before it is used: what is wrong with it, what it would say."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache

from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway.prompts.renderer import COMMAND, ENVIRONMENT, OUT_OF_TIME, ROOT, WAIT_S, describe_error
from gateway.prompts.variables import (
    HAYSTACK,
    HOURLY,
    KNOWN,
    VOLATILE,
    Filling,
    Values,
    WorkerAnswer,
    WorkerRequest,
    names_in,
    values_at,
)

FIELD = "default_system_prompt"
MAX_CHARS = 32_768
SAMPLE_ID = "01977ed9-7492-7b70-8347-9564aeb44a24"


@dataclass(frozen=True, slots=True)
class Preview:
    """What a prompt would say now. refusal: why it cannot, or empty. The names that change with
    every call, with every hour, and those that nobody knows, which stay as they are typed."""

    text: str
    refusal: str
    volatile: tuple[str, ...]
    hourly: tuple[str, ...]
    unknown: tuple[str, ...]


def check_prompt(mode: str, text: str) -> None:
    """Raise ValidationError for a default prompt that cannot be used in this mode."""
    if len(text) > MAX_CHARS or "\0" in text:
        raise ValidationError({FIELD: f"At most {MAX_CHARS} characters, without NUL."})
    if mode == "logic" and (refusal := _refusal_of(text)):
        raise ValidationError({FIELD: refusal})


def preview_prompt(mode: str, text: str, *, model_id: str = "", org_name: str = "") -> Preview:
    """Return what callers' models would be told now. language is en, as if a caller had said so."""
    values = sample_values(model_id=model_id, org_name=org_name)
    said, refusal, names = text, "", set[str]()
    if len(text) > MAX_CHARS:
        said, refusal = "", f"At most {MAX_CHARS} characters."
    elif mode == "vars":
        said, names = Filling(values).fill(text), names_in(text)
    elif mode == "logic" and text:
        found = try_template(text, values)
        said, names = found.get("output", ""), set(found.get("names", ()))
        refusal = describe_error(found) if "error" in found else ""
    return Preview(
        said,
        refusal,
        tuple(name for name in VOLATILE if name in names),
        tuple(name for name in HOURLY if name in names),
        tuple(sorted(name for name in names - KNOWN if name.split(".")[0] != HAYSTACK)),
    )


def sample_values(*, model_id: str = "", org_name: str = "") -> dict[str, str | int]:
    return values_at(
        timezone.now().astimezone(UTC),
        org_name=org_name or "Your workspace",
        model_id=model_id or "the-model",
        request_id=SAMPLE_ID,
        language="en",
    )


def try_template(text: str, values: Values) -> WorkerAnswer:
    """Compile and run a template in a sandbox worker: {"names", "output"}, or {"error", "line"}.

    Takes some tenths of a second, and a hostile one not longer.
    """
    requests: list[WorkerRequest] = [{"text": text}, {"text": text, "values": values}]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    try:
        done = subprocess.run(  # noqa: S603 - our own command line
            COMMAND,
            input=lines.encode(),
            capture_output=True,
            timeout=WAIT_S,
            cwd=ROOT,
            env=ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        return {"error": OUT_OF_TIME}
    found: WorkerAnswer = {}
    for line in done.stdout.splitlines():
        found.update(json.loads(line))
    if "output" not in found:
        found.setdefault("error", OUT_OF_TIME)
    return found


@lru_cache(maxsize=64)
def _refusal_of(text: str) -> str:
    """Return why a template cannot be used, or the empty string. Remembered: forms ask twice."""
    found = try_template(text, sample_values())
    return describe_error(found) if "error" in found else ""

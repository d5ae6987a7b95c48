"""explain_call: would this call be admitted, and which check refuses it?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from django.core.management.base import CommandError

from accounts.management.json_command import Answer, JsonCommand
from gateway.api.explain import OPERATOR_HEADER, sign_question
from gateway.core.json_types import JsonObject
from gateway.launch.ask_server import post_json
from gateway.launch.prepare import public_origin
from keys.selectors import get_key

RESULTS = {
    "passed": "passed",
    "waits": "waits",
    "refused": "REFUSED",
    "skipped": "skipped",
    "not_reached": "-",
}


class Command(JsonCommand):
    help = "Show whether a call would be admitted. Asks the running server; makes no call."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--key", required=True, help="Key ID (preferred), last 4 characters, or the secret."
        )
        parser.add_argument("--model", help="Model name. Default: the model of the body.")
        parser.add_argument(
            "--endpoint", default="chat/completions", help="Default: chat/completions."
        )
        parser.add_argument("--address", help="IP address of the client. Default: this machine.")
        parser.add_argument("--country", help="Country code that the proxy would send.")
        parser.add_argument("--user-agent", help="User-Agent of the client.")
        parser.add_argument(
            "--body",
            metavar="FILE",
            help="Body of the call, JSON (-: standard input). Default: a short example.",
        )
        parser.add_argument(
            "--url", help="URL of the server. Default: the server of this installation."
        )

    def answer(self, *, key: str, url: str | None, **options: Any) -> Answer:
        found = get_key(key)
        question = {
            name: options[name]
            for name in ("model", "endpoint", "address", "country", "user_agent")
            if options[name] is not None
        }
        if options["body"] is not None:
            question["body"] = read_body(options["body"])
        origin = url or public_origin()
        try:
            status, raw = post_json(
                origin,
                "/v1/admission/explain",
                json.dumps(question).encode(),
                {OPERATOR_HEADER: sign_question(str(found.pk))},
            )
            answer = json.loads(raw)
        except (OSError, ValueError) as error:
            raise CommandError(f"No server answers at {origin}: {error}.") from error
        if status != 200:
            raise CommandError(str(answer["error"]["message"]))
        return cast(Answer, answer["data"])

    def describe(self, answer: Answer) -> str:
        steps = cast(list[JsonObject], answer["steps"])
        lines = [line for step in steps for line in _lines(step)]
        error = cast(JsonObject | None, answer["error"])
        verdict = f"Decision: {answer['decision']}."
        if error is not None:
            verdict = f"Decision: refused, {error['status']} {error['code']}: {error['message']}"
        notes = cast(list[str], answer["notes"])
        return "\n".join([*(line.rstrip() for line in lines), "", verdict, *notes])


def read_body(place: str) -> JsonObject:
    """Raises CommandError."""
    try:
        text = sys.stdin.read() if place == "-" else Path(place).read_text()
        body = json.loads(text)
    except (OSError, ValueError) as error:
        raise CommandError(f"The body cannot be read: {error}.") from error
    if not isinstance(body, dict):
        raise CommandError("The body must be a JSON object.")
    return body


def _lines(step: JsonObject) -> Iterator[str]:
    """Yield a line for the step, with its limit, or a line for each where it has several."""
    limits: list[JsonObject] = step["limits"]
    alone = _limit(limits[0]) if len(limits) == 1 else ""
    yield f"{step['title']:<24} {RESULTS[step['result']]:<8} {alone}"
    for limit in limits if len(limits) > 1 else ():
        result = RESULTS[limit.get("result") or step["result"]]
        yield f"  {limit['level']:<22} {result:<8} {_limit(limit)}"


def _limit(limit: JsonObject) -> str:
    period = f"/{limit['period']}" if limit["period"] else ""
    most = "?" if limit["max"] is None else limit["max"]
    used = "" if limit["current"] is None else f", used {limit['current']}"
    asked = "" if limit["requested"] is None else f", requested {limit['requested']}"
    return f"{limit['level']}: {limit['metric']} {most}{period}{used}{asked}"

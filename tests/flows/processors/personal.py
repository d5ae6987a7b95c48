"""Calls with personal data in every format, at two dialects, and what came of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import MESSAGES
from tests.flows.pairs.conversation import TOOL, TOOL_SCHEMA, Body, Format, Said
from tests.flows.pairs.formats import FORMATS
from tests.flows.responses.asking import RESPONSES

FORMAT: dict[str, Format] = {form.name: form for form in FORMATS}
EMAIL, PHONE, IBAN = "ann.devries@example.com", "020 7946 0958", "NL91 ABNA 0417 1643 00"
VALUES = (EMAIL, PHONE, IBAN)


@dataclass(frozen=True)
class Way:
    """A format of callers, and the model of a dialect."""

    form: str
    model: str
    stream: bool

    def __str__(self) -> str:
        return f"{self.form}-{self.model}-{'streamed' if self.stream else 'buffered'}"


def send(caller: Caller, way: Way, prompt: str, **members: Any) -> Answer:
    """Make a call. members: of its body, in the spelling of the format."""
    body: Body = {"model": way.model, "stream": way.stream} | members
    said = [{"role": "user", "content": prompt}]
    if way.form == "responses":
        return caller.ask(path=RESPONSES, raw=json.dumps({"input": said} | body).encode())
    if way.form == "messages":
        body = {"max_tokens": 1000} | body
        return caller.ask(path=MESSAGES, raw=json.dumps({"messages": said} | body).encode())
    return caller.ask(raw=json.dumps({"messages": said} | body).encode())


def tools_of(form: str) -> list[Body]:
    """Return a tool as the format has it."""
    if form == "messages":
        return [{"name": TOOL, "description": "Look up.", "input_schema": TOOL_SCHEMA}]
    function = {"name": TOOL, "description": "Look up.", "parameters": TOOL_SCHEMA}
    if form == "responses":
        return [{"type": "function"} | function]
    return [{"type": "function", "function": function}]


def read(way: Way, answer: Answer) -> Said:
    assert answer.status == 200, answer.body
    return FORMAT[way.form].read(answer)


def summary_of(answer: Answer) -> Any:
    """Return the `inferada` object of an answer, wherever its format has that."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return answer.json["inferada"]
    lines = answer.body.decode().splitlines()
    events = [json.loads(one[6:]) for one in lines if one.startswith("data: {")]
    places = [event.get("response", event) for event in events]
    return next(place["inferada"] for place in reversed(places) if "inferada" in place)

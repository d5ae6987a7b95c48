"""Calls with plugins, and what they come to by the upstream's own count."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from tests.flows.caller import DONE, Answer, Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

CLAUDE, GEMINI = "claude-model", "gemini-model"
MODELS = ("fake-model", CLAUDE, GEMINI)
INDEX = [
    {"title": "Weather", "url": "https://example.com/weather", "text": "The weather is fine."},
    {"title": "Tides", "url": "https://example.com/tides", "text": "High tide at noon."},
]
QUERY = {"query": "weather"}
SEARCH_NUSD, FETCH_NUSD = 4_000_000, 1_000_000
SEARCH, FETCH = {"id": "web_search"}, {"id": "web_fetch"}


def script(args: object = QUERY, **behaviour: object) -> str:
    """Return a prompt whose model calls the tools that it is offered, one after the other."""
    wanted = {"tools": 1, "args": args if isinstance(args, str) else json.dumps(args)} | behaviour
    return "script:" + urlencode(wanted)


def ask(caller: Caller, prompt: str, *plugins: dict[str, Any], **members: Any) -> Answer:
    return caller.ask(prompt, plugins=list(plugins) or [SEARCH], **members)


def upstream_nusd(site: Site, call_id: str) -> int:
    """Return what the upstream counts of a call cost at our prices."""
    return sum(
        one["prompt_tokens"] * INPUT_NUSD + one["completion_tokens"] * OUTPUT_NUSD
        for one in site.tries(call_id)
    )


def statuses(record: dict[str, Any]) -> list[str]:
    return [run["status"] for run in record["tool_runs"] or ()]


def tool_events(answer: Answer) -> list[dict[str, Any]]:
    if "text/event-stream" not in answer.headers["content-type"]:
        found: list[dict[str, Any]] = answer.json.get("hi_tool_events", [])
        return found
    events = [event for event in answer.events if event != DONE]
    return [event["hi_tool_event"] for event in events if "hi_tool_event" in event]


def reason_of(answer: Answer) -> str:
    chunks = answer.chunks if "event-stream" in answer.headers["content-type"] else [answer.json]
    [reason] = [
        one["finish_reason"] for chunk in chunks for one in chunk["choices"] if one["finish_reason"]
    ]
    return str(reason)


def annotations_of(answer: Answer) -> list[dict[str, Any]]:
    if "event-stream" not in answer.headers["content-type"]:
        found: list[dict[str, Any]] = answer.json["choices"][0]["message"].get("annotations", [])
        return found
    deltas = [choice["delta"] for chunk in answer.chunks for choice in chunk["choices"]]
    return [one for delta in deltas for one in delta.get("annotations", ())]

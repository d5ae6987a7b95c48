"""Asking for moderations, rankings and images, and what each is like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

PRICES = {"image": 40_000_000_000, "search": 2_000_000_000}


@dataclass(frozen=True)
class Operation:
    """path: below a mount. body: of a good request, without the model. first: the member whose text
    is the script of the fake upstream. data: the member of the answer with all that was asked."""

    path: str
    body: Mapping[str, Any]
    first: str
    data: str


OPERATIONS = {
    "moderations": Operation("moderations", {"input": "I love bread"}, "input", "results"),
    "rerank": Operation(
        "rerank", {"query": "bread", "documents": ["a", "bb bb", "c"]}, "query", "results"
    ),
    "images": Operation("images/generations", {"prompt": "a red bicycle"}, "prompt", "data"),
}


def ask(caller: Caller, operation: str, *, mount: str = "/v1", **members: Any) -> Answer:
    """Make a call. headers: of the request; the rest goes into the body."""
    headers = members.pop("headers", None)
    one = OPERATIONS[operation]
    body = {"model": caller.model, **one.body} | members
    return caller.ask(path=f"{mount}/{one.path}", raw=json.dumps(body).encode(), headers=headers)


def ask_scripted(caller: Caller, operation: str, script: str, **members: Any) -> Answer:
    """Make a call that the fake upstream answers as the script says."""
    return ask(caller, operation, **{OPERATIONS[operation].first: f"script:{script}"}, **members)


def add_priced(site: Site, name: str, **fields: Any) -> str:
    """Add a model that has a price for every unit."""
    return site.add_model(name, unit_prices=dict(PRICES), **fields)

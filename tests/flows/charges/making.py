"""Making planned calls, and asking the product what it charged for them."""

from __future__ import annotations

import json
import re
import urllib.request
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.charges.planned import Ending, Planned
from tests.flows.site import Site
from tests.support.waiting import wait_until

AT_ONCE = 4
READ_BYTES = 4_096
IDS_AT_ONCE = 100
_COST = re.compile(rb'"cost":([0-9.eE+-]+)')
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Made:
    """A call that was made. answer: None where the caller left."""

    planned: Planned
    call_id: str
    answer: Answer | None = None

    @property
    def told_usd(self) -> float | None:
        """What the answer says that it cost, if it says so."""
        found = _COST.findall(self.answer.body) if self.answer else []
        return float(found[-1]) if found else None


def in_threads(work: Callable[[T], R], given: Sequence[T]) -> list[R]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, given))


def make(site: Site, caller: Caller, plans: Sequence[Planned]) -> list[Made]:
    """Make the calls, several at a time."""
    silent = [one for one in plans if one.is_left_unanswered]
    others = [one for one in plans if not one.is_left_unanswered]
    # Before the others: no other call of the key is live then.
    return _leave_unanswered(site, caller, silent) + in_threads(
        lambda one: _make_one(caller, one), others
    )


def _make_one(caller: Caller, planned: Planned) -> Made:
    live = planned.begin(caller, {})
    if planned.ending is not Ending.LEFT:
        answer = live.answer()
        return Made(planned, answer.call_id, answer)
    call_id = live.call_id
    read_until(live, planned.is_enough)
    live.leave()
    return Made(planned, call_id)


def read_until(live: LiveCall, is_enough: Callable[[bytes], bool]) -> None:
    """Read a stream until this much has come."""
    said = b""
    while not is_enough(said):
        piece = live.response.read1(READ_BYTES)
        assert piece, said
        said += piece


def _leave_unanswered(site: Site, caller: Caller, plans: Sequence[Planned]) -> list[Made]:
    """Begin calls that are never answered, and hang up once the provider has them all."""
    names = [str(uuid.uuid4()) for _ in plans]
    calls = [
        one.begin(caller, {"x-request-id": name}) for one, name in zip(plans, names, strict=True)
    ]
    if not calls:
        return []
    for record in site.running(caller, count=len(calls)):
        site.wait_for_try(str(record["id"]), state="running")
    for live in calls:
        live.leave()
    ids = wait_until(lambda: _find_ended(site, caller, names), what="the ends of calls")
    return [Made(one, ids[name]) for one, name in zip(plans, names, strict=True)]


def _find_ended(site: Site, caller: Caller, names: Sequence[str]) -> dict[str, str]:
    """Return our IDs of the calls by their callers', once all have ended."""
    found = {str(record["client_request_id"]): record for record in site.records(caller)}
    return {name: str(found[name]["id"]) for name in names} if found.keys() >= {*names} else {}


def read_charges(caller: Caller, made: Sequence[Made]) -> list[dict[str, Any]]:
    """Return what GET /generation says of each call, once it has ended."""

    def read(one: Made) -> dict[str, Any]:
        def find() -> dict[str, Any] | None:
            answer = caller.ask(method="GET", path=f"/v1/generation?id={one.call_id}", raw=b"")
            said: dict[str, Any] = answer.json.get("data") or {}
            return said if said.get("status", "in_progress") != "in_progress" else None

        found = wait_until(find, what=f"the record of {one.call_id}")
        assert found is not None
        return found

    return in_threads(read, made)


def read_book(site: Site, made: Sequence[Made]) -> list[list[dict[str, Any]]]:
    """Return what the provider has written down of each call, one entry for each try."""
    ids = [one.call_id for one in made]
    found: dict[str, list[dict[str, Any]]] = {call_id: [] for call_id in ids}
    for start in range(0, len(ids), IDS_AT_ONCE):
        query = urlencode([("id", call_id) for call_id in ids[start : start + IDS_AT_ONCE]])
        with urllib.request.urlopen(f"{site.upstream.origin}/book?{query}", timeout=60) as answer:
            for entry in json.load(answer)["calls"]:
                found[entry["request_id"]].append(entry)
    return [found[call_id] for call_id in ids]


def read_spent_nusd(caller: Caller, *, calls: int) -> int:
    """Return the cost of all calls in GET /usage, once it includes so many."""

    def find() -> dict[str, Any] | None:
        answer = caller.ask(method="GET", path="/v1/usage?group_by=", raw=b"")
        total: dict[str, Any] = answer.json["data"]["total"]
        return total if total["calls"] >= calls else None

    found = wait_until(find, what=f"a report of {calls} calls")
    assert found is not None
    return int(found["cost_nano_usd"])

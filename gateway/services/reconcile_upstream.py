"""Our calls compared with an upstream's own usage records. Part of `prove`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

from gateway.core.ids import find_request_id
from gateway.core.json_types import JsonObject
from gateway.models import CallRecord

Result = tuple[str, str, int, list[str]]
Entries = dict[uuid.UUID, list[JsonObject]]
BATCH = 500
# Our tokenizer is not every provider's.
MAX_OVERESTIMATE = 1.05


def compare(upstream_usage: Iterable[JsonObject], most: int) -> Iterator[Result]:
    """Yield id, title, how many calls were compared, and at most so many breaks in words.

    Upstream calls whose id is not ours are strangers' and are left out.
    """
    entries: Entries = {}
    for entry in upstream_usage:
        call_id = find_request_id(str(entry["request_id"]))
        if call_id is not None:
            entries.setdefault(call_id, []).append(entry)
    yield _all_known(entries, most)
    yield _same_usage(entries, most)
    yield _fair_estimates(entries, most)


def _all_known(entries: Entries, most: int) -> Result:
    known = {call.pk for call in _calls(entries)}
    missing = [f"the provider served {call_id}, which was never admitted" for call_id in entries]
    missing = [text for text, pk in zip(missing, entries, strict=True) if pk not in known]
    return "I7", "no call was sent to the provider without a hold", len(entries), missing[:most]


def _same_usage(entries: Entries, most: int) -> Result:
    """A call may have been tried twice: one of the tries must have used what was charged."""
    checked, breaks = 0, []
    for call in _calls(entries):
        if call.charge_basis != CallRecord.ChargeBasis.USAGE:
            continue
        checked += 1
        ours = (call.prompt_tokens, call.completion_tokens)
        theirs = [_usage(entry) for entry in entries[call.pk]]
        if ours not in theirs:
            breaks.append(f"call {call.pk}: charged {ours} tokens, the provider counted {theirs}")
    return "I9c", "tokens charged are the provider's own count", checked, breaks[:most]


def _fair_estimates(entries: Entries, most: int) -> Result:
    checked, breaks = 0, []
    for call in _calls(entries):
        if call.charge_basis != CallRecord.ChargeBasis.ESTIMATE:
            continue
        checked += 1
        generated = max(_usage(entry)[1] for entry in entries[call.pk])
        if call.completion_tokens > generated * MAX_OVERESTIMATE + 1:
            estimated = f"estimated {call.completion_tokens} output tokens"
            shown = f"{estimated}, the provider generated {generated}"
            breaks.append(f"call {call.pk}: {shown}")
    return "I10", "no estimate is over 5 % above what was generated", checked, breaks[:most]


def _calls(entries: Entries) -> Iterator[CallRecord]:
    ids = list(entries)
    for start in range(0, len(ids), BATCH):
        yield from CallRecord.objects.filter(pk__in=ids[start : start + BATCH])


def _usage(entry: JsonObject) -> tuple[int, int]:
    return int(entry["prompt_tokens"]), int(entry["completion_tokens"])

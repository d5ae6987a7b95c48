"""Draws calls, and works out what each leaves in the database."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from msgspec import Struct

from gateway.core.money import PUSD_PER_NUSD
from gateway.services.load_seed.installation import PROVIDER, version_7
from gateway.services.load_seed.plan import FALLBACK, MODELS, OUTCOMES, Kind, LoadPlan, Outcome
from gateway.stores.inserts import Row
from gateway.stores.rows import BLANK, COMMON_COLUMNS

MAX_OUTPUT_TOKENS = 4_096
US_PER_TOKEN = 9_000
REFUSED_US = 60
# Few keys of a workspace make most of its calls.
KEY_SKEW = 3
CLIENT_ID_EVERY = 10


class Place(NamedTuple):
    """Whose call it is: a workspace by its number, and the key as the database stores its ID."""

    workspace: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """What calls with one model and outcome have in common. values: of columns, in their order."""

    asked: Kind
    served: Kind
    outcome: Outcome
    streamed: bool
    values: Row

    @property
    def model(self) -> str:
        return "" if self.outcome.is_refused else self.served.name


class Numbers(Struct, frozen=True, kw_only=True):
    """What is a call's own, as the columns of these names."""

    prompt_tokens: int
    completion_tokens: int
    hold_nusd: int
    charge_nusd: int
    absorbed_nusd: int
    total_us: int
    admit_us: int
    ttft_us: int | None
    upstream_us: int


REFUSED = Numbers(
    prompt_tokens=0,
    completion_tokens=0,
    hold_nusd=0,
    charge_nusd=0,
    absorbed_nusd=0,
    total_us=REFUSED_US,
    admit_us=0,
    ttft_us=None,
    upstream_us=0,
)


class Drawn(Struct, frozen=True, kw_only=True):
    """A call. number: counted from 0."""

    number: int
    at_ms: int
    id: str
    place: Place
    sort: Sort
    numbers: Numbers


class CallSource:
    """Draws calls from a seed."""

    def __init__(self, plan: LoadPlan, keys: list[list[str]], as_id: Callable[[str], str]) -> None:
        """keys: their IDs by workspace, as the database stores them."""
        self._random = random.Random(plan.seed + 1)  # noqa: S311 (not for secrets)
        self._keys = keys
        self._as_id = as_id
        self._shares = plan.cumulative_shares()
        self._numbers = range(len(keys))
        self._sorts = _sorts()
        self._sort_weights = [
            sort.asked.share * sort.outcome.share * (3 if sort.streamed else 1)
            for sort in self._sorts
        ]
        self._drawn = 0

    def draw(self, start_ms: int, length_ms: int, count: int) -> Iterator[Drawn]:
        """Yield so many calls of a stretch of time, oldest first."""
        choose = self._random.choices
        moments = sorted(choose(range(start_ms, start_ms + length_ms), k=count))
        workspaces = choose(self._numbers, cum_weights=self._shares, k=count)
        sorts = choose(self._sorts, self._sort_weights, k=count)
        for at_ms, workspace, sort in zip(moments, workspaces, sorts, strict=True):
            keys = self._keys[workspace]
            key = keys[int(len(keys) * self._random.random() ** KEY_SKEW)]
            call_id = str(uuid.UUID(int=version_7(at_ms, self._random.getrandbits(74))))
            numbers = self._draw_numbers(sort)
            place = Place(workspace, key)
            yield Drawn(
                number=self._drawn,
                at_ms=at_ms,
                id=self._as_id(call_id),
                place=place,
                sort=sort,
                numbers=numbers,
            )
            self._drawn += 1

    def _draw_numbers(self, sort: Sort) -> Numbers:
        outcome, served, draw = sort.outcome, sort.served, self._random.random
        prompt, completion = 50 + int(2_000 * draw()), 1 + int(600 * draw())
        jitter = int(1_000 * draw())
        if outcome.is_refused:
            return REFUSED
        if not outcome.is_charged:
            completion = 0
        cost_nusd = prompt * served.input_nusd + completion * served.output_nusd
        first_us = served.first_ms * 1_000 + jitter * 300
        upstream_us = first_us + completion * US_PER_TOKEN
        return Numbers(
            prompt_tokens=prompt,
            completion_tokens=completion,
            hold_nusd=prompt * served.input_nusd + MAX_OUTPUT_TOKENS * served.output_nusd,
            charge_nusd=cost_nusd if outcome.is_charged else 0,
            absorbed_nusd=0 if outcome.is_charged else cost_nusd,
            total_us=upstream_us + 100 + jitter,
            admit_us=80,
            ttft_us=first_us if outcome.is_charged else None,
            upstream_us=upstream_us,
        )


def row_of(call: Drawn, process: str, workspace: str, moment: str) -> Row:
    """Return the row of a call: the values of gateway.stores.rows.COLUMNS."""
    n = call.numbers
    client_id = f"load-{call.number}" if call.number % CLIENT_ID_EVERY == 0 else ""
    return (
        process,
        workspace,
        call.place.key,
        *call.sort.values,
        call.id,
        moment,
        n.prompt_tokens,
        n.completion_tokens,
        0,  # cached
        0,  # reasoning
        0,  # tool calls
        n.hold_nusd,
        n.charge_nusd,
        n.absorbed_nusd,
        n.total_us,
        n.admit_us,
        0,  # queued
        0,  # failed
        n.ttft_us,
        n.upstream_us,
        0,  # tools
        "[]",  # attempts
        f"user-{call.number % 1_000}",
        client_id,
        None,  # episode
        None,  # units
        None,  # processors
        None,  # runs of tools
    )


def _sorts() -> list[Sort]:
    return [
        Sort(
            asked=asked,
            served=FALLBACK if outcome.fell_back else asked,
            outcome=outcome,
            streamed=streamed,
            values=_values(asked, outcome, streamed=streamed),
        )
        for asked in MODELS
        for outcome in OUTCOMES
        if not (outcome.fell_back and asked == FALLBACK)
        for streamed in (True, False)
    ]


def _values(asked: Kind, outcome: Outcome, *, streamed: bool) -> Row:
    """Return the values of COMMON_COLUMNS behind process, workspace and key."""
    served = FALLBACK if outcome.fell_back else asked
    values = BLANK | {
        "status": outcome.status,
        "http_status": outcome.http_status,
        "error_code": outcome.error_code,
        "charge_basis": outcome.basis,
        "requested_model": asked.name,
        "streamed": streamed,
        "endpoint": "chat_completions",
        "ip": "192.0.2.1",
        "profile": "unified",
    }
    if not outcome.is_refused:
        values |= {
            "model": served.name,
            "provider": PROVIDER,
            "native_model": "simulated",
            "finish_reason": "stop" if outcome.status == "ok" else "",
            "fallback_from": asked.name if outcome.fell_back else "",
            "fallback_depth": int(outcome.fell_back),
            "input_pusd_per_token": served.input_nusd * PUSD_PER_NUSD,
            "cached_input_pusd_per_token": served.input_nusd * PUSD_PER_NUSD,
            "output_pusd_per_token": served.output_nusd * PUSD_PER_NUSD,
        }
    return cast(Row, tuple(values[column] for column in COMMON_COLUMNS[3:]))

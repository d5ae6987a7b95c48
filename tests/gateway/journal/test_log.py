"""Records say what the stages know: each value has to be where it belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.core.call_identity import CallIdentity
from gateway.core.errors import ProviderTimeout
from gateway.core.grant import Grant
from gateway.core.money import Price, Usage
from gateway.core.receipt import PDF, Attempt, Receipt, ToolUse
from gateway.journal.log import CallLog
from gateway.journal.record import Admitted, Refused, Served, Settled
from gateway.streaming.meter import Meter

FREE = Price(0, 0, 0)


class Shelf:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def admitted(self, record: Admitted) -> None:
        self.records.append(record)

    def settled(self, record: Settled) -> None:
        self.records.append(record)

    def refused(self, record: Refused) -> None:
        self.records.append(record)


@dataclass(frozen=True)
class Target:
    provider: str = "openai"
    native_model: str = "gpt-5-2026"
    credential: str = "first"
    price: Price = field(default_factory=lambda: Price(401, 402, 403))


IDENTITY = CallIdentity(
    call_id="the call",
    workspace_id="the workspace",
    key_id="the key",
    at=307.5,
    requested_model="asked for",
    streamed=True,
    client_request_id="theirs",
    user="the user",
    episode_id="the episode",
    ip="192.0.2.7",
    profile="bud",
)
GRANT = Grant(
    identity=IDENTITY,
    model="meant",
    stores_bodies=True,
    price=Price(301, 302, 303),
    hold_nusd=304,
    limit_tokens=305,
    cap_tokens=306,
    fallback_from="wanted",
    fallback_depth=2,
)
RECEIPT = Receipt(
    status="upstream_error",
    charge_basis="zero_upstream",
    usage=Usage(101, 102, 103, 104, {"image": 2}),
    tools=(ToolUse(PDF, 113, 114),),
    charge_nusd=105,
    absorbed_nusd=106,
    total_us=107,
    admit_us=108,
    queued_us=109,
    failed_us=110,
    upstream_us=111,
    ttft_us=112,
)
ATTEMPT = Attempt(provider="openai", model="gpt-5-2026", code="", status=200, us=9)


def test_the_record_of_a_beginning() -> None:
    shelf = Shelf()

    CallLog(shelf).admitted(GRANT)

    assert shelf.records == [
        Admitted(identity=IDENTITY, hold_nusd=304, model="meant", price=Price(301, 302, 303))
    ]


def test_the_record_of_an_end() -> None:
    shelf = Shelf()
    meter = Meter(1, 2)
    meter.target = Target()
    meter.finish(0, "length", "max_output")
    meter.note_tool_calls(0, [{"index": 0}, {"index": 4}, {"index": 4}])
    meter.attempts = [ATTEMPT]
    error = ProviderTimeout("It took too long.")

    CallLog(shelf).settled(
        *(GRANT, meter, RECEIPT),
        paid_nusd=100,
        error=error,
        request_body="question",
        response_body="answer",
        kept=b"the whole answer",
        dropped_params=("seed", "top_k"),
    )

    record = Settled(
        identity=IDENTITY,
        receipt=RECEIPT,
        served=Served(
            model="meant",
            provider="openai",
            native_model="gpt-5-2026",
            price=Price(401, 402, 403),
            finish_reason="length",
            native_finish_reason="max_output",
            fallback_from="wanted",
            fallback_depth=2,
        ),
        hold_nusd=304,
        owed_nusd=5,
        http_status=error.status,
        error_code=error.code,
        attempts=(ATTEMPT,),
        num_tool_calls=2,
        dropped_params=("seed", "top_k"),
        request_body="question",
        response_body="answer",
        kept=b"the whole answer",
    )
    assert shelf.records == [record]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=Settled) == record


def test_a_reader_passes_over_names_that_it_does_not_know() -> None:
    """So a process of this version reads the journal of a newer one after a step back."""
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(Admitted(identity=IDENTITY, price=FREE)))
    plain["new"] = plain["i"]["newer"] = [1, {"a": 2}]

    read = msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=Admitted)

    assert read == Admitted(identity=IDENTITY, price=FREE)


def test_an_attempt_as_json_has_the_members_that_readers_know() -> None:
    fallen_back = msgspec.structs.replace(ATTEMPT, fallback="other")

    assert msgspec.json.encode([ATTEMPT, fallen_back]) == (
        b'[{"provider":"openai","model":"gpt-5-2026","code":"","status":200,"us":9},'
        b'{"provider":"openai","model":"gpt-5-2026","code":"","status":200,"us":9,'
        b'"fallback":"other"}]'
    )

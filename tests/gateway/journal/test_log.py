"""Records are made in the order of their fields: each value has to be where it belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.core.errors import ProviderTimeout
from gateway.core.grant import Grant
from gateway.core.money import Price, Usage
from gateway.core.receipt import Receipt
from gateway.journal.log import CallLog
from gateway.journal.record import Admitted, Refused, Settled
from gateway.streaming.meter import Meter


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
    price: Price = field(default_factory=lambda: Price(401, 402, 403))


GRANT = Grant(
    call_id="the call",
    workspace_id="the workspace",
    key_id="the key",
    requested_model="asked for",
    model="meant",
    streamed=True,
    stores_bodies=True,
    price=Price(301, 302, 303),
    hold_nusd=304,
    limit_tokens=305,
    cap_tokens=306,
    admitted_at=307.5,
    user="the user",
    ip="192.0.2.7",
    client_request_id="theirs",
    episode_id="the episode",
    profile="bud",
    dropped_params=("seed", "top_k"),
    fallback_from="wanted",
    fallback_depth=2,
    pdf_pages=113,
    pdf_page_nusd=114,
)
RECEIPT = Receipt(
    status="upstream_error",
    charge_basis="zero_upstream",
    usage=Usage(101, 102, 103, 104),
    charge_nusd=105,
    absorbed_nusd=106,
    total_us=107,
    admit_us=108,
    queued_us=109,
    failed_us=110,
    upstream_us=111,
    ttft_us=112,
)
OF_THE_CALL = {
    "call_id": "the call",
    "workspace_id": "the workspace",
    "key_id": "the key",
    "at": 307.5,
    "hold_nusd": 304,
    "requested_model": "asked for",
    "model": "meant",
    "streamed": True,
    "client_request_id": "theirs",
    "user": "the user",
    "ip": "192.0.2.7",
    "profile": "bud",
    "episode_id": "the episode",
}


def test_the_record_of_a_beginning() -> None:
    shelf = Shelf()

    CallLog(shelf).admitted(GRANT)

    prices = {"input_pusd": 301, "cached_input_pusd": 302, "output_pusd": 303}
    assert msgspec.structs.asdict(shelf.records[0]) == OF_THE_CALL | prices


def test_the_record_of_an_end() -> None:
    shelf = Shelf()
    meter = Meter(1, 2)
    meter.target = Target()
    meter.finish(0, "length", "max_output")
    meter.note_tool_calls(0, [{"index": 0}, {"index": 4}, {"index": 4}])
    meter.attempts = [{"provider": "openai"}]
    error = ProviderTimeout("It took too long.")

    CallLog(shelf).settled(
        *(GRANT, meter, RECEIPT),
        paid_nusd=100,
        error=error,
        request_body="question",
        response_body="answer",
        kept=b"the whole answer",
    )

    assert msgspec.structs.asdict(shelf.records[0]) == OF_THE_CALL | {
        "status": "upstream_error",
        "charge_basis": "zero_upstream",
        "charge_nusd": 100,
        "owed_nusd": 5,
        "absorbed_nusd": 106,
        "http_status": error.status,
        "error_code": error.code,
        "provider": "openai",
        "native_model": "gpt-5-2026",
        "finish_reason": "length",
        "prompt_tokens": 101,
        "completion_tokens": 102,
        "cached_tokens": 103,
        "reasoning_tokens": 104,
        "input_pusd": 401,
        "cached_input_pusd": 402,
        "output_pusd": 403,
        "total_us": 107,
        "admit_us": 108,
        "queued_us": 109,
        "failed_us": 110,
        "ttft_us": 112,
        "upstream_us": 111,
        "attempts": '[{"provider":"openai"}]',
        "request_body": "question",
        "response_body": "answer",
        "dropped_params": '["seed","top_k"]',
        "native_finish_reason": "max_output",
        "num_tool_calls": 2,
        "fallback_from": "wanted",
        "fallback_depth": 2,
        "pdf_pages": 113,
        "pdf_page_nusd": 114,
        "kept": b"the whole answer",
    }


def test_an_end_that_an_older_process_wrote_has_no_pages() -> None:
    shelf = Shelf()
    CallLog(shelf).settled(GRANT, Meter(1, 2), RECEIPT, paid_nusd=RECEIPT.charge_nusd, error=None)
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Settled)
    older = msgspec.msgpack.decode(encoder.encode(shelf.records[0]))[:-6]

    read = decoder.decode(encoder.encode(older))

    assert (read.pdf_pages, read.pdf_page_nusd, read.owed_nusd, read.kept) == (0, 0, 0, b"")
    assert read.dropped_params == '["seed","top_k"]'

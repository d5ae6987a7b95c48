"""The three things a journal says about a call.

Array-like msgpack structs: fields are only ever appended, with defaults, so that a newer
process reads an older journal. Ids are UUID text; times are seconds since the epoch; money is
nano-USD; durations are microseconds.
"""

from __future__ import annotations

import msgspec


class Admitted(msgspec.Struct, array_like=True, tag="a", frozen=True, gc=False):
    """Written before any byte goes upstream: a call runs and this much is held for it."""

    call_id: str
    workspace_id: str
    key_id: str
    at: float
    hold_nusd: int
    requested_model: str
    streamed: bool
    client_request_id: str = ""
    user: str = ""
    ip: str = ""
    model: str = ""
    input_pusd: int = 0
    cached_input_pusd: int = 0
    output_pusd: int = 0
    profile: str = ""
    episode_id: str = ""


class Settled(msgspec.Struct, array_like=True, tag="s", frozen=True, gc=False):
    """Written once when an admitted call ends: the whole record, hold released, charge known.

    status and charge_basis: the values of gateway.models.CallRecord. attempts: JSON text of
    [{"provider", "model", "code", "status", "us"}], those of a model to fall back to with
    "fallback", its public name; dropped_params: JSON text of a list of names.
    pdf_pages x pdf_page_nusd is a part of the price, which is charge + owed + absorbed.
    owed_nusd: of the price, what the process's purse did not have: charged when the record is
    posted, as far as the balance covers it, else absorbed.
    kept: the answer, where it is kept for an idempotency key (gateway.stores.kept_answers).
    """

    call_id: str
    workspace_id: str
    key_id: str
    at: float
    status: str
    charge_basis: str
    hold_nusd: int
    charge_nusd: int
    absorbed_nusd: int
    http_status: int
    error_code: str
    requested_model: str
    model: str
    provider: str
    native_model: str
    streamed: bool
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    input_pusd: int
    cached_input_pusd: int
    output_pusd: int
    total_us: int
    admit_us: int
    queued_us: int
    failed_us: int
    ttft_us: int | None
    upstream_us: int
    attempts: str = "[]"
    client_request_id: str = ""
    user: str = ""
    ip: str = ""
    request_body: str = ""
    response_body: str = ""
    profile: str = ""
    episode_id: str = ""
    dropped_params: str = "[]"
    native_finish_reason: str = ""
    num_tool_calls: int = 0
    fallback_from: str = ""
    fallback_depth: int = 0
    pdf_pages: int = 0
    pdf_page_nusd: int = 0
    owed_nusd: int = 0
    kept: bytes = b""


class Refused(msgspec.Struct, array_like=True, tag="r", frozen=True, gc=False):
    """A call of a known key that was not admitted: nothing held, nothing sent, nothing charged.

    counted: how many such calls it stands for, to be added to those of the row with this id; 0 for
    one that has a row of its own.
    """

    call_id: str
    workspace_id: str
    key_id: str
    at: float
    http_status: int
    error_code: str
    requested_model: str
    total_us: int
    client_request_id: str = ""
    ip: str = ""
    counted: int = 0


Record = Admitted | Settled | Refused


class Damage(msgspec.Struct, frozen=True, gc=False):
    """What nobody can read any more: a part of a segment, and how many records it has cost.

    Never written to a journal: it stands among the records that are read from one. data: the
    bytes from start to end; none where a whole segment is gone.
    """

    segment: int
    start: int
    end: int
    records: int
    data: bytes = b""


Entry = Record | Damage

"""Records of journals of earlier versions, read when this version takes such a journal over.

They were arrays: fields by their place, those that were added later at the end. Nothing writes
them any more, so nothing is ever added to the structs of this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from gateway.core.call_identity import CallIdentity
from gateway.core.money import Price, Usage
from gateway.core.receipt import PDF, Attempt, Receipt, ToolUse
from gateway.journal.record import Admitted, Record, Refused, Served, Settled

T = TypeVar("T")


class ArrayAdmitted(msgspec.Struct, array_like=True, tag="a", frozen=True, gc=False, kw_only=True):
    """The beginning of a call."""

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

    def today(self) -> Admitted:
        return Admitted(
            identity=_identity(self),
            hold_nusd=self.hold_nusd,
            model=self.model,
            price=Price(self.input_pusd, self.cached_input_pusd, self.output_pusd),
        )


class ArraySettled(msgspec.Struct, array_like=True, tag="s", frozen=True, gc=False, kw_only=True):
    """The end of a call. charge_nusd: without what is owed. attempts, dropped_params: JSON text."""

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

    def today(self) -> Settled:
        return Settled(
            identity=_identity(self),
            receipt=self._receipt(),
            served=Served(
                model=self.model,
                provider=self.provider,
                native_model=self.native_model,
                price=Price(self.input_pusd, self.cached_input_pusd, self.output_pusd),
                finish_reason=self.finish_reason,
                native_finish_reason=self.native_finish_reason,
                fallback_from=self.fallback_from,
                fallback_depth=self.fallback_depth,
            ),
            hold_nusd=self.hold_nusd,
            owed_nusd=self.owed_nusd,
            http_status=self.http_status,
            error_code=self.error_code,
            attempts=tuple(_read_list(self.attempts, Attempt)),
            num_tool_calls=self.num_tool_calls,
            dropped_params=tuple(_read_list(self.dropped_params, str)),
            request_body=self.request_body,
            response_body=self.response_body,
            kept=self.kept,
        )

    def _receipt(self) -> Receipt:
        pages = ToolUse(PDF, self.pdf_pages, self.pdf_page_nusd)
        return Receipt(
            status=self.status,
            charge_basis=self.charge_basis,
            usage=Usage(
                self.prompt_tokens,
                self.completion_tokens,
                self.cached_tokens,
                self.reasoning_tokens,
            ),
            tools=(pages,) if self.pdf_pages or self.pdf_page_nusd else (),
            charge_nusd=self.charge_nusd + self.owed_nusd,
            absorbed_nusd=self.absorbed_nusd,
            total_us=self.total_us,
            admit_us=self.admit_us,
            queued_us=self.queued_us,
            failed_us=self.failed_us,
            upstream_us=self.upstream_us,
            ttft_us=self.ttft_us,
        )


class ArrayRefused(msgspec.Struct, array_like=True, tag="r", frozen=True, gc=False, kw_only=True):
    """A call that was not admitted."""

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

    def today(self) -> Refused:
        return Refused(
            identity=CallIdentity(
                call_id=self.call_id,
                workspace_id=self.workspace_id,
                key_id=self.key_id,
                at=self.at,
                requested_model=self.requested_model,
                client_request_id=self.client_request_id,
                ip=self.ip,
            ),
            http_status=self.http_status,
            error_code=self.error_code,
            total_us=self.total_us,
            counted=self.counted,
        )


_decoder = msgspec.msgpack.Decoder(ArrayAdmitted | ArraySettled | ArrayRefused)


def is_array(payload: bytes) -> bool:
    """True for a record of an earlier version: by the first byte of an array in MessagePack."""
    return payload[:1] == b"\xdc" or 0x90 <= payload[0] <= 0x9F


def read_array(payload: bytes) -> Record:
    """Return the record. Raises MsgspecError for what is none."""
    record: ArrayAdmitted | ArraySettled | ArrayRefused = _decoder.decode(payload)
    return record.today()


def _identity(record: ArrayAdmitted | ArraySettled) -> CallIdentity:
    return CallIdentity(
        call_id=record.call_id,
        workspace_id=record.workspace_id,
        key_id=record.key_id,
        at=record.at,
        requested_model=record.requested_model,
        streamed=record.streamed,
        client_request_id=record.client_request_id,
        user=record.user,
        episode_id=record.episode_id,
        ip=record.ip,
        profile=record.profile,
    )


def _read_list(text: str, kind: type[T]) -> Sequence[T]:
    """Return a list that was kept as JSON. One that cannot be read must not cost the record."""
    try:
        return msgspec.json.decode(text, type=list[kind])  # type: ignore[valid-type]
    except msgspec.MsgspecError:
        return ()

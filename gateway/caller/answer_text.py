"""What the answer to one call says: its headers, its frames and its body, none of it sent here."""

from __future__ import annotations

from gateway.caller import answer_headers
from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError
from gateway.core.events import Answer
from gateway.core.grant import Grant
from gateway.core.processing import StreamMode
from gateway.core.profiles import Profile
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm, AnyEndpoint, StreamWriter, Writer
from gateway.http.error_response import error_response

Headers = list[tuple[bytes, bytes]]


class AnswerText:
    """The answer to one call, as its endpoint writes it."""

    __slots__ = (
        "_endpoint",
        "_form",
        "_grant",
        "_head",
        "_stream_mode",
        "_writer",
        "answer_type",
        "is_raw",
        "stream",
    )

    def __init__(self, endpoint: AnyEndpoint, head: RequestHead) -> None:
        self._endpoint = endpoint
        self._head = head
        self._grant: Grant | None = None
        self._form: AnswerForm | None = None
        self._stream_mode: StreamMode = ""
        self._writer: Writer | None = None
        # The media type of an answer that is neither JSON nor events; empty for those.
        self.answer_type = ""
        # The answer is a stream of such bytes, without frames.
        self.is_raw = False
        # Writes the frames of a call that asked for a stream.
        self.stream: StreamWriter | None = None

    @property
    def body_type(self) -> bytes:
        """What the endpoint reads."""
        return self._endpoint.api_format.body_type

    def begin(self, call: AnyCall, grant: Grant, profile: Profile, *, whole_credits: bool) -> None:
        """Take note of what the answer has to look like."""
        identity = grant.identity
        shown_id = grant.adopted_id or identity.call_id
        prefix = self._endpoint.api_format.id_prefix
        self._grant = grant
        self._form = AnswerForm(
            answer_id=(profile.id_prefix if prefix is None else prefix) + shown_id,
            call_id=shown_id,
            model=grant.model,
            created=int(identity.at),
            profile=profile,
            episode_id=identity.episode_id,
            is_stored=grant.stores_bodies,
            whole_credits=whole_credits,
            dropped_params=call.payload.places_of(grant.dropped_params)
            if grant.dropped_params
            else (),
            processing=(processing := call.payload.processing),
        )
        self._stream_mode = "" if processing is None else processing.stream_mode
        self.answer_type = call.payload.answer_type
        self.is_raw = bool(self.answer_type) and call.facts.stream
        if call.facts.stream:
            self.stream = self._endpoint.open_stream_writer(call, self._form)
        else:
            self._writer = self._endpoint.open_writer(call, self._form)

    def last(self, receipt: Receipt, answer: Answer | None) -> bytes:
        """Return the last frames of a stream, or the body of a buffered answer."""
        if answer is None:
            assert self.stream is not None
            return b"".join(self.stream.close(receipt))
        assert self._writer is not None
        return self._writer.write_answer(answer, receipt)

    def failure(self, error: GatewayError) -> bytes:
        """Return the last frames of a stream that fails."""
        writer = self.stream
        assert writer is not None
        frames = b"" if writer.is_open else writer.open()
        return frames + writer.fail(error)

    def error_response(self, error: GatewayError, profile: Profile) -> tuple[int, Headers, bytes]:
        """Return the HTTP error of a call whose head is not out."""
        shown_id = self._head.request_id if self._grant is None else self._grant.shown_id
        status, headers, body = error_response(error, shown_id, profile, self._endpoint.api_format)
        return status, answer_headers.common(self._head, profile, self._grant) + headers, body

    def plain_headers(self, body: bytes, profile: Profile) -> Headers:
        """Return the headers of an answer that no model gave."""
        headers = answer_headers.of_plain(self._head, profile, body)
        name = self._endpoint.api_format.id_header
        return [*headers, (name, self._head.request_id.encode())] if name else headers

    def stream_headers(self) -> Headers:
        assert self._grant is not None
        assert self._form is not None
        headers = answer_headers.of_stream(self._head, self._grant, self._form, self.answer_type)
        return self._add_rare(headers)

    def buffered_headers(self, body: bytes, receipt: Receipt) -> Headers:
        assert self._grant is not None
        assert self._form is not None
        headers = answer_headers.of_answer(self._head, self._grant, self._form)
        headers += answer_headers.of_body(self._form, body, receipt, self.answer_type)
        is_rare = self._stream_mode or self._endpoint.api_format.id_header
        return self._add_rare(headers) if is_rare else headers

    def _add_rare(self, headers: Headers) -> Headers:
        """Add what few answers have: why a stream that was asked for is none, or had to wait; the
        request's id under the name that the endpoint's API has for it."""
        if self._stream_mode:
            headers.append((b"x-stream-mode", self._stream_mode.encode()))
        if (name := self._endpoint.api_format.id_header) and self._grant is not None:
            headers.append((name, self._grant.shown_id.encode()))
        return headers

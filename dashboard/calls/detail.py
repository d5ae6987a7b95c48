"""One call explained: where its time went, what it cost and why, who tried to answer it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from http import HTTPStatus

from accounts.models import Workspace
from dashboard.calls.rows import CallRow, call_rows
from dashboard.calls.status_text import basis_words, error_words
from dashboard.calls.timing import Part, Stretch, stretches, timing_parts
from dashboard.calls.transcript import Transcript, read_request, read_response
from dashboard.explain.trace import StepLine, recorded_trace
from dashboard.templatetags.money import usd_per_mtok
from gateway.core.ids import ANSWER_PREFIXES
from gateway.core.money import PUSD_PER_NUSD, format_price
from gateway.core.profiles import BY_NAME, UNIFIED
from gateway.core.units import UNITS, Unit, parts_of
from gateway.models import CallBody, CallRecord
from gateway.models.batch import read_batch_id
from gateway.selectors.visible import Visible

PUSD_PER_USD = 10**12
MAX_BODY_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class CostLine:
    """A count of a unit times its price."""

    label: str
    unit: Unit
    count: int
    # For one step of the count.
    pusd: int
    # Exact USD; empty until it is known how many decimals all lines have.
    amount: str = ""

    @property
    def amount_pusd(self) -> int:
        return self.count * self.pusd

    @property
    def counted(self) -> str:
        return self.unit.format_count(self.count)

    @property
    def price(self) -> str:
        if self.unit.noun == "tokens":
            return usd_per_mtok(self.pusd)
        return f"${format_price(self.pusd, self.unit)} per {self.unit.price_noun}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSheet:
    """How the price of a call comes about. exact: the sum of the lines and of fee, all with as many
    decimals; price_nusd: its tokens' part rounded half-even once. fee: of pages of PDFs, so many at
    page_nusd each. returned_nusd: of the hold. beyond_nusd: what was charged above it."""

    lines: Sequence[CostLine]
    exact: str
    fee: str
    price_nusd: int
    charge_nusd: int
    absorbed_nusd: int
    returned_nusd: int
    beyond_nusd: int
    basis: str
    pages: int = 0
    page_nusd: int = 0


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way the call's id is written somewhere."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Body:
    """What was said, raw and put into messages. note: why there is nothing, where there is."""

    request: str = ""
    response: str = ""
    asked: Transcript = field(default_factory=Transcript)
    answered: Transcript = field(default_factory=Transcript)
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetail:
    """Everything the page of one call shows. error: what its error code means. trace: the checks
    of a refused call, empty where they are not known."""

    row: CallRow
    parts: Sequence[Part]
    bar: Sequence[Stretch]
    cost: CostSheet
    attempts: Sequence[Mapping[str, object]]
    spellings: Sequence[Spelling]
    body: Body
    tokens_per_second: float | None
    error: str
    trace: Sequence[StepLine]

    @property
    def call(self) -> CallRecord:
        return self.row.call

    @property
    def batch(self) -> str:
        """The public ID of the batch that the call is of, empty for none."""
        name, _, _ = self.call.client_request_id.partition(":")
        return name if read_batch_id(name) else ""


def describe_call(
    visible: Visible, call: CallRecord, body: CallBody | None, *, workspace: Workspace
) -> CallDetail:
    """Return the call laid out for its page."""
    parts = timing_parts(call)
    return CallDetail(
        row=call_rows(visible, [call])[0],
        parts=parts,
        bar=stretches(parts, call.total_us),
        cost=_cost_sheet(call),
        attempts=[attempt for attempt in call.attempts if isinstance(attempt, dict)],
        spellings=_spellings(call),
        body=_body(body, call.endpoint_name, workspace),
        tokens_per_second=_speed(call),
        error=error_words(call),
        trace=recorded_trace(call.refusal),
    )


def _cost_sheet(call: CallRecord) -> CostSheet:
    plain = _cost_lines(call)
    fee_pusd = sum(call.tool_costs_nusd.values()) * PUSD_PER_NUSD
    # A column adds up before one's eyes when its decimal points stand below each other.
    places = max(_places(amount) for amount in [*(line.amount_pusd for line in plain), fee_pusd])
    lines = [replace(line, amount=exact_usd(line.amount_pusd, places)) for line in plain]
    return CostSheet(
        lines=lines,
        exact=exact_usd(sum(line.amount_pusd for line in lines) + fee_pusd, places),
        fee=exact_usd(fee_pusd, places),
        price_nusd=call.charge_nusd + call.absorbed_nusd,
        charge_nusd=call.charge_nusd,
        absorbed_nusd=call.absorbed_nusd,
        returned_nusd=max(call.hold_nusd - call.charge_nusd, 0),
        beyond_nusd=max(call.charge_nusd - call.hold_nusd, 0),
        basis=basis_words(call),
        pages=call.pdf_pages,
        page_nusd=call.pdf_page_nusd,
    )


def _cost_lines(call: CallRecord) -> list[CostLine]:
    """Return what was counted: each whole without its parts, then these."""
    used = {
        "prompt": (call.prompt_tokens, call.input_pusd_per_token),
        "cached": (call.cached_tokens, call.cached_input_pusd_per_token),
        "completion": (call.completion_tokens, call.output_pusd_per_token),
        **{name: (one["count"], one["pusd"]) for name, one in sorted((call.units or {}).items())},
    }
    lines: list[CostLine] = []
    for name, unit in UNITS.items():
        if unit.part_of or name not in used:
            continue
        left, pusd = used[name]
        parts: list[CostLine] = []
        for part in parts_of(name):
            count, part_pusd = used.get(part.name, (0, 0))
            count = min(count, left)
            left -= count
            if count:
                label = f"{unit.label}, {part.label.lower()}"
                parts.append(CostLine(label, part, count, part_pusd))
        label = unit.label if not parts else f"{unit.label}, {_rest_of(parts)}"
        lines += [CostLine(label, unit, left, pusd), *parts]
    return lines


def _rest_of(parts: Sequence[CostLine]) -> str:
    return "not cached" if [part.unit.name for part in parts] == ["cached"] else "other"


def exact_usd(amount_pusd: int, places: int = 2) -> str:
    """Return an amount of pico-USD as exact USD: at least so many decimals, no rounding."""
    text = f"{Decimal(amount_pusd) / PUSD_PER_USD:.12f}"
    whole, _, decimals = text.partition(".")
    return f"${whole}.{decimals.rstrip('0').ljust(places, '0')}"


def _places(amount_pusd: int) -> int:
    return len(exact_usd(amount_pusd).partition(".")[2])


def _spellings(call: CallRecord) -> list[Spelling]:
    spellings = [Spelling("Request ID", str(call.id))]
    prefix = _answer_prefix(call)
    if prefix is not None and call.http_status < HTTPStatus.BAD_REQUEST:
        spellings.append(Spelling("Response ID", f"{prefix}{call.id}"))
    if call.client_request_id:
        spellings.append(Spelling("Client request ID", call.client_request_id))
    return spellings


def _answer_prefix(call: CallRecord) -> str | None:
    """Return what the id of the call's answer begins with, None where answers have no id."""
    profile = BY_NAME.get(call.profile or "", UNIFIED)
    if not call.endpoint or call.endpoint == "chat_completions":  # the oldest records have none
        return profile.id_prefix
    if call.endpoint == "completions" and profile.id_prefix != UNIFIED.id_prefix:
        return profile.id_prefix
    return ANSWER_PREFIXES.get(call.endpoint)


def _body(body: CallBody | None, endpoint: str, workspace: Workspace) -> Body:
    if body is not None:
        return Body(
            _pretty(body.request),
            _pretty(body.response),
            read_request(body.request, endpoint),
            read_response(body.response, endpoint),
        )
    if workspace.stores_bodies:
        return Body(note="Nothing is stored for this call, or it has been deleted.")
    return Body(note="Request logging is off in this workspace.")


def _pretty(text: str) -> str:
    """Return JSON indented, anything else (such as a stream of events) as it is; not all of it
    when it is long: a page has to stay a page."""
    try:
        pretty = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        pretty.encode()
    except (ValueError, RecursionError):  # ValueError: not JSON, or half a surrogate pair in it
        pretty = text
    if len(pretty) <= MAX_BODY_CHARS:
        return pretty
    return f"{pretty[:MAX_BODY_CHARS]}\n({len(pretty) - MAX_BODY_CHARS:,} more characters)"


def _speed(call: CallRecord) -> float | None:
    if not call.completion_tokens or not call.upstream_us:
        return None
    return call.completion_tokens * 1_000_000 / call.upstream_us

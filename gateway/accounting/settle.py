"""What an ended call costs: our fault and the provider's are free, walking away is not.

Every outcome leads to one status and one charge basis (docs/adr/0009):

    came to its end            ok                usage, or estimate when none was reported
    came to its end, empty     ok                zero_empty
    the caller left or stalled cancelled         usage or estimate; zero_empty before it was sent
    cut by a rule of ours      partial           estimate of what was delivered
    the provider failed        upstream_error    zero_upstream
    we failed                  platform_aborted  zero_platform

charge + absorbed is always the price of the units and tool uses on the record. A charge above the
hold is taken as far as the balance covers it (docs/adr/0034).
"""

from __future__ import annotations

from time import perf_counter_ns

from gateway.core.errors import AdmissionError, CallerGone, UpstreamError
from gateway.core.grant import Grant
from gateway.core.money import BEYOND_HOLDS, Price, Usage, cost_nusd, sum_usage
from gateway.core.receipt import Receipt, tools_nusd
from gateway.streaming.meter import NS_PER_US, Meter

# A provider's count is believed up to so many times the hold, and so many tokens on top.
ODD_FACTOR = 16
ODD_TOKENS = 10_000


def settle(grant: Grant, meter: Meter, error: BaseException | None, counted: Usage) -> Receipt:
    """Return what the call came to.

    error: what ended it before its end, or None. counted: our own count, used when the provider
    reported none.
    """
    status, basis, usage = _judge(meter, error, counted)
    price = grant.price if meter.target is None else meter.target.price
    cost = cost_nusd(usage, price)
    tools = (*grant.tools, *meter.tool_uses)
    if tools:
        cost += tools_nusd(tools)
    charge = 0 if basis.startswith("zero") else cost
    if charge > grant.hold_nusd and charge > grant.held_nusd:
        charge = min(charge, believable_nusd(grant, price, usage))
    now_ns = perf_counter_ns()
    queued_us = 0 if grant.lease is None else grant.lease.queued_us
    processing, before_us = meter.processing, 0
    if processing is not None:
        before_us = processing.before_ns // NS_PER_US
    return Receipt(
        status=status,
        charge_basis=basis,
        usage=usage,
        tools=tools,
        charge_nusd=charge,
        absorbed_nusd=cost - charge,
        total_us=(now_ns - meter.started_ns) // NS_PER_US,
        admit_us=(meter.admitted_ns - meter.started_ns) // NS_PER_US - queued_us - before_us,
        queued_us=queued_us,
        failed_us=meter.failed_ns // NS_PER_US,
        upstream_us=meter.upstream_ns // NS_PER_US,
        ttft_us=(meter.first_event_ns - meter.started_ns) // NS_PER_US
        if meter.first_event_ns
        else None,
        processors=() if processing is None else processing.uses(),
        tool_runs=() if meter.loop is None else tuple(meter.loop.runs),
        tools_us=0 if meter.loop is None else meter.loop.tools_ns // NS_PER_US,
    )


def believable_nusd(grant: Grant, price: Price, usage: Usage) -> int:
    """Return what a call may be charged at most, whatever its provider counts.

    Our bounds may be wrong by a factor; a provider that counts many times what was sent and
    allowed is broken, and nobody's wallet is emptied for that.
    """
    odd = Usage(prompt_tokens=ODD_TOKENS, completion_tokens=ODD_TOKENS)
    for unit in usage.others:
        if unit in BEYOND_HOLDS:
            odd = sum_usage(odd, BEYOND_HOLDS[unit])
    return ODD_FACTOR * grant.held_nusd + cost_nusd(odd, price)


def _judge(meter: Meter, error: BaseException | None, counted: Usage) -> tuple[str, str, Usage]:
    produced = meter.usage or counted
    if error is None:
        if not produced.completion_tokens and not meter.has_output:
            return "ok", "zero_empty", produced
        return "ok", "usage" if meter.usage else "estimate", produced
    if isinstance(error, CallerGone):
        return "cancelled", *_delivered(meter, produced, is_owed=meter.was_sent)
    if isinstance(error, AdmissionError):
        return "partial", *_delivered(meter, produced, is_owed=False)
    lost = produced if meter.has_output else Usage()
    if isinstance(error, UpstreamError):
        return "upstream_error", "zero_upstream", lost
    return "platform_aborted", "zero_platform", lost


def _delivered(meter: Meter, produced: Usage, *, is_owed: bool) -> tuple[str, Usage]:
    """is_owed: the prompt is to be paid even if nothing came of it."""
    if not meter.has_output and not is_owed:
        return "zero_empty", Usage()
    return "usage" if meter.usage else "estimate", produced


def needs_estimate(meter: Meter, error: BaseException | None) -> bool:
    """True when settling will need our own count of the call."""
    if meter.usage is not None:
        return False
    return meter.has_output or (meter.was_sent and isinstance(error, CallerGone))

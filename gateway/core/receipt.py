"""What a call came to: given back by settling, shown to the caller, kept in the record.

Durations are microseconds, money is nano-USD. The names in quotes are those in the journal.
"""

from __future__ import annotations

from msgspec import Struct, field

from gateway.core.money import Usage


class Attempt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One try of a target. As JSON it is what readers of call records get."""

    provider: str
    # The provider's own name for the model.
    model: str
    # Why it failed, a code of gateway.core.errors; empty where it served.
    code: str
    # What the provider refused with; ours where it did not answer, or broke off.
    status: int
    us: int
    # The public name of the fallback model that was tried; empty for the model asked for.
    fallback: str = ""
    # The name of the provider's credential; empty where it had no other.
    credential: str = ""
    # Which round of a call with server tools it was, 1 the first; 0 for other calls.
    round: int = 0


# The tool that makes pages of PDFs into images.
PDF = "pdf"


class ToolUse(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a tool of the gateway did for a call, at a price each time."""

    name: str = field(name="n")
    uses: int = field(name="u")
    nusd_each: int = field(default=0, name="e")


class ToolRun(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A run of a server tool. As JSON it is what readers of call records get. Nothing of what was
    said: of the arguments the names alone."""

    # The plugin, and the function where that has another name.
    plugin: str
    function: str = ""
    # Which round of the call asked for it, 1 the first.
    round: int
    # ok, failed, timeout, refused (it was not run), cancelled, or withheld (it ran, and a processor
    # kept its result from the model).
    status: str
    us: int = 0
    units: int = 0
    nusd: int = 0
    arguments: tuple[str, ...] = ()


# A count, or the types or rules of what was found; never a text of the call's.
ProcessorDetail = bool | int | float | str | list[str]


class ProcessorUse(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a processor did to a call. As JSON it is what readers of call records get."""

    name: str
    status: str
    us: int = 0
    details: dict[str, ProcessorDetail] = field(default_factory=dict)


class Receipt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """charge + absorbed is the price: of the usage, and of what tools did."""

    # The values of gateway.models.CallRecord.
    status: str = field(name="s")
    charge_basis: str = field(name="b")
    usage: Usage = field(name="u")
    tools: tuple[ToolUse, ...] = field(default=(), name="x")
    charge_nusd: int = field(default=0, name="c")
    absorbed_nusd: int = field(default=0, name="a")
    total_us: int = field(default=0, name="t")
    admit_us: int = field(default=0, name="d")
    queued_us: int = field(default=0, name="q")
    # Attempts that did not serve.
    failed_us: int = field(default=0, name="f")
    # The attempt that served.
    upstream_us: int = field(default=0, name="p")
    # From the request to the first event of the provider; None where there was none.
    ttft_us: int | None = field(default=None, name="y")
    processors: tuple[ProcessorUse, ...] = field(default=(), name="r")
    tool_runs: tuple[ToolRun, ...] = field(default=(), name="w")
    # In which tools ran and no provider was asked.
    tools_us: int = field(default=0, name="l")

    @property
    def processors_us(self) -> int:
        """What processors took, before the first attempt and on the answer: no other duration
        includes it but the total."""
        return sum([use.us for use in self.processors]) if self.processors else 0


def tools_nusd(tools: tuple[ToolUse, ...]) -> int:
    """Return what the uses of tools cost."""
    return sum([tool.uses * tool.nusd_each for tool in tools])

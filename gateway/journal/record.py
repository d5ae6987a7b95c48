"""The three things a journal says about a call.

Nested structs, written and read by name: a reader passes over names that it does not know, and
takes the default of those that are missing. So fields are added with a default, and a name that
was once used never gets another meaning. The names in quotes are short because each record has
them; fields at their default are not written.

Ids are UUID text; times are seconds since the epoch; money is nano-USD; durations are microseconds.
Records of the version before are read by gateway.journal.array_records.
"""

from __future__ import annotations

from msgspec import Struct, field

from gateway.core.call_identity import CallIdentity
from gateway.core.money import Price
from gateway.core.receipt import Attempt, Receipt


class _OfCall(Struct, tag_field="t", frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What every record says."""

    identity: CallIdentity = field(name="i")

    @property
    def call_id(self) -> str:
        return self.identity.call_id

    @property
    def workspace_id(self) -> str:
        return self.identity.workspace_id

    @property
    def key_id(self) -> str:
        return self.identity.key_id

    @property
    def at(self) -> float:
        return self.identity.at


class Served(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What served a call, or was tried last, at which price, and how its answer ended."""

    # The public name.
    model: str = field(default="", name="m")
    provider: str = field(default="", name="p")
    # The provider's own name for the model.
    native_model: str = field(default="", name="n")
    price: Price = field(name="$")
    finish_reason: str = field(default="", name="f")
    # In the provider's own word.
    native_finish_reason: str = field(default="", name="w")
    # The model that was meant where a fallback was tried, and which of the fallbacks that was.
    fallback_from: str = field(default="", name="b")
    fallback_depth: int = field(default=0, name="d")


class Admitted(_OfCall, tag="a", frozen=True, kw_only=True):
    """Written before any byte goes upstream: a call runs and this much is held for it."""

    hold_nusd: int = field(default=0, name="h")
    model: str = field(default="", name="m")
    price: Price = field(name="$")


class Settled(_OfCall, tag="s", frozen=True, kw_only=True):
    """Written once when an admitted call ends: the whole record, hold released, charge known."""

    receipt: Receipt = field(name="r")
    served: Served = field(name="v")
    hold_nusd: int = field(default=0, name="h")
    # Of the charge, what the process's purse did not have: charged when the record is posted, as
    # far as the balance covers it, else absorbed.
    owed_nusd: int = field(default=0, name="o")
    http_status: int = field(default=200, name="c")
    error_code: str = field(default="", name="e")
    attempts: tuple[Attempt, ...] = field(default=(), name="a")
    num_tool_calls: int = field(default=0, name="n")
    dropped_params: tuple[str, ...] = field(default=(), name="d")
    request_body: str = field(default="", name="q")
    response_body: str = field(default="", name="b")
    # The answer, where it is kept for an idempotency key (gateway.stores.kept_answers).
    kept: bytes = field(default=b"", name="k")

    @property
    def paid_nusd(self) -> int:
        """The part of the charge that is not owed."""
        return self.receipt.charge_nusd - self.owed_nusd


class Refused(_OfCall, tag="r", frozen=True, kw_only=True):
    """A call of a known key that was not admitted: nothing held, nothing sent, nothing charged."""

    http_status: int = field(name="c")
    error_code: str = field(name="e")
    total_us: int = field(default=0, name="u")
    # The check that refused it and its numbers (gateway.core.admission_steps), as JSON.
    refusal: str = field(default="", name="w")
    # How many such calls it stands for, to be added to those of the row with this id; 0 for one
    # that has a row of its own.
    counted: int = field(default=0, name="n")


Record = Admitted | Settled | Refused


class Damage(Struct, frozen=True, gc=False):
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


def spelled_out(value: object) -> object:
    """Return a record as mappings with the full names of its fields, for people to read."""
    if isinstance(value, Struct):
        return {name: spelled_out(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [spelled_out(one) for one in value]
    return value

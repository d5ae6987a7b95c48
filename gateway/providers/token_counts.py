"""Counts of tokens as providers report them."""

from __future__ import annotations

# No call has more; at the highest price that can be set the cost still fits into 64 bits.
MAX_TOKENS_COUNTED = 2**31 - 1


def read_count(value: object) -> int | None:
    """Return the count, None for what cannot be one."""
    # No bool, which is an int to isinstance().
    return value if type(value) is int and 0 <= value <= MAX_TOKENS_COUNTED else None


def read_whole(value: object) -> int | None:
    """Return the count of a provider that writes counts as numbers with a fraction of nothing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return read_count(value)

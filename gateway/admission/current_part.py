"""What a rule counts at present, in the form in which most calls change it."""

from __future__ import annotations

from gateway.admission.limit_windows import US_PER_S


class CurrentPart:
    """The part of a rule's period that runs, with what is used of the limit.

    From `since` until before `until`, counting is an addition to `total`, and taking back is a
    subtraction that leaves at least `settled`. Whoever counts for many rules does so directly: a
    function of Python costs several times as much as the addition. At any other time, and for rules
    that count in another way, the counter itself is to be asked.
    """

    __slots__ = ("empty_at", "empty_at_s", "limit", "settled", "since", "total", "until")

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.total = 0
        # What of it was counted in earlier parts.
        self.settled = 0
        self.since = self.until = 0
        # When nothing will be used any more, if something was counted in this part; and the second
        # in which that is, rounded up.
        self.empty_at = self.empty_at_s = 0

    def begin(self, since: int, until: int, empty_at: int) -> None:
        """Have another part run."""
        self.since, self.until = since, until
        self.empty_at, self.empty_at_s = empty_at, -(-empty_at // US_PER_S)

    def correct(self, delta: int, at_us: int, now_us: int) -> bool:
        """Count so much more or less, if that is all that has to be done. Returns whether it is."""
        total = self.total + delta
        if self.since <= at_us <= now_us < self.until and total >= self.settled:
            self.total = total
            return True
        return False

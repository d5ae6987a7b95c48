"""What one call asks Redis: all that is counted for it, and its slots, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from msgspec import ValidationError, convert

from gateway.admission.counter_protocols import Entry, Reserved, Slot
from gateway.stores.redis_connection import Part, RedisError, RedisRefused
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_rates import Share, SharedRate
from gateway.stores.redis_rules import Now, SharedRule, SharedRules
from gateway.stores.redis_scripts import ASK_SCRIPT, ENTER_SCRIPT
from gateway.stores.redis_slots import SharedSlots

Told = int | list[bytes]
# What Redis answers: see ENTER of gateway.stores.redis_scripts.
Answer = tuple[int, int, int, list[Told], list[int], list[int]]


class Asker(Protocol):
    """What it asks of the counters of its process (gateway.stores.redis_counters)."""

    link: RedisLink

    def on_held(self, slots: SharedSlots) -> None: ...


class Asked(Protocol):
    """One limit that counts the call."""

    @property
    def key(self) -> str: ...

    def words(self, now: Now) -> Sequence[Part]:
        """Return the arguments of the script."""

    def hear(self, told: Told, now: Now) -> None:
        """Redis says what the limit is at."""

    def on_counted(self, now: Now) -> None:
        """Redis has counted the call."""

    def share_wait_ns(self, share: Share, now: Now) -> int:
        """Return 0 when this process's share lets the call pass, or nanoseconds until it may."""

    def take_share(self, share: Share, now: Now) -> None:
        """Count the call in this process's share."""

    def wait_ns(self, now: Now) -> int:
        """Return how long until the call may pass; for limits that cannot tell it themselves."""

    def give_back(self, now: Now) -> None: ...


class AskedRate:
    """A limit on requests of a key or a workspace."""

    __slots__ = ("_rate", "key")

    def __init__(self, rate: SharedRate) -> None:
        self._rate = rate
        self.key = rate.key

    def words(self, now: Now) -> Sequence[Part]:
        return "rate", self._rate.per_minute, self._rate.burst, self._rate.used_us(now.ns)

    def hear(self, told: Told, now: Now) -> None:
        if isinstance(told, int):
            self._rate.hear(told, now.ns)

    def on_counted(self, now: Now) -> None:
        """It was heard."""

    def share_wait_ns(self, share: Share, now: Now) -> int:
        return self._rate.share_wait_ns(share, now.ns)

    def take_share(self, share: Share, now: Now) -> None:
        self._rate.take_share(share, now.ns)

    def wait_ns(self, now: Now) -> int:
        return self._rate.wait_ns(now.ns)

    def give_back(self, now: Now) -> None:
        self._rate.give_back(now.ns)


class AskedRule:
    """A rule. rules: all of the process."""

    __slots__ = ("_reserved", "_rule", "_rules", "key")

    def __init__(self, reserved: Reserved, rule: SharedRule, rules: SharedRules) -> None:
        self._reserved = reserved
        self._rule = rule
        self._rules = rules
        self.key = rule.key

    def words(self, now: Now) -> Sequence[Part]:
        return self._rule.words(self._reserved.amount, now.us)

    def hear(self, told: Told, now: Now) -> None:
        if not isinstance(told, int):
            self._rule.hear(tuple(float(number) for number in told), now.us)

    def on_counted(self, now: Now) -> None:
        self._reserved.at_us, self._reserved.weight = now.us, 1

    def share_wait_ns(self, share: Share, now: Now) -> int:
        return 0 if self._rule.fits_share(self._reserved.amount, share, now.us) else 1

    def take_share(self, share: Share, now: Now) -> None:
        self._rule.take_share(self._reserved, share, now.us)
        self._rules.owe(self._rule, self._reserved.amount, now.us)

    def wait_ns(self, now: Now) -> int:
        return 0  # its refusal says it

    def give_back(self, now: Now) -> None:
        self._rules.correct([(self._reserved, -self._reserved.amount)])


class Question:
    """takes: False where it is only asked. answered: None where the shares have to do instead."""

    __slots__ = ("_asked", "_asker", "_rules", "_slots", "_takes", "answered")

    def __init__(
        self,
        asked: Sequence[Asked],
        slots: Sequence[tuple[SharedSlots, bool]],
        asker: Asker,
        rules: SharedRules,
        *,
        takes: bool,
    ) -> None:
        self._takes = takes
        self._asked = asked
        self._slots = slots
        self._asker = asker
        self._rules = rules
        self.answered: asyncio.Future[Entry | None] = asyncio.get_running_loop().create_future()

    def send(self) -> None:
        """Ask Redis."""
        now = self._rules.now()
        if self._takes:
            for slots, _ in self._slots:
                slots.unsure += 1
                self._asker.on_held(slots)
        keys = [asked.key for asked in self._asked]
        arguments: list[Part] = [len(self._asked), len(self._slots)]
        for asked in self._asked:
            arguments += asked.words(now)
        for slots, may_queue in self._slots:
            keys += slots.keys
            wants = 2 if slots.waiting else 1
            arguments += (slots.limit, slots.held, wants, 1 if may_queue else 0)
        script = ENTER_SCRIPT if self._takes else ASK_SCRIPT
        self._asker.link.run(self, script, keys, *arguments)

    def leave(self) -> None:
        """The caller has left. An answer that is here already is given back, too."""
        if self.answered.done() and not self.answered.cancelled():
            entry = self.answered.result()
            if entry is not None:
                self._give_back(entry)
        else:
            self.answered.cancel()

    def answer_alone(self, share: Share) -> Entry:
        """Take of this process's shares, all or nothing; or say what would come of it."""
        now = self._rules.now()
        entry = self._look_alone(share, now)
        if self._takes and entry.refused is None:
            for asked in self._asked:
                asked.take_share(share, now)
            for (slots, _), has_slot in zip(self._slots, entry.has_slot, strict=True):
                if has_slot:
                    slots.took()
        return entry

    def _look_alone(self, share: Share, now: Now) -> Entry:
        no_slots = (False,) * len(self._slots)
        for index, asked in enumerate(self._asked):
            if wait_ns := asked.share_wait_ns(share, now):
                return Entry(index, wait_ns, no_slots)
        has_slot = [False] * len(self._slots)
        for index in reversed(range(len(self._slots))):
            slots, may_queue = self._slots[index]
            if slots.has_share:
                has_slot[index] = True
            elif may_queue:
                break
            else:
                return Entry(len(self._asked) + index, 0, no_slots)
        return Entry(None, 0, tuple(has_slot))

    # What makes it a Command of gateway.stores.redis_connection

    def on_reply(self, reply: object) -> None:
        self._be_sure()
        try:
            answer = convert(reply, Answer)
        except ValidationError as error:
            self._asker.link.fail(f"it answers what was not expected: {error}")
            self._answer(None)
            return
        entry = self._follow(answer)
        if self.answered.done():  # its caller has left
            self._give_back(entry)
        else:
            self.answered.set_result(entry)

    def on_failure(self, error: RedisError) -> None:
        self._be_sure()
        # Another use of one key is no reason to do without Redis for all others.
        if isinstance(error, RedisRefused) and "WRONGTYPE" not in str(error):
            self._asker.link.fail(str(error))
        self._answer(None)

    def _follow(self, answer: Answer) -> Entry:
        """Take note of what Redis says."""
        happened, which, redis_us, told, in_use, taken = answer
        self._rules.hear_now(redis_us)
        now = self._rules.now()._replace(us=redis_us)
        for asked, said in zip(self._asked, told, strict=True):
            asked.hear(said, now)
        for (slots, _), used, got in zip(self._slots, in_use, taken, strict=True):
            if used >= 0:
                slots.hear(used)
            if got and self._takes:
                slots.took()
        if happened == 1:
            wait_ns = self._asked[which - 1].wait_ns(now)
            return Entry(which - 1, wait_ns, (False,) * len(taken))
        if happened:
            return Entry(len(self._asked) + which - 1, 0, (False,) * len(taken))
        if self._takes:
            for asked in self._asked:
                asked.on_counted(now)
        return Entry(None, 0, tuple(bool(got) for got in taken))

    def _answer(self, entry: Entry | None) -> None:
        if not self.answered.done():
            self.answered.set_result(entry)

    def _give_back(self, entry: Entry) -> None:
        if entry.refused is None and self._takes:
            now = self._rules.now()
            for asked in self._asked:
                asked.give_back(now)
            for (slots, _), has_slot in zip(self._slots, entry.has_slot, strict=True):
                if has_slot:
                    slots.release()

    def _be_sure(self) -> None:
        if self._takes:
            for slots, _ in self._slots:
                slots.unsure -= 1


def shared_slots(slots: Sequence[Slot]) -> list[tuple[SharedSlots, bool]]:
    return [
        (slot.counter, slot.may_queue) for slot in slots if isinstance(slot.counter, SharedSlots)
    ]

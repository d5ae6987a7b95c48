"""Texts of the kinds that callers send, made here and always the same."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping

_SENTENCES = (
    "The committee met on Tuesday to discuss the harbour's new lighting scheme.",
    "Nobody had expected the ferry to arrive early, least of all its captain.",
    "When prices rise faster than wages, households postpone what they can.",
    "She kept the letters in a biscuit tin beneath the stairs, tied with string.",
    "A good index tells the reader what the author thought was important.",
    "It's cheaper to mend the roof in summer; everyone knows that, and nobody does it.",
    "The experiment failed twice before anyone checked the thermometer's calibration.",
)
_CODE = '''
def merge(left: list[int], right: list[int]) -> list[int]:
    """Return both lists as one, in order."""
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            result.append(left[i])
            i += 1
        else:
            result.append(right[j])
            j += 1
    return result + left[i:] + right[j:]


class Cache(Generic[K, V]):
    def __init__(self, limit: int = 1024) -> None:
        self._items: OrderedDict[K, V] = OrderedDict()
        self._limit = limit

    async def get(self, key: K, load: Callable[[K], Awaitable[V]]) -> V:
        if key in self._items:
            self._items.move_to_end(key)
            return self._items[key]
        value = self._items[key] = await load(key)
        if len(self._items) > self._limit:
            self._items.popitem(last=False)
        return value
'''
_CJK = (
    "港口的新照明方案在星期二的会议上讨论过了，大家都同意先修屋顶。",  # noqa: RUF001
    "船は思ったより早く着いたので、駅まで歩いて行くことにしました。",
    "물가가 임금보다 빨리 오르면 사람들은 할 수 있는 일을 미룬다.",
)


def _prose(chance: random.Random) -> str:
    return " ".join(chance.choice(_SENTENCES) for _ in range(400))


def _json(chance: random.Random) -> str:
    rows = [
        {
            "id": number,
            "name": f"user_{chance.randrange(10**6)}",
            "email": f"u{number}@example.com",
            "score": round(chance.random() * 100, 4),
            "tags": chance.sample(["new", "paid", "trial", "eu", "us"], 2),
            "active": chance.random() < 0.5,
        }
        for number in range(200)
    ]
    return json.dumps(rows)


def _table(chance: random.Random) -> str:
    rows = (
        f"2026-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d},"
        f"{chance.uniform(0, 9999):.2f},{chance.randint(0, 10**7)}"
        for _ in range(800)
    )
    return "\n".join(rows)


def _make() -> dict[str, str]:
    chance = random.Random(20261122)
    return {
        "prose": _prose(chance),
        "code": _CODE * 12,
        "json": _json(chance),
        "digits": "5 " * 12_000,
        "numbers": "".join(chance.choice("0123456789") for _ in range(20_000)),
        "table": _table(chance),
        "base64": base64.b64encode(chance.randbytes(15_000)).decode(),
        "hex": chance.randbytes(10_000).hex(),
        "cjk": "".join(chance.choice(_CJK) for _ in range(250)),
        "emoji": "".join(chance.choice("😀🎉🔥🚢🏠🌍") for _ in range(2_000)),
        "mixed": "\n\n".join((_prose(chance)[:4_000], _CODE, _json(chance)[:4_000], _CJK[0] * 20)),
    }


TEXTS: Mapping[str, str] = _make()

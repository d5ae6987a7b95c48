"""The fuzzer's properties hold for its seeds, for what it once found, and cut short or changed."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.seeds import seeds_of, words_of
from tests.fuzz.targets import TARGETS

CHANGES = 20


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_is_read_as_it_must_be(target: str) -> None:
    for seed in seeds_of(target):
        TARGETS[target](seed)


@pytest.mark.parametrize("target", TARGETS)
def test_changed_seeds_are_read_as_they_must_be(target: str) -> None:
    dice, known = random.Random(target), words_of(target)

    for seed in seeds_of(target):
        for _ in range(CHANGES if len(seed) < 10_000 else 1):
            TARGETS[target](change(seed, dice, known))


def change(seed: bytes, dice: random.Random, known: list[bytes]) -> bytes:
    """Return the seed with some bytes replaced by none, by others, or by words of the language."""
    changed = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        place = dice.randint(0, len(changed))
        what = dice.choice((b"", dice.choice(known), dice.randbytes(dice.randint(1, 3))))
        changed[place : place + dice.randint(0, 4)] = what
    return bytes(changed)

"""How many attacks of bench/corpora/prompt_attacks.jsonl the rules of prompt_shield find, and how
many innocent prompts they take for one."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gateway.processors.engines.prompt_shield import rate
from gateway.processors.prompt_shield import DEFAULT_THRESHOLD

CORPUS = Path(__file__).parent / "corpora" / "prompt_attacks.jsonl"


class Prompt(msgspec.Struct, frozen=True):
    language: str
    # Of attacks: override, extract, jailbreak, spoof, indirect, obfuscated. Of others: code,
    # fiction, security, mail.
    kind: str
    attack: bool
    # The rules were not tuned on it.
    held_out: bool
    text: str


class Share(NamedTuple):
    """How many of some prompts were taken for attacks."""

    taken: int
    all: int

    @property
    def value(self) -> float:
        return self.taken / self.all if self.all else 0.0

    def __str__(self) -> str:
        return f"{self.taken} / {self.all}" if self.all else ""


# Each prompt, and whether it was taken for an attack.
Rated = Sequence[tuple[Prompt, bool]]


def read_corpus() -> list[Prompt]:
    lines = CORPUS.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Prompt) for line in lines]


def rate_all(prompts: Sequence[Prompt], threshold: float = DEFAULT_THRESHOLD) -> Rated:
    return [(one, rate(one.text)[0] >= threshold) for one in prompts]


def share(rated: Rated, **wanted: object) -> Share:
    """Return the share of those prompts whose members have these values."""
    found = [
        taken
        for one, taken in rated
        if all(getattr(one, name) == value for name, value in wanted.items())
    ]
    return Share(sum(found), len(found))


def table(rated: Rated) -> str:
    """Return detection and false alarms by kind and language, as Markdown."""
    languages = sorted({one.language for one, _ in rated})
    kinds = dict.fromkeys((one.attack, one.kind) for one, _ in rated)
    lines = [
        "| Prompts | All | Held out | " + " | ".join(languages) + " |",
        "|---|---:|---:|" + "---:|" * len(languages),
    ]
    for is_attack in (True, False):
        name = "**Attacks found**" if is_attack else "**Harmless, refused**"
        lines.append(_line(name, rated, languages, {"attack": is_attack}))
        lines += [
            _line(kind, rated, languages, {"attack": is_attack, "kind": kind})
            for of_attacks, kind in kinds
            if of_attacks == is_attack
        ]
    return "\n".join(lines)


def _line(name: str, rated: Rated, languages: list[str], wanted: dict[str, object]) -> str:
    cells = [
        name,
        str(share(rated, **wanted)),
        str(share(rated, **wanted, held_out=True)),
        *(str(share(rated, **wanted, language=language)) for language in languages),
    ]
    return "| " + " | ".join(cells) + " |"


def report() -> str:
    """Return the whole report as text."""
    prompts = read_corpus()
    started = time.process_time()
    rated = rate_all(prompts)
    spent_ms = (time.process_time() - started) * 1e3
    chars = sum(len(one.text) for one in prompts)
    head = f"{len(prompts)} prompts, threshold {DEFAULT_THRESHOLD}"
    shares = ", ".join(
        f"{name} {share(rated, **wanted).value:.1%}"
        f" (held out {share(rated, **wanted, held_out=True).value:.1%})"
        for name, wanted in (("found", {"attack": True}), ("false alarms", {"attack": False}))
    )
    cost = f"{spent_ms / chars * 1000:.1f} ms of processor time for 1,000 characters"
    return f"{head}: {shares}\n\n{table(rated)}\n\n{cost}\n"


if __name__ == "__main__":
    sys.stdout.write(report())

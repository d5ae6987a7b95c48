"""How well the engine finds the personal data that bench/corpora/personal_data.jsonl marks."""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gateway.processors.pii_types import ENTITY_TYPES, LANGUAGES

# The modules of gateway.processors.engines.
PATTERNS = "pii"
CORPUS = Path(__file__).parent / "corpora" / "personal_data.jsonl"


class Mark(msgspec.Struct, frozen=True):
    type: str
    start: int
    end: int


class Sentence(msgspec.Struct, frozen=True):
    language: str
    text: str
    entities: list[Mark]


class Score(NamedTuple):
    """What was found of one type in one language."""

    marked: int
    found: int
    # That were found where nothing of the type is marked.
    false: int

    @property
    def recall(self) -> float | None:
        return self.found / self.marked if self.marked else None

    @property
    def precision(self) -> float | None:
        claimed = self.found + self.false
        return self.found / claimed if claimed else None


Findings = list[list[tuple[str, int, int, float]]]
Scores = Mapping[tuple[str, str], Score]


def read_corpus() -> list[Sentence]:
    lines = CORPUS.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Sentence) for line in lines]


def find_in(sentences: Sequence[Sentence], engine: str) -> list[list[Mark]]:
    """Return what the engine finds in each sentence, told the language of the sentence."""
    found = []
    for one in sentences:
        answer = ask(engine, [one.text], one.language)
        found.append([Mark(kind, start, end) for kind, start, end, _ in answer[0]])
    return found


def ask(engine: str, texts: Sequence[str], language: str) -> Findings:
    """Return what an engine finds in each text. It is imported here, not in a child process."""
    module = importlib.import_module(f"gateway.processors.engines.{engine}")
    answer = module.handle({"texts": list(texts), "languages": [language]})
    return msgspec.convert(answer["findings"], Findings)


def rate(sentences: Sequence[Sentence], found: Sequence[Sequence[Mark]]) -> Scores:
    """Count by type and language. A mark is found when findings of its type cover it whole; a
    finding is false when it touches no mark of its type."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for sentence, findings in zip(sentences, found, strict=True):
        for mark in sentence.entities:
            count = counts.setdefault((mark.type, sentence.language), Counter())
            count["marked"] += 1
            count["found"] += _covers(findings, mark, sentence.text)
        for one in findings:
            if not any(_touches(one, mark) for mark in sentence.entities):
                counts.setdefault((one.type, sentence.language), Counter())["false"] += 1
    return {place: Score(c["marked"], c["found"], c["false"]) for place, c in counts.items()}


def _touches(one: Mark, other: Mark) -> bool:
    return one.type == other.type and one.start < other.end and other.start < one.end


def _covers(findings: Iterable[Mark], mark: Mark, text: str) -> bool:
    """True when every letter and digit of the mark is in a finding of its type."""
    places = {
        place for one in findings if one.type == mark.type for place in range(one.start, one.end)
    }
    return all(place in places for place in range(mark.start, mark.end) if text[place].isalnum())


def table(scores: Scores) -> str:
    """Return recall and precision of each type, in all languages and in each, as Markdown."""
    lines = [
        "| Type | Marked | Recall | Precision | " + " | ".join(LANGUAGES) + " |",
        "|---|---:|---:|---:|" + "---:|" * len(LANGUAGES),
    ]
    for kind in ENTITY_TYPES:
        total = add_up(scores, [kind])
        if total.marked or total.false:
            each = [_pair(scores.get((kind, language))) for language in LANGUAGES]
            cells = [kind, str(total.marked), _share(total.recall), _share(total.precision), *each]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def add_up(scores: Scores, kinds: Sequence[str]) -> Score:
    """Return the sum over some types, in all languages."""
    wanted = [score for (kind, _), score in scores.items() if kind in kinds]
    return (
        Score(*(sum(column) for column in zip(*wanted, strict=True))) if wanted else Score(0, 0, 0)
    )


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _pair(score: Score | None) -> str:
    return "" if score is None else f"{_share(score.recall)} / {_share(score.precision)}"


def speed(sentences: Sequence[Sentence], engine: str = PATTERNS) -> float:
    """Return the milliseconds of processor time for 1,000 characters, texts of that length."""
    spent = chars = 0.0
    for language in LANGUAGES:
        text = "\n".join(one.text for one in sentences if one.language == language)
        texts = [text[start : start + 1000] for start in range(0, len(text), 1000)]
        started = time.process_time()
        ask(engine, texts, language)
        spent += time.process_time() - started
        chars += len(text)
    return spent / chars * 1e6


def report(engine: str = PATTERNS) -> str:
    """Return the whole report as text."""
    sentences = read_corpus()
    scores = rate(sentences, find_in(sentences, engine))
    marks = sum(len(one.entities) for one in sentences)
    head = f"{len(sentences)} sentences, {marks} marks, engine {engine}"
    cost = f"{speed(sentences, engine):.1f} ms of processor time for 1,000 characters"
    return f"{head}\n\n{table(scores)}\n\n{cost}\n"


if __name__ == "__main__":
    sys.stdout.write(report(*sys.argv[1:]))

"""Of findings that overlap, those that remain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.processors.engines.pii_recognisers.text import Finding

# What is left of a finding beside a better one counts only with so many letters or digits.
LEAST_REST = 2
_SIGNS = " ,.;:-/()"


def resolve(findings: Iterable[Finding], written: str) -> list[Finding]:
    """Return findings that do not overlap, in the order of the text, which cover all that any did.

    One that holds another whole goes before it; of two that overlap in part the likelier does. Of
    the other remains what stands outside.
    """
    return [one for group in _groups(findings) for one in _choose(group, written)]


def outside(findings: Iterable[Finding], kept: list[Finding], written: str) -> list[Finding]:
    """Return what of the findings stands outside those that are kept."""
    return [rest for one in findings for rest in _outside(one, kept, written)]


def _groups(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Yield the findings by the stretches of text that they cover together; of those in the same
    place the likeliest alone."""
    group: list[Finding] = []
    end = 0
    for one in sorted(set(findings), key=lambda one: (one.start, -one.end, -one.score, one.type)):
        if group and one.start >= end:
            yield group
            group = []
        if not group or (one.start, one.end) != (group[-1].start, group[-1].end):
            group.append(one)
        end = max(end, one.end)
    if group:
        yield group


def _choose(group: list[Finding], written: str) -> list[Finding]:
    if len(group) == 1:
        return group
    by_size = sorted(group, key=lambda one: (one.start - one.end, -one.score))
    doubted = [one for one in by_size if _is_doubted(one, group)]
    kept: list[Finding] = []
    for one in [*(one for one in by_size if one not in doubted), *doubted]:
        kept += _outside(one, kept, written)
    return sorted(kept, key=lambda one: one.start)


def _is_doubted(one: Finding, group: list[Finding]) -> bool:
    """True for one that overlaps a likelier one in part."""
    return any(
        (one.start < other.start < one.end < other.end)
        or (other.start < one.start < other.end < one.end)
        for other in group
        if other.score > one.score
    )


def _outside(one: Finding, kept: list[Finding], written: str) -> list[Finding]:
    """Return what of a finding stands outside those that are kept."""
    pieces = [(one.start, one.end)]
    for other in kept:
        pieces = [
            piece
            for start, end in pieces
            for piece in ((start, min(end, other.start)), (max(start, other.end), end))
            if piece[0] < piece[1]
        ]
    if pieces == [(one.start, one.end)]:
        return [one]
    return [rest for piece in pieces for rest in _rest(one, *piece, written)]


def _rest(one: Finding, start: int, end: int, written: str) -> Iterator[Finding]:
    rest = written[start:end]
    if sum(character.isalnum() for character in rest) >= LEAST_REST:
        start += len(rest) - len(rest.lstrip(_SIGNS))
        end -= len(rest) - len(rest.rstrip(_SIGNS))
        yield Finding(one.type, start, end, one.score)

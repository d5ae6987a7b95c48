"""What each processor did to a call, in words: its verdict, its counts, its time.

The record has types, rules and counts, never a text that was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.templatetags.money import count
from dashboard.ui.tables import Column, Layout, Shown, Table

# What other verdicts look like is not known here: a processor may have words of its own.
BADGES = {"passed": "badge-ok", "applied": "badge-ok", "failed": "badge-bad"}
MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class ProcessorLine:
    """A processor, in the order in which they ran. details: each a word and what it came to."""

    name: str
    verdict: str
    badge: str
    details: Sequence[str]
    us: int


_PROCESSORS = Layout[ProcessorLine](
    name="processor",
    label="Processors, in the order in which they ran",
    cells="dashboard/calls/_processor_cells.html",
    columns=(
        Column("processor", "Processor"),
        Column("verdict", "Verdict"),
        Column("details", "Found and changed", grows=True, shown=Shown.WIDE),
        Column("time", "Time", is_number=True),
    ),
    opens=False,
)


def processor_table(uses: object) -> Table[ProcessorLine]:
    """uses: those of the record (gateway.core.receipt.ProcessorUse, as JSON); None for none."""
    found = uses if isinstance(uses, list) else []
    return _PROCESSORS.fill([_line(use) for use in found if isinstance(use, dict)])


def _line(use: Mapping[str, object]) -> ProcessorLine:
    status, spent_us, details = str(use.get("status", "")), use.get("us", 0), use.get("details")
    return ProcessorLine(
        name=str(use.get("name", "")),
        verdict=_words(status),
        badge=BADGES.get(status, "badge-warn"),
        details=list(_details(details)) if isinstance(details, dict) else [],
        us=spent_us if isinstance(spent_us, int) else 0,
    )


def _details(details: Mapping[str, object]) -> Iterator[str]:
    for name, value in details.items():
        if value not in ("", [], None):
            yield f"{_words(name)}: {_said(value)}"[:MAX_CHARS]


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _words(name: str) -> str:
    """Return a name of the record as words: `entity_types` as `Entity types`."""
    return name.replace("_", " ").capitalize()

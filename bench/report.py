"""The figures as one table, and beside each target whether it was met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measures import RATIO
from bench.samples import Figures, error_of, mean_of, median_of

Results = dict[str, dict[str, Figures]]
# Beside RATIO: the standard error of it, between programs that were started anew.
RATIO_ERROR = "ratio_error"
# Of the routes of bench.translated.
TRANSLATED = {
    "openai_to_anthropic": "OpenAI's format in, Anthropic's dialect upstream",
    "anthropic_to_openai": "Anthropic's format in, OpenAI's dialect upstream",
    "anthropic": "Anthropic's throughout",
}


def combined(runs: Sequence[Results]) -> Results:
    """Return the medians of several runs, of ratios the mean. What one run could not measure is
    left to the others."""
    found: dict[str, dict[str, list[Figures]]] = {}
    for run in runs:
        for name, subjects in run.items():
            for subject, figures in subjects.items():
                found.setdefault(name, {}).setdefault(subject, []).append(figures)
    results: Results = {}
    for name, found_of in found.items():
        ratios = found_of.pop(RATIO, None)
        results[name] = {subject: median_of(each) for subject, each in found_of.items()}
        if ratios is not None:
            results[name] |= {RATIO: mean_of(ratios), RATIO_ERROR: error_of(ratios)}
    return results


@dataclass(frozen=True)
class Row:
    """One line of the table. `at_least` tells which side of the target is good."""

    what: str
    unit: str
    gateway: float
    relay: float | None = None
    target: float | None = None
    at_least: bool = False
    before: float | None = None
    # Of turns beside each other, so it is not quite gateway / before; with its standard error.
    ratio: float | None = None
    ratio_error: float | None = None

    @property
    def is_met(self) -> bool | None:
        if self.target is None:
            return None
        return self.gateway >= self.target if self.at_least else self.gateway <= self.target


def rows(results: Results) -> list[Row]:
    """Return the lines for whatever was measured."""
    return [
        *_buffered(results.get("buffered")),
        *_latency(results.get("latency")),
        *_bursts(results.get("bursts")),
        *_paced(results.get("paced")),
        *_memory(results.get("memory")),
        *_translated(results.get("translated")),
        *_embeddings(results.get("embeddings")),
    ]


def _row(
    found: dict[str, Figures],
    name: str,
    what: str,
    unit: str,
    target: float | None = None,
    *,
    at_least: bool = False,
    less: float = 0.0,
) -> Row:
    """Return the line of one figure. less: what is taken off every subject's figure."""
    before = found.get("before")
    return Row(
        what,
        unit,
        found["gateway"][name] - less,
        found["relay"][name] - less,
        target,
        at_least,
        None if before is None else before[name] - less,
        None if less else found.get(RATIO, {}).get(name),
        None if less else found.get(RATIO_ERROR, {}).get(name),
    )


def _buffered(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        what = "buffered, 32 connections"
        yield _row(found, "per_s", what, "calls/s", 4_500, at_least=True)
        yield _row(found, "p50_ms", "  p50", "ms")
        yield _row(found, "p99_ms", "  p99", "ms")
        yield _row(found, "cpu_us", "  processor time per call", "us")


def _latency(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        yield _row(found, "per_s", "buffered, 1 connection", "calls/s")
        yield _row(found, "p50_ms", "  p50", "ms")
        yield _row(found, "p99_ms", "  p99", "ms")
        direct_ms = found["upstream"]["p50_ms"]
        yield _row(found, "p50_ms", "  p50 added to the upstream's own", "ms", 0.4, less=direct_ms)


def _bursts(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        yield _row(found, "per_s", "streams in bursts, 32 connections", "streams/s")
        yield _row(found, "p50_ms", "  p50", "ms")
        yield _row(found, "p99_ms", "  p99", "ms")
        yield _row(found, "cpu_us", "  processor time per stream", "us")


def _paced(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        yield _row(found, "chunks_per_s", "400 paced streams", "chunks/s")
        yield _row(found, "cpu_us_per_chunk", "  processor time per chunk", "us", 35)
        for name in ("p50", "p99"):
            direct_ms = found["upstream"][f"{name}_ms"]
            what = f"  delay added to a chunk, {name}"
            yield _row(found, f"{name}_ms", what, "ms", less=direct_ms)


def _memory(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        yield _row(found, "rss_mb", "1,000 open streams, memory", "MB", 200)
        yield _row(found, "before_mb", "  before they opened", "MB")
        yield _row(found, "per_stream_kb", "  per stream", "kB")


def _translated(found: dict[str, Figures] | None) -> Iterator[Row]:
    if not found:
        return
    same_us = found["openai"]["cpu_us_per_chunk"]
    yield Row("400 paced streams, OpenAI's format throughout", "us/chunk", same_us)
    for name, what in TRANSLATED.items():
        chunk_us = found[name]["cpu_us_per_chunk"]
        yield Row(f"  {what}", "us/chunk", chunk_us)
        yield Row("    times the first", "", chunk_us / same_us, target=2.0)


def _embeddings(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        yield Row("embeddings, 32 connections", "calls/s", found["embeddings"]["per_s"])
        yield Row("  p99", "ms", found["embeddings"]["p99_ms"])
        call_us = found["embeddings"]["cpu_us"]
        yield Row("  processor time per call", "us", call_us)
        yield Row("    times a buffered chat call", "", call_us / found["chat"]["cpu_us"])


def table(lines: list[Row]) -> str:
    """Return the table as Markdown, aligned so that it also reads well in a terminal."""
    compares = any(row.before is not None for row in lines)
    cells = [["", "unit", "gateway", "bare relay", "target", ""]]
    if compares:
        cells[0][3:3] = ["before", "ratio"]
    for row in lines:
        target, verdict = "", ""
        if row.target is not None:
            bound = "at least" if row.at_least else "at most"
            target, verdict = f"{bound} {_number(row.target)}", "met" if row.is_met else "MISSED"
        bare = "" if row.relay is None else _number(row.relay)
        cells.append([row.what, row.unit, _number(row.gateway), bare, target, verdict])
        if compares:
            cells[-1][3:3] = _compared(row)
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    rule = [("-" * width) if i < 2 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    drawn = [_line(cells[0], widths), "| " + " | ".join(rule) + " |"]
    return "\n".join([*drawn, *(_line(line, widths) for line in cells[1:])])


def _compared(row: Row) -> list[str]:
    """Return the figure of the version before, and ours as a multiple of it."""
    if row.before is None:
        return ["", ""]
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
    if row.ratio_error is not None:
        ratio += f" ± {row.ratio_error:.3f}"
    return [_number(row.before), ratio]


def _line(cells: list[str], widths: list[int]) -> str:
    aligned = [
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(aligned) + " |"


def _number(value: float) -> str:
    """Return three significant figures, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"

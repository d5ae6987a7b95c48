"""The figures as one table, and beside each target whether it was met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.measures import Figures

Results = dict[str, dict[str, Figures]]
NOT_MEASURED = ""


@dataclass(frozen=True)
class Row:
    """One line of the table. `at_least` tells which side of the target is good."""

    what: str
    unit: str
    gateway: float
    relay: float | None = None
    target: float | None = None
    at_least: bool = False

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
    ]


def _buffered(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        ours, bare = found["gateway"], found["relay"]
        what = "buffered, 32 connections"
        yield Row(what, "calls/s", ours["per_s"], bare["per_s"], 4_500, at_least=True)
        yield Row("  part of the bare relay", "", ours["per_s"] / bare["per_s"], 1.0, 0.6, True)
        if library := found.get("library"):
            per_s = library["per_s"]
            yield Row(
                "  part of a relay on aiohttp", "", ours["per_s"] / per_s, bare["per_s"] / per_s
            )
        yield Row("  p50", "ms", ours["p50_ms"], bare["p50_ms"])
        yield Row("  p99", "ms", ours["p99_ms"], bare["p99_ms"])
        yield Row("  processor time per call", "us", ours["cpu_us"], bare["cpu_us"])


def _latency(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        ours, bare, direct = found["gateway"], found["relay"], found["upstream"]
        yield Row("buffered, 1 connection", "calls/s", ours["per_s"], bare["per_s"])
        yield Row("  p50", "ms", ours["p50_ms"], bare["p50_ms"])
        yield Row("  p99", "ms", ours["p99_ms"], bare["p99_ms"])
        added, bare_added = (each["p50_ms"] - direct["p50_ms"] for each in (ours, bare))
        yield Row("  p50 added to the upstream's own", "ms", added, bare_added, 0.4)


def _bursts(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        ours, bare = found["gateway"], found["relay"]
        yield Row("streams in bursts, 32 connections", "streams/s", ours["per_s"], bare["per_s"])
        yield Row("  p50", "ms", ours["p50_ms"], bare["p50_ms"])
        yield Row("  p99", "ms", ours["p99_ms"], bare["p99_ms"])
        yield Row("  processor time per stream", "us", ours["cpu_us"], bare["cpu_us"])


def _paced(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        ours, bare, direct = found["gateway"], found["relay"], found["upstream"]
        yield Row("400 paced streams", "chunks/s", ours["chunks_per_s"], bare["chunks_per_s"])
        cpu = "cpu_us_per_chunk"
        yield Row("  processor time per chunk", "us", ours[cpu], bare[cpu], 35)
        for name in ("p50", "p99"):
            added, bare_added = (each[f"{name}_ms"] - direct[f"{name}_ms"] for each in (ours, bare))
            yield Row(f"  delay added to a chunk, {name}", "ms", added, bare_added)


def _memory(found: dict[str, Figures] | None) -> Iterator[Row]:
    if found:
        ours, bare = found["gateway"], found["relay"]
        yield Row("1,000 open streams, memory", "MB", ours["rss_mb"], bare["rss_mb"], 200)
        yield Row("  before they opened", "MB", ours["before_mb"], bare["before_mb"])
        yield Row("  per stream", "kB", ours["per_stream_kb"], bare["per_stream_kb"])


def table(lines: list[Row]) -> str:
    """Return the table as Markdown, aligned so that it also reads well in a terminal."""
    cells = [["", "unit", "gateway", "bare relay", "target", ""]]
    for row in lines:
        target, verdict = "", ""
        if row.target is not None:
            bound = "at least" if row.at_least else "at most"
            target, verdict = f"{bound} {_number(row.target)}", "met" if row.is_met else "MISSED"
        bare = "" if row.relay is None else _number(row.relay)
        cells.append([row.what, row.unit, _number(row.gateway), bare, target, verdict])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    rule = [("-" * width) if i < 2 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    drawn = [_line(cells[0], widths), "| " + " | ".join(rule) + " |"]
    return "\n".join([*drawn, *(_line(line, widths) for line in cells[1:])])


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

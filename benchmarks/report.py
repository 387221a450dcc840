"""Writes what was measured: one JSON file, one page of Markdown, and plots as SVG."""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.scale import CLIENTS

JSON_NAME, MARKDOWN_NAME = "report.json", "report.md"
OURS, THEIRS = "groundwork", "txtai"
COLOURS = {OURS: "#0072B2", THEIRS: "#E69F00", "p50": "#0072B2", "p95": "#56B4E9"}
"""Colours that stay apart for colour-blind eyes (Okabe and Ito, 2008)."""

DOUBLED_COST = 2.2
"""How much more a search among twice as many passages may cost."""


@dataclass(frozen=True)
class Goal:
    """A figure beside what is wanted of it."""

    what: str
    measured: float
    wanted: float
    unit: str
    at_least: bool = False
    """Whether more is better."""

    @property
    def is_met(self) -> bool:
        """Whether the figure is as good as what is wanted."""
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted


def goals(parts: Mapping[str, Any]) -> list[Goal]:
    """What is wanted of the parts that were measured."""
    found = []
    for size in parts.get("scale", ()):
        found += scale_goals(size)
    sizes = parts.get("scale", ())
    for smaller in sizes:
        for larger in sizes:
            if larger["passages"] == 2 * smaller["passages"]:
                cost = larger["one_client"]["p50_ms"] / smaller["one_client"]["p50_ms"]
                what = f"{larger['passages']:,} beside {smaller['passages']:,} passages: p50"
                found.append(Goal(what, round(cost, 2), DOUBLED_COST, "times"))
    if "txtai" in parts:
        found += txtai_goals(parts["txtai"])
    if "service" in parts:
        found += service_goals(parts["service"])
    return found


def scale_goals(figures: Mapping[str, Any]) -> list[Goal]:
    """Search at one size."""
    name = f"{figures['passages']:,} passages"
    one, several = figures["one_client"], figures["clients"]
    found = [
        Goal(f"{name}, one client: p50", one["p50_ms"], 10, "ms"),
        Goal(f"{name}, one client: p95", one["p95_ms"], 20, "ms"),
        Goal(f"{name}, {CLIENTS} clients", several["requests_per_second"], 120, "requests/s", True),
        Goal(f"{name}, {CLIENTS} clients: p95", several["p95_ms"], 120, "ms"),
    ]
    for tag, filtered in figures["filters"].items():
        found += [
            Goal(f"{name}, filter {tag}: p95", filtered["p95_ms"], 25, "ms"),
            Goal(f"{name}, filter {tag}: recall@10", filtered["recall"], 0.99, "", True),
        ]
    memory = figures["peak_rss_mb"] + figures["peak_rss_mb_chroma"]
    return [
        *found,
        Goal(f"{name}: peak memory", memory, 1200, "MB"),
        Goal(f"{name}: delete of 20 chunks, slowest", figures["deletes"]["max_ms"], 100, "ms"),
        Goal(f"{name}: found after a delete", figures["deletes"]["still_found"], 0, "chunks"),
    ]


def txtai_goals(figures: Mapping[str, Any]) -> list[Goal]:
    """Ahead of txtai on each; where a figure is missing, it was not asked for."""
    ours, theirs = figures[OURS], figures[THEIRS]
    clients = f"{CLIENTS}_clients"

    def memory(side: Mapping[str, Any]) -> float:
        return float(side["peak_rss_mb"] + side["peak_rss_mb_of_children"])

    def per_second(side: Mapping[str, Any]) -> float:
        return float(side[clients]["requests_per_second"])

    found = [
        Goal("beside txtai: p50", ours["one_client_ms"]["p50_ms"],
             theirs["one_client_ms"]["p50_ms"], "ms"),
        Goal(f"beside txtai: {CLIENTS} clients", per_second(ours), per_second(theirs),
             "requests/s", True),
        Goal("beside txtai: indexing", ours["indexed_per_second"],
             theirs["indexed_per_second"], "passages/s", True),
        Goal("beside txtai: peak memory", memory(ours), memory(theirs), "MB"),
    ]  # fmt: skip
    measure = "scifact_ndcg_at_10"
    if measure in ours and measure in theirs:
        found.append(
            Goal("beside txtai: SciFact nDCG@10", ours[measure], theirs[measure], "", True)
        )
    return found


def service_goals(figures: Mapping[str, Any]) -> list[Goal]:
    """The service on the two documentation trees."""
    busy, changes = figures["docs_peps"], figures["changes"]
    places = [answer["page_rank"] for answer in figures["answers"]]
    share = figures["pipeline_share_of_embedding"]
    return [
        Goal("answers among five results", sum(bool(place) for place in places), len(places),
             "questions", True),
        Goal("unchanged tree, slowest", max(changes["unchanged_seconds"]), 1, "s"),
        Goal("unchanged tree: embedded", changes["unchanged_embedded"], 0, "chunks"),
        Goal("the pipeline's share of embedding", share, 0.85, "", True),
        Goal("idle service: p50", figures["search_idle"]["p50_ms"], 8, "ms"),
        Goal("idle service: p95", figures["search_idle"]["p95_ms"], 15, "ms"),
        Goal("while indexing: search p95", busy["search_meanwhile"]["p95_ms"], 100, "ms"),
        Goal("while indexing: /health/live p99", busy["health_meanwhile"]["p99_ms"], 50, "ms"),
        Goal("second start, slowest", max(figures["second_start_seconds"]), 3, "s"),
        Goal("peak memory of the service", figures["peak_rss_mb"], 600, "MB"),
    ]  # fmt: skip


def write(folder: Path, parts: Mapping[str, Any]) -> None:
    """Write everything that has been measured so far into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = goals(parts)
    document = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "goals": [{**asdict(goal), "is_met": goal.is_met} for goal in found],
        **parts,
    }
    (folder / JSON_NAME).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    plots = list(draw(folder, parts))
    page = "\n".join(markdown(document, found, plots)) + "\n"
    (folder / MARKDOWN_NAME).write_text(page, encoding="utf-8")


def machine() -> dict[str, Any]:
    """What it was measured on; the load says whether others were at work."""
    return {
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(load, 1) for load in os.getloadavg()],
    }


def processor() -> str:
    """The processor's name as Linux gives it, else what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def markdown(
    document: Mapping[str, Any], found: Sequence[Goal], plots: Sequence[str]
) -> Iterator[str]:
    """The lines of the page."""
    on = document["machine"]
    yield "# Benchmarks"
    yield ""
    yield (
        f"{document['measured_at']}, {on['processor']}, {on['cores']} cores, load {on['load']}, "
        f"Python {on['python']}."
    )
    yield ""
    yield "| | measured | wanted | |"
    yield "| --- | --- | --- | --- |"
    for goal in found:
        bound = "at least" if goal.at_least else "at most"
        met = "met" if goal.is_met else "**missed**"
        measured, wanted = f"{goal.measured:,g} {goal.unit}", f"{goal.wanted:,g} {goal.unit}"
        yield f"| {goal.what} | {measured.strip()} | {bound} {wanted.strip()} | {met} |"
    for name in plots:
        yield ""
        yield f"![{name}]({name})"
    for part in ("embedding", "service", "scale", "txtai"):
        if part in document:
            yield ""
            yield f"## {part}"
            yield ""
            yield "| | |"
            yield "| --- | --- |"
            for path, value in leaves(document[part]):
                yield f"| {path} | {value} |"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every single figure with the way to it."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from leaves(below, f"{path} {key}".strip())
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
        for number, below in enumerate(value, start=1):
            yield from leaves(below, f"{path} {number}".strip())
    else:
        yield path, value


def draw(folder: Path, parts: Mapping[str, Any]) -> Iterator[str]:
    """Draw what was measured; gives the names of the files."""
    for size in parts.get("scale", ()):
        name = f"scale-{size['passages']}.svg"
        title = f"Hybrid search over HTTP, {size['passages']:,} passages, 10 results"
        cases = {"one client": size["one_client"], f"{CLIENTS} clients": size["clients"]}
        cases |= {f"filter: {tag}": figures for tag, figures in size["filters"].items()}
        draw_latencies(folder / name, title, cases)
        yield name
    if "service" in parts:
        busy = parts["service"]["docs_peps"]
        cases = {
            "search, idle": parts["service"]["search_idle"],
            "search while indexing": busy["search_meanwhile"],
            "health while indexing": busy["health_meanwhile"],
        }
        draw_latencies(folder / "service.svg", "One client of the service", cases)
        yield "service.svg"
    if "txtai" in parts:
        draw_beside(folder / "txtai.svg", parts["txtai"])
        yield "txtai.svg"


def draw_latencies(path: Path, title: str, cases: Mapping[str, Mapping[str, float]]) -> None:
    """Median and tail of each case, as bars."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(cases))
    for offset, name in ((-0.2, "p50"), (0.2, "p95")):
        values = [case[f"{name}_ms"] for case in cases.values()]
        bars = axes.bar(places + offset, values, 0.4, label=name, color=COLOURS[name])
        axes.bar_label(bars, fmt="%.1f", fontsize=8)
    axes.set_xticks(places, list(cases), rotation=20)
    axes.set_ylabel("ms")
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)


def draw_beside(path: Path, figures: Mapping[str, Any]) -> None:
    """Both services side by side, a panel for each figure."""
    compared = txtai_goals(figures)
    canvas = Figure(figsize=(3 * len(compared), 3.5), layout="constrained")
    for axes, goal in zip(np.atleast_1d(canvas.subplots(1, len(compared))), compared, strict=True):
        values = [goal.measured, goal.wanted]
        bars = axes.bar([OURS, THEIRS], values, color=[COLOURS[OURS], COLOURS[THEIRS]])
        axes.bar_label(bars, fmt="%.3g", fontsize=9)
        better = "more" if goal.at_least else "less"
        axes.set_title(f"{goal.what.removeprefix('beside txtai: ')}\n({better} is better)")
        axes.set_ylabel(goal.unit)
        axes.spines[["top", "right"]].set_visible(False)
    canvas.suptitle(f"{figures['passages']:,} passages, same model, same machine")
    canvas.savefig(path)

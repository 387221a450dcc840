"""The report of the benchmarks says what was measured, what was wanted, and shows both."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.scale import SHARES
from tests.slow import slow


def latencies(p50: float, p95: float, **more: float) -> dict[str, float]:
    return {"count": 9, "p50_ms": p50, "p95_ms": p95, "p99_ms": p95, "max_ms": p95, **more}


def scale(passages: int, p50: float) -> dict[str, Any]:
    return {
        "passages": passages,
        "one_client": latencies(p50, 18.0),
        "clients": latencies(60.0, 119.0, requests_per_second=121.0),
        "filters": {tag: latencies(9.0, 24.0, recall=1.0) for tag in ("all", *SHARES)},
        "peak_rss_mb": 700,
        "peak_rss_mb_chroma": 0,
        "deletes": {**latencies(9.0, 18.0), "still_found": 0},
    }


def side(p50: float) -> dict[str, Any]:
    return {
        "indexed_per_second": 50.0,
        "one_client_ms": latencies(p50, 20.0),
        "8_clients": latencies(60.0, 90.0, requests_per_second=100.0),
        "peak_rss_mb": 600,
        "peak_rss_mb_of_children": 170,
    }


PARTS = {
    "scale": [scale(100_000, 9.0), scale(200_000, 20.0)],
    "txtai": {"passages": 1000, "groundwork": side(9.0), "txtai": side(8.0)},
}

SERVICE = {
    "docs_peps": {"search_meanwhile": latencies(20.0, 99.0), "health_meanwhile": latencies(3, 49)},
    "search_idle": latencies(7.0, 14.0),
    "changes": {"unchanged_seconds": [0.1, 0.2], "unchanged_embedded": 0},
    "answers": [{"page_rank": 1}, {"page_rank": None}],
    "pipeline_share_of_embedding": 0.84,
    "second_start_seconds": [2.0, 3.1, 2.0],
    "peak_rss_mb": 570,
}


def test_a_goal_is_met_from_the_side_it_is_wanted_from():
    assert report.Goal("", 120, 120, "", at_least=True).is_met
    assert not report.Goal("", 119, 120, "", at_least=True).is_met
    assert report.Goal("", 10, 10, "").is_met
    assert not report.Goal("", 10.1, 10, "").is_met


def test_goals_tell_what_was_missed():
    missed = {goal.what for goal in report.goals(PARTS) if not goal.is_met}
    assert missed == {
        "200,000 passages, one client: p50",
        "200,000 beside 100,000 passages: p50",
        "beside txtai: p50",
    }


def test_goals_tell_what_the_service_missed():
    missed = {goal.what for goal in report.goals({"service": SERVICE}) if not goal.is_met}
    assert missed == {
        "answers among five results",
        "the pipeline's share of embedding",
        "second start, slowest",
    }


@pytest.mark.parametrize(
    "names", [["scale", "txtai"], slow(["scale"]), slow(["txtai"])], ids=",".join
)
def test_the_report_holds_every_figure_and_its_plots(tmp_path: Path, names: list[str]):
    parts = {name: PARTS[name] for name in names}
    report.write(tmp_path / "new" / "folder", parts)
    folder = tmp_path / "new" / "folder"
    document = json.loads((folder / report.JSON_NAME).read_text())
    assert {name: document[name] for name in names} == json.loads(json.dumps(parts))
    assert len(document["goals"]) == len(report.goals(parts))
    page = (folder / report.MARKDOWN_NAME).read_text()
    plots = sorted(path.name for path in folder.glob("*.svg"))
    assert plots
    assert all(f"]({name})" in page for name in plots)
    assert all(goal.what in page for goal in report.goals(parts))

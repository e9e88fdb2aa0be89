"""The reuse histogram without a browser: set a trait, read the picture."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import ReuseExplorer
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.programs import PROGRAMS, distances
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import Workload

ROOFS = Roofs(1, 60.0, 20.0, (100.0, 50.0))
ANSWER_S = 0.150


def raced(
    work: Workload, programs: Mapping[str, Callable[..., object]], *, budget_s: float
) -> dict[str, Comparison]:
    numpy = Timing("NumPy", (0.001,) * 6)
    return {name: Comparison(Timing(name, (0.002,) * 6), numpy) for name in programs}


@pytest.fixture(scope="module")
def shared() -> ReuseExplorer:
    return ReuseExplorer(roofs=ROOFS, race=raced)


@pytest.fixture
def explorer(shared: ReuseExplorer) -> ReuseExplorer:
    shared.program, shared.place, shared.found = "transpose", 5, {}
    return shared


def test_misses_told_are_those_by_distance(explorer: ReuseExplorer) -> None:
    for name in PROGRAMS:
        explorer.program = name
        for place in (0, 5, len(explorer.sizes) - 1):
            explorer.place = place
            found = distances(name)
            misses = found.misses(explorer.size // found.line)
            assert f"misses {misses:,} of {found.uses:,} uses" in explorer.said
            assert f"{misses:,} misses with a cache of" in explorer.svg


def test_a_larger_cache_never_misses_more(explorer: ReuseExplorer) -> None:
    found = distances(explorer.program)
    misses = [found.misses(size // found.line) for size in explorer.sizes]
    assert misses == sorted(misses, reverse=True)
    assert misses[-1] == found.lines


def test_the_programs_show_what_they_are_for(explorer: ReuseExplorer) -> None:
    first = explorer._caches[0].bytes
    misses = {name: distances(name).misses(first // distances(name).line) for name in PROGRAMS}
    assert misses["products, row by row"] < 0.3 * misses["products, vector by vector"]
    assert misses["transpose, tiled"] < 0.2 * misses["transpose"]
    assert misses["matmul, tiled"] < 0.2 * misses["matmul"]
    assert misses["one pass"] == distances("one pass").lines


def test_the_table_has_this_machines_caches(explorer: ReuseExplorer) -> None:
    rows = re.findall(r"<tr><td>(.*?)</td>", explorer.table)
    assert [row.split(",")[0] for row in rows] == [*explorer.own, "arithmetic"]
    assert "GB/s" in explorer.table and "60 GFLOP/s" in explorer.table


def test_times_are_shown_for_all_that_compute_the_same(explorer: ReuseExplorer) -> None:
    assert explorer.bars == ""
    explorer.measure()
    assert "transpose, tiled" in explorer.bars and "NumPy 1.00 ms" in explorer.bars
    assert "0.50 x NumPy's speed" in explorer.status
    explorer.program = "one pass"
    assert explorer.bars == ""
    explorer.measure_all()
    assert explorer.program == "one pass"
    assert len(explorer.found) == len({each.family for each in PROGRAMS.values()})
    assert explorer.least("transpose") > explorer.least("transpose, tiled") > 0


def test_every_choice_is_answered_at_once(explorer: ReuseExplorer) -> None:
    explorer.measure_all()
    taken = []
    for name in PROGRAMS:
        start = time.thread_time()
        explorer.program = name
        explorer.place = (explorer.place + 1) % len(explorer.sizes)
        taken.append(time.thread_time() - start)
    assert max(taken) / 2 < ANSWER_S


@pytest.mark.parametrize(("trait", "value"), [("program", "sort"), ("place", -1), ("place", 99)])
def test_what_cannot_be_shown_is_refused(
    explorer: ReuseExplorer, trait: str, value: object
) -> None:
    before = explorer.svg
    with pytest.raises(UsageError):
        setattr(explorer, trait, value)
    assert explorer.svg == before


def test_where_no_widgets_run_there_is_a_picture_and_every_count(explorer: ReuseExplorer) -> None:
    explorer.measure()
    data, _ = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    text = data["text/html"]
    assert "<svg" in text and "NumPy 1.00 ms" in text
    for name in PROGRAMS:
        assert f"<b>{name}</b>" in text


def test_the_page_asks_no_other_machine_for_anything(explorer: ReuseExplorer) -> None:
    for text in (ReuseExplorer._esm, ReuseExplorer._css):
        assert "http" not in text
        assert "import " not in text

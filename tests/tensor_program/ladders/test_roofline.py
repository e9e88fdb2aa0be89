"""Programs under the roofs: where they stand, and that their bytes are counted."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders.catalogue import ladder
from mlc_course.tensor_program.ladders.record import Record, ladder_record
from mlc_course.tensor_program.ladders.roofline import Point, counted, is_counted, points, roofs_of
from mlc_course.tensor_program.ladders.rungs import Climbed, Rung, scheduled
from mlc_course.tensor_program.memory import Cache, Roofs, count
from mlc_course.tensor_program.plots import record_svg, roofline_svg
from mlc_course.tensor_program.problems import make_workload

pytestmark = pytest.mark.slow

ROOFS = Roofs(1, gflops=100.0, gbytes_per_s=10.0, caches=(80.0,))
CACHES = (Cache(1024, 4, 64), Cache(4096, 4, 64))
SIZES = (32, 48, 40)


@pytest.fixture
def record() -> Record:
    """Two rungs of a small product, with times that were made up."""
    rungs = ladder("matmul")[:2]
    times = {
        rung.name: Timing(rung.name, (1e-3 / (place + 1),)) for place, rung in enumerate(rungs)
    }
    climbed = [
        Climbed(rung, Comparison(times[rung.name], Timing("NumPy", (1e-4,))), 0.0, "def main")
        for rung in rungs
    ]
    return ladder_record(make_workload("matmul", SIZES), climbed, ROOFS, threads=1)


@pytest.fixture
def with_bytes(record: Record) -> Record:
    *_, last = counted(record, ladder("matmul"), CACHES)
    return last


def test_intensity_is_operations_per_byte() -> None:
    point = Point("p", flops=4e9, bytes=2e9, seconds=0.5)
    assert (point.intensity, point.gflops) == (2.0, 8.0)


def test_a_program_with_little_arithmetic_stands_under_the_slope() -> None:
    thin, thick = Point("thin", 1e9, 2e9, 1.0), Point("thick", 50e9, 2e9, 1.0)
    assert thin.attainable(ROOFS) == pytest.approx(0.5 * 10)
    assert thin.attainable(ROOFS, "L2") == pytest.approx(0.5 * 80)
    assert thick.attainable(ROOFS) == 100.0


@pytest.mark.parametrize("what", ["flops", "bytes", "seconds"])
def test_what_has_no_place_under_a_roof_is_refused(what: str) -> None:
    with pytest.raises(UsageError, match="no place in a roofline"):
        Point("copy", **({"flops": 1.0, "bytes": 1.0, "seconds": 1.0} | {what: 0.0}))


def test_bytes_are_those_that_the_caches_fetch(record: Record) -> None:
    workload = make_workload("matmul", SIZES)
    first, second = counted(record, ladder("matmul"), CACHES)
    assert not is_counted(first)
    for kept, rung in zip(second["rungs"], ladder("matmul"), strict=False):
        seen = count(scheduled(workload, rung), *CACHES)
        assert kept["bytes_moved"] == [64 * level.misses for level in seen]


TINY = {
    "matmul_exp_matmul": (32, 24, 64, 64),
    "matmul": (16, 24, 64),
    "linear_relu": (16, 24, 64),
    "softmax": (4, 64),
    "conv2d": (4, 10, 10, 16, 3, 3),
}


@pytest.mark.parametrize("name", TINY)
def test_every_rung_of_every_ladder_has_a_place_under_the_roof(name: str) -> None:
    workload, numpy = make_workload(name, TINY[name]), Timing("NumPy", (1e-4,))
    climbed = [
        Climbed(rung, Comparison(Timing(rung.name, (1e-3,)), numpy), 0.0, "def main")
        for rung in ladder(name)
    ]
    *_, found = counted(ladder_record(workload, climbed, ROOFS, threads=1), ladder(name), CACHES)
    for source in ROOFS.sources:
        assert all(0 < point.attainable(ROOFS, source) <= 100 for point in points(found, source))


def test_a_rung_is_known_by_its_name(record: Record) -> None:
    other = (Rung("other", "", lambda sch: None),)
    with pytest.raises(UsageError, match="no such rung"):
        next(counted(record, other, CACHES))


def test_each_level_has_points_of_its_own(with_bytes: Record) -> None:
    near, far = points(with_bytes, "L2"), points(with_bytes)
    for place, rung in enumerate(with_bytes["rungs"]):
        assert [near[place].bytes, far[place].bytes] == rung["bytes_moved"]
        assert near[place].gflops == pytest.approx(rung["gflops"])
    assert roofs_of(with_bytes) == ROOFS


def test_bytes_that_were_not_counted_have_no_points(record: Record) -> None:
    with pytest.raises(UsageError, match="not counted"):
        points(record)


def test_a_level_that_the_machine_lacks_is_refused(with_bytes: Record) -> None:
    for ask in (points, record_svg):
        with pytest.raises(UsageError, match=r"no such level"):
            ask(with_bytes, "L7")


# --- the picture ----------------------------------------------------------------------------------


def test_every_rung_has_a_dot_and_a_name(with_bytes: Record) -> None:
    svg = record_svg(with_bytes)
    for place, rung in enumerate(with_bytes["rungs"]):
        assert rung["name"] in svg
        assert f'id="rung-{place}"' in svg
        assert f'id="name-{place}"' in svg


def test_the_picture_names_the_level_the_roofs_and_where_it_was_made(with_bytes: Record) -> None:
    svg = record_svg(with_bytes, "L2")
    for words in ("byte from L2", "L2 80 GB/s", "memory 10 GB/s", "peak 100", "NumPy"):
        assert words in svg
    assert with_bytes["date"] in svg


def test_the_selected_program_is_marked(with_bytes: Record) -> None:
    assert record_svg(with_bytes, selected=0) != record_svg(with_bytes, selected=1)


@pytest.mark.parametrize("selected", [-1, 2])
def test_a_program_that_is_not_there_cannot_be_marked(selected: int, with_bytes: Record) -> None:
    with pytest.raises(UsageError, match="no such point"):
        record_svg(with_bytes, selected=selected)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_any_span_of_numbers_is_drawn(scale: float) -> None:
    programs = [Point("a", 1e6, 1e6 / scale, 1e-3), Point("b", 1e6, 1e6, 1e3 * scale)]
    svg = roofline_svg(programs, ROOFS)
    assert "<svg" in svg

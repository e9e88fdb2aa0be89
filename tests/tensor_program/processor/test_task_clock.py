"""Tasks of compiled programs, as their clocks saw them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import scores
from mlc_course.machine import usable_cores
from mlc_course.tensor_program.problems import Workload, matmul, matmul_exp_matmul
from mlc_course.tensor_program.processor.task_clock import timeline, with_clock
from mlc_course.tensor_program.processor.task_simulation import Timeline, chunks
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

pytestmark = pytest.mark.measures

THREADS = sorted({1, min(2, usable_cores()), usable_cores()})


def clocked(
    problem: Workload, apply: Callable[[Schedule], object], threads: int, readings: int = 3
) -> Timeline:
    """The timeline of a scheduled problem, whose result is checked."""
    sch = Schedule(problem.program())
    apply(sch)
    inputs, out = problem.inputs(), problem.output()
    found = timeline(sch, [*inputs, out], threads=threads, readings=readings)
    problem.check(out, problem.reference(inputs))
    return found


def rows(sch: Schedule) -> None:
    steps.split(sch, "R", "i", 4)
    steps.parallel(sch, "R", "i_0")


def both_products(sch: Schedule) -> None:
    for block in ("C", "F"):
        steps.parallel(sch, block, "m")


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("before", [0, 50])
def test_tasks_are_in_order_inside_the_whole_and_never_overlap_on_a_worker(
    threads: int, before: int
) -> None:
    found = clocked(scores("triangular", before=before), rows, threads)
    assert [each.task for each in found.intervals] == list(range(32))
    for each in found.intervals:
        assert 0 <= each.start <= each.end <= found.end < 10
    for worker in range(found.workers):
        own = [each for each in found.intervals if each.worker == worker]
        pairs = zip(own, own[1:], strict=False)
        assert all(first.end <= second.start for first, second in pairs)


@pytest.mark.parametrize("threads", THREADS)
def test_tvm_shares_tasks_as_chunks_says(threads: int) -> None:
    found = clocked(scores("uniform"), rows, threads)
    shares = [{i.task for i in found.intervals if i.worker == w} for w in range(threads)]
    wanted = [set(own) for own in chunks(32, threads)]
    assert shares[0] == wanted[0], "worker 0 is the thread that called"
    assert sorted(map(sorted, shares)) == sorted(map(sorted, wanted))


def test_long_tasks_take_longer_than_short_ones() -> None:
    lengths = [i.length for i in clocked(scores("triangular"), rows, 1, 10).intervals]
    assert sum(lengths[16:]) > 2 * sum(lengths[:16])


def test_the_serial_part_lies_before_the_first_task() -> None:
    half = clocked(scores("uniform", before=128 * 64), rows, 1, 10)
    assert 0.3 < half.serial / half.end < 0.7
    assert half.regions[0][0] == pytest.approx(half.serial, rel=0.2)


def test_each_parallel_loop_is_a_region() -> None:
    found = clocked(matmul_exp_matmul(8, 16, 8, 8), both_products, 1)
    assert len(found.regions) == 2
    assert found.regions[0][1] <= found.regions[1][0]
    assert [each.loop for each in found.intervals] == ["m"] * 16


def test_a_loop_that_is_started_again_and_again_is_a_region_each_time() -> None:
    def inner(sch: Schedule) -> None:
        steps.parallel(sch, "C", "n")

    found = clocked(matmul(3, 4, 5), inner, 1)
    assert len(found.regions) == 3
    assert [(i.region, i.task) for i in found.intervals] == [
        (r, t) for r in range(3) for t in range(5)
    ]


def test_the_clocked_program_has_one_more_buffer() -> None:
    sch = Schedule(matmul(8, 8, 8).program())
    steps.parallel(sch, "C", "m")
    function, loops = with_clock(sch)
    assert len(function.params) == 4
    assert [(each.name, each.first, each.entries, each.tasks) for each in loops] == [("m", 1, 1, 8)]


def test_a_program_without_tasks_is_refused() -> None:
    with pytest.raises(UsageError, match="no parallel loop"):
        with_clock(matmul(8, 8, 8).program())


def test_too_many_tasks_are_refused() -> None:
    sch = Schedule(matmul(1024, 4, 1024).program())
    steps.parallel(sch, "C", "n")
    with pytest.raises(UsageError, match="too many tasks"):
        with_clock(sch)

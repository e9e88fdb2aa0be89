"""Kernels of the box: what a thread is told, what is refused, and what an order changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.deadline import OutOfTime, until
from mlc_course.errors import CourseError, UsageError
from mlc_course.mugraph.box import KernelFault, Run, Thread, launch


def floats(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def index_of(t: Thread) -> int:
    return t.block.x * t.threads.x + t.thread.x


def kinds(run: Run) -> list[str]:
    return [fault.kind for fault in run.faults]


# ---- kernels that are right


def add_ten(t, out, a):
    i = index_of(t)
    if i < len(a):
        out[i] = a[i] + 10


def test_every_thread_runs_once() -> None:
    a, out = floats(70), np.zeros(70, np.float32)
    run = launch(add_ten, out, a, blocks=3, threads=32)
    assert np.array_equal(out, a + 10) and not run.faults
    assert run.checked() is run and "no fault" in str(run)


def numbers(t, out):
    at = (t.block.z * t.blocks.y + t.block.y) * t.blocks.x + t.block.x
    within = (t.thread.z * t.threads.y + t.thread.y) * t.threads.x + t.thread.x
    out[at, within] = out[at, within] + 1


def test_blocks_and_threads_have_three_axes_and_x_is_the_fastest() -> None:
    out = np.zeros((24, 30), np.float32)
    run = launch(numbers, out, blocks=(4, 3, 2), threads=(5, 3, 2))
    assert (out == 1).all() and not run.faults
    # thread 6 of a block is (1, 1, 0): the rows of the table say so
    thread = run.table["thread"][run.table["address"] == 6 * 4]
    assert set(thread) == {6}


def reverse(t, out, a):
    tile = t.shared("tile", 32)
    tile[t.thread.x] = a[index_of(t)]
    yield t.barrier()
    out[index_of(t)] = tile[31 - t.thread.x]


def reverse_without_a_barrier(t, out, a):
    tile = t.shared("tile", 32)
    tile[t.thread.x] = a[index_of(t)]
    out[index_of(t)] = tile[31 - t.thread.x]


ORDERS = [
    {"order": order, "by": by}
    for order, by in itertools.product(("ascending", "descending", 1, 2), ("thread", "warp"))
]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_without_races_no_order_matters(order: dict[str, Any]) -> None:
    out = np.zeros(64, np.float32)
    run = launch(reverse, out, floats(64), blocks=2, threads=32, **order)
    assert np.array_equal(out, floats(2, 32)[:, ::-1].reshape(-1))
    assert not run.faults and run.barriers == 1


def test_with_a_race_the_order_shows() -> None:
    found = []
    for order in ("ascending", "descending", 3):
        out = np.zeros(32, np.float32)
        run = launch(reverse_without_a_barrier, out, floats(32), order=order)
        assert "race" in kinds(run)
        found.append(np.nan_to_num(out, nan=-1).tobytes())
    assert len(set(found)) == 3


def last_of_the_neighbour(t, out):
    tile = t.shared("tile", 65)
    tile[t.thread.x] = 1.0
    if t.thread.x == 0:
        tile[64] = 0.0
    yield t.barrier()
    tile[t.thread.x] = tile[t.thread.x + 1] + 1


def test_warps_can_change_places_and_keep_their_threads_in_order() -> None:
    by_warp = launch(last_of_the_neighbour, np.zeros(1), threads=64, order="descending", by="warp")
    threads = by_warp.table["thread"][by_warp.table["epoch"] == 1]
    assert list(threads[:2]) == [32, 32] and threads[-1] == 31


def wide_copy(t, out, a):
    i = 4 * index_of(t)
    out[i : i + 4] = a[i : i + 4]


def test_four_neighbours_are_one_access() -> None:
    out = np.zeros(128, np.float32)
    run = launch(wide_copy, out, floats(128))
    assert np.array_equal(out, floats(128))
    assert {int(size) for size in run.table["size"]} == {16}


# ---- races


def test_a_race_names_threads_element_and_lines() -> None:
    run = launch(reverse_without_a_barrier, np.zeros(32, np.float32), floats(32))
    race = run.faults[0]
    assert race.kind == "race" and race.element == (0,) and race.array == "tile"
    assert race.threads == ((0, 0), (0, 31))
    text = str(run)
    assert "thread 0 writes tile[0], thread 31 reads it, and no barrier" in text
    assert "tile[t.thread.x] = a[index_of(t)]" in text and "tile[31 - t.thread.x]" in text
    with pytest.raises(KernelFault, match="both write|writes tile"):
        run.checked()


def count_up(t, out):
    out[0] = out[0] + 1


def test_two_threads_that_write_one_element_race() -> None:
    run = launch(count_up, np.zeros(1), threads=2)
    assert kinds(run) == ["race"]
    assert "thread 0 writes out[0], thread 1 reads it" in str(run.faults[0])


def test_one_thread_alone_does_not() -> None:
    assert not launch(count_up, np.zeros(1), threads=1).faults


def test_nothing_orders_blocks() -> None:
    run = launch(count_up, np.zeros(1), blocks=2, threads=1)
    assert "thread 0 of block 0" in str(run.faults[0])
    assert "no barrier orders threads of different blocks" in str(run.faults[0])


def through_device_memory(t, out):
    out[t.thread.x] = 1.0
    yield t.barrier()
    out[t.thread.x] = out[31 - t.thread.x]


def test_a_barrier_orders_device_memory_within_a_block_and_the_next_one_races() -> None:
    run = launch(through_device_memory, np.zeros(32))
    assert kinds(run) == ["race"]  # the last line reads what another thread writes
    assert len(run.faults[0].places) == 2 and len({str(p) for p in run.faults[0].places}) == 1


def everyone_writes_the_same(t, out):
    out[0] = 1.0


def test_writing_the_same_number_is_a_race_all_the_same() -> None:
    run = launch(everyone_writes_the_same, np.zeros(1))
    assert kinds(run) == ["race"]
    assert "thread 0 and thread 1 both write out[0]" in str(run.faults[0])


def read_by_all(t, out, a):
    out[t.thread.x] = a[0]


def test_reading_together_is_none() -> None:
    assert not launch(read_by_all, np.zeros(32), floats(1)).faults


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2), st.booleans()),
    min_size=1,
    max_size=12,
)  # thread, element, epoch, writes


@settings(max_examples=60, deadline=None)
@given(STEPS, st.booleans())
def test_races_are_those_that_trying_every_pair_finds(
    steps: list[tuple[int, int, int, bool]], shared: bool
) -> None:
    def kernel(t, device):
        cells = t.shared("cells", 6) if shared else device
        for epoch in range(3):
            for thread, element, when, writes in steps:
                if thread == t.thread.x and when == epoch:
                    if writes:
                        cells[element] = 1.0
                    else:
                        _ = cells[element]
            yield t.barrier()

    run = launch(kernel, np.zeros(6), threads=4)
    expected = {
        a[1]
        for a, b in itertools.combinations(steps, 2)
        if a[0] != b[0] and a[1:3] == b[1:3] and (a[3] or b[3])
    }
    found = [fault for fault in run.faults if fault.kind == "race"]
    assert {fault.element[0] for fault in found} <= expected
    assert sum(fault.times for fault in found) >= len(expected)


def ordered_and_then_not(t, much, one):
    x, many = t.thread.x, len(much) // t.threads.x
    for k in range(many):
        much[many * x + k] = x
    yield t.barrier()
    for k in range(many):
        _ = much[(many * (x + 1) + k) % len(much)]
    one[0] = x


def test_a_race_is_found_behind_any_number_of_elements_that_a_barrier_orders() -> None:
    run = launch(ordered_and_then_not, floats(10_240), floats(1), threads=1024)
    assert kinds(run) == ["race"] and run.faults[0].array == "one"


# ---- out of bounds, unwritten, misaligned


def shifted(t, out, a):
    out[t.thread.x] = a[t.thread.x + 1]


def test_an_index_out_of_bounds_names_thread_index_and_shape() -> None:
    out = np.zeros(32, np.float32)
    run = launch(shifted, out, floats(32))
    assert kinds(run) == ["bounds"]
    assert "thread 31 of block 0 reads a[32], and a[32] ends at 31" in str(run.faults[0])
    assert np.isnan(out[31]) and np.array_equal(out[:31], floats(32)[1:])


def before(t, out):
    out[t.thread.x - 1] = 1.0


def test_a_negative_index_is_out_of_bounds_and_writes_nothing() -> None:
    out = np.zeros(32, np.float32)
    run = launch(before, out)
    assert "writes out[-1], and out[32] has no negative indices" in str(run.faults[0])
    assert out[31] == 0


def past_a_row(t, out):
    out[0, t.thread.x] = 1.0


def test_an_index_past_a_row_is_not_the_next_row() -> None:
    run = launch(past_a_row, np.zeros((2, 16)))
    assert run.faults[0].times == 16 and "ends at 15 along dimension 1" in str(run.faults[0])


def unwritten_read(t, out):
    tile = t.shared("tile", 32)
    if t.thread.x:
        tile[t.thread.x] = 1.0
    yield t.barrier()
    out[t.block.x, t.thread.x] = tile[t.thread.x]


def test_a_read_of_shared_memory_that_nobody_wrote_is_refused() -> None:
    out = np.zeros((2, 32))
    run = launch(unwritten_read, out, blocks=2)  # the second block has memory of its own
    assert kinds(run) == ["unwritten"]
    (fault,) = run.faults
    assert "thread 0 of block 0 reads tile[0], and nobody has written it" in str(fault)
    assert fault.times == 2 and np.isnan(out[:, 0]).all()


def misaligned(t, out, a):
    i = 4 * t.thread.x + 1
    if i + 4 <= len(a):
        out[i : i + 4] = a[i : i + 4]


def test_a_wide_access_begins_at_a_multiple_of_its_size() -> None:
    run = launch(misaligned, np.zeros(64, np.float32), floats(64))
    assert "alignment" in kinds(run)
    assert "16 bytes at once from a[1] on" in str(run)


def halves(t, out, a):
    i = 8 * t.thread.x
    out[i : i + 8] = a[i : i + 8]
    _ = a[len(a)]


def test_eight_halves_are_one_access_and_whole_numbers_have_no_nan() -> None:
    for kind, said in (("float16", "reads a[16]"), ("int16", "reads a[16]")):
        out, a = np.zeros(16, kind), np.arange(16).astype(kind)
        run = launch(halves, out, a, threads=2)
        assert np.array_equal(out, a) and said in str(run.faults[0])


# ---- barriers


def early_return(t, out):
    if t.thread.x >= 20:
        return
    yield t.barrier()
    out[t.thread.x] = 1.0


def test_a_barrier_that_some_never_reach_is_refused() -> None:
    run = launch(early_return, np.zeros(32))
    assert kinds(run) == ["barrier"]
    assert "threads 0 to 19 wait at a barrier that threads 20 to 31 never reach" in str(run)
    assert run.faults[0].threads == ((0, 0), (0, 20))


def two_barriers(t, out):
    if t.thread.x % 2:
        yield t.barrier()
    else:
        yield t.barrier()
    out[t.thread.x] = 1.0


def test_two_barriers_are_not_one() -> None:
    run = launch(two_barriers, np.zeros(4), threads=4)
    assert "different barriers" in str(run) and len(run.faults[0].places) == 2


def one_round_more(t, out):
    for _ in range(1 + (t.thread.x == 3)):
        yield t.barrier()


def test_a_thread_that_waits_once_more_is_refused() -> None:
    assert "thread 3 wait" in str(launch(one_round_more, np.zeros(1), threads=8))


def forgets_yield(t, out):
    t.barrier()
    out[t.thread.x] = 1.0


def forgets_yield_at_the_end(t, out):
    out[t.thread.x] = 1.0
    t.barrier()


@pytest.mark.parametrize("kernel", [forgets_yield, forgets_yield_at_the_end])
def test_a_barrier_without_yield_is_an_error(kernel: Any) -> None:
    with pytest.raises(UsageError, match="without yield"):
        launch(kernel, np.zeros(32))


# ---- what no launch takes


def nothing(t):
    pass


def bad_index(t, out):
    out[t.thread.x / 2] = 1.0


def bad_rank(t, out):
    out[t.thread.x] = 1.0


def five_wide(t, out):
    out[0:5] = 1.0


def large(t):
    t.shared("tile", (128, 128))


def of_parts(t):
    t.shared("tile", 4, "f4,f4")


def two_shapes(t):
    t.shared("tile", 32 + t.thread.x)


def bare_yield(t):
    yield


@pytest.mark.parametrize(
    ("kernel", "arguments", "keywords", "said"),
    [
        (nothing, [floats(1)], {}, "arguments after the kernel"),
        (nothing, [], {"threads": (32, 64)}, "at most 1024"),
        (nothing, [], {"threads": (1, 1, 65)}, "threads along z"),
        (nothing, [], {"blocks": (1, 65_536)}, "blocks along y"),
        (nothing, [], {"shared_bytes": 10**6}, "at most 232,448"),
        (nothing, [], {"threads": 0}, "from 1 on"),
        (nothing, [], {"blocks": (1, 2, 3, 4)}, "1 to 3"),
        (nothing, [], {"order": "sideways"}, "no order"),
        (nothing, [], {"by": "half"}, "no unit"),
        (bad_index, [floats(32)], {}, "whole number"),
        (bad_rank, [floats(2, 2)], {}, r"out\[i, j\]"),
        (five_wide, [floats(8)], {}, "2 or 4"),
        (large, [], {}, "49,152"),
        (of_parts, [], {}, "plain numbers"),
        (two_shapes, [], {}, "as before"),
        (bare_yield, [], {}, "yield t.barrier"),
        ("no function", [], {}, "a function"),
        (add_ten, [(same := floats(4)), same], {}, "out and a share memory"),
        (add_ten, [floats(2, 2).T, floats(4)], {}, "row-major"),
    ],
)
def test_a_launch_that_cannot_be_is_an_error(
    kernel: Any, arguments: list[Any], keywords: dict[str, Any], said: str
) -> None:
    with pytest.raises(CourseError, match=said):
        launch(kernel, *arguments, **keywords)


def endless(t, a):
    while True:
        _ = a[0]


def test_a_deadline_ends_a_loop_without_an_end() -> None:
    with until(0.0), pytest.raises(OutOfTime):
        launch(endless, floats(1))


def fails(t, out):
    bad_index(t, out)


def test_an_error_in_a_kernel_names_the_thread() -> None:
    with pytest.raises(CourseError) as caught:
        launch(fails, floats(32), blocks=2)
    assert "block 0, thread 0" in caught.value.__notes__[0]

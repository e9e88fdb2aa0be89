"""Wavefronts are counted as the hardware has them, and layouts are chosen by them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lowered_graphs import few_steps, kernels

from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.kernels.index_expressions import ZERO, Expr, const, var
from mlc_course.mugraph.kernels.kernel_program import Buffer, Copy, Kernel, walk
from mlc_course.mugraph.programs import PROGRAM_OF
from mlc_course.mugraph.thread_kernels.shared_layouts import best_layout, cost, kernel_cost, layouts
from mlc_course.mugraph.thread_kernels.thread_accesses import Accesses, with_buffers
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu
from mlc_course.mugraph.thread_kernels.thread_tilings import thread_program

T, C = var("t"), var("c")
HALF, FLOAT = 2, 4
LINE = Buffer("line", (4096,))


def wavefronts(
    place: Expr, size: int = FLOAT, width: int = 1, threads: int = 32
) -> tuple[int, int]:
    index = (place + C if width > 1 else place,)
    ranges = (("t", threads), ("c", width))
    found = cost(Accesses(LINE, index, False, ranges, wide=("c", width)), size)
    return found.wavefronts, found.least


@pytest.mark.parametrize(
    ("place", "size", "width", "expected"),
    [
        (T, FLOAT, 1, (1, 1)),
        (T * 2, FLOAT, 1, (2, 1)),
        (T * 32, FLOAT, 1, (32, 1)),
        (T * 33, FLOAT, 1, (1, 1)),
        (const(7), FLOAT, 1, (1, 1)),  # all threads want one word
        (T, HALF, 1, (1, 1)),  # two threads a word
        (T * 4, FLOAT, 4, (4, 4)),  # 16 bytes a thread: a quarter of the warp at once
        (T * 8, HALF, 8, (4, 4)),
        (T * 2, FLOAT, 2, (2, 2)),
        (T * 32, FLOAT, 4, (32, 4)),
        (T * 36, FLOAT, 4, (4, 4)),
        (T % 2 * 32 + T // 2 * 4, FLOAT, 4, (8, 4)),
    ],
    ids=str,
)
def test_wavefronts_are_those_of_the_hardware(
    place: Expr, size: int, width: int, expected: tuple[int, int]
) -> None:
    assert wavefronts(place, size, width) == expected


def test_each_warp_counts() -> None:
    assert wavefronts(T, threads=128) == (4, 4)


def test_threads_that_are_left_out_take_no_time() -> None:
    accesses = Accesses(LINE, (T * 32,), False, (("t", 32),), ((T < 3, True),))
    assert cost(accesses, FLOAT).wavefronts == 3


COLUMN = Buffer("tile", (32, 32))


def column_reads(width: int) -> Accesses:
    """Each thread reads ``width`` neighbours at the begin of its own row."""
    index = (T, C if width > 1 else ZERO)
    return Accesses(COLUMN, index, False, (("t", 32), ("c", width)), wide=("c", width))


def test_a_swizzle_is_taken_where_it_is_free_of_conflicts() -> None:
    reads = column_reads(4)
    best, reason = best_layout(COLUMN, [reads], FLOAT)
    assert cost(reads, FLOAT).wavefronts == 32
    assert cost(replace(reads, buffer=best), FLOAT).wavefronts == 4
    assert best.swizzle == (4, 8)
    assert "4 wavefronts, not 32 (at least 4)" in reason


def test_a_gap_is_taken_where_a_swizzle_does_not_do() -> None:
    tile = Buffer("tile", (32, 30))
    at = Accesses(tile, (T, ZERO), False, (("t", 32),))
    wide = Buffer("tile", (32, 32), strides=(32, 1))
    assert cost(replace(at, buffer=wide), FLOAT).wavefronts == 32
    best, reason = best_layout(tile, [at], FLOAT)
    assert cost(replace(at, buffer=best), FLOAT).wavefronts == 1
    assert "a gap of" in reason


def test_rows_stay_without_gaps_where_nothing_is_gained() -> None:
    row = Accesses(COLUMN, (ZERO, T), False, (("t", 32),))
    assert best_layout(COLUMN, [row], FLOAT) == (COLUMN, "")


def test_every_layout_keeps_wide_accesses_aligned() -> None:
    for columns in (8, 24, 64):
        for layout in layouts(Buffer("tile", (4, 16, columns), role="storage"), HALF):
            assert layout.steps[-2] * HALF % 16 == 0


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_graphs_are_nearly_free_of_conflicts(name: str) -> None:
    gpu = Gpu()
    for kernel in kernels(few_steps(name, 3), gpu):
        found = kernel_cost(kernel, gpu.bytes_of)
        plain = kernel_cost(without_layouts(kernel), gpu.bytes_of)
        assert found.wavefronts <= plain.wavefronts
        assert found.wavefronts <= 1.1 * found.least


def without_layouts(kernel: Kernel) -> Kernel:
    plain = {e.name: replace(e, strides=(), swizzle=None) for e in kernel.shared}
    return replace(kernel, body=with_buffers(kernel.body, plain))


@pytest.mark.parametrize("size", [HALF, FLOAT])
@pytest.mark.parametrize("columns", [4, 10, 20, 36, 44])
def test_rows_begin_where_copies_can(columns: int, size: int) -> None:
    text = f"""
product(X[m=32, n={columns}], W[n, d=1]):
  block grid(x=1):
    x = load(X, imap={{}})
    w = load(W, imap={{}})
    y = matmul(x, w)
    Y = store(y, omap={{x: 0}})
  return Y
"""
    program = thread_program(parse(text), Gpu(threads=32, storage_bytes=size)).program
    copies = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Copy)]
    assert any(each.target.name == "x" for each in copies)
    for each in copies:
        assert all(step % each.width == 0 for step in each.target.steps[:-1]), each.target

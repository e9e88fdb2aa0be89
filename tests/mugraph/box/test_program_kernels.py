"""Kernel programs run in the box unchanged: right in every order, and refused when they are not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lowered_graphs import few_steps, kernels
from small_graphs import normal_inputs

from mlc_course.errors import GraphError, UsageError
from mlc_course.mugraph.box import Order, run_kernel
from mlc_course.mugraph.box.program_kernels import Landing, seconds_text, thread_turns
from mlc_course.mugraph.ir import FLOAT64, Number, evaluate
from mlc_course.mugraph.kernels.index_expressions import const, var
from mlc_course.mugraph.kernels.kernel_program import (
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Guard,
    Kernel,
    Read,
    Select,
    Threads,
    rewritten,
)
from mlc_course.mugraph.programs import PROGRAM_OF
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu

GPU = Gpu(threads=32, storage_bytes=4, shared_bytes=200 * 1024)
TOLERANCE = 2e-5  # of the largest value, in float32
SLOW = {"gqa_split_kv", "attention_split_kv"}


def lowered(name: str, iterations: int = 2, gpu: Gpu = GPU) -> list[tuple[Kernel, list[Any], Any]]:
    """The kernels of a published graph on few steps, with inputs and what they should give."""
    small = few_steps(name, iterations)
    graph = small.graph
    arrays = list(normal_inputs(graph).values())
    every = replace(graph, outputs=tuple(range(len(graph.shapes))))
    with np.errstate(all="ignore"):
        values = evaluate(every, arrays, FLOAT64)
    found = []
    for place, kernel in zip(small.tilings, kernels(small, gpu), strict=True):
        operands = dict.fromkeys(graph.equations[place].operands)
        results = [values[n] for n in graph.results(place)]
        found.append((kernel, [values[n] for n in operands], results))
    return found


def check(kernel: Kernel, inputs: list[Any], wanted: list[Any], **how: Any) -> None:
    done = run_kernel(kernel, inputs, progress=False, **how)
    assert not done.run.faults, done.run.faults[0]
    for got, expected in zip(done.outputs, wanted, strict=True):
        largest = np.abs(expected).max(initial=1)
        assert np.abs(got - expected).max() <= TOLERANCE * largest


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_kernels_agree_with_the_interpreter(name: str) -> None:
    for kernel, inputs, wanted in lowered(name, 1 if name in SLOW else 2):
        check(kernel, inputs, wanted)


@pytest.mark.parametrize(
    ("order", "copies"),
    [
        (Order("descending"), "late"),
        (Order(1), "late"),
        (Order(2, "warp"), "at once"),
        (Order("descending", "warp"), "at once"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "lora_looped", "n_trans_fused"])
def test_no_order_changes_them(name: str, order: Order, copies: Landing) -> None:
    for kernel, inputs, wanted in lowered(name, 3, replace(GPU, threads=64)):
        check(kernel, inputs, wanted, order=order, copies=copies)


@pytest.mark.parametrize("name", sorted(set(PROGRAM_OF) - SLOW))
def test_a_shuffled_order_changes_none_of_them(name: str) -> None:
    for kernel, inputs, wanted in lowered(name, 1):
        check(kernel, inputs, wanted, order=Order(7), copies="at once")


def test_storage_may_be_float16() -> None:
    half = Gpu(threads=32, storage_bytes=2)
    ((kernel, inputs, (wanted,)),) = lowered("rms_norm_matmul_fused", 2, half)
    done = run_kernel(kernel, inputs, storage="float16", progress=False)
    assert not done.run.faults
    assert np.abs(done.outputs[0] - wanted).max() < 0.02 * np.abs(wanted).max()


def test_without_a_barrier_they_race() -> None:
    ((kernel, inputs, _),) = lowered("rms_norm_matmul_fused", 2)
    barriers = sum(isinstance(each, Barrier) for each in kernel.body)
    inside = rewritten(kernel.body, lambda s: () if isinstance(s, Barrier) else (s,))
    done = run_kernel(replace(kernel, body=inside), inputs, progress=False)
    assert barriers and {"race", "copy"} & {fault.kind for fault in done.run.faults}


def test_counts_are_those_of_the_accesses_kept() -> None:
    ((kernel, inputs, _),) = lowered("lora_looped", 2)
    kept = run_kernel(kernel, inputs, progress=False).run
    counted = run_kernel(kernel, inputs, progress=False, keep=False).run
    assert len(kept.table.rows) and not len(counted.table.rows)
    assert [str(each) for each in kept.counts] == [str(each) for each in counted.counts]
    assert kept.device.sectors and kept.shared.wavefronts >= kept.shared.least_wavefronts


# ---- small kernels with a fault each

T, C = var("t"), var("c")
NOTHING = Constant(Number(Fraction(0)))
A, OUT = Buffer("A", (64,), "global", "storage"), Buffer("Out", (64,), "global", "storage")
TILE = Buffer("tile", (64,), "shared", "storage")


def program(*body: Any, shared: tuple[Buffer, ...] = (TILE,), grid: int = 1) -> Kernel:
    return Kernel("small", (("x", grid),), 32, (A,), (OUT,), shared, body)


def by_threads(*body: Any) -> Threads:
    return Threads("t", 32, body)


def moved(target: Buffer, index: Any, source: Buffer, at: Any, axes: Any = ()) -> Compute:
    return Compute(target, (index,), Read(source, (at,)), axes)


LOAD = by_threads(moved(TILE, T, A, T), moved(TILE, T + 32, A, T + 32))  # two elements each
STORE = by_threads(moved(OUT, T, TILE, const(63) + T * -1), moved(OUT, T + 32, TILE, T))
X = np.arange(64, dtype=np.float32)


def outcome(kernel: Kernel, **how: Any) -> tuple[str, Any]:
    done = run_kernel(kernel, [X], progress=False, **how)
    return "\n".join(map(str, done.run.faults)), done.outputs[0]


def test_a_small_kernel_is_right() -> None:
    said, out = outcome(program(LOAD, Barrier(), STORE))
    assert not said and np.array_equal(out, np.concatenate([X[:31:-1], X[:32]]))


def test_a_missing_barrier_is_a_race_with_threads_and_element() -> None:
    said, _ = outcome(program(LOAD, STORE))
    assert "race: thread 0 writes tile[0], thread 31" not in said  # thread 0 reads tile[0] itself
    assert "race: thread 0 writes tile[32], thread 31 reads it" in said


def test_an_index_out_of_bounds_is_named() -> None:
    said, _ = outcome(program(by_threads(moved(OUT, T * 2 + 1, A, T * 2 + 2))))
    assert "bounds: thread 31 of block 0 reads A[64], and A[64] ends at 63" in said


def test_a_write_out_of_bounds_is_left_out() -> None:
    said, out = outcome(program(by_threads(moved(OUT, T + 40, A, T))))
    assert "writes Out[64]" in said and np.array_equal(out[40:], X[:24])


def test_a_condition_keeps_indices_inside() -> None:
    value = Select(C < 63, Read(A, (C + 1,)), NOTHING)
    statement = Compute(OUT, (C,), value, (Axis("c", 64),))
    first = Threads("t", 1, (statement,))
    said, out = outcome(program(first))
    assert not said and np.array_equal(out, np.append(X[1:], 0))


def test_a_read_of_what_nobody_wrote_is_named() -> None:
    load = by_threads(moved(TILE, T, A, T))
    said, _ = outcome(program(load, Barrier(), STORE))
    assert "reads tile[63], and nobody has written it" in said


def test_a_plan_that_puts_two_tiles_in_one_place_shows() -> None:
    other = replace(TILE, name="other")
    kernel = program(
        LOAD,
        Barrier(),
        by_threads(moved(other, T, A, T), moved(other, T + 32, A, T + 32)),
        Barrier(),
        STORE,
        shared=(TILE, other),
    )
    assert not outcome(kernel)[0]
    planned = replace(kernel, offsets=(("tile", 0), ("other", 128)), shared_bytes=384)
    said, _ = outcome(planned)
    assert "the memory holds other now" in said


def test_a_barrier_in_a_branch_is_refused() -> None:
    kernel = program(LOAD, by_threads(Guard(T < 8, (Barrier(),))), STORE)
    said, _ = outcome(kernel)
    assert "threads 0 to 7 wait at a barrier that threads 8 to 31 never reach" in said


def test_two_barriers_of_a_branch_are_not_one() -> None:
    kernel = program(LOAD, by_threads(Guard(T < 8, (Barrier(),), (Barrier(),))), STORE)
    said, _ = outcome(kernel)
    assert "threads wait at different barriers: threads 0 to 7 at barrier 1" in said


def copied(*after: Any) -> Kernel:
    copy = Copy(TILE, (T * 2,), A, (T * 2,), 2)
    return program(by_threads(copy, CommitCopies()), *after)


def test_a_copy_that_is_awaited_is_right_whenever_it_lands() -> None:
    kernel = copied(by_threads(AwaitCopies(0)), Barrier(), STORE)
    for copies in ("at once", "late"):
        said, out = outcome(kernel, copies=copies)
        assert not said and np.array_equal(out[32:], X[:32])


def test_a_copy_that_is_not_awaited_is_refused() -> None:
    said, out = outcome(copied(Barrier(), STORE))
    assert "while a copy by thread" in said and np.isnan(out).any()


@pytest.mark.parametrize("copies", ["at once", "late"])
@pytest.mark.parametrize("off", [-64, 2])
def test_a_copy_from_out_of_bounds_is_named(off: int, copies: Landing) -> None:
    copy = Copy(TILE, (T * 2,), A, (T * 2 + off,), 2)
    kernel = program(by_threads(copy, CommitCopies(), AwaitCopies(0)), Barrier(), STORE)
    said, _ = outcome(kernel, copies=copies)
    assert "bounds: thread" in said and "reads A[" in said


def test_blocks_that_write_one_element_race() -> None:
    said, _ = outcome(program(LOAD, Barrier(), STORE, grid=2))
    assert "blocks 0 and 1 both write Out[0], and nothing orders blocks" in said


def test_wide_axes_are_wide_accesses() -> None:
    four = Axis("c", 4, 4)
    wide = Threads("t", 16, (moved(OUT, T * 4 + C, A, T * 4 + C, (four,)),))
    run = run_kernel(program(wide), [X], progress=False).run
    assert set(run.table["size"]) == {16} and run.traffic("A").sectors == 8


def test_a_sum_reads_once_what_it_adds_up() -> None:
    rows = Compute(OUT, (T,), Apply("mul", (Read(A, (T,)), Read(A, (C,)))), (Axis("c", 4),), "add")
    zero = Compute(OUT, (T,), NOTHING)
    run = run_kernel(program(by_threads(zero, rows)), [X], progress=False)
    assert np.array_equal(run.outputs[0][:32], X[:32] * 6)
    assert run.run.traffic("A").requests == 1 + 4


# ---- what is refused


def test_other_inputs_are_refused() -> None:
    with pytest.raises(GraphError, match="inputs"):
        run_kernel(program(LOAD, Barrier(), STORE), [X[:3]])


def test_a_plan_for_smaller_elements_is_refused() -> None:
    ((kernel, inputs, _),) = lowered("rms_norm_matmul_fused", 1, Gpu(threads=32, storage_bytes=2))
    with pytest.raises(UsageError, match="shared memory"):
        run_kernel(kernel, inputs, storage="float64", progress=False)


def test_a_long_run_says_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = program(by_threads(moved(OUT, T, A, T)))
    assert thread_turns(kernel) == 32
    long = replace(kernel, grid=(("x", 1_000_000),))
    assert "18 minutes" in seconds_text(long) and "smaller" in seconds_text(long)

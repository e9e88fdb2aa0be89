"""Each kind of fault of memory is refused, and right kernels are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import Tried
from thread_kernels import kernels, ring, row_sums, transposition
from thread_orders import orders, outputs

from mlc_course.mugraph.ir import FLOAT64, Number
from mlc_course.mugraph.kernel_checks.execution import values
from mlc_course.mugraph.kernel_checks.memory_faults import first_fault
from mlc_course.mugraph.kernel_checks.program_mutants import kernel_mutants
from mlc_course.mugraph.kernels.index_expressions import Expr, const, var
from mlc_course.mugraph.kernels.kernel_program import (
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Statement,
    Threads,
)

N, J, T, X, K = map(var, "njtxk")
A = Buffer("A", (8, 8), "global", "storage")
OUT = Buffer("Out", (8,), "global", "storage")
OUT3 = replace(OUT, shape=(3,))
S, S2 = Buffer("s", (8,)), Buffer("s_2", (8,))
S16, PAIR = Buffer("s", (16,)), Buffer("pair", (2, 8))
TILE = Buffer("tile", (8, 8), "shared", "storage")
SQUARE = Buffer("Square", (8, 8), "global", "storage")
REGISTERS = Buffer("kept", (2,), "registers")
ONE = Constant(Number(Fraction(1)))
EIGHT = (Axis("n", 8),)
DONE = Compute(OUT, (N,), ONE, EIGHT)  # so that outputs are written


def kernel(*body: Statement, threads: int = 1, blocks: int = 1, **more: Any) -> Kernel:
    shared = more.pop("shared", (S, S2, TILE))
    outputs = more.pop("outputs", (OUT,))
    return Kernel("k", (("x", blocks),), threads, (A,), outputs, shared, tuple(body), **more)


def threads(*body: Statement, count: int = 8) -> Threads:
    return Threads("t", count, tuple(body))


def put(target: Buffer, *index: Expr | int, value: Any = ONE, axes: Sequence[Axis] = ()) -> Compute:
    at = tuple(e if isinstance(e, Expr) else const(e) for e in index)
    return Compute(target, at, value, tuple(axes))


def read(buffer: Buffer, *index: Expr | int) -> Read:
    return Read(buffer, tuple(e if isinstance(e, Expr) else const(e) for e in index))


def copy(target: Expr | int, source: Expr | int = 0, width: int = 4) -> Copy:
    place = target if isinstance(target, Expr) else const(target)
    origin = source if isinstance(source, Expr) else const(source)
    return Copy(TILE, (place, const(0)), A, (origin, const(0)), width)


FILLED = put(S, N, axes=EIGHT)
WIDE = replace(S, role="sum")
FAULTS: list[tuple[str, str, Kernel, str]] = [
    ("an index beyond", "bounds", kernel(put(OUT, N + 1, axes=EIGHT)), "outside, along axis 0"),
    ("a negative index", "bounds", kernel(DONE, put(OUT, N + -1, axes=EIGHT)), "outside"),
    ("a read beyond", "bounds", kernel(put(OUT, N, value=read(A, N, N + 1), axes=EIGHT)), "axis 1"),
    (
        "the last iteration",
        "bounds",
        kernel(FILLED, DONE, Loop("k", 9, (put(S2, 0, value=read(S, K)),))),
        "outside",
    ),
    ("too few axes", "bounds", kernel(put(OUT, N, value=read(A, N), axes=EIGHT)), "2 axes"),
    (
        "a place beyond shared memory",
        "bounds",
        kernel(DONE, shared=(S,), offsets=(("s", 8),), shared_bytes=32),
        "beyond 32 shared bytes",
    ),
    (
        "a pitch out of the memory",
        "bounds",
        kernel(DONE, put(replace(TILE, strides=(16, 1)), N, J, axes=(*EIGHT, Axis("j", 8))),
               shared=(TILE,)),
        "outside of its memory",
    ),
    ("shared memory read first", "undefined", kernel(put(OUT, N, value=read(S, N), axes=EIGHT)),
     "nobody wrote"),
    (
        "a sum without a start",
        "undefined",
        kernel(DONE, Compute(S, (const(0),), ONE, EIGHT, "add")),
        "nobody wrote",
    ),
    (
        "registers of the iteration before",
        "undefined",
        kernel(
            DONE,
            Loop("k", 2, (
                Allocate(REGISTERS),
                Guard(K.is_equal(0), (put(REGISTERS, 0),)),
                put(S, 0, value=read(REGISTERS, 0)),
            )),
        ),
        "nobody wrote",
    ),
    ("registers that are nowhere", "undefined", kernel(DONE, put(REGISTERS, 0)), "no memory"),
    ("an output not whole", "undefined", kernel(put(OUT, N, axes=(Axis("n", 7),))), "never"),
    ("an element twice", "overlap", kernel(DONE, put(S, 0, axes=EIGHT)), "all 8 points"),
    (
        "an element by two indices",
        "overlap",
        kernel(DONE, put(S, N // 2, axes=EIGHT)),
        "two points",
    ),
    (
        "a layout with two elements in one place",
        "overlap",
        kernel(DONE, put(replace(TILE, strides=(0, 1)), N, J, axes=(*EIGHT, Axis("j", 8)))),
        "two points",
    ),
    (
        "a shift in place",
        "overlap",
        kernel(FILLED, DONE, put(S, N, value=read(S, N + 1), axes=(Axis("n", 7),))),
        "read by one point",
    ),
    (
        "all read what one writes",
        "overlap",
        kernel(FILLED, DONE, put(S, N, value=read(S, 0), axes=EIGHT)),
        "read by one point",
    ),
    (
        "a sum that reads itself",
        "overlap",
        kernel(FILLED, DONE, Compute(S, (const(0),), read(S, 0), EIGHT, "add")),
        "read by one point",
    ),
    (
        "a sum over iterations in any order",
        "iterations",
        kernel(FILLED, DONE, Loop("n", 8, (Compute(S, (const(0),), ONE, (), "add"),), "any")),
        "iteration n=",
    ),
    (
        "an iteration that reads another's element",
        "iterations",
        kernel(
            FILLED, DONE,
            Loop("n", 7, (put(S2, N, value=read(S, N + 1)), put(S, N)), "any"),
        ),
        "iteration n=",
    ),
    (
        "registers that iterations share",
        "iterations",
        kernel(DONE, Allocate(REGISTERS), Loop("n", 8, (put(REGISTERS, 0),), "any")),
        "iteration n=",
    ),
    ("two blocks write one output", "blocks", kernel(DONE, blocks=2), "block x="),
    (
        "a block reads another's output",
        "blocks",
        kernel(put(OUT3, X), put(OUT3, X + 1, value=read(OUT3, 1 + X * 0)), blocks=2,
               outputs=(OUT3,)),
        "",
    ),
    (
        "a read without a barrier",
        "race",
        kernel(threads(put(S, T)), threads(put(OUT, T, value=read(S, (T + 1) % 8))), threads=8),
        "thread",
    ),
    (
        "a write without a barrier",
        "race",
        kernel(
            threads(put(S, T)), Barrier(), threads(put(OUT, T, value=read(S, (T + 1) % 8))),
            threads(put(S, T)), threads=8,
        ),
        "read by thread",
    ),
    ("all threads write one element", "race", kernel(threads(put(S, 0)), threads=8), "thread"),
    (
        "threads without a number write one element",
        "race",
        kernel(put(S, 0), threads=8),
        "thread",
    ),
    (
        "a barrier for one block only",
        "race",
        kernel(
            threads(put(S, T)), Guard(X.is_equal(0), (Barrier(),)),
            threads(put(OUT, X * 4 + T, value=read(S, (T + 1) % 4)), count=4),
            threads=8, blocks=2,
        ),
        "thread",
    ),
    (
        "threads that share an output's element",
        "race",
        kernel(threads(put(OUT, T // 2)), threads=8),
        "thread",
    ),
    (
        "another pitch on one side",
        "layout",
        kernel(
            DONE, put(TILE, N, J, axes=(*EIGHT, Axis("j", 8))),
            put(S, N, value=read(replace(TILE, strides=(7, 1)), N, 0), axes=EIGHT),
        ),
        "was written",
    ),
    (
        "a swizzle on one side",
        "layout",
        kernel(
            DONE, put(replace(TILE, swizzle=(2, 4)), N, J, axes=(*EIGHT, Axis("j", 8))),
            put(S, N, value=read(TILE, N, 0), axes=EIGHT),
        ),
        "was written",
    ),
    (
        "two buffers in one place",
        "layout",
        kernel(
            FILLED, put(S2, N, axes=EIGHT), put(OUT, N, value=read(S, N), axes=EIGHT),
            shared=(S, S2), offsets=(("s", 0), ("s_2", 16)), shared_bytes=48,
        ),
        "another buffer",
    ),
    ("an input that is written", "layout", kernel(DONE, put(A, 0, 0)), "is an input"),
    (
        "a copy across chunks",
        "layout",
        kernel(
            DONE,
            Copy(replace(TILE, swizzle=(2, 4)), (const(1), const(0)), A, (const(0), const(0)), 4),
        ),
        "side by side",
    ),
    (
        "a copy that is not waited for",
        "copy",
        kernel(DONE, copy(0), CommitCopies(), put(S, 0, value=read(TILE, 0, 0))),
        "under way",
    ),
    (
        "a copy in no group",
        "copy",
        kernel(DONE, copy(0), AwaitCopies(0), put(S, 0, value=read(TILE, 0, 0))),
        "under way",
    ),
    (
        "a group too few",
        "copy",
        kernel(
            DONE, copy(0), CommitCopies(), copy(1), CommitCopies(), AwaitCopies(1),
            put(S, 0, value=read(TILE, 1, 0)),
        ),
        "under way",
    ),
    (
        "a copy's target overwritten",
        "copy",
        kernel(DONE, copy(0), CommitCopies(), put(TILE, 0, 1)),
        "is written while",
    ),
    (
        "a copy that another thread waited for",
        "race",
        kernel(
            threads(copy(T, T), CommitCopies(), AwaitCopies(0)),
            threads(put(OUT, T, value=read(TILE, (T + 1) % 8, 0))), threads=8,
        ),
        "thread",
    ),
    (
        "a copy into what others still read",
        "race",
        kernel(
            threads(put(TILE, T, 0)), Barrier(),
            threads(put(OUT, T, value=read(TILE, (T + 1) % 8, 0))),
            threads(copy(T, T)), threads=8,
        ),
        "read by thread",
    ),
    ("more threads than there are", "bounds", kernel(DONE, threads(put(S, T))), "1 threads"),
    (
        "a place between two elements",
        "layout",
        kernel(DONE, shared=(S,), offsets=(("s", 2),), shared_bytes=64),
        "begins at byte 2, unaligned",
    ),
    (
        "registers after their loop",
        "undefined",
        kernel(DONE, Loop("k", 2, (Allocate(REGISTERS), put(REGISTERS, 0))),
               put(S, 0, value=read(REGISTERS, 0))),
        "no memory here",
    ),
    (
        "registers after their loop in any order",
        "undefined",
        kernel(DONE, Loop("k", 2, (Allocate(REGISTERS), put(REGISTERS, 0)), "any"),
               put(S, 0, value=read(REGISTERS, 0))),
        "no memory here",
    ),
    (
        "registers with the name of an input",
        "layout",
        kernel(DONE, Allocate(replace(A, scope="registers")), put(S, 0, value=read(A, 0, 0))),
        "is there already",
    ),
    ("two buffers of one name", "layout", kernel(DONE, shared=(S, S)), "the name of two"),
    (
        "more elements than were declared",
        "layout",
        kernel(put(S16, N, axes=(Axis("n", 16),)), put(OUT, N, value=read(S16, N + 8), axes=EIGHT)),
        "declared as s[8]",
    ),
    (
        "an input in another layout",
        "layout",
        kernel(put(OUT, N, value=read(replace(A, strides=(1, 8)), N, 0), axes=EIGHT)),
        "declared as A[8, 8]",
    ),
    (
        "an output in another layout",
        "layout",
        kernel(put(replace(SQUARE, strides=(1, 8)), N, J, axes=(*EIGHT, Axis("j", 8))),
               outputs=(SQUARE,)),
        "declared as Square[8, 8]",
    ),
    (
        "a pitch that reaches into the next buffer",
        "bounds",
        kernel(DONE, put(replace(TILE, strides=(9, 1)), N, J, axes=(*EIGHT, Axis("j", 8))),
               shared=(TILE, S)),
        "outside of its memory",
    ),
    (
        "an output that is copied",
        "copy",
        kernel(Loop("k", 8, (Copy(SQUARE, (K, const(0)), A, (K, const(0)), 8),)),
               outputs=(SQUARE,)),
        "not from an input to shared memory",
    ),
    (
        "a copy of what may be overwritten",
        "copy",
        kernel(FILLED, DONE, Copy(S2, (const(0),), S, (const(0),), 4), CommitCopies(),
               put(S, 0), AwaitCopies(0), put(S, 1, value=read(S2, 0))),
        "not from an input to shared memory",
    ),
    (
        "a barrier in one of the iterations in any order",
        "barrier",
        kernel(
            Loop("k", 2, (
                threads(put(TILE, K, T)), Guard(K.is_equal(0), (Barrier(),)),
                threads(put(PAIR, K, T, value=read(TILE, K, (T + 1) % 8))),
            ), "any"),
            threads(put(OUT, T)), threads=8, shared=(TILE, PAIR),
        ),
        "not all iterations",
    ),
    (
        "an inner loop of the same name",
        "iterations",
        kernel(DONE, Loop("k", 8, (Loop("k", 2, (put(S, K),)),), "any")),
        "iteration k=",
    ),
    ("a barrier among threads", "barrier", kernel(threads(Barrier()), threads=8), "not all"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "wrong", "words"), [each[1:] for each in FAULTS],
                         ids=[each[0] for each in FAULTS])  # fmt: skip
def test_a_fault_is_found_and_named(kind: str, wrong: Kernel, words: str) -> None:
    fault = first_fault(wrong)
    assert fault is not None
    assert fault.kind == kind, fault
    assert words in str(fault)


def test_a_fault_says_where() -> None:
    body = threads(put(S, T)), threads(put(OUT, T, value=read(S, (T + 1) % 8)))
    fault = first_fault(kernel(*body, threads=8))
    assert fault is not None
    assert (fault.buffer, fault.index, fault.block, fault.thread) == ("s", (1,), (0,), 0)
    assert str(fault) == (
        "s[1] is read here, and written by thread 1, since the last barrier "
        "(block [0], thread 0, at: Out[t] = s[(t + 1) % 8])"
    )


RIGHT: dict[str, Body] = {
    "reductions": (
        FILLED, DONE, put(S2, 0), Compute(S2, (const(0),), read(S, N), EIGHT, "max"),
        Compute(S, (N,), read(S, N + 4), (Axis("n", 4),), "add"),
    ),
    "in place": (FILLED, put(S, N, value=Apply("exp", (read(S, N),)), axes=EIGHT), DONE),
    "iterations with registers of their own": (
        Loop(
            "n", 8,
            (Allocate(REGISTERS), put(REGISTERS, 1), put(OUT, N, value=read(REGISTERS, 1))),
            "any",
        ),
    ),
    "a read that is not made": (
        put(OUT, N, value=Select(N < 7, read(A, 0, N + 1), ONE), axes=EIGHT),
    ),
    "an inner loop of the same name": (Loop("x", 8, (put(OUT, X),)),),
    "a masked iteration": (
        Loop("n", 9, (Guard(N < 8, (put(OUT, N),)),), "any"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_no_fault_is_found_in_a_right_kernel(name: str) -> None:
    assert first_fault(kernel(*RIGHT[name])) is None


def test_a_place_may_be_used_again_by_another_buffer() -> None:
    body = (FILLED, put(OUT, N, value=read(S, N), axes=EIGHT), put(S2, N, axes=EIGHT))
    planned = kernel(*body, shared=(S, S2), offsets=(("s", 0), ("s_2", 0)), shared_bytes=32)
    assert first_fault(planned) is None


# ---- a second judge: threads one after the other, in several orders


def drawn(each: Kernel) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.integers(-9, 9, b.shape).astype(float) for b in each.inputs]


@pytest.mark.parametrize("name", kernels())
def test_kernels_with_threads_have_no_fault_and_one_result_in_every_order(name: str) -> None:
    right = kernels()[name]
    assert first_fault(right) is None
    inputs = drawn(right)
    want = values(right, inputs, FLOAT64)
    for order in orders(right.threads):
        got = outputs(right, inputs, order)
        assert all(map(np.array_equal, got, want))


def test_kernels_with_threads_compute_what_their_names_say() -> None:
    right = ring(3, 5)
    x, w = drawn(right)
    assert np.array_equal(values(right, [x, w], FLOAT64)[0], x @ w)
    (a,) = drawn(transposition())
    assert np.array_equal(values(transposition(), [a], FLOAT64)[0], a.T)
    (a,) = drawn(row_sums())
    late = a.sum() * a[0]
    assert np.array_equal(values(row_sums(), [a], FLOAT64)[0], a + np.roll(late, -1))


ALL_OF = ("barrier", "await", "stage", "layout", "place", "guard", "width")


@pytest.mark.slow
@pytest.mark.parametrize("name", kernels())
def test_what_depends_on_the_order_of_threads_is_refused(name: str, tried: Tried) -> None:
    right = kernels()[name]
    inputs = drawn(right)
    mutants = list(kernel_mutants(right))
    some = [m for m in mutants if m.kind in ALL_OF]
    some += [m for m in mutants if m.kind not in ALL_OF][::10]
    refused, racing = 0, 0
    for mutant in some:
        fault = first_fault(mutant.kernel)
        refused += fault is not None
        several = (outputs(mutant.kernel, inputs, order) for order in orders(right.threads))
        first = next(several)
        differs = any(not same(first, other) for other in several)
        racing += differs
        assert fault or not differs, f"{mutant.kind}: {mutant.where}"
        if not fault:  # then the interpreter may run it, and agrees
            assert same(values(mutant.kernel, inputs, FLOAT64), first), mutant.where
    tried("kernels whose threads run in other orders", len(some))
    assert racing >= 1
    assert refused > len(some) / 2


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("kind", ["barrier", "await"])
@pytest.mark.parametrize("name", kernels())
def test_no_barrier_and_no_wait_can_be_left_out(name: str, kind: str) -> None:
    for mutant in kernel_mutants(kernels()[name]):
        if mutant.kind == kind:
            assert first_fault(mutant.kernel), mutant.where


def test_a_mutant_is_another_kernel_and_says_what_was_changed() -> None:
    found = list(kernel_mutants(ring(2, 3)))
    assert {"index", "exchange", "guard", "layout", "stage", "barrier", "await", "iteration"} <= {
        each.kind for each in found
    }
    assert all(each.kernel != ring(2, 3) for each in found)
    (barrier,) = (each for each in found if each.kind == "barrier")
    assert barrier.where == "barrier  ->  nothing"

# mypy: ignore-errors
"""Programs that take TVM or LLVM minutes, or end the process, are refused before they compile.

Each form was found by trying: admitted before, and compiled for 40 s and more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pytest

from mlc_course.errors import UnsafeProgram
from mlc_course.grading.admission.admitted_programs import admit
from mlc_course.grading.process.bench import LEVELS, Bench
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    T,
    compile_program,
    dump_program,
    load_program,
    tirx,
)

N = 64
INT32, INT64 = 2**31 - 1, 2**63 - 1
KINDS = {
    "serial": tirx.ForKind.SERIAL,
    "parallel": tirx.ForKind.PARALLEL,
    "vectorized": tirx.ForKind.VECTORIZED,
    "unrolled": tirx.ForKind.UNROLLED,
}


@T.prim_func(s_tir=True)
def COPY(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    for i in range(N):
        B[i] = A[i]


def module(body: Any) -> IRModule:
    """COPY's signature around other statements, as it comes from a student: through text."""
    main = PrimFunc(COPY.params, body).with_attr("global_symbol", "main")
    return load_program(dump_program(IRModule({"main": main})))


def loop(kind: str, extent: int, body: Callable, start: int = 0, dtype: str = "int32") -> Any:
    i = tirx.Var("i", dtype)
    ends = (tirx.const(each, dtype) for each in (start, extent))
    return tirx.For(i, *ends, KINDS[kind], body(i))


def load(at: Any = 0) -> Any:
    return tirx.BufferLoad(COPY.params[0], [at])


def store(value: Any, at: Any = 0) -> Any:
    return tirx.BufferStore(COPY.params[1], value, [at])


def powers(count: int) -> Callable:
    """A loop's body: so many powers, of elements that do not lie side by side."""
    return lambda i: store(reduce(T.pow, [load((i + k) % N) for k in range(count + 1)]), i % N)


def gathers(count: int) -> Callable:
    return lambda i: tirx.SeqStmt([store(load((i * 7 + k) % N), i % N) for k in range(count)])


def statements(count: int, make: Callable) -> Any:
    return tirx.SeqStmt([make(k) for k in range(count)])


def bound(count: int, step: Callable, first: Any) -> tuple[Sequence[Any], Any]:
    """Variables, each made of the one before."""
    variables = [tirx.Var(f"x{k}", first.ty.dtype) for k in range(count)]
    values = [first, *map(step, variables)]
    return [tirx.Bind(*each) for each in zip(variables, values, strict=False)], variables[-1]


def binds(count: int, step: Callable) -> Callable:
    """A chain of floats, stored."""

    def body(i: Any) -> Any:
        lines, last = bound(count, step, load())
        return tirx.SeqStmt([*lines, store(last, i)])

    return body


def index_binds(count: int, step: Callable) -> Callable:
    """A chain of integers, the last of which is an index."""

    def body(i: Any) -> Any:
        lines, last = bound(count, step, tirx.Cast("int64", i))
        return tirx.SeqStmt([*lines, store(load(tirx.FloorMod(last, tirx.const(N, "int64"))), i)])

    return body


def lets(count: int, step: Callable, first: Any, use: Callable = lambda last: last) -> Any:
    """The same as one expression."""
    lines, last = bound(count, step, first)
    return reduce(lambda inner, line: tirx.Let(line.var, line.value, inner), lines[::-1], use(last))


def index_lets(count: int, step: Callable) -> Callable:
    modulo = lambda last: tirx.FloorMod(last, tirx.const(N, "int64"))  # noqa: E731
    return lambda i: store(load(lets(count, step, tirx.Cast("int64", i), modulo)), i)


def nested(kind: str, depth: int, extent: int) -> Any:
    if depth == 0:
        return store(load() + tirx.const(1.0))
    return loop(kind, extent, lambda _: nested(kind, depth - 1, extent))


def remainders(count: int) -> Callable:
    """An index that is a sum of so many remainders; TVM's simplifier takes the square of that."""

    def body(i: Any) -> Any:
        parts = [tirx.FloorMod(i * k + k, 7 + k % 50) for k in range(1, count + 1)]
        while len(parts) > 1:  # by pairs, so that it is not deep
            parts = [reduce(lambda a, b: a + b, parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return store(load(tirx.FloorMod(parts[0], N)), i)

    return body


def narrowed(i: Any) -> Any:
    return T.Cast("int32", T.Cast("uint8", i))


def chain(count: int, i: Any) -> Any:
    return reduce(lambda x, k: tirx.FloorMod(x + i, 97 + k), range(count), i)


def signed(i: Any) -> Any:
    return T.Cast("int32", i)


def unsigned(i: Any) -> Any:
    return T.Cast("uint32", i)


def polynomial(i: Any) -> Any:
    terms = range(1, 20)
    return store(reduce(lambda sum, k: sum * load(i) + tirx.const(float(k)), terms, load(i)), i)


TOO_LARGE = "the program is too large to be compiled"
INTEGER = "an integer is too large an expression"
QUOTIENT = "quotients inside quotients"
UNSIGNED = "arithmetic of unsigned integers"
OVERFLOW = "a loop whose variable may overflow"
TOO_LONG = "the program runs too long"
DEEP = "nested too deeply"
KIND = "a loop that is not allowed"
HOSTILE: dict[str, tuple[Callable[[], Any], str]] = {
    "4,096 lanes of 20 powers": (lambda: loop("vectorized", 4096, powers(20)), TOO_LARGE),
    "512 lanes of 10 powers": (lambda: loop("vectorized", 512, powers(10)), TOO_LARGE),
    "256 lanes of 20 powers": (lambda: loop("vectorized", 256, powers(20)), TOO_LARGE),
    "2,048 lanes of 2 powers": (lambda: loop("vectorized", 2048, powers(2)), TOO_LARGE),
    "2,048 lanes gathered": (lambda: loop("vectorized", 2048, gathers(5)), TOO_LARGE),
    "4,096 lanes gathered": (lambda: loop("vectorized", 4096, gathers(2)), TOO_LARGE),
    "64 lanes in 500 copies": (
        lambda: loop("unrolled", 500, lambda _: loop("vectorized", 64, gathers(2))),
        TOO_LARGE,
    ),
    "10,000 copies": (lambda: loop("unrolled", 10_000, lambda i: store(load(), i % N)), TOO_LARGE),
    "copies of copies": (lambda: nested("unrolled", 40, 2), TOO_LARGE),
    "10,000 statements": (lambda: statements(10_000, lambda k: store(load(), k % N)), TOO_LARGE),
    "statements one in the other": (
        lambda: reduce(lambda s, _: tirx.SeqStmt([s, store(load())]), range(10_000), store(load())),
        TOO_LARGE,
    ),
    "1,000 loops": (
        lambda: statements(1000, lambda _: loop("serial", N, lambda i: store(load(i), i))),
        TOO_LARGE,
    ),
    "1,000 parallel loops": (
        lambda: statements(1000, lambda _: loop("parallel", N, lambda i: store(load(i), i))),
        TOO_LARGE,
    ),
    "floats that double": (lambda: loop("serial", N, binds(40, lambda x: x + x)), TOO_LARGE),
    "floats with a sine": (lambda: loop("serial", N, binds(40, lambda x: x * T.sin(x))), TOO_LARGE),
    "floats that double, in lets": (
        lambda: loop("serial", N, lambda i: store(lets(40, lambda x: x * x, load()), i)),
        TOO_LARGE,
    ),
    "a thousand variables": (
        lambda: loop("serial", N, binds(1000, lambda x: x + load())),
        TOO_LARGE,
    ),
    "128 lanes gathered 90 times": (lambda: loop("vectorized", 128, gathers(90)), TOO_LARGE),
    "integers that double": (
        lambda: loop("serial", N, index_binds(30, lambda x: tirx.Min(x + 1, x + x))),
        INTEGER,
    ),
    "integers that double, in lets": (
        lambda: loop("serial", N, index_lets(30, lambda x: tirx.Min(x + 1, x + x))),
        INTEGER,
    ),
    "integers that double, by quotients": (
        lambda: loop("serial", N, index_lets(30, lambda x: x + (x + x) // 3)),
        INTEGER,
    ),
    "45 remainders inside each other": (
        lambda: loop("serial", N, lambda i: store(T.Cast("float32", chain(45, i)), i)),
        QUOTIENT,
    ),
    "quotients of quotients": (
        lambda: loop("serial", N, index_binds(20, lambda x: (x + 5) // 3)),
        QUOTIENT,
    ),
    "quotients of quotients, in lets": (
        lambda: loop("serial", N, index_lets(20, lambda x: (x + 5) // 3)),
        QUOTIENT,
    ),
    "1,000 remainders": (lambda: loop("serial", N, remainders(1000)), INTEGER),
    "110 loops one in the other": (lambda: nested("serial", 110, 1), DEEP),
    "10**18 iterations": (lambda: nested("serial", 2, 10**9), TOO_LONG),
    "10**45 iterations": (lambda: nested("serial", 5, 10**9), TOO_LONG),
    "10**12 parallel iterations": (
        lambda: loop("parallel", 10**12, lambda i: store(load()), dtype="int64"),
        TOO_LONG,
    ),
    "10**27 iterations of nothing": (
        lambda: reduce(
            lambda body, _: loop("serial", 10**9, lambda i: body), range(3), tirx.Evaluate(0)
        ),
        TOO_LONG,
    ),
    "no iteration": (lambda: loop("serial", 0, lambda i: store(load())), KIND),
    "fewer than none": (lambda: loop("serial", -5, lambda i: store(load())), KIND),
    **{
        f"a {kind} loop {where}": (
            lambda kind=kind, ends=ends: loop(kind, ends[1], lambda i: store(load()), ends[0]),
            OVERFLOW,
        )
        for kind in KINDS
        for where, ends in {
            "up to the last integer": (INT32 - 2, 2),
            "beyond the last integer": (INT32 - 1, 64),
            "from the first integer": (-INT32 - 1, 2),
        }.items()
        if kind in ("serial", "parallel")
    },
    "an unrolled loop up to the last integer": (
        lambda: loop("unrolled", 2, lambda i: store(load()), INT32 - 2),
        OVERFLOW,
    ),
    "a vectorized loop up to the last integer": (
        lambda: loop("vectorized", 2, lambda i: store(load()), INT32 - 2),
        OVERFLOW,
    ),
    "a loop of 2**31 - 1": (lambda: loop("serial", INT32, lambda i: store(load())), OVERFLOW),
    "a loop up to the last of 64 bits": (
        lambda: loop("serial", 2, lambda i: store(load()), INT64 - 2, "int64"),
        OVERFLOW,
    ),
    "an index that overflows when it is multiplied out": (
        lambda: loop("serial", 8, lambda i: store(load(), (i - 2**29) * 8), 2**29),
        "may overflow",
    ),
    "an index that overflows in the middle": (
        lambda: loop("serial", 8, lambda i: store(load(), i + INT32 - INT32)),
        "may overflow",
    ),
    "an index cut to 8 bits": (
        lambda: loop("serial", 300, lambda i: store(load(), narrowed(i) // 8)),
        "may overflow",
    ),
    "an index of half precision": (
        lambda: loop("serial", N, lambda i: store(load(), T.Cast("int32", T.Cast("float16", i)))),
        "depends on data",
    ),
    "a truth as an index": (
        lambda: loop("serial", N, lambda i: store(load(), T.Cast("int32", T.Cast("bool", i)))),
        "may overflow",
    ),
    "a difference of unsigned integers": (
        lambda: loop("serial", N, lambda i: store(load(), signed(unsigned(i) - unsigned(0)))),
        UNSIGNED,
    ),
    "a comparison of unsigned integers": (
        lambda: loop("unrolled", 3, lambda i: store(load(), signed(unsigned(i) < unsigned(1)))),
        UNSIGNED,
    ),
    "a loop of 8 bits": (
        lambda: loop("serial", 100, lambda i: store(load()), dtype="int8"),
        "an index",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_compiles_for_minutes_or_overflows_is_refused(name: str) -> None:
    body, words = HOSTILE[name]
    with pytest.raises(UnsafeProgram) as caught:
        admit(module(body()), COPY)
    assert words in str(caught.value)
    assert caught.value.got


HONEST: dict[str, Callable[[], Any]] = {
    "64 lanes of 5 powers": lambda: loop("vectorized", 64, powers(5)),
    "256 lanes": lambda: loop("vectorized", 256, gathers(2)),
    "8 copies of 16 lanes": lambda: loop(
        "unrolled", 8, lambda _: loop("vectorized", 16, gathers(4))
    ),
    "100 copies": lambda: loop("unrolled", 100, lambda i: store(load(), i % N)),
    "100 statements": lambda: statements(100, lambda k: store(load(), k % N)),
    "50 loops": lambda: statements(50, lambda _: loop("serial", N, lambda i: store(load(i), i))),
    "a polynomial": lambda: loop("serial", N, polynomial),
    "variables that double a few times": lambda: loop("serial", N, binds(7, lambda x: x + x)),
    "a hundred variables": lambda: loop("serial", N, binds(60, lambda x: x + load())),
    "5 remainders inside each other": lambda: loop(
        "serial", N, lambda i: store(T.Cast("float32", chain(5, i)), i)
    ),
    "10 remainders": lambda: loop("serial", N, remainders(10)),
    "a loop of a million million": lambda: loop(
        "serial", 10**9, lambda i: store(load()), 10**12, "int64"
    ),
    "a loop that begins below zero": lambda: loop(
        "serial", N, lambda i: store(load(), i + 8), -8
    ),
    "an index of 64 bits": lambda: loop(
        "serial", N, lambda i: store(load(), T.Cast("int32", i // 2)), dtype="int64"
    ),
    "a comparison as an index": lambda: loop(
        "serial", N, lambda i: store(load(), T.Cast("int32", i < 5) * 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_what_compiles_soon_is_admitted(name: str) -> None:
    sent = module(HONEST[name]())
    admit(sent, COPY)
    compile_program(sent)


def test_an_index_that_takes_too_long_to_prove_is_refused() -> None:
    def costly(i: Any) -> Any:
        return store(load(), tirx.Max(tirx.Min(i, 200) - tirx.Min(i, 137), 0) + tirx.Min(i, 63) * 0)

    admit(module(loop("serial", 10**6, costly)), COPY)
    with pytest.raises(UnsafeProgram, match="too many iterations to check"):
        admit(module(loop("serial", 10**9, costly)), COPY)


def deep(terms: int) -> str:
    total = reduce(lambda sum, _: sum + load(), range(terms), load())
    return dump_program(IRModule({"main": PrimFunc(COPY.params, store(total))}))


def test_a_deep_expression_is_refused_before_tvm_reads_it() -> None:
    bench = Bench()
    problem = make_workload("matmul", (4, 4, 4))
    with pytest.raises(UnsafeProgram, match="nested too deeply") as caught:
        bench.load_program(deep(2 * LEVELS), problem)
    assert caught.value.hint
    with pytest.raises(UnsafeProgram, match="the function has other parameters"):
        bench.load_program(deep(LEVELS // 4), problem)

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from index_expressions import nest
from interpreter import Interpreter
from tvm.ir.instrument import pass_instrument
from tvm.ir.transform import PassContext
from tvm.s_tir.transform import StmtSimplify

from mlc_course.tensor_program.ladders import (
    PRODUCTS,
    RegisterTile,
    checked,
    ladder,
    micro_kernel,
    scheduled,
    select,
)
from mlc_course.tensor_program.problems import aligned, make_workload
from mlc_course.tensor_program.tir import (
    IRModule,
    Schedule,
    T,
    compile_program,
    main_function,
    shared_tensor,
    tirx,
    tvm,
)
from mlc_course.tensor_program.tir.flattening import checked_lowering
from mlc_course.tensor_program.tir.index_sets import split_index_sets


def split(function: Any) -> Any:
    module = IRModule({"main": function.with_attr("global_symbol", "main")})
    return main_function(split_index_sets(tvm.lowered(module)))


def conditions(function: Any) -> list[str]:
    """The conditions that each element of an innermost loop has of its own."""
    found = []

    def inside(stmt: Any, loops: int) -> Iterator[str]:
        match stmt:
            case tirx.SeqStmt():
                for each in stmt.seq:
                    yield from inside(each, loops)
            case tirx.For():
                yield from inside(stmt.body, loops + 1)
            case tirx.IfThenElse():
                if isinstance(stmt.then_case, tirx.BufferStore):
                    yield str(stmt.condition)
                for each in (stmt.then_case, stmt.else_case):
                    if each is not None:
                        yield from inside(each, loops)
            case tirx.BufferStore() if "if_then_else" in str(stmt.value):
                yield str(stmt.value)

    found += inside(function.body, 0)
    return found


@T.prim_func(s_tir=True)
def cropped(X: T.Buffer((10, 32), "float32"), Y: T.Buffer((301,), "float32")):
    for n in range(10):
        for j in T.vectorized(32):
            if n * 32 + j < 301:
                Y[n * 32 + j] = X[n, j]


@T.prim_func(s_tir=True)
def expected(X: T.Buffer((10, 32), "float32"), Y: T.Buffer((301,), "float32")):
    for n in range(10):
        if n * 32 - 270 < 0:
            for j in T.vectorized(32):
                Y[n * 32 + j] = X[n, j]
        else:
            for j in range(301 - T.max(n * 32, 269)):
                Y[n * 32 + j] = X[n, j]


def test_a_tile_inside_has_no_condition_and_one_at_the_edge_ends_there() -> None:
    found, wanted = (split(cropped), expected.with_attr("global_symbol", "main"))
    assert tvm.same_structure(found, wanted)


@T.prim_func(s_tir=True)
def padded(X: T.Buffer((301,), "float32"), Y: T.Buffer((10, 32), "float32")):
    for n in range(10):
        for j in range(32):
            Y[n, j] = T.if_then_else(n * 32 + j < 301, X[n * 32 + j], T.float32(0.0))


def test_padding_at_the_edge_has_no_condition() -> None:
    assert conditions(padded) != []
    assert conditions(split(padded)) == []


@T.prim_func(s_tir=True)
def by_data(
    X: T.Buffer((32,), "float32"), M: T.Buffer((32,), "int32"), Y: T.Buffer((32,), "float32")
):
    for j in range(32):
        if M[j] < 3:
            Y[j] = X[j]


@T.prim_func(s_tir=True)
def squared(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        if i * j < 20:
            Y[i, j] = X[i, j]


@T.prim_func(s_tir=True)
def far_out(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for j in range(64):
        if j - 1100000000 < 100:
            Y[j] = X[j]


@T.prim_func(s_tir=True)
def unsigned(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for j in range(64):
        if T.Cast("uint32", j) < T.uint32(20):
            Y[j] = X[j]


@T.prim_func(s_tir=True)
def lanes_around(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for v in T.vectorized(8):
        for j in range(8):
            if v * 8 + j < 50:
                Y[v * 8 + j] = X[v * 8 + j]


LEFT = [by_data, squared, far_out, unsigned, lanes_around]


@pytest.mark.parametrize("function", LEFT)
def test_what_is_not_linear_or_not_safe_is_left(function: Any) -> None:
    module = IRModule({"main": function.with_attr("global_symbol", "main")})
    assert tvm.same_structure(split(function), main_function(tvm.lowered(module)))


@pytest.mark.parametrize("sizes", [(100, 50, 101, 301), (37, 21, 30, 17), (7, 13, 29, 11)])
def test_no_element_of_a_ladder_has_a_condition(sizes: tuple[int, ...]) -> None:
    workload = make_workload("matmul_exp_matmul", sizes)
    rung = ladder("matmul_exp_matmul")[-1]
    assert conditions(checked_lowering(main_function(scheduled(workload, rung)))) == []


@pytest.mark.parametrize("panels", range(2, 9))
def test_a_buffer_is_no_larger_because_loops_that_fill_it_were_split(panels: int) -> None:
    sch = Schedule(make_workload("matmul", (8, 16, 1024)).program())
    micro_kernel(sch, PRODUCTS["matmul"][0], RegisterTile(4, 24), per_panel=True, together=panels)
    program = checked_lowering(main_function(sch))
    shapes = {
        str(each.buffer.name): list(map(int, each.buffer.shape))
        for each in tvm.every_node(program.body)
        if isinstance(each, tirx.AllocBuffer)
    }
    assert shapes["B_pad"] == [panels, 16, 24]


def test_what_is_compiled_is_what_was_checked() -> None:
    workload = make_workload("matmul_exp_matmul", (100, 50, 101, 301))
    program = scheduled(workload, ladder("matmul_exp_matmul")[-1])
    checked = checked_lowering(main_function(program))
    flat = tvm.flattened(IRModule({"main": checked}))["main"]
    seen: list[Any] = []

    @pass_instrument
    class Flat:
        def run_after_pass(self, module: IRModule, about: Any) -> None:
            if str(about.name) == "tirx.FlattenBuffer":
                seen.append(module["main"])

    with PassContext(instruments=[Flat()]):
        compile_program(program)
    *_, compiled = seen
    assert tvm.same_structure(compiled.body, flat.body)


# --- found by those who attacked it ---------------------------------------------------------------


@T.prim_func(s_tir=True)
def shares_memory(A: T.Buffer((16, 8), "float32"), F: T.Buffer((16, 8), "float32")):
    C = T.alloc_buffer((16, 8))
    D = T.alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        C[i, j] = A[i, j] + T.float32(1)
    for i, j in T.grid(16, 8):
        D[i, j] = T.if_then_else(j < 7, C[i, j] * T.float32(2), T.float32(0))
    for i, j in T.grid(16, 8):
        F[i, j] = D[i, 7 - j]


def test_buffers_that_share_memory_are_not_overwritten_too_early() -> None:
    a = aligned(np.arange(128, dtype="float32").reshape(16, 8))
    f = aligned(np.zeros((16, 8), dtype="float32"))
    compile_program(shares_memory)(shared_tensor(a), shared_tensor(f))
    wanted = np.where(np.arange(8) < 7, (a + 1) * 2, 0)[:, ::-1]
    np.testing.assert_array_equal(f, wanted)


@pytest.mark.parametrize("rung", ["fuse-exp", "merge-loops", "vectorize", "parallel"])
@pytest.mark.parametrize("sizes", [(16, 9, 1, 19), (16, 8, 1, 16), (16, 8, 7, 16)])
def test_the_article_s_rungs_are_right_on_small_sizes(rung: str, sizes: tuple[int, ...]) -> None:
    workload = make_workload("matmul_exp_matmul", sizes)
    (found,) = select(ladder("matmul_exp_matmul", article=True), [rung])
    inputs = workload.inputs()
    checked(workload, scheduled(workload, found), inputs, workload.reference(inputs))


@T.prim_func(s_tir=True)
def last_one_stays(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[0] = T.if_then_else(i < 5, A[i], T.float32(0))


@T.prim_func(s_tir=True)
def last_column_stays(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 8):
        C[i] = T.if_then_else(j < 5, A[j], T.float32(-1))


@T.prim_func(s_tir=True)
def in_place(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = T.if_then_else(i < 5, C[i] + A[i], C[7 - i])


@pytest.mark.parametrize("function", [last_one_stays, last_column_stays, in_place])
def test_iterations_store_in_their_order(function: Any) -> None:
    module = IRModule({"main": function.with_attr("global_symbol", "main")})
    results = []
    for each in (main_function(tvm.lowered(module)), split(function)):
        arrays = [np.arange(1.0, 9.0), np.full(8, 9.0)]
        Interpreter(each, arrays, random.Random(0))
        results.append(arrays[1])
    np.testing.assert_array_equal(*results)


@T.prim_func(s_tir=True)
def many_bounds(A: T.Buffer((9, 9, 9), "float32"), C: T.Buffer((12, 12, 12), "float32")):
    for a, b, c, d, e, f in T.grid(3, 3, 3, 4, 4, 4):
        C[a * 4 + d, b * 4 + e, c * 4 + f] = T.if_then_else(
            a * 4 + d >= 1
            and a * 4 + d < 10
            and b * 4 + e >= 1
            and b * 4 + e < 10
            and c * 4 + f >= 1
            and c * 4 + f < 10,
            A[a * 4 + d - 1, b * 4 + e - 1, c * 4 + f - 1],
            T.float32(0),
        )


def test_a_nest_is_not_written_out_without_end() -> None:
    module = IRModule({"main": many_bounds.with_attr("global_symbol", "main")})
    assert tvm.same_structure(split(many_bounds), main_function(tvm.lowered(module)))


@T.prim_func(s_tir=True)
def guarded_quotient(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    for n in range(4):
        for i in range(16):
            if i * 2 < n * 33:  # noqa: SIM102 (never where n is 0, so not in one condition)
                if i < 12 // n:
                    C[n, i] = A[n, i]


@T.prim_func(s_tir=True)
def guarded_remainder(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    for n in range(4):
        for m in range(4):
            for i in range(16):
                if i * 2 < n * 5 + m * 3:  # noqa: SIM102 (never where n + m is 0)
                    if i < 12 % (n + m):
                        C[n, i] = A[n, i]


@pytest.mark.parametrize("function", [guarded_quotient, guarded_remainder])
def test_a_divisor_that_a_condition_keeps_from_zero_stays_behind_it(function: Any) -> None:
    a, c = aligned(np.ones((4, 16), "float32")), aligned(np.zeros((4, 16), "float32"))
    compile_program(function)(shared_tensor(a), shared_tensor(c))
    wanted = np.zeros((4, 16))
    for n, m, i in np.ndindex(4, 4, 16):
        if function is guarded_quotient:
            wanted[n, i] = i * 2 < n * 33 and i < 12 // n
        elif i * 2 < n * 5 + m * 3 and i < 12 % (n + m):
            wanted[n, i] = 1
    np.testing.assert_array_equal(c, wanted)


@T.prim_func(s_tir=True)
def lane_after_lane(A: T.Buffer((24,), "float32"), C: T.Buffer((24,), "float32")):
    for n in range(2):
        for j in T.vectorized(8):
            if n * 8 + j < 13:
                C[n * 8 + j + 1] = C[n * 8 + j] + A[n * 8 + j]


@T.prim_func(s_tir=True)
def one_sum(A: T.Buffer((24,), "float32"), C: T.Buffer((24,), "float32")):
    for n in range(2):
        for j in T.vectorized(8):
            if n * 8 + j < 13:
                C[0] = C[0] + A[n * 8 + j]


@T.prim_func(s_tir=True)
def padded_lane_after_lane(A: T.Buffer((24,), "float32"), C: T.Buffer((24,), "float32")):
    for n in range(2):
        for j in T.vectorized(8):
            C[n * 8 + j + 1] = T.if_then_else(
                n * 8 + j < 13, C[n * 8 + j] + A[n * 8 + j], T.float32(0)
            )


@pytest.mark.parametrize("function", [lane_after_lane, one_sum, padded_lane_after_lane])
def test_lanes_that_ran_in_turn_go_on_to(function: Any) -> None:
    results = []
    module = IRModule({"main": function.with_attr("global_symbol", "main")})
    by_tvm = tvm.compile_module(module, tvm.cpu_target())["main"]
    for run in (by_tvm, compile_program(function)):
        a, c = (aligned(np.arange(k, k + 24, dtype="float32")) for k in (1, 5))
        run(shared_tensor(a), shared_tensor(c))
        results.append(c)
    np.testing.assert_array_equal(*results)


# --- against every iteration ----------------------------------------------------------------------

FACTORS = (0, 0, 1, 1, 1, 2, 3, 8, -1, -2)


def drawn(rng: random.Random) -> tuple[Any, list[Any], int]:
    """A nest with conditions, its buffers, and the number of elements of each of them."""
    extents = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
    x, y = (tirx.decl_buffer((4096,), name=name) for name in "XY")
    form = rng.choice(["crop", "crop", "pad", "both", "sum"])

    def linear(loops: list[Any]) -> Any:
        total: Any = tirx.IntImm("int32", 0)
        for loop in loops:
            total = total + loop * rng.choice(FACTORS)
        return total

    def condition(loops: list[Any]) -> Any:
        compared: Callable[[Any, Any], Any] = rng.choice([tirx.LT, tirx.LE, tirx.GT, tirx.GE])
        first = compared(linear(loops), tirx.IntImm("int32", rng.randint(-6, 30)))
        return first if rng.random() < 0.6 else tirx.And(first, condition(loops))

    def body(loops: list[Any]) -> Any:
        place: Any = tirx.IntImm("int32", 0)
        for loop, extent in zip(loops, extents, strict=True):
            place = place * extent + loop
        if form == "sum":  # several iterations write one element
            place = place // rng.choice([1, 2])
        value = x[place] + tirx.FloatImm("float32", 1.0)
        if form in ("pad", "both"):
            other = rng.choice([tirx.FloatImm("float32", 0.0), x[place + 7], y[place]])
            if rng.random() < 0.2:
                value = value + y[place]
            if rng.random() < 0.2:
                place = place // rng.choice([1, 2, 5])
            value = tirx.if_then_else(condition(loops), value, other)
        if form == "sum":
            value = y[place] + value
        store = tirx.BufferStore(y, value, [place])
        return store if form == "pad" else tirx.IfThenElse(condition(loops), store, None)

    kind = rng.choice(["SERIAL", "UNROLLED", "VECTORIZED", "PARALLEL"])
    kind = kind if form == "crop" else "SERIAL"  # others may store an element twice
    return nest(extents, body, kind), [x, y], int(np.prod(extents))


@pytest.mark.fuzz
def test_a_split_nest_stores_what_it_stored_before(full: bool, seed: int) -> None:
    rng = random.Random(seed)
    changed = 0
    for _ in range(20_000 if full else 1000):
        stmt, buffers, _ = drawn(rng)
        function = tirx.PrimFunc(buffers, stmt)
        # One pass only: on one nest in 10,000 another one recurses without end (docs/upstream.md).
        module = StmtSimplify()(IRModule({"main": function.with_attr("global_symbol", "main")}))
        before, after = main_function(module), main_function(split_index_sets(module))
        changed += not tvm.same_structure(before, after)
        results = []
        for each in (before, after):
            arrays = [np.arange(4096.0), np.full(4096, -5.0)]
            Interpreter(each, arrays, random.Random(0))
            results.append(arrays[1])
        np.testing.assert_array_equal(*results, err_msg=str(function))
    assert changed > 150

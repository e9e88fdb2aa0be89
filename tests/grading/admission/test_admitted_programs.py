# mypy: ignore-errors
# ruff: noqa: F841, E731
from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import UnsafeProgram, UsageError
from mlc_course.grading.admission.admitted_programs import admit, dtypes
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import LADDERS, scheduled
from mlc_course.tensor_program.problems import WORKLOADS, aligned, make_workload
from mlc_course.tensor_program.schedule import steps, unchecked
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    T,
    check_flattening,
    compile_program,
    dump_program,
    load_program,
    shared_tensor,
    tirx,
)

N = 8
SECONDS = 5.0  # of a processor; each of these takes a few hundredths


def as_sent(program: PrimFunc | IRModule) -> IRModule:
    """The program as it comes from a student: through JSON."""
    module = program if isinstance(program, IRModule) else IRModule({"main": program})
    return load_program(dump_program(module))


def program(body: Callable) -> PrimFunc:
    return T.prim_func(s_tir=True)(body).with_attr("global_symbol", "main")


@T.prim_func(s_tir=True)
def LIKE(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main", "tirx.noalias": True})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v] + T.float32(1.0)


def refusal(sent: PrimFunc | IRModule) -> str:
    with pytest.raises(UnsafeProgram) as caught:
        admit(as_sent(sent), LIKE)
    error = caught.value
    assert error.expected is not None
    assert error.got is not None
    return str(error)


def test_a_plain_program_is_admitted_and_runs() -> None:
    module = as_sent(LIKE)
    admit(module, LIKE)
    a, b = aligned(np.arange(N)), aligned(np.zeros(N))
    compile_program(module)(shared_tensor(a), shared_tensor(b))
    assert (b == a + 1).all()


# --- hostile programs -------------------------------------------------------------------------


@T.prim_func(s_tir=True)
def extern_call(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    T.evaluate(T.call_extern("int32", "system", "rm -rf ~"))


@T.prim_func(s_tir=True)
def extern_value(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.call_pure_extern("float32", "getpid")


@T.prim_func(s_tir=True)
def packed_call(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    T.evaluate(T.call_packed("runtime.SystemLib"))


@T.prim_func(s_tir=True)
def llvm_call(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", A[v])


@T.prim_func(s_tir=True)
def pointer(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    T.evaluate(T.address_of(A[0]))


@T.prim_func(s_tir=True)
def reads_one_too_far(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v + 1]


@T.prim_func(s_tir=True)
def reads_before_the_start(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v - 1]


@T.prim_func(s_tir=True)
def guards_wrongly(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i, j in T.grid(3, 3):
        with T.sblock("B"):
            v = T.axis.spatial(9, i * 3 + j)
            T.where(i * 3 + j < 9)
            B[v] = A[0]


@T.prim_func(s_tir=True)
def guards_by_select(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.Select(v < N - 1, A[v + 1], T.float32(0.0))


@T.prim_func(s_tir=True)
def lies_about_an_iterator(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(100):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v % N] = A[0]


@T.prim_func(s_tir=True)
def initializes_outside(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i, k in T.grid(N, 4):
        with T.sblock("B"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                B[v + 1] = T.float32(0.0)
            B[v] += A[v]


@T.prim_func(s_tir=True)
def overflows(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(65536):
        with T.sblock("B"):
            v = T.axis.spatial(65536, i)
            B[T.min(v * 65536, 7)] = A[0]


@T.prim_func(s_tir=True)
def thread_binding(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.thread_binding(N, thread="threadIdx.x"):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v]


@T.prim_func(s_tir=True)
def data_as_index(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[T.Cast("int32", A[v])]


@T.prim_func(s_tir=True)
def data_as_index_below_a_condition(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            if A[v] > T.float32(0.0):
                B[v + 1] = A[v]


@T.prim_func(s_tir=True)
def huge_allocation(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    kept = T.sblock_alloc_buffer((1 << 14, 1 << 13))
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            kept[v, v] = A[v]


@T.prim_func(s_tir=True)
def other_shape(A: T.Buffer((N + 1,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v]


@T.prim_func(s_tir=True)
def other_type(A: T.Buffer((N,), "float64"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.Cast("float32", A[v])


@T.prim_func(s_tir=True)
def one_buffer(B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.float32(0.0)


@T.prim_func(s_tir=True)
def strided(A: T.Buffer((N,), "float32", strides=(100,)), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v]


@T.prim_func(s_tir=True)
def matched_buffer(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(1):
        with T.sblock("B"):
            v = T.axis.spatial(1, i)
            part = T.match_buffer(A[0:N], (N,), "float32")
            B[v] = part[v]


@T.prim_func(s_tir=True)
def annotated_loop(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.serial(N, annotations={"pragma_import_c": "int f() { return 0; }"}):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v]


@T.prim_func(s_tir=True)
def annotated_block(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.serial(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            T.sblock_attr({"meta_schedule.auto_tensorize": "mine"})
            B[v] = A[v]


@T.prim_func(s_tir=True)
def imports_llvm(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    with T.attr(0, "pragma_import_llvm", "define i32 @f() { ret i32 0 }"):
        for i in T.serial(N):
            with T.sblock("B"):
                v = T.axis.spatial(N, i)
                B[v] = A[v]


@T.prim_func(s_tir=True)
def function_attribute(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main", "calling_conv": 2})
    for i in T.serial(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v]


@T.prim_func(s_tir=True)
def endless(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    while A[0] < T.float32(1.0):
        B[0] = A[0]


@T.prim_func(s_tir=True)
def asserting(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    assert A[0] > T.float32(0.0), "text"
    B[0] = A[0]


@T.prim_func(s_tir=True)
def divides_by_zero(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.serial(N):
        with T.sblock("B"):
            v = T.axis.spatial(N, i)
            B[v] = T.Cast("float32", 3 // v)


@T.prim_func(s_tir=True)
def unrolls_too_much(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.unroll(1 << 20):
        with T.sblock("B"):
            v = T.axis.reduce(1 << 20, i)
            B[0] = A[0]


HOSTILE = [
    (extern_call, "a statement that is not allowed"),
    (extern_value, "a call of tirx.call_pure_extern"),
    (packed_call, "a statement that is not allowed"),
    (llvm_call, "a call of tirx.call_llvm_pure_intrin"),
    (pointer, "a statement that is not allowed"),
    (reads_one_too_far, "block B reads A, axis 0: the index leaves the buffer"),
    (reads_before_the_start, "-1 at i = 0"),
    (guards_wrongly, "block B writes B, axis 0: the index leaves the buffer"),
    (guards_by_select, "8 at i = 7"),
    (lies_about_an_iterator, "block iterator v: the index leaves"),
    (initializes_outside, "block B_init writes B"),
    (overflows, "may overflow"),
    (thread_binding, "a loop that is not allowed"),
    (data_as_index, "depends on data"),
    (data_as_index_below_a_condition, "8 at i = 7"),
    (huge_allocation, "allocates too much"),
    (other_shape, "other parameters"),
    (other_type, "other parameters"),
    (one_buffer, "other parameters"),
    (strided, "not a plain array"),
    (matched_buffer, "annotations or matched buffers"),
    (annotated_loop, "pragma_import_c"),
    (annotated_block, "auto_tensorize"),
    (imports_llvm, "AttrStmt"),
    (function_attribute, "main has attributes"),
    (endless, "While"),
    (asserting, "AssertStmt"),
    (divides_by_zero, "divided or shifted"),
    (unrolls_too_much, "too large"),
    (IRModule({"main": LIKE, "other": LIKE}), "not one TensorIR function main"),
    (IRModule({"other": LIKE}), "not one TensorIR function main"),
]


@pytest.mark.parametrize(("sent", "words"), HOSTILE, ids=[words[:30] for _, words in HOSTILE])
def test_a_hostile_program_is_refused(sent: PrimFunc | IRModule, words: str) -> None:
    assert words in refusal(sent)


def edited(text: str, old: str, new: str) -> IRModule:
    assert old in text
    return load_program(text.replace(old, new))


TEXT = dump_program(IRModule({"main": LIKE}))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"data_alignment":64', '"data_alignment":4096', "not a plain array"),
        ('"elem_offset":', '"elem_offset":0,"unused":', "not a plain array"),
        ('"type":"prim.Add"', '"type":"prim.LT"', "claims a wrong type"),
        ('"type":"prim.Add"', '"type":"prim.And"', "a condition"),
        ('"type":"prim.Add"', '"type":"prim.LShift"', "bits"),
        ('"dtype":"float32"', '"dtype":"float32x4"', "other parameters"),
    ],
)
def test_nodes_that_claim_what_they_are_not_are_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(UnsafeProgram, match=words):
        admit(edited(TEXT, old, new), LIKE)


def store(*, buffer: tirx.Var | None = None, index: object = 0, value: object = None) -> IRModule:
    """LIKE's signature around one store, made from parts that do not belong together."""
    a, b = LIKE.params
    body = tirx.BufferStore(
        b if buffer is None else buffer, tirx.const(1.0) if value is None else value, [index]
    )
    return IRModule({"main": PrimFunc([a, b], body).with_attr("global_symbol", "main")})


def test_a_buffer_declared_nowhere_is_refused() -> None:
    stranger = tirx.decl_buffer((N,), "float32", name="B")
    assert "neither a parameter nor allocated" in refusal(store(buffer=stranger))


def test_an_alias_of_another_buffers_data_is_refused() -> None:
    a, b = LIKE.params
    alias = tirx.decl_buffer((1 << 20,), "float32", name="alias")
    body = tirx.SeqStmt(
        [tirx.DeclBuffer(alias, data=a), tirx.BufferStore(alias, tirx.const(1.0), [99])]
    )
    function = PrimFunc([a, b], body).with_attr("global_symbol", "main")
    assert "DeclBuffer" in refusal(IRModule({"main": function}))


def test_a_variable_from_nowhere_is_refused() -> None:
    assert "a variable without a value" in refusal(store(index=tirx.Var("i", "int32")))


def test_a_parameter_given_twice_is_refused() -> None:
    a, _ = LIKE.params
    body = tirx.BufferStore(a, tirx.const(1.0), [0])
    function = PrimFunc([a, a], body).with_attr("global_symbol", "main")
    assert "declared twice" in refusal(IRModule({"main": function}))


def test_a_loop_variable_used_twice_is_refused() -> None:
    _, b = LIKE.params
    i = tirx.Var("i", "int32")
    inner = tirx.For(i, 0, 100, tirx.ForKind.SERIAL, tirx.BufferStore(b, tirx.const(1.0), [i]))
    outer = tirx.For(i, 0, N, tirx.ForKind.SERIAL, inner)
    function = PrimFunc(LIKE.params, outer).with_attr("global_symbol", "main")
    assert "inside its own scope" in refusal(IRModule({"main": function}))


def test_an_expression_that_doubles_at_every_step_is_refused_soon() -> None:
    value = tirx.BufferLoad(LIKE.params[0], [0])
    for _ in range(18):
        value = value + value
    started = time.thread_time()
    assert "too large" in refusal(store(value=value))
    assert time.thread_time() - started < SECONDS


def test_truths_add_up_as_numbers_do() -> None:
    """Two of them are 2, which is beyond a buffer of two; NumPy's sum of two truths is one."""
    i = tirx.Var("i", "int32")
    truth = T.Cast("int32", i < 5)
    body = tirx.For(
        i,
        0,
        9,
        tirx.ForKind.SERIAL,
        tirx.BufferStore(LIKE.params[1], tirx.const(1.0), [truth + truth + 6]),
    )
    function = PrimFunc(LIKE.params, body).with_attr("global_symbol", "main")
    assert "8 at i = 0" in refusal(IRModule({"main": function}))


def test_half_precision_is_seen() -> None:
    half = tirx.Cast("float32", tirx.Cast("float16", tirx.const(0.1)))
    assert dtypes(store(value=half)) == {"float32", "float16"}
    assert dtypes(IRModule({"main": LIKE})) == {"float32"}


# --- our own programs -------------------------------------------------------------------------

SIZES = {
    "matmul_exp_matmul": [(32, 64, 64, 128), (5, 7, 11, 13)],
    "matmul": [(64, 64, 128), (13, 17, 19), (1, 1, 1)],
    "linear_relu": [(64, 64, 128), (13, 17, 19)],
    "softmax": [(16, 64), (5, 19)],
    "conv2d": [(4, 10, 10, 32, 3, 3), (3, 7, 9, 5, 3, 2)],
}
LADDER_SIZES = [(name, sizes) for name, each in SIZES.items() for sizes in each]


@pytest.mark.parametrize(("name", "sizes"), LADDER_SIZES)
def test_every_rung_of_every_ladder_is_admitted_in_no_time(
    name: str, sizes: tuple[int, ...]
) -> None:
    work = make_workload(name, sizes)
    like = work.program()
    for rung in LADDERS[name](describe()):
        module = as_sent(scheduled(work, rung).mod)
        started = time.thread_time()
        admit(module, like)
        assert time.thread_time() - started < SECONDS
        assert dtypes(module) == {"float32"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_naive_program_is_admitted_at_its_own_size(name: str) -> None:
    like = make_workload(name).program()
    admit(as_sent(like), like)


# --- the prover against brute force -----------------------------------------------------------


@st.composite
def guarded_accesses(draw: st.DrawFn) -> tuple[PrimFunc, bool]:
    """A loop nest that stores at an index made of its loops, and whether that is in bounds."""
    extents = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    loops = [tirx.Var(f"i{n}", "int32") for n in range(len(extents))]
    a, b, c, d, low = draw(st.tuples(*[st.integers(-4, 8)] * 5))
    divisor = draw(st.integers(1, 5))
    form = draw(st.sampled_from(["sum", "quotient", "remainder", "min", "select"]))
    wall = draw(st.sampled_from(["none", "less", "both", "else", "lazy"]))

    def index(at: tuple, smaller: Callable, choose: Callable) -> object:
        first, last = at[0], at[-1]
        return {
            "sum": lambda: a * first + b * last + c,
            "quotient": lambda: (a * first + b * last + c) // divisor,
            "remainder": lambda: (a * first + b * last) % divisor + c,
            "min": lambda: smaller(a * first + c, b * last + 3),
            "select": lambda: choose(first < last, a * first, b * last + c),
        }[form]()

    def inside(at: tuple) -> tuple[object, object]:
        return a * at[0] + d * at[-1] < low + 9, at[-1] > low

    target = LIKE.params[1]
    place = index(tuple(loops), tirx.min, tirx.Select)
    place = tirx.const(place, "int32") if isinstance(place, int) else place
    one = tirx.const(1.0)
    store = tirx.BufferStore(target, one, [place])
    under, above = (
        tirx.const(x, "bool") if isinstance(x, bool) else x for x in inside(tuple(loops))
    )
    body = {
        "none": store,
        "less": tirx.IfThenElse(under, store, None),
        "both": tirx.IfThenElse(tirx.And(under, tirx.Not(above)), store, None),
        "else": tirx.IfThenElse(tirx.Or(under, above), tirx.Evaluate(0), store),
        "lazy": tirx.BufferStore(
            target, T.if_then_else(under, tirx.BufferLoad(target, [place]), one), [0]
        ),
    }[wall]
    for loop, extent in reversed(list(zip(loops, extents, strict=True))):
        body = tirx.For(loop, 0, extent, tirx.ForKind.SERIAL, body)
    choose = lambda condition, then, otherwise: then if condition else otherwise
    reached = {
        "none": lambda under, above: True,
        "less": lambda under, above: under,
        "both": lambda under, above: under and not above,
        "else": lambda under, above: not (under or above),
        "lazy": lambda under, above: under,
    }[wall]
    safe = all(
        0 <= index(at, min, choose) < N
        for at in itertools.product(*map(range, extents))
        if reached(*inside(at))
    )
    return PrimFunc(LIKE.params, body).with_attr("global_symbol", "main"), safe


@settings(max_examples=400, deadline=None)
@given(guarded_accesses())
def test_the_prover_agrees_with_brute_force(case: tuple[PrimFunc, bool]) -> None:
    function, safe = case
    module = IRModule({"main": function})
    if not safe:
        with pytest.raises(UnsafeProgram, match="leaves the buffer"):
            admit(module, LIKE)
    elif is_flattened_well(function):
        admit(module, LIKE)
    else:
        with pytest.raises(UnsafeProgram, match="TVM 0.27"):
            admit(module, LIKE)


def is_flattened_well(function: PrimFunc) -> bool:
    try:
        check_flattening(function)
    except UsageError:
        return False
    return True


def test_a_program_of_unchecked_steps_is_refused() -> None:
    sch = Schedule(LIKE)
    with unchecked():
        steps.split(sch, "B", "i", 2)
    a, b = aligned(np.arange(N)), aligned(np.zeros(N))
    compile_program(sch)(shared_tensor(a), shared_tensor(b))  # it may be looked at
    assert (b == a + 1).all()
    assert "annotations" in refusal(sch.mod)
    assert "mlc_course.unchecked" in refusal(sch.mod)


def test_an_index_that_tvm_may_compute_wrongly_is_refused() -> None:
    @T.prim_func(s_tir=True)
    def turned(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in range(N):
            B[(7 - i) // 4] = A[i]

    assert "would compile an index of this program wrongly" in refusal(turned)

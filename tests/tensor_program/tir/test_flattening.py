from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import Tried
from index_expressions import drawn, nest
from tvm.ir.instrument import pass_instrument
from tvm.ir.transform import PassContext

from mlc_course.errors import UsageError
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import (
    MEANINGS,
    IRModule,
    PrimFunc,
    SBlock,
    SBlockRealize,
    T,
    check_flattening,
    compile_program,
    kind_of,
    main_function,
    operands,
    shared_tensor,
    tirx,
    tvm,
)
from mlc_course.tensor_program.tir.index_sets import split_index_sets

Index = Callable[[Any], Any]

WRONGLY = "would compile an index of this program wrongly"
PIPELINES = ("tirx.BindTarget", "_pipeline", "sequential")  # around the passes

WRONG: dict[str, Index] = {
    "(7 - v) // 4": lambda v: (7 - v) // 4,
    "(7 - v) % 4": lambda v: (7 - v) % 4,
    "(v * -1 + 7) // 4": lambda v: (v * -1 + 7) // 4,
    "((7 - v) // 2) % 2": lambda v: ((7 - v) // 2) % 2,
    "(7 - v % 4) // 2": lambda v: (7 - v % 4) // 2,
    "(7 - v // 2) // 2": lambda v: (7 - v // 2) // 2,
    "(22 + (v - 17) // 8) % 7": lambda v: (22 + (v - 17) // 8) % 7,
    "(v % 4 + 2) // 4": lambda v: (v % 4 + 2) // 4,
    "(v + 61) // 5 - v // 5": lambda v: (v + 61) // 5 - v // 5,
    "(v + 19) // 5 + v // 5": lambda v: (v + 19) // 5 + v // 5,
}
RIGHT: dict[str, Index] = {
    "v // 4": lambda v: v // 4,
    "7 - v // 4": lambda v: 7 - v // 4,
    "(v * 3 + 5) % 7": lambda v: (v * 3 + 5) % 7,
    "(v // 2 + 1) % 3": lambda v: (v // 2 + 1) % 3,
    "(v % 8 + 2) // 4": lambda v: (v % 8 + 2) // 4,
    "(v - 1) // 4": lambda v: (v - 1) // 4,
    "7 - v": lambda v: 7 - v,
    "v * v": lambda v: v * v,
}


def scattered(index: Index) -> PrimFunc:
    """B[index(v) + 100] = A[v], for v from 0 to 7."""
    a, b = tirx.decl_buffer((8,), name="A"), tirx.decl_buffer((256,), name="B")
    i = tirx.Var("i", "int32")
    body = tirx.BufferStore(b, a[i], [index(i) + 100])
    return PrimFunc([a, b], tirx.For(i, 0, 8, tirx.ForKind.SERIAL, body))


@pytest.mark.parametrize("text", WRONG)
def test_an_index_that_tvm_changes_is_found_and_not_compiled(text: str) -> None:
    program = scattered(WRONG[text])
    with pytest.raises(UsageError, match=f"{WRONGLY}|does not compile this program"):
        compile_program(program.with_attr("global_symbol", "main"))


@pytest.mark.parametrize("text", RIGHT)
def test_another_index_is_left_alone_and_compiled_well(text: str) -> None:
    program = scattered(RIGHT[text]).with_attr("global_symbol", "main")
    given, out = aligned(np.arange(1, 9, dtype=np.float32)), aligned(np.zeros(256, np.float32))
    compile_program(program)(shared_tensor(given), shared_tensor(out))
    right = np.zeros(256, np.float32)
    for v in range(8):
        right[RIGHT[text](v) + 100] = v + 1
    assert (out == right).all()


def test_the_index_of_a_block_is_told_in_loops() -> None:
    @T.prim_func(s_tir=True)
    def turned(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, 7 - i)
                B[v] = A[v // 4]

    with pytest.raises(UsageError, match=r"got +A\[\(7 - i\) // 4\]"):
        check_flattening(turned)


def test_an_index_counts_only_where_its_condition_holds() -> None:
    @T.prim_func(s_tir=True)
    def guarded(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 4:
                B[i] = A[(i % 8 + 2) // 4]
            else:
                B[i] = A[i]

    check_flattening(guarded)


def test_an_index_inside_an_if_then_else_is_looked_at() -> None:
    @T.prim_func(s_tir=True)
    def lazy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = T.if_then_else(i < 15, A[(i % 8 + 2) // 4], T.float32(0))

    with pytest.raises(UsageError, match=r"got +A\[\(i % 8 \+ 2\) // 4\]"):
        check_flattening(lazy)


@pytest.mark.parametrize("index", [lambda v: v % -4 // 2 + 20, lambda v: v % 2 // -2 + 20])
def test_quotients_by_negative_numbers_are_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="quotients by negative numbers"):
        compile_program(scattered(index).with_attr("global_symbol", "main"))


@pytest.mark.parametrize(
    "index", [lambda v: (100 - v) // 4, lambda v: (40 - v) % 4, lambda v: (0 - v % 4) // 2 + 2]
)
def test_quotients_that_tvm_turns_into_negative_ones_are_refused(index: Index) -> None:
    with pytest.raises(UsageError, match=f"{WRONGLY}|by negative numbers wrongly"):
        check_flattening(scattered(index))


@pytest.mark.parametrize("text", ["j - j", "(j + 1) // 5 - j // 5", "j * 2 - j - j"])
def test_what_ends_the_process_in_a_pass_is_refused(text: str) -> None:
    a, o = tirx.decl_buffer((16,), name="A"), tirx.decl_buffer((500,), name="O")
    x = tirx.decl_buffer((8,), name="X")
    i, j, k = (tirx.Var(name, "int32") for name in "ijk")
    serial = tirx.ForKind.SERIAL
    fill = tirx.For(k, 0, 8, serial, tirx.BufferStore(x, a[k], [k]))
    store = tirx.BufferStore(o, x[eval(text, {"j": j})], [i * 7 + j])
    use = tirx.For(j, 0, 7, serial, tirx.IfThenElse(i < 3, store, None))
    block = SBlock([], [], [], "o", tirx.SeqStmt([fill, use]), None, [x], [], {})
    realize = SBlockRealize([], tirx.const(True), block)
    program = PrimFunc([a, o], tirx.For(i, 0, 4, serial, realize)).with_attr("s_tir", True)
    with pytest.raises(UsageError, match=r"does not compile this program(.|\n)*[Dd]ivide by zero"):
        compile_program(program.with_attr("global_symbol", "main"))


def test_the_condition_of_an_assertion_is_looked_at() -> None:
    @T.prim_func(s_tir=True)
    def asserted(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            assert A[(7 - i) // 4] < T.float32(6), "too large"
            B[i] = T.float32(1)

    with pytest.raises(UsageError, match=r"got +A\[\(7 - i\) // 4\]"):
        check_flattening(asserted)


def test_indices_made_of_data_are_left_alone_and_those_inside_them_are_not() -> None:
    @T.prim_func(s_tir=True)
    def gathered(
        A: T.Buffer((8, 4), "float32"), at: T.Buffer((2, 4), "int32"), B: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            B[i] = A[at[i // 4, i % 4], i % 4] + A[at[0, at[0, 0]], i // 2 % 2 * 2 + i % 2]

    @T.prim_func(s_tir=True)
    def wrong(
        A: T.Buffer((8, 4), "float32"), at: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            B[i] = A[at[(7 - i) // 4], 0]

    @T.prim_func(s_tir=True)
    def tiled(
        A: T.Buffer((8, 8), "float32"), at: T.Buffer((8,), "int32"), B: T.Buffer((8, 8), "float32")
    ):
        for i in range(8):
            for j0 in range(2):
                for j1 in range(4):
                    B[i, j0 * 4 + j1] = A[at[i], j0 * 4 + j1] + A[at[i] + 1, 1 + j1]

    check_flattening(gathered)
    check_flattening(tiled)
    with pytest.raises(UsageError, match=r"got +at\[\(7 - i\) // 4\]"):
        check_flattening(wrong)


def test_a_program_on_which_tvm_fails_is_refused_with_its_words() -> None:
    @T.prim_func(s_tir=True)
    def failing(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(5):
            B[i - (i + 63) % 5 + 4] = A[i]

    with pytest.raises(UsageError, match="does not compile this program(.|\n)*[Dd]ivide by zero"):
        compile_program(failing.with_attr("global_symbol", "main"))


def test_the_passes_before_flattening_are_those_of_tvm() -> None:
    seen: list[str] = []

    @pass_instrument
    class Names:
        def run_before_pass(self, _module: IRModule, about: Any) -> None:
            seen.append(str(about.name))

    module = IRModule({"main": scattered(RIGHT["v // 4"]).with_attr("global_symbol", "main")})
    with PassContext(instruments=[Names()]):
        tvm.compile_module(module, tvm.cpu_target())
    ours = seen[: seen.index("tirx.FlattenBuffer") + 1]
    seen.clear()
    with PassContext(instruments=[Names()]):
        tvm.flattened(tvm.lowered(module))
    assert seen == [name for name in ours if name not in PIPELINES]


# --- against every iteration ----------------------------------------------------------------------


def value(expr: Any, at: dict[Any, int]) -> int:
    match expr:
        case tirx.IntImm():
            return int(expr.value)
        case tirx.Var():
            return at[str(expr.name)]
    return int(MEANINGS[kind_of(expr)].values(*(value(each, at) for each in operands(expr))))


def negative(expr: Any) -> bool:
    """Tell whether a quotient or remainder is by a negative number."""
    divisor = expr.b if isinstance(expr, tirx.FloorDiv | tirx.FloorMod) else None
    found = isinstance(divisor, tirx.IntImm) and int(divisor) < 0
    return found or any(map(negative, operands(expr)))


def flattened(program: PrimFunc) -> Any:
    """The index of the only store, as TVM makes it of a program that was lowered and split."""
    module = IRModule({"main": program.with_attr("global_symbol", "main")})
    split = tvm.lowered(split_index_sets(tvm.lowered(module)), compact=False)
    stmt = main_function(tvm.flattened(tvm.lowered(split, compact=False))).body
    while not isinstance(stmt, tirx.BufferStore):
        inner = stmt.seq[-1] if isinstance(stmt, tirx.SeqStmt) else stmt.body
        stmt = inner
    return stmt.indices[0]


@pytest.mark.fuzz
def test_an_index_is_found_exactly_if_some_iteration_differs(
    full: bool, seed: int, tried: Tried
) -> None:
    rng = random.Random(seed)
    a, b = tirx.decl_buffer((1,), name="A"), tirx.decl_buffer((1 << 20,), name="B")
    verdicts = {True: 0, False: 0}
    for _ in range(20_000 if full else 1500):
        extents = [rng.randint(1, 9) for _ in range(rng.randint(1, 3))]
        text, index = drawn(rng, len(extents), rng.randint(2, 4))

        def store(loops: list[Any], index: Any = index) -> Any:
            at = index(loops, tirx.min, tirx.max)
            at = tirx.const(at, "int32") if isinstance(at, int) else at
            return tirx.BufferStore(b, a[0], [at])

        program = PrimFunc([a, b], nest(extents, store))
        try:
            check_flattening(program)
        except UsageError as error:
            if "compile an index" not in error.what or negative(flattened(program)):
                continue
            found = True
        else:
            found = False
        made = flattened(program)
        differs = any(
            value(made, {f"i{n}": x for n, x in enumerate(at)}) != index(list(at), min, max)
            for at in itertools.product(*map(range, extents))
        )
        assert found == differs, f"{text} in {extents}: TVM makes it {made}"
        verdicts[found] += 1
    assert verdicts[False]
    assert verdicts[True] or not full
    tried("indices before and after flattening", sum(verdicts.values()))


@pass_instrument
class _Stopped:
    """Ctrl-C, while TVM calls Python back."""

    def run_before_pass(self, module: IRModule, info: object) -> None:
        raise KeyboardInterrupt


def test_ctrl_c_is_not_taken_for_a_program_that_tvm_does_not_compile() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def double(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        for i in range(8):
            with T.sblock("y"):
                v = T.axis.spatial(8, i)
                y[v] = x[v] * T.float32(2)

    with PassContext(instruments=[_Stopped()]), pytest.raises(KeyboardInterrupt):
        compile_program(double)

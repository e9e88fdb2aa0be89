# mypy: ignore-errors
from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from private_buffers import carried, temporary

from mlc_course.errors import AxisError, UsageError
from mlc_course.tensor_program.legality.dependence import axis_kinds, compare, races, tried
from mlc_course.tensor_program.legality.instances import MOST
from mlc_course.tensor_program.legality.unchecked import reordered, run_as
from mlc_course.tensor_program.legality.verdicts import Illegal, Iteration, Legal, Unknown
from mlc_course.tensor_program.problems import aligned, make_workload, matmul, matmul_exp_matmul
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import (
    PrimFunc,
    Schedule,
    T,
    compile_program,
    shared_tensor,
    tirx,
)


def nest(*statements, buffers, loops=(("i", 1, 6), ("j", 1, 6))) -> PrimFunc:
    """A perfect nest; a statement is a function of the loops' variables and the buffers."""
    shapes = {name: tirx.decl_buffer(shape, "float32", name=name) for name, shape in buffers}
    variables = [tirx.Var(name, "int32") for name, _, _ in loops]
    body = [make(*variables, **shapes) for make in statements]
    inner = tirx.SeqStmt(body) if len(body) > 1 else body[0]
    for variable, (_, start, extent) in reversed(list(zip(variables, loops, strict=True))):
        inner = tirx.For(variable, start, extent, tirx.ForKind.SERIAL, inner)
    function = PrimFunc(list(shapes.values()), inner)
    return function.with_attr({"global_symbol": "main", "tirx.noalias": True})


def store(buffer, indices, value):
    return tirx.BufferStore(buffer, value, list(indices))


X, Y, V = ("X", (8, 8)), ("Y", (16,)), ("V", (10,))
ONE = tirx.const(1, "float32")
BODIES = {  # the four of exercise 3 of lesson 5
    "sum": nest(lambda i, j, X: store(X, (i, j), X[i - 1, j] + X[i, j - 1]), buffers=[X]),
    "from the right": nest(lambda i, j, X: store(X, (i, j), X[i - 1, j + 1] + ONE), buffers=[X]),
    "from below": nest(lambda i, j, X: store(X, (i, j), X[i + 1, j - 1] + ONE), buffers=[X]),
    "diagonals": nest(lambda i, j, X, Y: store(Y, (i + j,), X[i, j]), buffers=[X, Y]),
}
SWAPS = {
    "from the right": (
        "flow",
        "illegal (flow dependence): i=1, j=2 writes X[1, 2], which i=2, j=1 reads: before it was "
        "written first, now it is read first",
    ),
    "from below": (
        "anti",
        "illegal (anti dependence): i=1, j=2 reads X[2, 1], which i=2, j=1 writes: before it was "
        "read first, now it is written first",
    ),
    "diagonals": (
        "output",
        "illegal (output dependence): i=1, j=2 writes Y[3], which i=2, j=1 writes, too: before "
        "i=2, j=1 wrote last, now i=1, j=2 does",
    ),
}


@pytest.mark.parametrize("name", SWAPS)
def test_a_swap_that_reverses_a_dependence_is_refused_with_its_witness(name: str) -> None:
    kind, sentence = SWAPS[name]
    found = compare(BODIES[name], reordered(BODIES[name], "j", "i"))
    assert (found.kind, found.group, str(found)) == (kind, "dependence", sentence)
    first, second = found.iterations
    assert (first.at, second.at) == ({"i": 1, "j": 2}, {"i": 2, "j": 1})


def test_a_swap_that_reverses_none_is_legal() -> None:
    assert compare(BODIES["sum"], reordered(BODIES["sum"], "j", "i")) == Legal(36)


def test_the_witness_names_its_element() -> None:
    found = compare(BODIES["diagonals"], reordered(BODIES["diagonals"], "j", "i"))
    assert (found.buffer, found.element, found.place) == ("Y", (3,), "Y[3]")


# --- blocks and schedules ---------------------------------------------------------------------

PRODUCT = matmul(6, 5, 4).program()
CHAIN = matmul_exp_matmul(4, 6, 5, 3).program()


@pytest.mark.parametrize("order", list(itertools.permutations("mnk")))
def test_every_order_of_a_matrix_product_is_legal(order: tuple[str, ...]) -> None:
    assert isinstance(tried(PRODUCT, lambda sch: steps.reorder(sch, "C", *order)), Legal)


def test_terms_of_a_sum_may_change_sides() -> None:
    def inside_out(sch):
        steps.split(sch, "C", "k", 5)
        sch = steps.reorder(sch, "C", "k_1", "k_0")

    found = tried(matmul(3, 10, 4).program(), inside_out)
    assert found.reordered_sums == 3 * 4
    assert "12 sums take their terms in another order (rounding)" in str(found)


def test_a_maximum_may_be_taken_in_any_order_and_a_difference_too() -> None:
    for term in (lambda a, b: T.max(a, b), lambda a, b: a - b, lambda a, b: b + ONE + a):
        body = nest(
            lambda i, j, X, Y, term=term: store(Y, (i,), term(Y[i], X[i, j])), buffers=[X, Y]
        )
        turned = reordered(body, "j", "i")
        assert compare(body, turned) == Legal(36)
        backwards = nest(
            lambda i, j, X, Y, term=term: store(Y, (i,), term(Y[i], X[i, 7 - j])), buffers=[X, Y]
        )
        assert compare(body, backwards).reordered_sums == 6


def test_what_is_subtracted_from_is_no_term() -> None:
    body = nest(lambda i, j, X, Y: store(Y, (i,), X[i, j] - Y[i]), buffers=[X, Y])
    other = nest(lambda i, j, X, Y: store(Y, (i,), X[i, 7 - j] - Y[i]), buffers=[X, Y])
    found = compare(body, other)
    assert (found.kind, found.iterations[0].does) == ("flow", "reads and writes")


def test_a_sum_that_is_read_on_the_way_keeps_its_order() -> None:
    """Y[i] += X[i, j];  X[i, 0] = Y[i]: a running sum."""
    body = nest(
        lambda i, j, X, Y: store(Y, (i,), Y[i] + X[i, j]),
        lambda i, j, X, Y: store(X, (i, 0), Y[i]),
        buffers=[X, Y],
    )
    other = nest(
        lambda i, j, X, Y: store(Y, (i,), Y[i] + X[i, 7 - j]),
        lambda i, j, X, Y: store(X, (i, 0), Y[i]),
        buffers=[X, Y],
    )
    assert compare(body, body) == Legal(72)
    assert compare(body, other).kind in ("flow", "anti")


def test_an_element_that_is_also_its_own_term_is_no_plain_sum() -> None:
    """Y[3] = Y[3] + Y[i]: at i = 3 the element doubles, and that has its place in the order."""
    body = nest(lambda i, Y: store(Y, (3,), Y[3] + Y[i]), buffers=[Y], loops=[("i", 1, 6)])
    back = nest(lambda i, Y: store(Y, (3,), Y[3] + Y[7 - i]), buffers=[Y], loops=[("i", 1, 6)])
    assert compare(body, back).group == "dependence"


def hoisted(sch: Schedule) -> None:
    steps.reorder(sch, "C", "k", "m", "n")
    steps.hoist_init(sch, "C", "k")


LEGAL_STEPS = {
    "tile": (PRODUCT, lambda s: steps.tile(s, "C", m=3, n=2)),
    "a split with a remainder": (
        PRODUCT,
        lambda s: s.split(s.get_loops(s.get_sblock("C"))[0], [None, 4]),
    ),
    "fused loops": (PRODUCT, lambda s: s.fuse(*s.get_loops(s.get_sblock("C"))[:2])),
    "decompose_reduction": (PRODUCT, hoisted),
    "compute_at": (CHAIN, lambda s: steps.compute_per_iteration(s, "C", of="D", at="m")),
    "reverse_compute_at": (CHAIN, lambda s: steps.fuse_consumer(s, "D", into="C", at="l")),
    "merge": (
        CHAIN,
        lambda s: (steps.fuse_consumer(s, "D", into="C", at="l"), steps.merge(s, "C", "F", at="m")),
    ),
    "vectorize": (PRODUCT, lambda s: steps.vectorize(s, "C", "n")),
    "parallel": (PRODUCT, lambda s: steps.parallel(s, "C", "m")),
    "unroll": (PRODUCT, lambda s: steps.unroll(s, "C", "k")),
}


@pytest.mark.parametrize("name", LEGAL_STEPS)
def test_what_the_steps_do_is_legal(name: str) -> None:
    program, step = LEGAL_STEPS[name]
    found = tried(program, step)
    assert isinstance(found, Legal), found


def merged(sch: Schedule, at: str = "m") -> None:
    """TVM's own merge, which does not look at what stands between the two nests."""
    loops = [sch.get_loops(sch.get_sblock(name)) for name in ("C", "F")]
    sch.merge(loops[0][0], loops[1][0])


def test_a_merge_over_what_is_written_in_between_is_refused() -> None:
    found = tried(CHAIN, merged)
    assert str(found) == (
        "illegal (flow dependence): C at m=0, l=0, k=5 updates C[0, 0], which D at m=0, l=0 reads: "
        "before it was written first, now it is read first"
    )


@T.prim_func(s_tir=True)
def zeros_late(
    A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((6, 4), "float32")
):
    for m, n in T.grid(6, 4):
        for k in range(5):
            C[m, n] = C[m, n] + A[m, k] * B[k, n]
        C[m, n] = T.float32(0)


@T.prim_func(s_tir=True)
def zeros_first(
    A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((6, 4), "float32")
):
    for m, n in T.grid(6, 4):
        C[m, n] = T.float32(0)
        for k in range(5):
            C[m, n] = C[m, n] + A[m, k] * B[k, n]


@T.prim_func(s_tir=True)
def zeros_always(
    A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((6, 4), "float32")
):
    for m, n in T.grid(6, 4):
        for k in range(5):
            C[m, n] = T.float32(0)
            C[m, n] = C[m, n] + A[m, k] * B[k, n]


def test_a_program_without_blocks_is_the_same_as_one_with() -> None:
    assert compare(PRODUCT, zeros_first) == Legal(6 * 4 * 6)


def test_an_init_in_the_wrong_place_is_refused() -> None:
    found = compare(PRODUCT, zeros_late)
    assert found.kind == "flow"
    assert str(found.iterations[0]) == "C_init at m=0, n=0, k=0"
    assert found.iterations[1] == Iteration({"m": 0, "n": 0, "k": 0}, "updates", "C")
    assert "now it is updated first" in str(found)
    assert compare(PRODUCT, zeros_always).kind == "twice"


@T.prim_func(s_tir=True)
def begun(X: T.Buffer((4,), "float32")):
    X[0] = T.float32(1)
    X[0] = X[0] + T.float32(1)


@T.prim_func(s_tir=True)
def undone(X: T.Buffer((4,), "float32")):
    X[0] = X[0] + T.float32(1)
    X[0] = T.float32(1)


def test_statements_without_loops_and_blocks_have_numbers() -> None:
    assert str(compare(begun, undone)) == (
        "illegal (flow dependence): statement 1 writes X[0], which statement 2 updates: before it "
        "was written first, now it is updated first"
    )
    assert "before statement 2 wrote last" in str(compare(undone, begun))


def counting(value) -> PrimFunc:
    """V[9 - i] = value(i)."""
    body = lambda i, V: store(V, (9 - i,), tirx.Cast("float32", value(i)))  # noqa: E731
    return nest(body, buffers=[V], loops=[("i", 0, 10)])


def test_the_values_of_loops_are_part_of_what_is_computed() -> None:
    assert compare(counting(lambda i: i), counting(lambda i: i + 2 - 2)) == Legal(10)
    found = compare(counting(lambda i: i), counting(lambda i: T.min(i, 4)))
    assert (found.kind, found.element) == ("missing", (4,))


@T.prim_func(s_tir=True)
def shifted(X: T.Buffer((7,), "float32"), Y: T.Buffer((7,), "float32")):
    for i in range(7):
        Y[i] = T.if_then_else(i > 0, X[i - 1], T.float32(0))


@T.prim_func(s_tir=True)
def shifted_in_tiles(X: T.Buffer((7,), "float32"), Y: T.Buffer((7,), "float32")):
    for i_0, i_1 in T.grid(2, 4):
        if i_0 * 4 + i_1 < 7:
            Y[i_0 * 4 + i_1] = T.if_then_else(i_0 * 4 + i_1 > 0, X[i_0 * 4 + i_1 - 1], 0.0)


def test_conditions_decide_what_is_executed_and_read() -> None:
    assert compare(shifted, shifted_in_tiles) == Legal(7)


@T.prim_func(s_tir=True)
def nothing(X: T.Buffer((7,), "float32")):
    for i in range(0):
        X[i] = T.float32(1)


def test_a_program_that_does_nothing_is_legal() -> None:
    assert compare(nothing, nothing) == Legal(0)
    assert isinstance(races(nothing), Legal)
    assert isinstance(axis_kinds(nothing), Legal)


# --- coverage ---------------------------------------------------------------------------------


def doubled(index, blocks: int, inner: int) -> PrimFunc:
    """V[at] = V[at] * 2 + 1, at = index(block, inner)."""
    return nest(
        lambda b, i, V: store(V, (index(b, i),), V[index(b, i)] * 2.0 + ONE),
        buffers=[V],
        loops=[("b", 0, blocks), ("i", 0, inner)],
    )


WHOLE = doubled(lambda b, i: b * 5 + i, 2, 5)
COVERAGE = {
    "missing": (lambda b, i: b * 4 + i, 2, 4, (8,), "before, b=1, i=3 reads and writes V[8]"),
    "outside": (
        lambda b, i: b * 4 + i,
        3,
        4,
        (10,),
        "b=2, i=2 writes V[10], which is outside of V",
    ),
    "twice": (lambda b, i: b * 4 + i, 2, 6, (4,), "now b=0, i=4 and b=1, i=0 do the same to V[4]"),
}


@pytest.mark.parametrize("kind", COVERAGE)
def test_a_wrong_split_is_refused_with_the_element(kind: str) -> None:
    index, blocks, inner, element, words = COVERAGE[kind]
    found = compare(WHOLE, doubled(index, blocks, inner))
    assert (found.kind, found.element, found.group) == (kind, element, "coverage")
    assert words in str(found)


def test_an_instance_that_nobody_asked_for_is_refused() -> None:
    found = compare(doubled(lambda b, i: b * 4 + i, 2, 4), WHOLE)
    assert (found.kind, found.element) == ("extra", (8,))
    assert "before, no iteration did that" in str(found)


def test_what_is_computed_again_with_the_same_result_is_legal() -> None:
    """A producer inside its reader's loop: the border of two tiles is computed by both."""

    @T.prim_func(s_tir=True)
    def blur(X: T.Buffer((10,), "float32"), Y: T.Buffer((8,), "float32")):
        with T.sblock("root"):
            H = T.sblock_alloc_buffer((9,), "float32")
            for i in range(9):
                with T.sblock("H"):
                    v = T.axis.spatial(9, i)
                    H[v] = X[v] + X[v + 1]
            for j in range(8):
                with T.sblock("Y"):
                    v = T.axis.spatial(8, j)
                    Y[v] = H[v] + H[v + 1]

    found = tried(blur, lambda s: steps.compute_per_iteration(s, "H", of="Y", at="j"))
    assert found == Legal(17, recomputed=7)
    assert "7 are computed again" in str(found)


def test_a_sum_that_is_computed_again_from_its_init_on_is_not_judged() -> None:
    def inside(sch):
        steps.inline(sch, "D")
        steps.reorder(sch, "F", "n", "m", "l")

    inlined = Schedule(CHAIN)
    inside(inlined)
    found = tried(inlined, lambda s: steps.compute_per_iteration(s, "C", of="F", at="m"))
    assert isinstance(found, Unknown)
    assert "computed again from its init on" in found.reason


# --- races and axis kinds ---------------------------------------------------------------------


def test_a_sum_in_parallel_is_a_race() -> None:
    found = compare(zeros_first, run_as(zeros_first, "k", "parallel"))
    assert (found.kind, found.element) == ("race", (0, 0))
    assert [each.at["k"] for each in found.iterations] == [0, 1]
    assert "the iterations of the parallel loop k have no order among themselves" in str(found)
    assert isinstance(compare(zeros_first, run_as(zeros_first, "n", "parallel")), Legal)


def test_two_iterations_of_a_vector_that_touch_one_element_are_a_race() -> None:
    found = races(run_as(BODIES["sum"], "j", "vectorized"))
    assert (found.kind, found.group) == ("race", "race")
    fine = races(run_as(BODIES["from the right"], "j", "vectorized"))
    assert str(fine) == "legal: 36 instances, those that run together share nothing that is written"
    assert isinstance(races(run_as(BODIES["sum"], "j", "unrolled")), Legal)


def test_what_each_iteration_has_for_itself_is_no_race() -> None:
    sch = Schedule(PRODUCT)
    data_steps.stage(sch, "C", "B")
    assert isinstance(races(sch), Legal)
    steps.compute_per_iteration(sch, "B_global", of="C", at="m")
    steps.parallel(sch, "C", "m")
    assert isinstance(races(sch), Legal)


@T.prim_func(s_tir=True)
def declared(X: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(6, 6):
        with T.sblock("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi + 1, vj + 1] = X[vi, vj + 2] + T.float32(1)


@T.prim_func(s_tir=True)
def collision(X: T.Buffer((6, 6), "float32"), Y: T.Buffer((11,), "float32")):
    for i, j in T.grid(6, 6):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi + vj] = X[vi, vj]


def swap(sch: Schedule) -> None:
    (block,) = lookup.blocks(sch)
    i, j = sch.get_loops(sch.get_sblock(block))
    sch.reorder(j, i)


def test_tvm_reorders_what_a_block_calls_spatial_and_is_wrong() -> None:
    found = tried(declared, swap)
    assert (found.kind, str(found.iterations[1])) == ("flow", "i=1, j=0")
    assert tried(collision, swap).kind == "output"


def test_an_axis_that_is_declared_spatial_and_is_not_is_found() -> None:
    found = axis_kinds(declared)
    assert (found.kind, found.group, found.place) == ("axis", "axis kind", "X[1, 2]")
    assert str(found) == (
        "illegal (axis kind): vi, vj of block X are declared spatial, but vi=0, vj=1 writes "
        "X[1, 2], which vi=1, vj=0 reads"
    )
    assert axis_kinds(collision).place == "Y[1]"
    assert str(axis_kinds(PRODUCT)) == "legal: 144 instances, spatial axes are independent"
    assert isinstance(axis_kinds(CHAIN), Legal)


# --- what is not judged -----------------------------------------------------------------------


def test_too_many_instances_are_not_looked_at() -> None:
    found = compare(matmul(64, 64, 64).program(), PRODUCT)
    assert isinstance(found, Unknown)
    assert f"{64**3 * 2:,}" in str(found)
    assert "small sizes" in found.hint
    assert MOST < 64**3


@T.prim_func(s_tir=True)
def gather(at: T.Buffer((8,), "int32"), X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[at[i]]


@T.prim_func(s_tir=True)
def endless(A: T.Buffer((8,), "float32")):
    while A[0] < T.float32(1.0):
        A[0] = A[1]


@T.prim_func(s_tir=True)
def by_data(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        if X[i] > T.float32(0):
            Y[i] = X[i]


@T.prim_func(s_tir=True)
def private(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        t = T.alloc_buffer((1,), "float32")
        t[0] = X[i]
        Y[i] = t[0]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (PRODUCT, CHAIN, "have other parameters"),
        (PRODUCT, matmul(6, 5, 3).program(), "have other parameters"),
        (gather, gather, "depends on data"),
        (by_data, by_data, "depends on data: X[i] >"),
        (endless, endless, "not known"),
        (private, private, "made inside a loop"),
        (
            doubled(lambda b, i: b * 4 + i, 3, 4),
            WHOLE,
            "leaves its buffers before any change: b=2, i=2 writes V[10]",
        ),
        (BODIES["sum"], BODIES["from below"], "no statement in common"),
    ],
)
def test_what_cannot_be_judged_says_why(before, after, words: str) -> None:
    found = compare(before, after)
    assert isinstance(found, Unknown)
    assert words in str(found)


def test_a_private_copy_is_another_program() -> None:
    found = tried(PRODUCT, lambda sch: data_steps.stage(sch, "C", "B"))
    assert isinstance(found, Unknown)
    assert "B_global" in found.reason


def test_what_tvm_or_a_step_refuses_is_raised() -> None:
    with pytest.raises(AxisError):
        tried(PRODUCT, lambda sch: steps.reorder(sch, "C", "m", "x"))


# --- programs changed without a question ------------------------------------------------------


def test_loops_are_found_inside_other_loops_and_in_blocks() -> None:
    turned = reordered(PRODUCT, "k", "m")
    assert lookup.loops(Schedule(turned), "C") == ["k", "n", "m"]
    assert "for k in T.parallel(5)" in run_as(PRODUCT, "k", "parallel").script()


@pytest.mark.parametrize("loops", [("i",), ("i", "x"), ("i", "i"), ()])
def test_loops_that_are_no_nest_are_refused(loops: tuple[str, ...]) -> None:
    with pytest.raises(AxisError, match="not loops of one nest"):
        reordered(BODIES["sum"], *loops)


def test_loops_with_something_between_them_are_no_nest() -> None:
    with pytest.raises(AxisError, match="the nest m, n"):
        reordered(zeros_first, "k", "m")


def test_a_loop_that_is_not_there_or_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(AxisError, match="0 such loops"):
        run_as(BODIES["sum"], "k", "parallel")
    with pytest.raises(UsageError, match="no such kind"):
        run_as(BODIES["sum"], "i", "simultaneous")


# --- the oracle: run both ---------------------------------------------------------------------

SIDE = 6
Index = tuple[int, int]  # which loop, and how much is added


@dataclass(frozen=True)
class Line:
    """``target[place] = operand[at] + 1``, or with the old value, or with half of it."""

    target: str
    place: tuple[Index, Index]
    operand: str
    at: tuple[Index, Index]
    old: float | None

    def tir(self, *loops, **buffers):
        target, operand = buffers[self.target], buffers[self.operand]
        place, at = ([loops[i] + by for i, by in each] for each in (self.place, self.at))
        value = operand[tuple(at)]
        if self.old is None:
            return store(target, place, value + ONE)
        old = target[tuple(place)]
        old = old if self.old == 1 else old * tirx.const(self.old, "float32")
        return store(target, place, old + value)

    def run(self, point, arrays) -> None:
        place, at = (tuple(point[i] + by for i, by in each) for each in (self.place, self.at))
        array = arrays[self.target]
        old = 1.0 if self.old is None else self.old * array[place]
        array[place] = old + arrays[self.operand][at]


@dataclass(frozen=True)
class Nest:
    """Loops i, j, k from 1 on, and lines inside."""

    extents: tuple[int, ...]
    lines: tuple[Line, ...]

    @property
    def program(self) -> PrimFunc:
        loops = [(name, 1, extent) for name, extent in zip("ijk", self.extents, strict=False)]
        buffers = [(name, (SIDE, SIDE)) for name in "XY"]
        return nest(*(line.tir for line in self.lines), buffers=buffers, loops=loops)

    @property
    def instances(self) -> list[tuple[tuple[int, ...], int]]:
        """(point, line) in program order."""
        points = itertools.product(*(range(1, extent + 1) for extent in self.extents))
        return [(point, line) for point in points for line in range(len(self.lines))]

    def result(self, order) -> np.ndarray:
        """X and Y after the instances in this order."""
        values = np.random.default_rng(0).uniform(1, 2, (2, SIDE, SIDE))
        for point, line in order:
            self.lines[line].run(point, dict(zip("XY", values, strict=True)))
        return values


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    extents = tuple(draw(st.lists(st.integers(2, 4), min_size=2, max_size=3)))
    index = st.tuples(st.integers(0, len(extents) - 1), st.integers(-1, 1))
    place = st.tuples(index, index)
    old = st.sampled_from([None, 1.0, 0.5])
    line = st.builds(Line, st.sampled_from("XY"), place, st.sampled_from("XY"), place, old)
    return Nest(extents, tuple(draw(st.lists(line, min_size=1, max_size=2))))


@settings(max_examples=300, deadline=None)
@given(nests(), st.randoms())
def test_results_differ_only_after_illegal_reorders(body: Nest, random) -> None:
    order = random.sample(range(len(body.extents)), len(body.extents))
    assume(order != sorted(order))
    verdict = compare(body.program, reordered(body.program, *("ijk"[i] for i in order)))
    assert isinstance(verdict, Legal | Illegal)
    moved = sorted(body.instances, key=lambda each: ([each[0][i] for i in order], each[1]))
    same = np.allclose(body.result(body.instances), body.result(moved), rtol=1e-12)
    assert same or isinstance(verdict, Illegal)
    if isinstance(verdict, Illegal):
        first, second = (tuple(each.at.values()) for each in verdict.iterations)
        assert verdict.group == "dependence"
        assert first < second
        assert [first[i] for i in order] > [second[i] for i in order]


def interleaved(instances, depth: int) -> list:
    """The iterations of one loop in step, and the last one first."""
    return sorted(
        instances,
        key=lambda each: (each[0][:depth], each[0][depth + 1 :], each[1], -each[0][depth]),
    )


def backwards(instances, depth: int) -> list:
    """The iterations of one loop from the last to the first."""
    return sorted(
        instances,
        key=lambda each: (each[0][:depth], -each[0][depth], each[0][depth + 1 :], each[1]),
    )


@settings(max_examples=300, deadline=None)
@given(nests(), st.integers(0, 2), st.sampled_from(["parallel", "vectorized"]))
def test_results_depend_on_the_threads_only_in_a_race(body: Nest, depth: int, kind: str) -> None:
    assume(depth < len(body.extents))
    verdict = compare(body.program, run_as(body.program, "ijk"[depth], kind))
    assert isinstance(verdict, Legal) or verdict.kind == "race"
    expected = body.result(body.instances)
    for order in (interleaved(body.instances, depth), backwards(body.instances, depth)):
        same = np.allclose(expected, body.result(order), rtol=1e-12)
        assert same or isinstance(verdict, Illegal)
    if isinstance(verdict, Illegal):
        first, second = (tuple(each.at.values()) for each in verdict.iterations)
        assert first[:depth] == second[:depth]
        assert first[depth] != second[depth]


def test_the_oracle_sees_differences() -> None:
    shifted = Line("X", ((0, 0), (1, 0)), "X", ((0, -1), (1, 1)), None)
    body = Nest((4, 4), (shifted,))
    turned = sorted(body.instances, key=lambda each: each[0][::-1])
    assert not np.allclose(body.result(body.instances), body.result(turned))


def test_the_oracle_is_what_tvm_computes() -> None:
    body = Nest((3, 4), (Line("Y", ((0, 0), (1, 1)), "X", ((1, 0), (0, 1)), 0.5),))
    arrays = [aligned(each) for each in np.random.default_rng(0).uniform(1, 2, (2, SIDE, SIDE))]
    compile_program(body.program)(*map(shared_tensor, arrays))
    assert np.allclose(arrays, body.result(body.instances), rtol=1e-6)


# --- what TVM makes of buffers ------------------------------------------------------------------


def test_a_temporary_of_a_parallel_loop_is_each_iteration_s_own() -> None:
    assert isinstance(races(run_as(temporary, "i", "parallel")), Legal)


def test_lanes_share_a_temporary() -> None:
    for found in (
        races(run_as(temporary, "i", "vectorized")),
        compare(temporary, run_as(temporary, "i", "vectorized")),
    ):
        assert isinstance(found, Unknown)
        assert "TVM makes one buffer for all lanes" in str(found)


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_what_an_iteration_leaves_for_the_next_is_lost(kind: str) -> None:
    program = run_as(carried, "i", kind)
    for found in (races(program), compare(carried, program)):
        assert isinstance(found, Unknown)
        assert "TVM gives each iteration one of its own" in str(found)


def test_a_statement_outside_of_the_loop_of_a_temporary_is_followed_too() -> None:
    @T.prim_func(s_tir=True)
    def beside(X: T.Buffer((8,), "float32"), Z: T.Buffer((9,), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            Y = T.sblock_alloc_buffer((8,), "float32")
            Z[8] = X[0]
            for i in range(8):
                Y[i] = X[i] * T.float32(2)
                Z[i] = Y[i]

    assert isinstance(compare(beside, run_as(beside, "i", "parallel")), Legal)


def test_a_buffer_that_a_block_does_not_allocate_is_shared_by_all_iterations() -> None:
    @T.prim_func(s_tir=True)
    def bare(X: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32")):
        Y = T.alloc_buffer((1,), "float32")
        for i in range(8):
            Y[0] = X[i] * T.float32(2)
            Z[i] = Y[0]

    assert isinstance(races(bare), Legal)
    assert races(run_as(bare, "i", "parallel")).kind == "race"


def test_another_layout_is_no_other_arithmetic() -> None:
    square = matmul_exp_matmul(6, 6, 6, 6).program()

    def turned(sch: Schedule) -> None:
        sch.transform_layout(sch.get_sblock("C"), ("write", 0), lambda i, j: (j, i))

    found = tried(square, turned)
    assert isinstance(found, Unknown)
    assert "the elements of C are in other places than before" in str(found)


# --- the same arithmetic --------------------------------------------------------------------------


def stores(value: str, *, types: str = "float32", parameters: str = "AB", n: int = 8) -> PrimFunc:
    """B[v] = value, as text with A, v and n."""
    a, b = (tirx.decl_buffer((n,), types, name=name) for name in "AB")
    v = tirx.Var("v", "int32")
    made = eval(value, {"A": a, "v": v, "T": T, "tirx": tirx})
    store = tirx.BufferStore(b, made, [v])
    named = {"A": a, "B": b}
    loop = tirx.For(v, 0, n, tirx.ForKind.SERIAL, store)
    return PrimFunc([named[each] for each in parameters], loop)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("T.Cast('float32', T.Cast('int8', v))", "T.Cast('float32', v)"),
        ("T.Cast('float32', v * 2147483647)", "T.Cast('float32', T.Cast('int64', v) * 2147483647)"),
        ("T.Cast('float32', T.float16(0.1))", "T.Cast('float32', T.float64(0.1))"),
        ("T.Cast('float32', T.Cast('int64', v))", "T.Cast('float32', v)"),
    ],
)
def test_integers_and_constants_of_other_types_are_not_the_same(one: str, other: str) -> None:
    found = compare(stores(one, n=512), stores(other, n=512))
    assert isinstance(found, Unknown)


def let(*pairs: tuple[tirx.Var, tirx.Var | float], body: tirx.Var) -> PrimFunc:
    """B[v] = let x = A[v] + number in ... body, the first pair outermost."""
    a, b = (tirx.decl_buffer((8,), name=name) for name in "AB")
    v = tirx.Var("v", "int32")
    value = body
    for var, number in reversed(pairs):
        inner = number if isinstance(number, tirx.Var) else a[v] + tirx.const(number, "float32")
        value = tirx.Let(var, inner, value)
    loop = tirx.For(v, 0, 8, tirx.ForKind.SERIAL, tirx.BufferStore(b, value, [v]))
    return PrimFunc([a, b], loop)


def test_the_value_of_a_let_is_part_of_the_arithmetic_and_its_name_is_not() -> None:
    x, y, z = (tirx.Var(name, "float32") for name in ("x", "x", "z"))
    first = let((x, 1.0), (y, 2.0), body=x)
    assert isinstance(compare(first, let((x, 1.0), (y, 2.0), body=y)), Unknown)
    assert isinstance(compare(first, let((x, 3.0), (y, 2.0), body=x)), Unknown)
    assert isinstance(compare(first, let((z, 1.0), (y, 2.0), body=z)), Legal)


def test_a_let_before_a_store_is_not_judged() -> None:
    @T.prim_func(s_tir=True)
    def kept(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            x: T.let[T.float32] = A[i] + T.float32(1)
            B[i] = x

    found = compare(kept, kept)
    assert isinstance(found, Unknown)
    assert "variable x holds data" in str(found)


@pytest.mark.parametrize("other", [{"parameters": "BA"}, {"types": "float64"}])
def test_other_parameters_are_another_function(other: dict[str, str]) -> None:
    found = compare(stores("A[v]"), stores("A[v]", **other))
    assert isinstance(found, Unknown)
    assert "have other parameters" in str(found)


def test_a_statement_with_other_arithmetic_is_not_called_missing() -> None:
    softmax = make_workload("softmax", (4, 4)).program()
    sch = Schedule(softmax)
    data_steps.polynomial_exp(sch, "Exp")
    found = compare(softmax, sch)
    assert isinstance(found, Unknown)
    assert "Exp is computed in another way" in str(found)


def test_kinds_of_loops_that_tvm_does_not_compile_are_not_judged() -> None:
    program = run_as(run_as(BODIES["diagonals"], "i", "parallel"), "j", "parallel")
    for found in (races(program), compare(BODIES["diagonals"], program)):
        assert isinstance(found, Unknown)
        assert "which TVM does not compile" in str(found)


@pytest.mark.parametrize("program", [None, "text"])
def test_what_is_no_program_is_not_judged(program: object) -> None:
    assert "not a tensor program" in str(races(program))

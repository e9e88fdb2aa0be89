from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from odd_programs import KINDS
from schedules import Program, chain, matmul, refused

from mlc_course.errors import (
    AxisError,
    BlockError,
    CourseError,
    SizeError,
    StepError,
    UsageError,
    WrongResult,
)
from mlc_course.lessons.lesson_09_vectorization import row_sums
from mlc_course.tensor_program.problems import aligned, softmax
from mlc_course.tensor_program.schedule import data_steps, lookup, steps, unchecked
from mlc_course.tensor_program.tir import IRModule, Schedule, T, compile_program, shared_tensor, te

# --- every step -----------------------------------------------------------------------------------

KEYS = ["before", "after", "needs", "why", "tvm"]
STEPS: dict[str, FunctionType] = {
    name: function
    for module in (steps, data_steps, data_steps)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}


def parts(function: Callable[..., Any]) -> dict[str, str]:
    """A docstring's parts by their key, from a summary line on."""
    text = inspect.getdoc(function) or ""
    return {
        m[1]: m[2].strip() for m in re.finditer(r"^(\w+)  +((?:.+\n?(?:  .*\n?)*))", text, re.M)
    }


def faults(function: Callable[..., Any]) -> Iterator[str]:
    """What a step lacks, one sentence each."""
    first = (inspect.getdoc(function) or "").split("\n")[0]
    if not re.fullmatch(r"[A-Z].*\.", first):
        yield f"the first line is no sentence: {first}"
    if list(parts(function)) != KEYS:
        yield f"the lines are {list(parts(function))}"
    if not hasattr(function, "__wrapped__"):
        yield "it is not all-or-nothing: no @step"
    for name in re.findall(r"Schedule\.(\w+)", parts(function).get("tvm", "")):
        if not hasattr(Schedule, name):
            yield f"TVM has no Schedule.{name}"


@pytest.mark.parametrize("name", STEPS)
def test_a_step_says_before_after_needs_why_and_tvm(name: str) -> None:
    assert list(faults(STEPS[name])) == []


def test_a_step_that_says_less_is_refused() -> None:
    def hurry(sch: Schedule) -> None:
        """Go faster

        before  slow
        after   fast
        why     time is short
        tvm     Schedule.hurry
        """

    assert len(list(faults(hurry))) == 4


def test_all_steps_are_known_here() -> None:
    assert set(STEPS) == {
        *("reorder", "split", "tile", "pad", "hoist_init", "fuse_consumer", "inline", "merge"),
        *("compute_per_iteration", "several_sums", "vectorize", "unroll", "parallel"),
        *("stage", "pack", "clamp", "store_innermost", "accumulate_locally", "polynomial_exp"),
    }


REFUSALS: dict[str, Callable[[Schedule], object]] = {  # on matmul: no such block
    "reorder": lambda sch: steps.reorder(sch, "X", "m", "n"),
    "split": lambda sch: steps.split(sch, "X", "m", 2),
    "tile": lambda sch: steps.tile(sch, "X", m=2),
    "pad": lambda sch: steps.pad(sch, "X", m=2),
    "hoist_init": lambda sch: steps.hoist_init(sch, "X", "k"),
    "fuse_consumer": lambda sch: steps.fuse_consumer(sch, "X", into="C", at="m"),
    "inline": lambda sch: steps.inline(sch, "X"),
    "merge": lambda sch: steps.merge(sch, "C", "X", at="m"),
    "compute_per_iteration": lambda sch: steps.compute_per_iteration(sch, "X", of="C", at="m"),
    "several_sums": lambda sch: steps.several_sums(sch, "X", "k", 2),
    "vectorize": lambda sch: steps.vectorize(sch, "X", "n"),
    "unroll": lambda sch: steps.unroll(sch, "X", "n"),
    "parallel": lambda sch: steps.parallel(sch, "X", "n"),
    "clamp": lambda sch: data_steps.clamp(sch, "X", "A"),
    "stage": lambda sch: data_steps.stage(sch, "X", "B"),
    "pack": lambda sch: data_steps.pack(sch, "X", "B", along="n", panel=2),
    "store_innermost": lambda sch: data_steps.store_innermost(sch, "X", "n"),
    "accumulate_locally": lambda sch: data_steps.accumulate_locally(sch, "X", at="m"),
    "polynomial_exp": lambda sch: data_steps.polynomial_exp(sch, "X"),
}


@pytest.mark.parametrize("name", STEPS)
def test_every_step_refuses_a_block_that_is_not_there(name: str) -> None:
    program = matmul()
    with refused(program, BlockError) as caught:
        REFUSALS[name](program.sch)
    assert "no block 'X'" in str(caught.value)
    assert any(f"in step {name}(" in note for note in caught.value.__notes__)


def test_what_tvm_refuses_says_what_the_step_needs() -> None:
    program = chain()
    with refused(program, StepError) as caught:
        steps.inline(program.sch, "F")
    assert caught.value.what == "inline('F'): TVM refuses this step here"
    assert caught.value.expected == parts(steps.inline)["needs"]
    assert "init" in str(caught.value.got)


def test_a_fault_of_ours_is_not_disguised() -> None:
    @steps.step
    def faulty(sch: Schedule) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        faulty(matmul().sch)


def test_a_step_of_several_parts_is_all_or_nothing() -> None:
    program = matmul()
    with refused(program, SizeError) as caught:
        steps.tile(program.sch, "C", m=8, k=5)  # m would fit
    assert caught.value.__notes__ == [
        "in step split('C', 'k', 5)",
        "in step tile('C', m=8, k=5)",
    ]


def test_a_student_s_own_step_is_all_or_nothing() -> None:
    @steps.step
    def two_splits(sch: Schedule) -> None:
        steps.split(sch, "C", "m", 4)
        steps.split(sch, "C", "m", 4)  # there is no m any more

    program = matmul()
    with refused(program, AxisError):
        two_splits(program.sch)


# --- the order and shape of loops -----------------------------------------------------------------


def test_reorder_puts_loops_in_this_order() -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "m", "k", "n")
    assert list(program.loops("C")) == ["m", "k", "n"]
    program.check()


def test_reorder_leaves_other_loops_where_they_are() -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "k", "m")
    assert list(program.loops("C")) == ["k", "n", "m"]
    program.check()


@pytest.mark.parametrize("loops", [(), ("k",)])
def test_reorder_of_fewer_than_two_loops_is_refused(loops: tuple[str, ...]) -> None:
    program = matmul()
    with refused(program, AxisError):
        steps.reorder(program.sch, "C", *loops)


def test_reorder_of_an_unknown_loop_is_refused() -> None:
    program = matmul()
    with refused(program, AxisError):
        steps.reorder(program.sch, "C", "m", "j")


def test_reorder_of_a_loop_with_itself_is_refused() -> None:
    program = matmul()
    with refused(program, StepError):
        steps.reorder(program.sch, "C", "k", "k")


def test_split_cuts_a_loop_into_an_outer_and_an_inner_one() -> None:
    program = matmul()
    steps.split(program.sch, "C", "k", 8)
    assert program.loops("C") == {"m": 16, "n": 48, "k_0": 4, "k_1": 8}
    program.check()


@pytest.mark.parametrize("factor", [0, -8, 7, 33])
def test_split_by_what_does_not_divide_is_refused_with_the_way_out(factor: int) -> None:
    program = matmul()
    with refused(program, SizeError) as caught:
        steps.split(program.sch, "C", "k", factor)
    assert caught.value.expected == "a divisor of |k| = 32"
    assert f"pad(sch, 'C', k={max(factor, 1)})" in str(caught.value.hint)


@pytest.mark.parametrize("factor", [5, 7, 32, 33])
def test_a_partial_split_skips_what_is_beyond_the_end(factor: int) -> None:
    program = matmul()
    steps.split(program.sch, "C", "k", factor, partial=True)
    assert program.loops("C") == {"m": 16, "n": 48, "k_0": -(-32 // factor), "k_1": factor}
    program.check()
    with refused(program, SizeError):
        steps.split(program.sch, "C", "n", 0, partial=True)


def test_tile_puts_the_inner_loops_inside_all_outer_ones() -> None:
    program = matmul()
    steps.tile(program.sch, "C", m=4, n=16, k=8)
    expected = {"m_0": 4, "n_0": 3, "k_0": 4, "m_1": 4, "n_1": 16, "k_1": 8}
    assert list(program.loops("C").items()) == list(expected.items())
    program.check()


def test_tile_of_one_loop_leaves_the_others_alone() -> None:
    program = matmul()
    steps.tile(program.sch, "C", n=16)
    assert list(program.loops("C")) == ["m", "n_0", "n_1", "k"]


def test_pad_makes_tiles_fit() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", m=4, n=8, k=8)
    assert lookup.axes(program.sch, "C") == {"m": 12, "n": 16, "k": 24}
    assert lookup.blocks(program.sch) == ["A_pad", "B_pad", "C", "C_pad"]
    program.check()
    steps.tile(program.sch, "C", m=4, n=8, k=8)
    program.check()


def test_pad_leaves_sizes_that_fit_as_they_are() -> None:
    program = matmul()
    before = program.sch.mod.script()
    steps.pad(program.sch, "C", m=4, n=8, k=8)
    assert program.sch.mod.script() == before


def test_pad_between_two_products_leaves_one_copy() -> None:
    program = chain(10, 7, 11, 3)
    steps.pad(program.sch, "C", m=4, l=8)
    assert "C_pad" not in lookup.blocks(program.sch)  # the crop is in exp's place
    assert "D" in lookup.blocks(program.sch)
    program.check()


def test_pad_of_a_loop_that_is_no_axis_is_refused() -> None:
    program = matmul()
    steps.split(program.sch, "C", "k", 8)
    with refused(program, AxisError) as caught:
        steps.pad(program.sch, "C", k_1=5)
    assert "one of m, n, k" in str(caught.value)


@pytest.mark.parametrize("multiple", [0, -4])
def test_pad_to_multiples_below_one_is_refused(multiple: int) -> None:
    program = matmul()
    with refused(program, SizeError):
        steps.pad(program.sch, "C", m=multiple)


def test_pad_of_what_is_no_product_is_refused() -> None:
    program = Program("softmax", 5, 7)
    with refused(program, BlockError) as caught:
        steps.pad(program.sch, "Max", k=8)  # a zero is more than the maximum of negative numbers
    assert "zeros" in str(caught.value.expected)


# --- where and when a stage is computed -----------------------------------------------------------


def test_hoist_init_sets_the_sums_to_zero_in_a_block_of_its_own() -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "m", "k", "n")
    steps.hoist_init(program.sch, "C", "k")
    assert lookup.blocks(program.sch) == ["C_init", "C_update"]
    assert list(program.loops("C_init")) == ["m", "n_init"]
    assert list(program.loops("C_update")) == ["m", "k", "n"]
    program.check()


def test_hoist_init_inside_the_sum_is_refused() -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "k", "m", "n")
    with refused(program, StepError):
        steps.hoist_init(program.sch, "C", "m")


def test_hoist_init_of_what_is_no_sum_is_refused() -> None:
    program = chain()
    with refused(program, StepError) as caught:
        steps.hoist_init(program.sch, "D", "m")
    assert "not a reduction block" in str(caught.value)


def test_fuse_consumer_computes_what_follows_on_each_tile() -> None:
    program = chain()
    steps.tile(program.sch, "C", m=4, l=8)
    steps.fuse_consumer(program.sch, "D", into="C", at="l_0")
    assert list(program.loops("D"))[:2] == ["m_0", "l_0"]
    assert list(program.loops("D").values())[2:] == [4, 8]
    assert shared(program, "C", "D") == 2
    program.check()


def shared(program: Program, first: str, second: str) -> int:
    """How many loops stand around both blocks."""
    sch = program.sch
    one, other = (
        [sch.get(rv) for rv in sch.get_loops(lookup.block(sch, b))] for b in (first, second)
    )
    return sum(a.same_as(b) for a, b in zip(one, other, strict=False))


def test_fuse_consumer_before_the_tile_is_complete_is_refused() -> None:
    program = chain()
    with refused(program, AxisError) as caught:
        steps.fuse_consumer(program.sch, "D", into="C", at="k")
    assert "a loop outside k" in str(caught.value)


def test_fuse_consumer_past_a_producer_is_refused() -> None:
    program = Program("softmax", 5, 8)
    with refused(program, StepError) as caught:
        steps.fuse_consumer(program.sch, "P", into="Exp", at="m")  # P reads Sum too
    assert "producer" in str(caught.value)


def test_fuse_consumer_of_what_is_no_consumer_is_refused() -> None:
    program = chain()
    with refused(program, BlockError) as caught:
        steps.fuse_consumer(program.sch, "C", into="F", at="m")  # TVM moves C behind its reader
    assert "does not read what F writes" in str(caught.value)
    with refused(program, BlockError) as caught:
        steps.fuse_consumer(program.sch, "F", into="C", at="m")
    assert "one of D" in str(caught.value)


def test_fuse_consumer_of_a_stencil_is_refused() -> None:
    x = te.placeholder((9,), name="X")
    y = te.compute((9,), lambda i: 2.0 * x[i], name="Y", varargs_names=["i"])
    z = te.compute((8,), lambda i: y[i] + y[i + 1], name="Z", varargs_names=["i"])
    program = matmul()
    program.sch = Schedule(te.create_prim_func([x, z]))
    with refused(program, StepError) as caught:
        steps.fuse_consumer(program.sch, "Z", into="Y", at="i")
    assert "one element of Y" in str(caught.value)
    assert caught.value.got == "Z[v_i] = Y[v_i] + Y[v_i + 1]"
    steps.compute_per_iteration(program.sch, "Y", of="Z", at="i")  # the way out that it names
    assert lookup.loops(program.sch, "Y")[0] == "i"


def test_compute_per_iteration_computes_the_part_that_is_needed() -> None:
    program = chain()
    steps.compute_per_iteration(program.sch, "D", of="F", at="m")
    assert list(program.loops("D").values()) == [16, 1, 24]
    assert shared(program, "D", "F") == 1
    program.check()


def test_compute_per_iteration_names_the_reader_that_must_move_first() -> None:
    sch = Schedule(softmax(4, 8).program())
    with pytest.raises(StepError, match="Exp still reads it outside loop m") as caught:
        steps.compute_per_iteration(sch, "Max", of="P", at="m")
    assert caught.value.hint == "move Exp first"
    steps.compute_per_iteration(sch, "Sum", of="P", at="m")
    steps.compute_per_iteration(sch, "Exp", of="P", at="m")
    steps.compute_per_iteration(sch, "Max", of="P", at="m")  # its reader is inside by now


def test_a_block_under_a_condition_is_not_moved_because_tvm_loses_the_condition() -> None:
    sch = Schedule(row_sums(4, 20).program())
    _, k = sch.get_loops(sch.get_sblock("S"))
    _, lane = sch.split(k, [None, 16])  # 16 does not divide 20: TVM adds T.where
    sums = str(sch.get(sch.rfactor(lane, factor_axis=1)).name_hint)
    before = sch.mod.script()
    with pytest.raises(StepError, match="lacks terms"):
        steps.compute_per_iteration(sch, sums, of="S", at="m")
    assert sch.mod.script() == before


def test_compute_per_iteration_of_an_output_is_refused() -> None:
    program = chain()
    with refused(program, StepError):
        steps.compute_per_iteration(program.sch, "F", of="C", at="m")


def test_inline_puts_a_block_into_its_reader() -> None:
    program = chain()
    steps.inline(program.sch, "D")
    assert lookup.blocks(program.sch) == ["C", "F"]
    assert "T.exp(C[" in program.sch.mod.script()
    program.check()


@pytest.mark.parametrize("block", ["C", "F"])
def test_inline_of_a_sum_is_refused(block: str) -> None:
    program = chain()
    with refused(program, StepError):
        steps.inline(program.sch, block)


# --- merge ----------------------------------------------------------------------------------------


def test_merge_runs_two_nests_under_one_loop() -> None:
    program = chain()
    steps.inline(program.sch, "D")
    steps.merge(program.sch, "C", "F", at="m")
    assert shared(program, "C", "F") == 1
    program.check()


def test_merge_shares_the_loops_down_to_the_one_named() -> None:
    program = chain()
    steps.merge(program.sch, "C", "D", at="l")
    assert shared(program, "C", "D") == 2
    program.check()


def test_merge_past_a_producer_is_refused_with_the_way_out() -> None:
    program = chain()
    with refused(program, StepError) as caught:
        steps.merge(program.sch, "C", "F", at="m")
    assert "D between them" in str(caught.value)
    assert "fuse_consumer(sch, 'D', into='C', at=...)" in str(caught.value)


def test_merge_past_a_producer_is_what_tvm_itself_gets_wrong() -> None:
    program = chain(7, 5, 6, 9)
    sch = program.sch
    sch.merge(lookup.loop(sch, "C", "m"), lookup.loop(sch, "F", "m"))
    assert lookup.blocks(sch) == ["D", "C", "F"]  # exp of what is not yet there
    with pytest.raises(WrongResult):
        program.check(seed=17)


def test_merge_against_the_order_of_the_program_is_refused() -> None:
    program = chain()
    with refused(program, StepError):
        steps.merge(program.sch, "F", "C", at="m")


def test_merge_past_another_reader_is_refused() -> None:
    a, b = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    c = te.compute((8, 8), lambda m, n: a[m, n] + b[m, n], name="C")
    other = te.compute((8, 8), lambda m, n: c[m, n] + b[m, n], name="Other")
    f = te.compute((8, 8), lambda m, n: c[m, n] + a[m, n], name="F")
    program = matmul()
    program.sch = Schedule(te.create_prim_func([a, b, other, f]))
    with refused(program, StepError) as caught:  # TVM puts C where F stands, behind Other
        steps.merge(program.sch, "C", "F", at="m")
    assert "Other at m=0, n=0 reads C[0, 0], which may not be written yet" in str(caught.value)


def test_merge_with_a_reader_of_other_rows_is_refused() -> None:
    x = te.placeholder((8, 8), name="X")
    c = te.compute((8, 8), lambda m, n: x[m, n] + x[m, n], name="C")
    turned = te.compute((8, 8), lambda m, n: c[n, m], name="Turned")
    program = matmul()
    program.sch = Schedule(te.create_prim_func([x, turned]))
    with refused(program, StepError) as caught:
        steps.merge(program.sch, "C", "Turned", at="m")
    assert "may not be written yet" in str(caught.value)


def test_merge_of_a_loop_with_itself_is_refused() -> None:
    program = chain()  # TVM 0.27 ends the process here
    with refused(program, AxisError):
        steps.merge(program.sch, "C", "C", at="m")


def test_merge_of_loops_of_unequal_length_is_refused() -> None:
    program = chain()
    steps.inline(program.sch, "D")
    steps.split(program.sch, "C", "m", 4)
    steps.split(program.sch, "F", "m", 2)
    with refused(program, StepError):
        steps.merge(program.sch, "C", "F", at="m_0")


# --- several sums ---------------------------------------------------------------------------------


def test_several_sums_stand_side_by_side() -> None:
    program = matmul()
    made = steps.several_sums(program.sch, "C", "k", 8)
    assert lookup.blocks(program.sch) == [made, "C"]
    assert list(program.loops(made).values()) == [16, 48, 4, 8]  # the lanes innermost
    assert list(program.loops("C").values()) == [16, 48, 8]
    program.check()


def test_several_sums_of_a_maximum_are_maxima() -> None:
    program = Program("softmax", 5, 24)
    steps.several_sums(program.sch, "Max", "k", 4)
    program.check()


@pytest.mark.parametrize("count", [0, 5])
def test_several_sums_that_do_not_divide_the_loop_are_refused(count: int) -> None:
    program = matmul()
    with refused(program, SizeError):
        steps.several_sums(program.sch, "C", "k", count)


def test_several_sums_along_a_spatial_loop_are_refused() -> None:
    program = matmul()
    with refused(program, StepError):
        steps.several_sums(program.sch, "C", "m", 8)


# --- how a loop is run ----------------------------------------------------------------------------

RUN: dict[str, Callable[..., None]] = {
    "vectorized": steps.vectorize,
    "unrolled": steps.unroll,
    "parallel": steps.parallel,
}


@pytest.mark.parametrize("kind", RUN)
def test_a_loop_is_marked_and_the_result_stays(kind: str) -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "k", "m", "n")
    RUN[kind](program.sch, "C", "n")
    assert program.kind("C", "n") == kind
    assert program.kind("C", "m") == "serial"
    program.check()


def test_a_sum_may_be_unrolled() -> None:
    program = matmul()
    steps.unroll(program.sch, "C", "k")
    program.check()


@pytest.mark.parametrize("kind", ["vectorized", "parallel"])
@pytest.mark.parametrize("hoisted", [False, True])
def test_a_loop_that_a_sum_runs_along_is_refused(kind: str, hoisted: bool) -> None:
    program, block = matmul(), "C"
    if hoisted:  # where TVM would see a sum no more
        steps.hoist_init(program.sch, "C", "k")
        block = "C_update"
    with refused(program, AxisError) as caught:
        RUN[kind](program.sch, block, "k")
    assert "a sum runs along this loop" in str(caught.value)


def test_parallel_after_hoist_init_is_refused() -> None:
    program = matmul()
    steps.hoist_init(program.sch, "C", "k")
    with refused(program, StepError) as caught:
        steps.parallel(program.sch, "C_update", "m")
    assert "run it before hoist_init" in str(caught.value)


@pytest.mark.parametrize("kind", RUN)
def test_a_loop_that_is_not_there_is_refused(kind: str) -> None:
    program = matmul()
    with refused(program, AxisError):
        RUN[kind](program.sch, "C", "q")


# --- sizes that nothing divides -------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(10, 19, 31), (1, 1, 1), (33, 7, 65)])
def test_steps_in_a_row_are_right_on_any_sizes(sizes: tuple[int, int, int]) -> None:
    program = matmul(*sizes)
    steps.pad(program.sch, "C", m=8, n=16, k=4)
    steps.tile(program.sch, "C", m=8, n=16, k=4)
    steps.reorder(program.sch, "C", "k_1", "n_1")
    steps.parallel(program.sch, "C", "m_0")
    steps.vectorize(program.sch, "C", "n_1")
    steps.unroll(program.sch, "C", "m_1")
    steps.hoist_init(program.sch, "C", "k_0")
    program.check()


def test_a_padded_program_does_not_read_beyond_its_inputs() -> None:
    program = matmul(3, 5, 7)
    steps.pad(program.sch, "C", m=8, n=16, k=16)
    room = [np.full(64, np.nan) for _ in range(3)]  # NaN behind each buffer
    for values, shape in zip(room, ((3, 5), (5, 7), (3, 7)), strict=True):
        values[: np.prod(shape)] = 1.0
    whole = [aligned(values) for values in room]
    shapes = ((3, 5), (5, 7), (3, 7))
    a, b, c = (v[: s[0] * s[1]].reshape(s) for v, s in zip(whole, shapes, strict=True))
    compile_program(program.sch)(*(shared_tensor(value) for value in (a, b, c)))
    np.testing.assert_array_equal(c, np.full((3, 7), 5.0))
    assert np.isnan(whole[2][21:]).all()


# --- arguments --------------------------------------------------------------------------------


def test_a_tile_without_factors_is_refused() -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        steps.tile(program.sch, "C")
    assert "a factor for one or more of m, n, k" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: steps.split(s, "C", "m", "8"), "factor has another type"),
        (lambda s: steps.split(s, "C", "m", 8.0), "got       8.0, float"),
        (lambda s: steps.tile(s, "C", m=True), "got       True, bool"),
        (lambda s: steps.reorder(s, "C", 0, 1), "loops has another type"),
        (lambda s: steps.merge(s, "C", None, at="m"), "second has another type"),
        (lambda s: steps.split(s, "C", "m"), "missing a required argument: 'factor'"),
        (lambda s: steps.unroll(s, "C", "m", 4), "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call: Callable[..., None], said: str) -> None:
    program = matmul()
    with refused(program, UsageError) as caught:
        call(program.sch)
    assert said in str(caught.value)


def test_a_loop_whose_length_varies_is_not_split() -> None:
    @T.prim_func(s_tir=True)
    def triangle(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8, 8), "float32")):
        for i in range(8):
            for j in range(i + 1):
                with T.sblock("B"):
                    v, w = T.axis.remap("SS", [i, j])
                    b[v, w] = a[v, w]

    program = matmul()
    program.sch = Schedule(triangle)
    for step in (steps.split, steps.several_sums):
        with refused(program, SizeError) as caught:
            step(program.sch, "B", "j", 2)
        assert "the length of loop j varies" in str(caught.value)


def test_two_blocks_of_one_name_are_refused() -> None:
    program = chain()
    data_steps.stage(program.sch, "F", "D")
    with refused(program, StepError) as caught:
        data_steps.stage(program.sch, "D_global", "D")
    assert "two blocks would be called D_global" in str(caught.value)


# --- programs written by hand, and arguments that hardly fit --------------------------------------


@T.prim_func(s_tir=True)
def copied(A: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = A[vi]


@T.prim_func(s_tir=True)
def conditional(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        if i < 5:
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                C[v] = A[v] * T.float32(2)


@T.prim_func(s_tir=True)
def without_loops(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    s = T.sblock_alloc_buffer((), "float32")
    with T.sblock("S"):
        s[()] = A[0]
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] * s[()]


@T.prim_func(s_tir=True)
def triangle(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            if vk <= vi:
                C[vi] = C[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def symbolic(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.sblock("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v]


@pytest.mark.parametrize(
    ("step", "error", "words"),
    [
        (lambda: steps.split(copied, "Y", "i", 2), UsageError, "sch has another type"),
        (lambda: steps.pad(Schedule(copied), "Y", vi=2**31), UsageError, "too large"),
        (lambda: steps.pad(Schedule(copied), "Y", vi=-(10**20)), UsageError, "too large"),
        (lambda: steps.pad(Schedule(copied), "Y", i=4), AxisError, "did you mean vi"),
        (lambda: steps.pad(Schedule(symbolic), "B", v=2), SizeError, "extent of axis v varies"),
        (lambda: steps.pad(Schedule(triangle), "C", vi=3), BlockError, "not a sum of products"),
        (lambda: steps.merge(Schedule(without_loops), "S", "B", at="i"), AxisError, "no loop 'i'"),
        (lambda: steps.parallel(Schedule(conditional), "C", "i"), BlockError, "with T.where"),
        (lambda: steps.vectorize(Schedule(conditional), "C", "i"), BlockError, "with T.where"),
    ],
)
def test_what_does_not_fit_is_told(
    step: Callable[[], object], error: type[CourseError], words: str
) -> None:
    with pytest.raises(error, match=words):
        step()


def test_unroll_refuses_what_no_compiler_ends() -> None:
    sch = Schedule(KINDS["matmul"].program(128, 128, 128))
    steps.unroll(sch, "C", "i")
    with pytest.raises(SizeError, match=r"(?s)too many copies.*16,384"):
        steps.unroll(sch, "C", "j")


def test_a_function_that_is_not_called_main_is_told() -> None:
    other = IRModule({"f": copied.with_attr("global_symbol", "f")})
    with pytest.raises(UsageError, match="no TensorIR function main"):
        steps.split(Schedule(other), "Y", "i", 2)


def test_axes_of_a_program_written_by_hand_have_names_of_their_own() -> None:
    sch = Schedule(copied)
    name = data_steps.pack(sch, "Y", "A", along="vi", panel=4)
    given, out = aligned(np.arange(8)), aligned(np.zeros(8))
    compile_program(sch)(shared_tensor(given), shared_tensor(out))
    assert name == "A_global"
    assert (out == given).all()


def test_pad_refuses_a_term_that_zeros_do_not_end() -> None:
    @T.prim_func(s_tir=True)
    def five_times(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 5):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi]

    with pytest.raises(BlockError, match="indexed by vk"):
        steps.pad(Schedule(five_times), "C", vk=4)


def test_an_operand_is_the_one_of_this_name() -> None:
    @T.prim_func(s_tir=True)
    def scaled(
        W_scale: T.Buffer((8,), "float32"),
        W: T.Buffer((8, 8), "float32"),
        C: T.Buffer((8, 8), "float32"),
    ):
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                C[v_i, v_j] = W_scale[v_i] * W[v_i, v_j]

    sch = Schedule(scaled)
    assert data_steps.stage(sch, "C", "W") == "W_global"
    assert data_steps.stage(sch, "C", "W") == "W_global"
    assert data_steps.stage(sch, "C", "W_scale") == "W_scale_global"
    with pytest.raises(BlockError, match="does not read 'W_sc'"):
        data_steps.stage(sch, "C", "W_sc")


def test_a_vector_exp_that_is_read_twice_is_not_inlined() -> None:
    x = te.placeholder((8,), name="X")
    d = te.compute((8,), lambda i: te.exp(x[i]), name="D")
    y = te.compute((7,), lambda i: d[i] * d[i + 1], name="Y")
    sch = Schedule(te.create_prim_func([x, y]))
    data_steps.polynomial_exp(sch, "D")
    with pytest.raises(StepError):
        steps.inline(sch, "D")


def test_the_mark_of_unchecked_steps_stays_on_every_block() -> None:
    sch = Schedule(KINDS["chain"].program(4, 4, 4))
    with unchecked():
        steps.split(sch, "D", "i", 2)
        data_steps.polynomial_exp(sch, "D")
        data_steps.stage(sch, "C", "A0")
    for name in lookup.blocks(sch):
        assert "mlc_course.unchecked" in sch.get(sch.get_sblock(name)).annotations, name

from __future__ import annotations

import pytest
from schedules import chain, matmul, refused

from mlc_course.errors import AxisError, BlockError
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import Schedule, T


def test_blocks_stand_in_program_order() -> None:
    assert lookup.blocks(chain().sch) == ["C", "D", "F"]


def test_loops_stand_from_outside_in() -> None:
    program = matmul()
    assert lookup.loops(program.sch, "C") == ["m", "n", "k"]
    steps.reorder(program.sch, "C", "k", "n", "m")
    assert lookup.loops(program.sch, "C") == ["k", "n", "m"]


def test_axes_are_the_block_s_own_whatever_its_loops_are() -> None:
    program = matmul()
    steps.tile(program.sch, "C", m=4, k=8)
    assert lookup.axes(program.sch, "C") == {"m": 16, "n": 48, "k": 32}
    assert "m" not in lookup.loops(program.sch, "C")


def test_an_unknown_block_is_refused_with_the_known_ones() -> None:
    program = chain()
    with refused(program, BlockError) as caught:
        lookup.block(program.sch, "E")
    assert "one of C, D, F" in str(caught.value)


def test_a_block_that_was_cut_in_two_is_refused_with_its_halves() -> None:
    program = matmul()
    steps.hoist_init(program.sch, "C", "k")
    with refused(program, BlockError) as caught:
        lookup.block(program.sch, "C")
    assert caught.value.hint == "did you mean C_init or C_update?"


def test_the_root_block_is_nobody_s_to_name() -> None:
    program = matmul()
    with refused(program, BlockError):
        lookup.block(program.sch, "root")


def test_an_unknown_loop_is_refused_with_the_known_ones() -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        lookup.loop(program.sch, "C", "j")
    assert "one of m, n, k" in str(caught.value)


def test_a_loop_that_was_split_is_refused_with_its_halves() -> None:
    program = matmul()
    steps.split(program.sch, "C", "k", 4)
    with refused(program, AxisError) as caught:
        lookup.loop(program.sch, "C", "k")
    assert caught.value.hint == "did you mean k_0 or k_1?"


@pytest.mark.parametrize(("block", "summed"), [("C", {"k"}), ("D", set()), ("F", {"l"})])
def test_reduction_loops_are_those_that_a_sum_runs_along(block: str, summed: set[str]) -> None:
    assert lookup.reduction_loops(chain().sch, block) == summed


def test_both_halves_of_a_reduction_loop_are_reduction_loops() -> None:
    program = matmul()
    steps.tile(program.sch, "C", m=4, k=8)
    assert lookup.reduction_loops(program.sch, "C") == {"k_0", "k_1"}


def test_the_sum_remains_a_sum_after_its_init_is_hoisted() -> None:
    program = matmul()
    steps.hoist_init(program.sch, "C", "k")
    assert lookup.reduction_loops(program.sch, "C_update") == {"k"}
    assert lookup.reduction_loops(program.sch, "C_init") == set()


def test_a_block_that_shares_its_innermost_loop_is_found() -> None:
    program = chain()
    steps.fuse_consumer(program.sch, "D", into="C", at="l")
    assert lookup.reduction_loops(program.sch, "D") == set()


@pytest.mark.parametrize("verb", ["vectorize", "parallel"])
def test_a_spatial_loop_is_checked(verb: str) -> None:
    program = matmul()
    lookup.check_spatial(program.sch, "C", "n", verb)
    with refused(program, AxisError) as caught:
        lookup.check_spatial(program.sch, "C", "k", verb)
    assert f"{verb}(C, k)" in str(caught.value)


def test_a_tile_is_complete_outside_every_loop_of_its_sum() -> None:
    program = matmul()
    steps.reorder(program.sch, "C", "m", "k", "n")
    lookup.check_complete(program.sch, "C", "m")
    for loop in ("k", "n"):
        with refused(program, AxisError) as caught:
            lookup.check_complete(program.sch, "C", loop)
        assert "a loop outside k" in str(caught.value)


def test_an_elementwise_block_is_complete_everywhere() -> None:
    lookup.check_complete(chain().sch, "D", "l")


def test_a_private_copy_is_found_by_the_operand_s_name() -> None:
    program = matmul()
    assert lookup.read(program.sch, "C", "B") == (1, "B")
    copy = data_steps.stage(program.sch, "C", "B")
    assert lookup.read(program.sch, "C", "B") == (1, copy)


def test_an_operand_that_the_block_does_not_read_is_refused() -> None:
    program = chain()
    with refused(program, BlockError) as caught:
        lookup.read(program.sch, "C", "E")
    assert "one of A, B" in str(caught.value)


def test_a_dimension_is_found_by_the_axis_that_indexes_it() -> None:
    program = matmul()
    left, right = program.sch.get(lookup.block(program.sch, "C")).reads
    assert [lookup.dimension(left, axis) for axis in "mk"] == [0, 1]
    assert [lookup.dimension(right, axis) for axis in "kn"] == [0, 1]
    with refused(program, AxisError) as caught:
        lookup.dimension(left, "n")
    assert "one of m, k" in str(caught.value)


def test_the_output_of_a_block_has_its_buffer_s_name() -> None:
    assert lookup.output(chain().sch, "D") == "D"


def test_between_two_blocks_stands_the_chain_of_consumers() -> None:
    program = chain(5, 7, 11, 3)
    assert lookup.between(program.sch, "C", "F") == ["D"]
    steps.pad(program.sch, "C", l=8)
    steps.pad(program.sch, "F", l=8)
    steps.inline(program.sch, "D")
    assert all(block not in ("C", "F") for block in lookup.between(program.sch, "C", "F"))


def test_a_producer_between_two_nests_is_late() -> None:
    program = chain()
    assert lookup.late_producers(program.sch, "C", "F") == ["D"]
    steps.fuse_consumer(program.sch, "D", into="C", at="m")
    assert lookup.late_producers(program.sch, "C", "F") == []


@pytest.mark.parametrize(
    ("extent", "at_most", "divisor"), [(56, 64, 56), (56, 16, 14), (7, 4, 1), (1, 8, 1), (64, 8, 8)]
)
def test_the_largest_divisor_within_a_bound(extent: int, at_most: int, divisor: int) -> None:
    assert lookup.divisor(extent, at_most=at_most) == divisor


@pytest.mark.parametrize(("block", "exp"), [("C", False), ("D", True), ("F", False)])
def test_an_exp_is_known_by_its_body(block: str, exp: bool) -> None:
    assert lookup.is_exp(chain().sch, block) is exp


def test_a_program_of_bare_loops_has_no_blocks() -> None:
    @T.prim_func(s_tir=True)
    def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]

    sch = Schedule(copy)
    assert lookup.blocks(sch) == []
    with pytest.raises(BlockError, match="expected  a program with blocks"):
        lookup.block(sch, "b")

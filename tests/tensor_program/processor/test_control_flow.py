"""Loops are found as the definition says: by what can be reached without their head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.tensor_program.ladders import QUICK_SIZES, ladder, scheduled, select
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.processor.assembly_code import read_assembly
from mlc_course.tensor_program.processor.control_flow import functions, natural_loops
from mlc_course.tensor_program.tir import Target, assembly_text, cpu_target


def text(function: str) -> str:
    return f"main:\n\t.cfi_startproc\n{function}\n\t.cfi_endproc\n"


def reached(successors: list[set[int]], start: int, without: int) -> set[int]:
    seen, waiting = set[int](), [start] if start != without else []
    while waiting:
        if (node := waiting.pop()) not in seen:
            seen.add(node)
            waiting += [each for each in successors[node] if each != without]
    return seen


def slow_loops(successors: list[set[int]]) -> dict[int, set[int]]:
    """The oracle: no dominators, and what can go back to the tail without passing the head."""
    nodes = range(len(successors))
    from_entry = reached(successors, 0, -1)
    found: dict[int, set[int]] = {}
    for tail in from_entry:
        for head in successors[tail]:
            if tail in reached(successors, 0, head):
                continue  # there is a way to the tail that avoids the head
            backwards = [{n for n in from_entry if node in successors[n]} for node in nodes]
            inside = reached(backwards, tail, head) | {head}
            found[head] = found.get(head, set()) | inside
    return found


@given(st.lists(st.sets(st.integers(0, 9), max_size=2), min_size=10, max_size=10))
def test_loops_are_those_of_the_definition(successors: list[set[int]]) -> None:
    assert natural_loops(successors) == slow_loops(successors)


@given(st.lists(st.sets(st.integers(1, 9), max_size=2), min_size=10, max_size=10))
def test_code_without_a_jump_back_has_no_loop(steps: list[set[int]]) -> None:
    forward = [{place + each for each in steps[place]} for place in range(10)]
    assert natural_loops([{each for each in after if each < 10} for after in forward]) == {}


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "cortex-a72", "neoverse-v1"])
@pytest.mark.parametrize(
    ("name", "rung"),
    [("matmul_exp_matmul", "tile"), ("matmul", "reorder"), ("conv2d", "reorder")],
)
def test_loops_of_compiled_programs_are_those_of_the_definition(
    name: str, rung: str, cpu: str
) -> None:
    program = scheduled(make_workload(name, QUICK_SIZES[name]), *select(ladder(name), [rung]))
    x86 = cpu in ("haswell", "skylake-avx512")
    arm = Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": cpu})
    for function in functions(assembly_text(program, cpu_target(cpu=cpu) if x86 else arm)):
        assert function.loops == slow_loops([set(each) for each in function.successors])


def test_loops_are_found_in_a_graph() -> None:
    # 0 -> 1 -> 2 -> 3, with 2 back to 2 and 3 back to 1; 4 jumps into the loop from outside.
    assert natural_loops([{1, 4}, {2}, {2, 3}, {1, 5}, {3}, set()]) == {2: {2}}
    assert natural_loops([{1}, {2}, {2, 3}, {1, 4}, set()]) == {2: {2}, 1: {1, 2, 3}}


def test_a_block_that_nothing_leads_to_closes_no_loop() -> None:
    """After a jump that is always taken, what follows runs only if something jumps there."""
    assert natural_loops([{2}, {2}, {0, 3}, set()]) == {0: {0, 2}}
    function = """
.LBB0_1:
\tvaddss\t%xmm0, %xmm0, %xmm0
\tjmp\t.LBB0_3
\tnop
.LBB0_2:
\tvmulss\t%xmm0, %xmm0, %xmm0
.LBB0_3:
\tjne\t.LBB0_2
\tretq"""
    (found,) = functions(text(function))
    assert list(map(found.instructions, found.loops.values())) == [
        ("vmulss %xmm0, %xmm0, %xmm0", "jne .LBB0_2")
    ]


def test_a_part_of_a_function_that_stands_below_and_jumps_back_makes_no_loop() -> None:
    function = """
\tje\t.LBB0_9
.LBB0_1:
\tvaddss\t%xmm0, %xmm0, %xmm0
\tjne\t.LBB0_1
.LBB0_2:
\tretq
.LBB0_9:
\tvmulss\t%xmm0, %xmm0, %xmm0
\tjmp\t.LBB0_2"""
    assert len(read_assembly(text(function), "x").hot_loop) == 2

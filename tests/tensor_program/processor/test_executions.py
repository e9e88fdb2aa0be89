"""What is read from assembly, against what valgrind sees when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import Tried
from under_valgrind import Ran, compiled, executed, needs_valgrind

from mlc_course.tensor_program.ladders import LADDERS, ladder, scheduled, select
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.processor import read_assembly
from mlc_course.tensor_program.processor.assembly_code import X86
from mlc_course.tensor_program.processor.control_flow import Function, functions
from mlc_course.tensor_program.processor.iterations import Counters

SIZES = {
    "matmul_exp_matmul": (64, 128, 64, 192),
    "matmul": (64, 96, 128),
    "linear_relu": (64, 96, 128),
    "softmax": (48, 128),
    "conv2d": (4, 10, 10, 16, 3, 3),
}
RUNGS = [(name, rung.name) for name in LADDERS for rung in ladder(name)]
SOME = [  # loops with an epilogue, a peeled step, a branch, calls, and without any of them
    ("matmul_exp_matmul", "tile"),
    ("matmul_exp_matmul", "fuse-exp"),
    ("softmax", "several-sums"),
    ("conv2d", "reorder"),
]


def counts(function: Function, left: Iterator[Ran]) -> list[list[Ran]]:
    """Take the counts of each instruction of each block from those that are left."""
    return [[next(left) for _ in block] for block in function.blocks]


def entries(function: Function, loop: set[int], ran: list[list[Ran]]) -> int:
    """How often a loop with one way out was left."""
    (last,) = (block for block in loop if function.successors[block] - loop)
    jump = ran[last][-1]
    onward = last + 1 in loop
    return jump.jumps if onward else jump.times - jump.jumps


@pytest.mark.slow
@needs_valgrind
@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
@pytest.mark.parametrize(("name", "rung"), RUNGS)
def test_loops_run_as_often_as_their_text_tells(
    name: str, rung: str, cpu: str, tmp_path: Path, full: bool, tried: Tried
) -> None:
    if not full and ((name, rung) not in SOME or cpu == "x86-64"):
        pytest.skip("run by make test-all")
    work = make_workload(name, SIZES[name])
    program = scheduled(work, *select(ladder(name), [rung]))
    shapes = [each.shape for each in (*work.operands, work.result)]
    library = compiled(program, shapes, tmp_path, cpu=cpu)
    ran = iter(executed(library))
    read = read_assembly(library.text, cpu)
    work_of: dict[tuple[str, ...], int] = {}
    for function in functions(library.text):
        times = counts(function, ran)
        counters = Counters(function)
        for head, loop in function.loops.items():
            told = counters.iterations(head)
            if told is not None and times[head][0].times:
                tried("loops", 1)
                assert times[head][0].times == told * entries(function, loop, times)
        for loop in function.loops.values():
            inside = [other for other in function.loops.values() if other < loop]
            if not any(X86.bits(t) for other in inside for t in function.instructions(other)):
                work_of[function.instructions(loop)] = sum(
                    X86.bits(text) * done.times
                    for block in loop
                    for text, done in zip(function.blocks[block], times[block], strict=True)
                )
    # Of two loops that do as much, one may jump over its first instructions once.
    assert work_of[read.hot_loop] >= 0.99 * max(work_of.values())

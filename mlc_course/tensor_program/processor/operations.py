"""Arithmetic of a program, counted block by block, with what it computes more than once.

A fused program may compute an element again wherever it is needed; the counts show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from mlc_course.tensor_program.memory import Counter, int64_array
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    IF_THEN_ELSE,
    Call,
    Op,
    Schedule,
    Step,
    TensorProgram,
    Touch,
    compile_program,
    every_step,
    operands,
    shared_tensor,
    tirx,
    walk,
)

ARITHMETIC = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max)
EXP = "tirx.exp"
FREE = (IF_THEN_ELSE, "tirx.reinterpret")  # these move a value and compute nothing


@dataclass(frozen=True)
class Stage:
    """Work of one block in a whole run of the program, without its init.

    ``elements`` are the distinct iterations of the block: what it would run if it computed nothing
    twice. ``exps`` counts calls of exp, ``flops`` each float operation and elementary function.
    """

    block: str
    runs: int
    elements: int
    flops: int
    exps: int

    @property
    def times(self) -> float:
        """The number of times each element is computed, on average."""
        return self.runs / self.elements


def stages(program: TensorProgram) -> tuple[Stage, ...]:
    """The blocks in program order, each with its work.

    Raises what ``tir.walk`` raises, and ``UsageError`` when a condition depends on data.
    """
    sch = program if isinstance(program, Schedule) else Schedule(program)
    counted = runs(program)
    found = []
    for name in lookup.blocks(sch):
        block, times = sch.get(sch.get_sblock(name)), counted.get(name, 0)
        each_flops, each_exps = _arithmetic(block.body)
        elements = prod(int(each.dom.extent) for each in block.iter_vars)
        found.append(Stage(name, times, elements, times * each_flops, times * each_exps))
    return tuple(found)


def flops(program: TensorProgram) -> int:
    """Float operations of a whole run; an elementary function counts as one."""
    return sum(stage.flops for stage in stages(program))


def exps(program: TensorProgram) -> int:
    """Calls of exp in a whole run."""
    return sum(stage.exps for stage in stages(program))


def runs(program: TensorProgram) -> dict[str, int]:
    """Count how often each block stores an element, by the program's loops with no other body.

    LLVM sees through most such loops, so that this takes no longer for large sizes.
    """
    steps = walk(program)
    stores = (each for each in every_step(steps) if isinstance(each, Touch) and each.writes)
    blocks = list(dict.fromkeys(each.block for each in stores))
    counts = int64_array(max(len(blocks), 1), 0)
    compile_program(_Tally(blocks).function(steps))(shared_tensor(counts))
    return dict(zip(blocks, map(int, counts), strict=False))


def _arithmetic(body: Any) -> tuple[int, int]:
    """(float operations, exps) of one run of a block's body."""
    found = [name for value in _values(body) for name in _operations(value)]
    return len(found), found.count(EXP)


def _values(body: Any) -> Iterator[Any]:
    """The values that the statements of a block store."""
    match body:
        case tirx.BufferStore():
            yield body.value
        case tirx.SeqStmt():
            for each in body.seq:
                yield from _values(each)
        case tirx.For():
            for value in _values(body.body):
                yield from [value] * int(body.extent)


def _operations(value: Any) -> Iterator[str]:
    """Names of the float operations in an expression."""
    for each in operands(value):
        yield from _operations(each)
    if "float" in str(value.ty.dtype):
        if isinstance(value, ARITHMETIC):
            yield type(value).__name__
        elif isinstance(value, Call) and isinstance(value.op, Op) and value.op.name not in FREE:
            yield str(value.op.name)


class _Tally(Counter):
    """Writes a program that counts the stores of each block and looks at no address."""

    def __init__(self, blocks: Sequence[str]) -> None:
        super().__init__({}, ())
        self.place = {name: place for place, name in enumerate(blocks)}
        self.counts = tirx.decl_buffer((max(len(blocks), 1),), "int64", name="counts")

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        found = []
        for step in steps:
            if isinstance(step, Touch) and step.writes:
                found.append(self.add(self.place[step.block], 1))
            found += self.statement(step)
        return found

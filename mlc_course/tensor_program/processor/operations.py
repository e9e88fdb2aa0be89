"""Arithmetic of a program, counted block by block, with what it computes more than once.

A fused program may compute an element again wherever it is needed; the counts show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from mlc_course.tensor_program.memory import Counter, int64_array, sequence
from mlc_course.tensor_program.processor.task_simulation import chunks
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    MOVES,
    Begin,
    Bound,
    Call,
    Expr,
    Guard,
    Repeat,
    Schedule,
    Step,
    TensorProgram,
    Touch,
    compile_program,
    every_step,
    is_lazy,
    name_of,
    operands,
    shared_tensor,
    tirx,
    walk,
)

ARITHMETIC = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max)
# Functions that raise something to a power that they get: exp in any other spelling.
POWERS = ("exp", "exp2", "exp10", "pow", "sinh", "cosh", "tanh", "sigmoid")
EXPONENTIALS = frozenset(f"tirx.{name}" for name in POWERS)
ROOT = "root"  # the block around all, and whatever is in no block
FMA = "tirx.fma"  # an addition and a multiplication


@dataclass(frozen=True)
class Stage:
    """Work of one block in a whole run of the program, without its init.

    ``elements`` are the distinct iterations of the block: what it would run if it computed nothing
    twice. ``exps`` counts calls of ``EXPONENTIALS``, ``flops`` each float operation and elementary
    function.
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
    counted = _counted(walk(program))
    found = []
    for name in lookup.blocks(sch):
        iterators = sch.get(sch.get_sblock(name)).iter_vars
        elements = prod(int(each.dom.extent) for each in iterators)
        found.append(Stage(name, counted[name].runs, elements, *counted[name][1:]))
    return tuple(found)


def flops(program: TensorProgram) -> int:
    """Float operations of a whole run; an elementary function counts as one."""
    return _flops(walk(program))


def _flops(steps: Sequence[Step]) -> int:
    return sum(work.flops for work in _counted(steps).values())


def flops_by_worker(program: TensorProgram, workers: int) -> tuple[int, ...]:
    """Float operations of each worker in all parallel loops, which TVM shares as in ``chunks``."""
    steps = walk(program)
    alone = _flops(_of_worker(steps, None, workers))
    found = (_flops(_of_worker(steps, worker, workers)) for worker in range(workers))
    return tuple(each - alone for each in found)


def _of_worker(steps: Sequence[Step], worker: int | None, workers: int) -> tuple[Step, ...]:
    """What is left of a program when parallel loops run a worker's iterations only, or none."""
    left: list[Step] = []
    for step in steps:
        match step:
            case Repeat() if step.kind == "parallel":
                own = () if worker is None else chunks(step.extent, workers)[worker]
                if own:
                    left.append(replace(step, start=step.start + own[0], extent=len(own)))
            case Repeat():
                left.append(replace(step, body=_of_worker(step.body, worker, workers)))
            case Guard():
                sides = (_of_worker(side, worker, workers) for side in (step.then, step.otherwise))
                left.append(Guard(step.condition, *sides))
            case _:
                left.append(step)
    return tuple(left)


def most_flops(program: TensorProgram) -> int:
    """Float operations of a run in which every condition is taken both ways."""
    return _most(walk(program))


def _most(steps: Sequence[Step]) -> int:
    total = 0
    for step in steps:
        match step:
            case Repeat():
                total += step.extent * _most(step.body)
            case Guard():
                total += _most((*step.then, *step.otherwise))
            case Touch(writes=True) | Bound(extent=None):
                total += _both_ways(step.value)
    return total


def _both_ways(value: Expr) -> int:
    sides = [side for each in _lazy_parts(value) for side in operands(each)[1:]]
    return len(_arithmetic(value)) + sum(map(_both_ways, sides))


def exps(program: TensorProgram) -> int:
    """Calls of exp, and of functions from which exp can be had, in a whole run."""
    return sum(work.exps for work in _counted(walk(program)).values())


def runs(program: TensorProgram) -> dict[str, int]:
    """Count how often each block runs; inits are runs of their own."""
    return {name: work.runs for name, work in _counted(walk(program)).items() if name != ROOT}


class Work(NamedTuple):
    """What a block does in a whole run of the program."""

    runs: int
    flops: int
    exps: int


def _counted(steps: Sequence[Step]) -> dict[str, Work]:
    """Count by the program's loops and conditions with no other body.

    LLVM sees through most such loops, so that this takes no longer for large sizes.
    """
    blocks = [each.block for each in every_step(steps) if isinstance(each, Begin)]
    tally = _Tally(list(dict.fromkeys([ROOT, *blocks])))
    counts = int64_array(len(tally.place) * len(Work._fields), 0)
    compile_program(tally.function(steps))(shared_tensor(counts))
    rows = counts.reshape(-1, len(Work._fields)).tolist()
    return dict(zip(tally.place, map(Work._make, rows), strict=True))


def _arithmetic(value: Expr) -> list[str]:
    """Names of the float operations in an expression that are done whenever it is evaluated.

    What a ``let`` binds is a step of its own in ``tir.walk``, and so counted there.
    """
    if isinstance(value, tirx.Let):
        return _arithmetic(value.body)
    inside = operands(value)[:1] if is_lazy(value) else operands(value)
    found = [name for each in inside for name in _arithmetic(each)]
    if "float" not in str(value.ty.dtype):
        return found
    if isinstance(value, ARITHMETIC):
        return [*found, type(value).__name__]
    if isinstance(value, Call) and name_of(value) not in MOVES:
        return [*found, *[name_of(value)] * (2 if name_of(value) == FMA else 1)]
    return found


def _lazy_parts(value: Expr) -> Iterator[Expr]:
    """The outermost ``if_then_else`` in an expression."""
    if is_lazy(value):
        yield value
    elif isinstance(value, tirx.Let):
        yield from _lazy_parts(value.body)
    else:
        for each in operands(value):
            yield from _lazy_parts(each)


class _Tally(Counter):
    """Writes a program that counts runs and operations of each block, and looks at no address."""

    def __init__(self, blocks: Sequence[str]) -> None:
        super().__init__({}, ())
        self.place = {name: place for place, name in enumerate(blocks)}
        room = len(blocks) * len(Work._fields)
        self.counts = tirx.decl_buffer((room,), "int64", name="counts")

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        found = []
        for step in steps:
            match step:
                case Begin():
                    found += self.count(step.block, Work(1, 0, 0))
                case Touch(writes=True):
                    found += self.work(step.block, step.value)
                case Bound(extent=None):
                    found += self.work(step.block, step.value)
            found += self.statement(step)
        return found

    def work(self, block: str, value: Expr) -> list[Any]:
        """Count the operations of an expression, and of the sides that its conditions choose."""
        names = _arithmetic(value)
        found = self.count(block, Work(0, len(names), sum(name in EXPONENTIALS for name in names)))
        for each in _lazy_parts(value):
            condition, *sides = operands(each)
            then, otherwise = (self.work(block, side) for side in sides)
            if then or otherwise:
                self.check_known(condition)
                found.append(tirx.IfThenElse(condition, sequence(then), sequence(otherwise)))
        return found

    def count(self, block: str, work: Work) -> list[Any]:
        first = self.place[block] * len(Work._fields)
        return [self.add(first + i, amount) for i, amount in enumerate(work) if amount]

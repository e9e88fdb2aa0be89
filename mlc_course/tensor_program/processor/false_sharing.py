"""False sharing: cache lines of which several workers write different elements.

A core must own a line to write to it, and takes it from whoever had it. Two workers that write to
*different* elements of one line take it from each other again and again. That is counted exactly
from the program's accesses; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.processor.task_simulation import chunks
from mlc_course.tensor_program.tir import (
    MEANINGS,
    Bound,
    Expr,
    Guard,
    Repeat,
    Step,
    TensorLoad,
    TensorProgram,
    Touch,
    Var,
    buffers,
    element_bytes,
    kind_of,
    main_function,
    operands,
    tirx,
    walk,
)

MOST_POINTS = 50_000_000  # iterations of the loops that one index depends on
NOBODY, SEVERAL = -1, -2


@dataclass(frozen=True, eq=False)
class Writes:
    """Writers of ``buffer`` in the parallel loop ``loop``; ``by`` is (workers, elements), bool.

    Buffers begin at the start of a line, as TVM allocates them.
    """

    loop: str
    buffer: str
    by: NDArray[np.bool_]
    elements_per_line: int

    @property
    def lines(self) -> int:
        """Number of lines that are written."""
        return int((self._writers_of_lines() > 0).sum())

    @property
    def shared_lines(self) -> int:
        """Number of lines that more than one worker writes."""
        return int((self._writers_of_lines() > 1).sum())

    @property
    def raced_elements(self) -> int:
        """Number of elements that more than one worker writes: a race, whose result is luck."""
        return int((self.by.sum(axis=0) > 1).sum())

    @property
    def owners(self) -> NDArray[np.int64]:
        """The worker that writes each element, or ``NOBODY`` (-1), or ``SEVERAL`` (-2)."""
        count = self.by.sum(axis=0)
        return np.where(count == 1, self.by.argmax(axis=0), np.where(count, SEVERAL, NOBODY))

    def _writers_of_lines(self) -> NDArray[np.int64]:
        workers, elements = self.by.shape
        room = np.zeros((workers, -(-elements // self.elements_per_line), self.elements_per_line))
        room.reshape(workers, -1)[:, :elements] = self.by
        return np.asarray(room.any(axis=2).sum(axis=0))


def writes_by_worker(program: TensorProgram, workers: int, *, line: int = 64) -> tuple[Writes, ...]:
    """The writers of each buffer, for each parallel loop.

    Workers get the iterations as TVM shares them (``tasks.chunks``). Buffers that only one
    parallel loop touches and that are no parameters are left out: each task has its own. Raises
    ``UsageError`` for a program without a parallel loop, or one whose indices depend on data.
    """
    function = main_function(program)
    steps = walk(function)
    regions = list(_parallel_loops(steps))
    if not regions:
        raise UsageError(
            "no parallel loop, so there is one worker",
            expected="a program with a loop of kind parallel",
            got="serial loops only",
            hint="steps.parallel(sch, block, loop)",
        )
    inside = [list(buffers(each.body)) for each in regions]
    everywhere = list(buffers(steps))
    found = []
    for loop, own in zip(regions, inside, strict=True):
        public = {
            each
            for each in own
            if each in list(function.params) or everywhere.count(each) > own.count(each)
        }
        scan = _Scan(loop, workers, public)
        scan.steps(steps, 0, np.True_, running=False)
        for buffer, by in scan.by.items():
            count = max(line // element_bytes(buffer), 1)
            found.append(Writes(str(loop.var.name), str(buffer.name), by, count))
    return tuple(found)


def _parallel_loops(steps: Sequence[Step]) -> Iterator[Repeat]:
    for step in steps:
        match step:
            case Repeat() if step.kind == "parallel":
                yield step
            case Repeat():
                yield from _parallel_loops(step.body)
            case Guard():
                yield from _parallel_loops((*step.then, *step.otherwise))


@dataclass(eq=False)
class _Scan:
    """Marks the writes of one parallel loop, all iterations at once.

    Each loop is an axis of the arrays in ``values``, the outermost the last one; an index has only
    the axes that it depends on, so that loops which do not move it cost nothing.
    """

    loop: Repeat
    workers: int
    public: set[Var]
    by: dict[Var, NDArray[np.bool_]] = field(default_factory=dict)
    values: dict[Var, Any] = field(default_factory=dict)
    worker: Any = None

    def steps(self, steps: Sequence[Step], depth: int, where: Any, *, running: bool) -> None:
        for step in steps:
            match step:
                case Repeat():
                    at = step.start + np.arange(step.extent).reshape(-1, *[1] * depth)
                    self.values[step.var] = at
                    if step is self.loop:
                        shares = chunks(step.extent, self.workers)
                        each = [w for w, own in enumerate(shares) for _ in own]
                        self.worker = np.array(each).reshape(at.shape)
                    now = running or step is self.loop
                    self.steps(step.body, depth + 1, where, running=now)
                case Bound():
                    self.values[step.var] = self.value(step.value)
                case Guard():
                    holds = self.value(step.condition)
                    for side, wanted in ((step.then, True), (step.otherwise, False)):
                        # Where the condition depends on data, either side may run.
                        here = where if holds is None else where & (holds == wanted)
                        self.steps(side, depth, here, running=running)
                case Touch() if running and step.writes and step.buffer in self.public:
                    self.mark(step, where)

    def mark(self, touch: Touch, where: Any) -> None:
        extents = [int(extent) for extent in touch.buffer.shape]
        element: Any = np.int64(0)
        for index, extent in zip(touch.indices, extents, strict=True):
            at = self.value(index)
            if at is None:
                raise UsageError(
                    f"block {touch.block} writes {touch.buffer.name} where its data says",
                    expected="indices made of loop variables and constants",
                    got=index,
                )
            element = element * extent + at
        _check_size(element, self.worker, where)
        element, worker, where = np.broadcast_arrays(element, self.worker, where)
        by = self.by.setdefault(touch.buffer, np.zeros((self.workers, prod(extents)), bool))
        by[worker[where], element[where]] = True

    def value(self, expr: Expr) -> Any:
        """An integer expression over all iterations; None when it depends on data."""
        match expr:
            case tirx.IntImm():
                return np.int64(int(expr.value))
            case tirx.Var():
                return self.values.get(expr)
            case tirx.Let():
                self.values[expr.var] = self.value(expr.value)
                return self.value(expr.body)
            case TensorLoad():
                return None
        parts = [self.value(each) for each in operands(expr)]
        meaning = MEANINGS.get(kind_of(expr))
        if meaning is None or any(part is None for part in parts):
            return None
        _check_size(*parts)
        return meaning.values(*parts)


def _check_size(*arrays: Any) -> None:
    points = prod(np.broadcast_shapes(*(np.shape(each) for each in arrays)))
    if points > MOST_POINTS:
        raise UsageError(
            "too many iterations to look at", expected=f"at most {MOST_POINTS:,}", got=f"{points:,}"
        )

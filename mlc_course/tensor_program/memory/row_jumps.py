"""Jumps: how often an access is not beside the one that the same place of the program made before.

Strides say how an address moves along one loop. Jumps are counted over the whole run, so that loops
of one turn, conditions and repeated work do not hide how a program walks through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.tensor_program.memory.cache import Counter, int64, int64_array
from mlc_course.tensor_program.tir import (
    PrimFunc,
    Step,
    TensorProgram,
    Touch,
    addresses,
    compile_program,
    shared_tensor,
    tirx,
)

NEVER = -1  # the last address of a place that has not been reached


@dataclass(frozen=True)
class Jumps:
    """A place in the program that reads or writes ``buffer``, with how often it does.

    ``jumps`` counts the runs whose address is more than the asked number of elements away from that
    of the run before.
    """

    block: str
    buffer: str
    writes: bool
    runs: int
    jumps: int


def jumps(program: TensorProgram, beyond: int = 1) -> tuple[Jumps, ...]:
    """Count the jumps of each access, in program order, by more than ``beyond`` elements.

    Loops run in program order, whatever their kind; buffers are where ``cache.count`` places them.
    Raises ``UsageError`` when an index or a condition depends on data.
    """
    steps, base = addresses.placed(program, ())
    counting = _Jumps(base, beyond)
    function = counting.function(steps)
    size = max(len(counting.places), 1)
    last, counts = int64_array(size, NEVER), int64_array(2 * size, 0)
    compile_program(function)(shared_tensor(last), shared_tensor(counts))
    return tuple(
        Jumps(
            each.block,
            str(each.buffer.name),
            each.writes,
            int(counts[2 * place]),
            int(counts[2 * place + 1]),
        )
        for place, each in enumerate(counting.places)
    )


class _Jumps(Counter):
    """Writes the program that counts; its parameters are the last addresses and the counts."""

    def __init__(self, base: dict[Any, int], beyond: int) -> None:
        super().__init__(base, ())
        self.beyond = beyond
        self.places: list[Touch] = []
        self.size = tirx.Var("size", "int64")
        self.last = tirx.decl_buffer((self.size,), "int64", name="last")
        self.counts = tirx.decl_buffer((2 * self.size,), "int64", name="counts")

    def function(self, steps: Sequence[Step]) -> PrimFunc:
        body = tirx.SeqStmt([tirx.Evaluate(0), *self.statements(steps)])
        function = PrimFunc([self.last, self.counts], body)
        return function.with_attr({"global_symbol": "main", "tirx.noalias": True})

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        return [stmt for step in steps for stmt in self.statement(step)]

    def touch(self, step: Touch) -> list[Any]:
        for index in step.indices:
            self.check_known(index)
        place = len(self.places)
        self.places.append(step)
        address = self.bound(addresses.address(step, self.base))
        before = self.bound(self.last[int64(place)])
        room = int64(self.beyond * addresses.element_bytes(step.buffer))
        moved = tirx.Or(address.var - before.var > room, before.var - address.var > room)
        jumped = tirx.And(before.var >= int64(0), moved)
        return [
            address,
            before,
            tirx.BufferStore(self.last, address.var, [int64(place)]),
            self.add(2 * place, 1),
            tirx.IfThenElse(jumped, self.add(2 * place + 1, 1), None),
        ]

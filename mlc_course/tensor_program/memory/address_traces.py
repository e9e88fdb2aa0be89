"""The address trace of a program: every byte that it touches, in order.

The addresses do not depend on the data, so the loops of a program, with each access replaced by a
store of its address, are a program that records the trace, once for each chunk of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.memory.cache import Counter, int64_array
from mlc_course.tensor_program.tir import (
    PrimFunc,
    Step,
    TensorProgram,
    Touch,
    Var,
    addresses,
    compile_program,
    shared_tensor,
    tirx,
)

CHUNK = 1 << 24  # accesses
OWNER = 48  # the bit of a recorded address from which on it tells whose it is


@dataclass(frozen=True)
class Placed:
    """A buffer in memory, row-major from byte ``start`` on, with elements of ``element_bytes``."""

    name: str
    start: int
    shape: tuple[int, ...]
    element_bytes: int

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.element_bytes

    def element(self, byte: int) -> tuple[int, ...]:
        """The element at an address; raises ``UsageError`` where there is none."""
        if not self.start <= byte < self.start + self.bytes:
            raise UsageError(
                f"buffer {self.name} is not there",
                expected=f"{self.start} to {self.start + self.bytes - 1}",
                got=byte,
            )
        number = (byte - self.start) // self.element_bytes
        return tuple(map(int, np.unravel_index(number, self.shape or (1,))))


@dataclass(frozen=True, eq=False)
class AddressTrace:
    """The accesses of a program to its ``buffers``, which are where ``cache.count`` places them.

    Two buffers may have the same place, one after the other, so the trace says of each access which
    buffer it is to.
    """

    buffers: tuple[Placed, ...]
    program: PrimFunc  # of (room for a chunk; first access wanted, number of accesses)

    def chunks(self, size: int = CHUNK) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Byte addresses of the accesses in order, and whose they are, as places in ``buffers``.

        There are at most ``size`` at a time. Raises ``UsageError`` for a chunk without room.
        """
        if size < 1:
            raise UsageError("a chunk holds no access", expected="1 or more", got=size)
        run = compile_program(self.program)
        room, places = int64_array(size, 0), int64_array(2, 0)
        first, total = 0, 1
        while first < total:
            places[:] = first, 0
            run(shared_tensor(room), shared_tensor(places))
            total = int(places[1])
            found = room[: min(size, total - first)]
            if found.size:
                yield found & ((1 << OWNER) - 1), found >> OWNER
            first += size

    @functools.cached_property
    def _whole(self) -> tuple[NDArray[np.int64], ...]:
        nothing = np.empty(0, np.int64)
        chunks = [*self.chunks()] or [(nothing, nothing)]
        return tuple(map(np.concatenate, zip(*chunks, strict=True)))

    @property
    def addresses(self) -> NDArray[np.int64]:
        """The whole trace in one array, for programs of at most some million accesses."""
        return self._whole[0]

    @property
    def owners(self) -> NDArray[np.int64]:
        """The place in ``buffers`` of the buffer that each access of the whole trace is to."""
        return self._whole[1]


def address_trace(program: TensorProgram, registers: Sequence[str] = ("local",)) -> AddressTrace:
    """The address trace of a program.

    Loops and buffers are as for ``cache.count``. Raises what that raises.
    """
    steps, base = addresses.placed(program, registers)
    placed = tuple(
        Placed(
            str(buffer.name),
            start,
            tuple(int(extent) for extent in buffer.shape),
            addresses.element_bytes(buffer),
        )
        for buffer, start in base.items()
    )
    owned = {buffer: start + (n << OWNER) for n, (buffer, start) in enumerate(base.items())}
    return AddressTrace(placed, _Recorder(owned).function(steps))


class _Recorder(Counter):
    """Writes the recording program, whose parameters are those of ``AddressTrace.program``."""

    def __init__(self, base: dict[Var, int]) -> None:
        super().__init__(base, ())
        self.size = tirx.Var("size", "int64")
        self.room = tirx.decl_buffer((self.size,), "int64", name="room")
        self.places = tirx.decl_buffer((2,), "int64", name="places")
        # Counts how far each access is from the first that is wanted.
        self.counts = tirx.decl_buffer((1,), "int64", name="count", scope="local")

    def function(self, steps: Sequence[Step]) -> PrimFunc:
        body = [
            tirx.AllocBuffer(self.counts),
            tirx.BufferStore(self.counts, -self.places[0], [0]),
            *self.statements(steps),
            tirx.BufferStore(self.places, self.counts[0] + self.places[0], [1]),
        ]
        function = PrimFunc([self.room, self.places], tirx.SeqStmt(body))
        return function.with_attr({"global_symbol": "main", "tirx.noalias": True})

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        return [stmt for step in steps for stmt in self.statement(step)]

    def touch(self, step: Touch) -> list[Any]:
        for index in step.indices:
            self.check_known(index)
        place = tirx.Var(f"place_{next(self.names)}", "int64")
        inside = tirx.And(place >= 0, place < self.size)
        store = tirx.BufferStore(self.room, addresses.address(step, self.base), [place])
        bind = tirx.Bind(place, self.counts[0])
        return [bind, tirx.IfThenElse(inside, store, None), self.add(0, 1)]

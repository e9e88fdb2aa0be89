"""Launch a kernel that is a Python function: it is called once for each thread.

    def reversed_in_block(t, out, a):
        tile = t.shared("tile", 32)
        i = t.block.x * t.threads.x + t.thread.x
        tile[t.thread.x] = a[i]
        yield t.barrier()
        out[i] = tile[31 - t.thread.x]

    run = launch(reversed_in_block, out, a, blocks=2, threads=32)

CUDA's names for ``t.block``, ``t.thread``, ``t.threads``, ``t.blocks``, ``t.shared`` and
``t.barrier()`` are blockIdx, threadIdx, blockDim, gridDim, __shared__ and __syncthreads().
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mlc_course.errors import CourseError, UsageError
from mlc_course.mugraph.box.access_log import AccessLog, Memory, Place, Table
from mlc_course.mugraph.box.device_arrays import DeviceArray, Session, nothing, place_of
from mlc_course.mugraph.box.faults import Fault, KernelFault, races
from mlc_course.mugraph.box.schedule import (
    Clock,
    Order,
    OrderLike,
    Turns,
    Unit,
    first_of_each,
    run_block,
)
from mlc_course.mugraph.box.warp_requests import (
    Request,
    Requests,
    Traffic,
    counts,
    requests_of,
    total,
)
from mlc_course.mugraph.ir import Shape
from mlc_course.mugraph.thread_kernels import WIDEST
from mlc_course.units import plural

MOST_THREADS = 1024  # of a block, as on a GPU
MOST_ALONG = {"threads": (1024, 1024, 64), "blocks": (2**31 - 1, 65_535, 65_535)}
SHARED_BYTES = 48 * 1024  # of a block, unless a kernel asks for more
MOST_SHARED_BYTES = 227 * 1024  # that it may ask for (compute capability 9.0)
EXTENTS = (1, 1, 1)
NUMBERS = "fiub"  # NumPy's kinds of floating-point and whole numbers, and of truth
Extents = int | Sequence[int]
KernelFunction = Callable[..., Any]


class Triple(NamedTuple):
    """A number along each of three axes."""

    x: int
    y: int
    z: int

    def __str__(self) -> str:
        return " x ".join(map(str, self[: 3 if self.z > 1 else 2 if self.y > 1 else 1]))


@dataclass(frozen=True)
class Run:
    """The record of a kernel's run: its faults, and its accesses counted by transaction."""

    name: str
    blocks: Triple
    threads: Triple
    order: Order
    table: Table = field(repr=False)
    faults: tuple[Fault, ...]
    barriers: int  # that a block passed, at most

    @cached_property
    def counts(self) -> list[Requests]:
        """The transactions of each access in the source."""
        return counts(self.table)

    def requests(self, array: str = "", block: int | None = 0) -> list[Request]:
        """Return the warps' requests to an array, or to all of them, of one block or of all."""
        table = self.table.of(array) if array else self.table
        if block is not None:
            table = table.where(table["block"] == block)
        return requests_of(table)

    def traffic(self, array: str) -> Traffic:
        """Return the transactions of all accesses to an array."""
        of_it = [each for each in self.counts if each.memory.name == array]
        if not of_it:
            known = ", ".join(dict.fromkeys(each.memory.name for each in self.counts))
            raise UsageError(f"no access to {array}", expected=known or "none", got=array)
        return sum((each.traffic for each in of_it), Traffic())

    @property
    def device(self) -> Traffic:
        """Transactions of all accesses to device memory."""
        return total(self.counts, "global")

    @property
    def shared(self) -> Traffic:
        """Transactions of all accesses to shared memory."""
        return total(self.counts, "shared")

    def checked(self) -> Run:
        """Return this run; raise ``KernelFault`` if the kernel does something wrong."""
        if self.faults:
            raise KernelFault(f"{self.name}: {self.faults[0]}")
        return self

    def __str__(self) -> str:
        blocks = f"{self.blocks} block{'s' * (math.prod(self.blocks) != 1)}"
        grid = f"{self.name}: {blocks} of {self.threads} threads"
        passed = f", {plural(self.barriers, 'barrier')}" if self.barriers else ""
        lines = [grid + passed]
        lines += [str(each) for each in self.faults] or ["no fault"]
        lines += (f"{each}\n  {each.place}" for each in self.counts)
        return "\n".join(lines)


@dataclass
class Thread:
    """A thread, as its kernel sees it: its numbers, and what it may ask for.

    ``block`` and ``thread`` are its numbers, ``blocks`` and ``threads`` how many there are, each
    along the axes x, y and z.
    """

    block: Triple
    thread: Triple
    blocks: Triple
    threads: Triple
    _launch: _Launch = field(repr=False)

    def shared(self, name: str, shape: Extents, dtype: str = "float32") -> DeviceArray:
        """Return an array that the threads of a block share. Nobody has written it at first."""
        return self._launch.shared(name, shape, dtype)

    def barrier(self) -> Place:
        """Return a barrier to wait at: ``yield t.barrier()``. All threads of the block wait."""
        place = place_of(sys._getframe(1))
        self._launch.asked_by = self._launch.clock.who
        return place


def launch(
    kernel: KernelFunction,
    *arguments: Any,
    blocks: Extents = 1,
    threads: Extents = 32,
    order: OrderLike = "ascending",
    by: Unit = "thread",
    shared_bytes: int = SHARED_BYTES,
) -> Run:
    """Run a kernel, thread by thread, on arrays that it reads and writes.

    ``arguments`` are NumPy arrays, which are device memory to the kernel, or numbers. What
    happens is returned, faults too: ``print(run)`` shows it. A read beyond an array gives nan (0
    in whole numbers), a write beyond it is left out.

    Raises ``UsageError`` for a launch that no GPU would take.
    """
    made = _Launch(kernel, arguments, _triple("blocks", blocks), _triple("threads", threads),
                   Order(order, by), shared_bytes)  # fmt: skip
    return made.run()


def _triple(what: str, extents: Extents) -> Triple:
    given = (extents,) if isinstance(extents, int | np.integer) else tuple(extents)
    if not 1 <= len(given) <= 3 or not all(
        isinstance(each, int | np.integer) and each >= 1 for each in given
    ):
        raise UsageError(what, expected="1 to 3 whole numbers from 1 on", got=extents)
    for axis, extent, most in zip("xyz", given, MOST_ALONG[what], strict=False):
        if extent > most:
            raise UsageError(f"{what} along {axis}", expected=f"at most {most:,}", got=extent)
    return Triple(*map(int, (*given, *EXTENTS[len(given) :])))


def _number(number: int, extents: Triple) -> Triple:
    """Return the place of a thread or a block: x is the fastest."""
    return Triple(
        number % extents.x, number // extents.x % extents.y, number // (extents.x * extents.y)
    )


def _check_apart(arguments: Mapping[str, Any]) -> None:
    """Races over an element are seen by its array, so no two arrays may share memory."""
    arrays = [(name, each) for name, each in arguments.items() if isinstance(each, np.ndarray)]
    for (one, a), (other, b) in itertools.combinations(arrays, 2):
        if np.may_share_memory(a, b):
            raise UsageError(
                f"{one} and {other} share memory",
                expected="arrays of their own",
                hint="give the array once, and let the kernel read and write it",
            )


class _Launch:
    def __init__(
        self,
        kernel: KernelFunction,
        arguments: Sequence[Any],
        blocks: Triple,
        threads: Triple,
        order: Order,
        shared_bytes: int,
    ) -> None:
        if not inspect.isfunction(kernel):
            raise UsageError("kernel", expected="a function", got=kernel)
        if math.prod(threads) > MOST_THREADS:
            raise UsageError(
                "threads of a block", expected=f"at most {MOST_THREADS}", got=math.prod(threads)
            )
        if shared_bytes > MOST_SHARED_BYTES:
            raise UsageError(
                "shared memory of a block, in bytes",
                expected=f"at most {MOST_SHARED_BYTES:,}",
                got=f"{shared_bytes:,}",
            )
        self.kernel, self.blocks, self.threads, self.order = kernel, blocks, threads, order
        self.shared_bytes = shared_bytes
        self.clock = Clock()
        self.asked_by: tuple[int, int] | None = None
        self.session = Session(AccessLog(), self.clock, kernel.__code__)
        self.session.waits_for_yield = lambda: self.asked_by is not None
        self.arguments = [
            self._argument(name, value)
            for name, value in zip(self._names(arguments), arguments, strict=True)
        ]
        _check_apart(dict(zip(self._names(arguments), arguments, strict=True)))
        self.shared_arrays: dict[str, tuple[DeviceArray, str]] = {}
        self.shared_end = 0
        self.barriers = 0

    def _names(self, arguments: Sequence[Any]) -> list[str]:
        names = list(inspect.signature(self.kernel).parameters)
        if len(names) != len(arguments) + 1:
            raise UsageError(
                f"{self.kernel.__name__}: arguments after the kernel",
                expected=", ".join(names[1:]) or "none",
                got=len(arguments),
            )
        return names[1:]

    def _argument(self, name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if not value.ndim or not value.flags.c_contiguous:
            raise UsageError(
                f"{name}: an array of a kernel", expected="at least one axis, row-major"
            )
        memory = Memory(name, value.shape, value.itemsize, "global")
        return DeviceArray(self.session, memory, value)

    def shared(self, name: str, shape: Extents, dtype: str) -> DeviceArray:
        extents: Shape = tuple(map(int, shape)) if isinstance(shape, Sequence) else (int(shape),)
        if name in self.shared_arrays:
            array, declared = self.shared_arrays[name]
            if (array.shape, declared) != (extents, dtype):
                raise UsageError(
                    f"shared {name}", expected=f"{array.shape} {declared}, as before",
                    got=f"{extents} {dtype}",
                )  # fmt: skip
            return array
        kind = np.dtype(dtype)
        if kind.kind not in NUMBERS:  # an element of parts, or an object, would be seen by nobody
            raise UsageError(f"shared {name}: a type", expected="of plain numbers", got=dtype)
        size = math.prod(extents)
        start = -(-self.shared_end // WIDEST) * WIDEST
        if start + size * kind.itemsize > self.shared_bytes:
            raise UsageError(
                f"shared {name}: shared memory of a block, in bytes",
                expected=f"at most {self.shared_bytes:,}",
                got=f"{start + size * kind.itemsize:,}",
            )
        self.shared_end = start + size * kind.itemsize
        data = nothing(extents, kind)
        memory = Memory(name, extents, kind.itemsize, "shared", start)
        array = DeviceArray(self.session, memory, data, np.zeros(size, bool))
        self.shared_arrays[name] = array, dtype
        return array

    def run(self) -> Run:
        with np.errstate(all="ignore"):
            for block in self.order.blocks(math.prod(self.blocks)):
                self.shared_arrays, self.shared_end = {}, 0
                self.session.new_block()
                count = math.prod(self.threads)
                fault = run_block(block, count, self._started(block), self.order, self.clock)
                self.barriers = max(self.barriers, self.clock.epoch)
                if fault:
                    self.session.faults.append(fault)
        table = self.session.log.table()
        faults = first_of_each([*self.session.faults, *races(table)])
        name = self.kernel.__name__
        return Run(name, self.blocks, self.threads, self.order, table, tuple(faults), self.barriers)

    def _started(self, block: int) -> Callable[[int], Turns]:
        return lambda thread: self._turns(block, thread)

    def _turns(self, block: int, thread: int) -> Turns:
        """Run one thread, from barrier to barrier."""
        at = Thread(
            _number(block, self.blocks), _number(thread, self.threads),
            self.blocks, self.threads, self,
        )  # fmt: skip
        try:
            made = self.kernel(at, *self.arguments)
            if isinstance(made, Generator):
                for yielded in made:
                    if not isinstance(yielded, Place):
                        method = callable(yielded)
                        raise UsageError(
                            "a kernel yields something else than a barrier",
                            expected="yield t.barrier()",
                            got="a function, without (...)" if method else repr(yielded),
                        )
                    self.asked_by = None
                    yield yielded
        except CourseError as error:
            error.add_note(f"in block {block}, thread {thread}, of {self.kernel.__name__}")
            raise
        if self.asked_by is not None:
            raise UsageError(
                f"{self.kernel.__name__}: barrier() without yield",
                expected="yield t.barrier()",
                hint="the thread waits where it yields",
            )

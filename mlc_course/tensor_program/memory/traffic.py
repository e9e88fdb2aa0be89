"""Which buffer moves how many bytes between the caches, and how many of them are written back.

``cache.count`` says how often a cache misses. Here each miss is charged to the buffer that was
asked for, and each line that a program has changed is charged again when it leaves the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import SizeError, UsageError
from mlc_course.tensor_program.memory.cache import EMPTY, Cache, int64_array
from mlc_course.tensor_program.memory.ledger import Ledger
from mlc_course.tensor_program.reading import addresses
from mlc_course.tensor_program.reading.walk import Var, main_function, walk
from mlc_course.tensor_program.tvm_names import (
    IRModule,
    PrimFunc,
    Schedule,
    compact_buffers,
    compile_program,
    shared_tensor,
)

REGISTERS = ("local",)


@dataclass(frozen=True)
class Moved:
    """What a program moves for one buffer.

    ``loads`` and ``stores`` are elements. ``fetched[i]`` are bytes that cache i filled from the
    next level (or from memory, the last one); ``returned[i]`` are bytes that it wrote back there.
    """

    buffer: str
    loads: int
    stores: int
    fetched: tuple[int, ...]
    returned: tuple[int, ...]

    def bytes(self, level: int = -1) -> int:
        """Both ways between a cache, by default the last one, and the next level."""
        return self.fetched[level] + self.returned[level]


@dataclass(frozen=True)
class Traffic:
    """What a program moves, buffer by buffer: parameters first, then what it has for itself."""

    levels: tuple[Cache, ...]
    buffers: tuple[Moved, ...]

    def bytes(self, level: int = -1) -> int:
        """Bytes of all buffers, both ways, between a cache and the next level."""
        return sum(each.bytes(level) for each in self.buffers)

    def of(self, buffer: str) -> Moved:
        """Raises ``UsageError`` for a buffer that the program does not touch in memory."""
        for each in self.buffers:
            if each.buffer == buffer:
                return each
        known = ", ".join(each.buffer for each in self.buffers)
        raise UsageError("no such buffer in memory", expected=f"one of {known}", got=buffer)

    def __str__(self) -> str:
        """A table: a line a buffer, and for each cache what it fetches and what it writes back."""
        head = "".join(f"{name:>24}" for name in map(_size, self.levels))
        under = f"{'fetched':>13}{'returned':>11}" * len(self.levels)
        rows = [(e.buffer, e.fetched, e.returned) for e in self.buffers]
        both = [[sum(each) for each in zip(*(r[i] for r in rows), strict=True)] for i in (1, 2)]
        lines = [
            f"{name:<8}" + "".join(f"{f:>13,}{r:>11,}" for f, r in zip(fetch, back, strict=True))
            for name, fetch, back in (*rows, ("all", *both))
        ]
        return "\n".join((f"bytes   {head}", f"        {under}", *lines))


def _size(cache: Cache) -> str:
    return f"cache of {cache.bytes // 1024:,} KiB"


def traffic(program: IRModule | PrimFunc | Schedule, *levels: Cache) -> Traffic:
    """Bytes moved at each level for each buffer, from empty caches until all is written back.

    The caches and the order of accesses are those of ``cache.count``, and so are the misses: bytes
    fetched at a level, summed over the buffers, are its ``bytes_moved``. A line that was written
    goes back to the next level when another takes its place, or at the end; going back changes
    neither what that level holds nor which of its lines is the oldest. Buffers with the scope
    "local" are registers. Without levels, one cache of 32 KiB.

    Raises what ``cache.count`` raises.
    """
    levels = levels or (Cache(),)
    if [each.line for each in levels] != sorted(each.line for each in levels):
        raise SizeError("a level has shorter lines than the one before", got=levels)
    function = main_function(program).with_attr("global_symbol", "main")
    compact = main_function(compact_buffers(IRModule({"main": function})))
    steps = walk(compact)
    base = addresses.placed([*compact.params, *addresses.buffers(steps)], REGISTERS, 0)
    counter = Ledger(base, levels)
    tags = [int64_array(level.sets * level.ways, EMPTY) for level in levels]
    counts = int64_array(counter.row * len(base), 0)
    run = compile_program(counter.function(steps))
    run(*map(shared_tensor, tags), shared_tensor(counts))
    table = counts.reshape(len(base), counter.row)
    _write_the_rest_back(table, tags, levels, np.array(list(base.values())))
    return Traffic(levels, tuple(map(_moved, base, table, [levels] * len(base))))


def _moved(buffer: Var, row: NDArray[np.int64], levels: Sequence[Cache]) -> Moved:
    loads, stores, *lines = map(int, row)
    bytes_ = [n * level.line for n, level in zip(lines[::2], levels, strict=True)]
    back = [n * level.line for n, level in zip(lines[1::2], levels, strict=True)]
    return Moved(str(buffer.name), loads, stores, tuple(bytes_), tuple(back))


def _write_the_rest_back(
    table: NDArray[np.int64],
    tags: Sequence[NDArray[np.int64]],
    levels: Sequence[Cache],
    starts: NDArray[np.int64],
) -> None:
    """Charge the lines that are changed and still held: first cache to second, and so on."""
    changed = np.empty(0, np.int64)  # bytes at which they begin
    for level, (cache, held) in enumerate(zip(levels, tags, strict=True)):
        own = (held[(held != EMPTY) & (held & 1 == 1)] >> 1) * cache.line
        changed = np.unique(np.concatenate((changed // cache.line * cache.line, own)))
        owners = np.searchsorted(starts, changed, side="right") - 1
        np.add.at(table[:, 3 + 2 * level], owners, 1)

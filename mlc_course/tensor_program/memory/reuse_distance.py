"""Reuse distances: how many other lines a program uses between two uses of the same line.

A cache that holds the last n lines used, wherever they are, hits exactly where the distance is
below n. So one histogram of distances tells the misses of every such cache. Source: R. Mattson et
al., Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 9(2), 1970.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.memory.address_traces import Placed, address_trace
from mlc_course.tensor_program.memory.cache import int64_array
from mlc_course.tensor_program.tir import (
    PAGE,
    T,
    TensorProgram,
    compile_program,
    shared_tensor,
)

Counts = NDArray[np.int64]

WORD = 64  # bits
NEVER = -1
FEWEST_NUMBERS = 1 << 16


@dataclass(frozen=True, eq=False)
class Reuse:
    """Reuse distances of a program's lines of ``line`` bytes, by buffer.

    ``first`` counts the lines by the buffer that used each first; ``again[buffer][d]`` counts the
    later uses with d other lines, of any buffer, since the use before. A buffer that takes over the
    memory of another uses that one's lines again.
    """

    line: int
    first: Mapping[str, int]
    again: Mapping[str, Counts]

    @property
    def uses(self) -> int:
        return sum(self.first.values()) + sum(int(each.sum()) for each in self.again.values())

    @property
    def lines(self) -> int:
        return sum(self.first.values())

    def misses(self, lines: int, buffer: str | None = None) -> int:
        """Misses of a cache that holds the last ``lines`` lines used, in all or of one buffer.

        First uses, and uses at a distance of ``lines`` or more (Mattson 1970). Raises
        ``UsageError`` for a cache without lines, or a buffer that the program does not touch.
        """
        if lines < 1 or (buffer is not None and buffer not in self.first):
            raise UsageError(
                "no such misses",
                expected=f"1 line or more, and one of {', '.join(self.first)}",
                got=f"{lines} lines, buffer {buffer}",
            )
        names = self.first if buffer is None else [buffer]
        return sum(self.first[name] + int(self.again[name][lines:].sum()) for name in names)


def reuse(
    program: TensorProgram,
    *,
    line: int = 64,
    registers: Sequence[str] = ("local",),
) -> Reuse:
    """The reuse distances of a program, exact; some 20 million accesses a second.

    Loops, buffers and ``registers`` are as for ``cache.count``. Raises what that raises, and
    ``UsageError`` when a line is no power of two from 1 to 4096 bytes.
    """
    if line & (line - 1) or not 1 <= line <= PAGE:
        raise UsageError("not a line", expected=f"a power of two from 1 to {PAGE}", got=line)
    stream = address_trace(program, registers)
    end = max((each.start + each.bytes for each in stream.buffers), default=0)
    table = _Table(len(stream.buffers), max(-(-end // line), 1))
    for where, owners in stream.chunks():
        table.use(where >> (line.bit_length() - 1), owners)
    return Reuse(line, *_by_name(stream.buffers, table.counts))


def _by_name(buffers: Sequence[Placed], counts: Counts) -> tuple[dict[str, int], dict[str, Counts]]:
    first: dict[str, int] = {}
    again: dict[str, Counts] = {}
    for each, row in zip(buffers, counts, strict=True):
        first[each.name] = first.get(each.name, 0) + int(row[0])
        again[each.name] = again.get(each.name, 0) + row[1:]
    return first, again


class _Table:
    """Counts of distances, updated as lines are used.

    Each use gets the next of some numbers, and only the latest use of each line is marked: the
    distance is the number of marks since the line's own. Marks are bits of int64 words; ``tree``
    is a Fenwick tree of the words' marks, so that they are counted in a dozen steps.
    """

    def __init__(self, buffers: int, lines: int) -> None:
        self.numbers = max(FEWEST_NUMBERS, 1 << (4 * lines).bit_length())
        words = self.numbers // WORD
        self.counts = int64_array(buffers * (lines + 1), 0).reshape(buffers, -1)
        self.last = int64_array(lines, NEVER)  # number of each line's latest use
        self.marks, self.tree = int64_array(words, 0), int64_array(words, 0)
        self.state = int64_array(4, 0)  # uses done, next number, marks, the line used before
        self.state[3] = NEVER

    def use(self, lines: Counts, owners: Counts) -> None:
        """Count the distances of these uses by these buffers, which follow on the ones before."""
        used, by = int64_array(lines.size, 0), int64_array(lines.size, 0)
        used[:], by[:] = lines, owners
        arrays = (used, by, self.last, self.marks, self.tree, self.counts, self.state)
        tensors = [shared_tensor(each) for each in arrays]
        self.state[0] = 0
        while self.state[0] < used.size:
            _count_distances()(*tensors)
            if self.state[1] == self.numbers:
                self.renumber()

    def renumber(self) -> None:
        """Number the marked uses from 0 again, in their order, so that there is room for more."""
        (live,) = np.nonzero(self.last != NEVER)
        line_of = np.full(self.numbers, NEVER)
        line_of[self.last[live]] = live
        self.last[line_of[line_of != NEVER]] = np.arange(live.size)
        self.state[1] = live.size
        bits = np.arange(self.numbers) < live.size
        self.marks[:] = np.packbits(bits, bitorder="little").view("<i8")
        ends = np.arange(1, self.tree.size + 1)
        marked = np.minimum(np.arange(self.tree.size + 1) * WORD, live.size)
        self.tree[:] = marked[ends] - marked[ends - (ends & -ends)]


@functools.cache
def _count_distances() -> Callable[..., None]:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def count_distances(  # type: ignore[no-untyped-def]
        a: T.handle, b: T.handle, c: T.handle, d: T.handle, e: T.handle, f: T.handle, g: T.handle
    ):
        T.func_attr({"tirx.noalias": True, "global_symbol": "main"})
        uses, lines, words = T.int64(), T.int64(), T.int64()
        buffers, columns = T.int64(), T.int64()
        used = T.match_buffer(a, (uses,), "int64")
        owner = T.match_buffer(b, (uses,), "int64")
        last = T.match_buffer(c, (lines,), "int64")
        marks = T.match_buffer(d, (words,), "int64")
        tree = T.match_buffer(e, (words,), "int64")
        counts = T.match_buffer(f, (buffers, columns), "int64")
        state = T.match_buffer(g, (4,), "int64")
        at = T.sblock_alloc_buffer((1,), "int64", scope="local")
        since = T.sblock_alloc_buffer((1,), "int64", scope="local")
        while state[0] < uses and state[1] < words * 64:
            line: T.let = used[state[0]]
            seen: T.let = last[line]
            since[0] = T.int64(-1)  # a first use
            if line == state[3]:
                since[0] = T.int64(0)
            else:
                if (
                    seen >= 0
                ):  # marks after the line's own: all, without its word's and earlier ones
                    bit: T.let = T.shift_left(T.int64(1), seen & T.int64(63))
                    upto: T.let = T.popcount(marks[seen >> T.int64(6)] & (bit | (bit - T.int64(1))))
                    since[0] = state[2] - upto
                    at[0] = seen >> T.int64(6)
                    while at[0] > 0:
                        since[0] = since[0] - tree[at[0] - T.int64(1)]
                        at[0] = at[0] & (at[0] - T.int64(1))
                    marks[seen >> T.int64(6)] = marks[seen >> T.int64(6)] ^ bit
                    at[0] = (seen >> T.int64(6)) + T.int64(1)
                    while at[0] <= words:
                        tree[at[0] - T.int64(1)] = tree[at[0] - T.int64(1)] - T.int64(1)
                        at[0] = at[0] + (at[0] & (T.int64(0) - at[0]))
                else:
                    state[2] = state[2] + T.int64(1)
                new: T.let = state[1]
                word: T.let = new >> T.int64(6)
                marks[word] = marks[word] | T.shift_left(T.int64(1), new & T.int64(63))
                at[0] = word + T.int64(1)
                while at[0] <= words:
                    tree[at[0] - T.int64(1)] = tree[at[0] - T.int64(1)] + T.int64(1)
                    at[0] = at[0] + (at[0] & (T.int64(0) - at[0]))
                last[line] = new
                state[1] = new + T.int64(1)
                state[3] = line
            column: T.let = since[0] + T.int64(1)
            by: T.let = owner[state[0]]
            counts[by, column] = counts[by, column] + T.int64(1)
            state[0] = state[0] + T.int64(1)

    return compile_program(count_distances)

"""How do tiles lie in shared memory, so that the threads of a warp do not wait for each other?

Shared memory has 32 banks of 4 bytes; in one wavefront each bank serves one word, to all threads
that want it. A warp's access of up to 4 bytes a thread is served at once, of 8 bytes in two halves,
of 16 in four quarters. ``cost`` counts the wavefronts of an access; ``with_layouts`` takes for each
tile the cheapest of a few layouts: rows without gaps, a gap behind each row, or the chunks of a row
exchanged by XOR with the row's number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.kernels import (
    WARP,
    Body,
    Buffer,
    Guard,
    Kernel,
    Loop,
    Role,
    Threads,
    variables,
)
from mlc_course.mugraph.thread_kernels.thread_accesses import Accesses, accesses_of, with_buffers

BANKS, WORD = 32, 4
WIDEST = 16  # bytes of one access by a thread
MOST_CHUNKS = 8  # of WIDEST bytes: all banks
BytesOf = Callable[[Role], int]


@dataclass(frozen=True)
class Cost:
    """Wavefronts of some accesses, and the fewest that the same words could take."""

    wavefronts: int = 0
    least: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wavefronts + other.wavefronts, self.least + other.least)


# ---- counting


def statement_cost(statement: Threads, bytes_of: BytesOf, numbers: Mapping[str, int]) -> Cost:
    """Return the cost of a statement, with numbers for the loops around all threads."""
    total = Cost()
    for each in accesses_of(statement):
        if isinstance(each, Accesses) and (now := each.at(numbers)):
            total += cost(now, bytes_of(now.buffer.role))
    return total


def kernel_cost(kernel: Kernel, bytes_of: BytesOf) -> Cost:
    """Return the cost of all statements of a kernel, each counted once."""
    total = Cost()
    for statement, numbers in _statements(kernel.body, {}):
        total += statement_cost(statement, bytes_of, numbers)
    return total


def cost(accesses: Accesses, size: int) -> Cost:
    """Return the cost of an access by all threads, with ``size`` bytes an element."""
    if accesses.given:
        return Cost()
    place = accesses.buffer.flat(accesses.index)
    name, width = accesses.wide
    if name not in variables(place):
        width = 1
    ranges = sorted(accesses.ranges[1:], key=lambda each: each[0] == name)
    inner = replace(accesses, ranges=(accesses.ranges[0], *ranges))
    (places,), mask = inner.points([place])
    threads = places.shape[0]
    places, mask = places.reshape(threads, -1, width), mask.reshape(threads, -1, width)
    if width > 1 and _are_neighbours(places[mask.all(2)], width):
        at, here, size = places[..., 0] * size, mask[..., 0], size * width
    else:
        at, here = places.reshape(threads, -1) * size, mask.reshape(threads, -1)
    total = Cost()
    for piece in range(0, size, WIDEST):
        total += _counted(at + piece, here, min(size, WIDEST))
    return total


def _are_neighbours(places: Array, width: int) -> bool:
    steps = places - places[:, :1] == np.arange(width)
    return bool(steps.all() and (places[:, 0] % width == 0).all())


def _counted(at: Array, here: Array, size: int) -> Cost:
    """The cost of accesses at byte addresses: threads along the first axis, one access a column."""
    waves, least = wavefronts(at, here, size)
    return Cost(int(waves.sum()), int(least.sum()))


def wavefronts(at: Array, here: Array, size: int) -> tuple[Array, Array]:
    """Return the wavefronts of each access, and the fewest that its words could take.

    ``at`` are byte addresses of ``size`` bytes each, with threads along the first axis and one
    access a column; ``here`` says which of the threads take part.
    """
    together = WARP // max(1, size // WORD)  # threads that are served at once
    threads, columns = at.shape
    padded = -threads % together
    at = np.pad(at, ((0, padded), (0, 0)))
    here = np.pad(here, ((0, padded), (0, 0)))
    words = at[..., None] // WORD + np.arange(max(1, size // WORD))
    here = np.broadcast_to(here[..., None], words.shape)

    def grouped(x: Array) -> Array:
        """One line for each access of some threads that are served at once."""
        parts = x.reshape(-1, together, *x.shape[1:])
        return parts.transpose(0, 2, 1, 3).reshape(parts.shape[0] * columns, -1)

    words = np.where(grouped(here), grouped(words), -1)
    words.sort(axis=1)
    new = (words >= 0) & np.diff(words, axis=1, prepend=-1).astype(bool)
    banks = np.zeros((len(words), BANKS), np.int64)
    line = np.broadcast_to(np.arange(len(words))[:, None], words.shape)
    np.add.at(banks, (line[new], words[new] % BANKS), 1)
    least = -(-banks.sum(axis=1) // BANKS)
    each = (-1, columns)
    return banks.max(axis=1, initial=0).reshape(each).sum(0), least.reshape(each).sum(0)


def _statements(
    body: Body, numbers: Mapping[str, int]
) -> Iterator[tuple[Threads, Mapping[str, int]]]:
    """Every statement by threads; of a loop an iteration that is not the first."""
    for each in body:
        match each:
            case Threads():
                yield each, numbers
            case Loop(name, extent, inner):
                yield from _statements(inner, {**numbers, name: min(1, extent - 1)})
            case Guard(_, inner, otherwise):
                yield from _statements(inner, numbers)
                yield from _statements(otherwise, numbers)


# ---- choosing


def with_layouts(kernel: Kernel, bytes_of: BytesOf) -> tuple[Kernel, tuple[str, ...]]:
    """Return a kernel with the cheapest layout for each of its tiles, and the reasons."""
    found: dict[str, list[Accesses]] = {}
    for statement, numbers in _statements(kernel.body, {}):
        for each in accesses_of(statement):
            if isinstance(each, Accesses) and (now := each.at(numbers)):
                found.setdefault(now.buffer.name, []).append(now)
    chosen, reasons = dict[str, Buffer](), list[str]()
    for buffer in kernel.shared:
        size = bytes_of(buffer.role)
        uses = list(dict.fromkeys(found.get(buffer.name, ())))
        made, reason = best_layout(buffer, uses, size)
        chosen[buffer.name] = made
        if reason:
            reasons.append(reason)
    shared = tuple(chosen[each.name] for each in kernel.shared)
    body = with_buffers(kernel.body, chosen)
    return replace(kernel, shared=shared, body=body), tuple(reasons)


def best_layout(buffer: Buffer, uses: Sequence[Accesses], size: int) -> tuple[Buffer, str]:
    """Return the layout with the fewest wavefronts, then the fewest bytes, and why it is taken.

    There is nothing to say where rows without gaps are best and free of conflicts.
    """
    costs: dict[Buffer, Cost] = {}
    for layout in layouts(buffer, size):
        if any(each.copied and not _fits_copies(layout, each.wide[1]) for each in uses):
            continue
        costs[layout] = sum((cost(replace(u, buffer=layout), size) for u in uses), Cost())
        if costs[layout].wavefronts == costs[layout].least:
            break  # those after it are larger, or harder to read
    best = min(costs, key=lambda each: (costs[each].wavefronts, each.size))
    plain, taken = costs[buffer], costs[best]
    if best == buffer:
        left = plain.wavefronts - plain.least
        stays = f"{buffer.name}: rows without gaps, {plain.wavefronts} wavefronts of at least"
        return buffer, f"{stays} {plain.least}; no layout tried has fewer" if left else ""
    how = (
        f"a gap of {best.steps[-2] - buffer.shape[-1]} elements behind each row"
        if best.swizzle is None
        else f"chunks of {best.swizzle[0]} elements exchanged by the row's number"
    )
    return best, (
        f"{buffer.name}: {how}: {taken.wavefronts} wavefronts, not {plain.wavefronts} "
        f"(at least {taken.least})"
    )


def _fits_copies(buffer: Buffer, width: int) -> bool:
    """Tell whether rows begin where a copy of so many neighbours at once can."""
    long = [step for step, n in zip(buffer.steps, buffer.shape, strict=True) if n > 1]
    return all(step % width == 0 for step in long if step > 1)


def layouts(buffer: Buffer, size: int) -> Iterator[Buffer]:
    """Yield layouts of a tile, the simplest first: no gaps, chunks exchanged, gaps."""
    yield buffer
    if len(buffer.shape) < 2 or buffer.shape[-2] == 1:
        return
    columns, chunk = buffer.shape[-1], WIDEST // size
    chunks = math.gcd(columns // chunk, MOST_CHUNKS) if columns % chunk == 0 else 1
    if chunks > 1:
        yield replace(buffer, swizzle=(chunk, chunks))
    aligned = chunk if columns % chunk == 0 else 1
    for gap in dict.fromkeys((aligned, 2 * aligned, WORD // size, chunk)):
        if gap and (columns % aligned or gap % aligned == 0):
            yield replace(buffer, strides=_strides(buffer.shape, columns + gap))


def _strides(shape: Sequence[int], pitch: int) -> tuple[int, ...]:
    found, step = [1, pitch], pitch
    for extent in reversed(shape[1:-1]):
        step *= extent
        found.append(step)
    return tuple(reversed(found))

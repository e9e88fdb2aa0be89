"""A small program on a small cache, access by access: what comes in, stays, and is dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import accesses
from mlc_course.tensor_program.memory import AddressTrace, Cache, Placed, address_trace
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule, te

ROWS = 16
MOST = 2048  # accesses that anyone watches


@dataclass(frozen=True)
class Play:
    """A program to watch, and what to watch for."""

    name: str
    why: str
    program: Callable[[], Schedule]


@dataclass(frozen=True)
class Visit:
    """One access: ``element`` of a buffer, whose ``line`` is now in a way of a set.

    ``out`` is the line that was dropped, or None. ``hit`` is whether the line was there before.
    """

    buffer: str
    element: tuple[int, ...]
    line: int
    set: int
    way: int
    hit: bool
    out: int | None = None


@dataclass(frozen=True)
class Performance:
    """Every access of a program, and ``held[n]``: the line in each place after n of them.

    Places are counted set by set; None is an empty one. ``labels`` are the elements of each line.
    """

    cache: Cache
    buffers: tuple[Placed, ...]
    visits: tuple[Visit, ...]
    held: tuple[tuple[int | None, ...], ...]
    labels: dict[int, str]

    @property
    def misses(self) -> int:
        return sum(not visit.hit for visit in self.visits)

    def misses_until(self, step: int) -> int:
        """The misses among the first ``step`` accesses."""
        return sum(not visit.hit for visit in self.visits[:step])

    def said(self, step: int) -> str:
        """A sentence about the last of the first ``step`` accesses."""
        total = len(self.visits)
        if step == 0:
            return f"An empty cache; {total} accesses to come."
        visit = self.visits[step - 1]
        place = ", ".join(map(str, visit.element))
        found = "hit" if visit.hit else "miss"
        gone = f"; {self.labels[visit.out]} is dropped" if visit.out is not None else ""
        misses = self.misses_until(step)
        return (
            f"Access {step} of {total}: {visit.buffer}[{place}] is in set {visit.set}: "
            f"{found}{gone}. {misses} miss{'' if misses == 1 else 'es'} so far."
        )


def perform(program: IRModule | PrimFunc | Schedule | AddressTrace, cache: Cache) -> Performance:
    """Count what ``cache.count`` counts with one level, one access at a time.

    Raises what that raises, and ``UsageError`` for more than 2048 accesses.
    """
    stream = program if isinstance(program, AddressTrace) else address_trace(program)
    found = stream.addresses
    if found.size > MOST:
        raise UsageError("too long to watch", expected=f"{MOST} accesses", got=found.size)
    lines = (int(byte) // cache.line for byte in found)
    owners = (stream.buffers[owner] for owner in stream.owners)
    visits, labels = [], {}
    held: list[tuple[int | None, ...]] = [(None,) * (cache.sets * cache.ways)]
    taken = accesses(lines, sets=cache.sets, ways=cache.ways)
    for byte, buffer, each in zip(found, owners, taken, strict=True):
        number, way = divmod(each.place, cache.ways)
        element = buffer.element(int(byte))
        visits.append(Visit(buffer.name, element, each.line, number, way, each.hit, each.out))
        held.append(each.held)
        labels[each.line] = _label(buffer, each.line, cache.line)
    return Performance(cache, stream.buffers, tuple(visits), tuple(held), labels)


def _label(buffer: Placed, line: int, size: int) -> str:
    """``X[3, 4..7]``: the elements of a line that begin in one row; the first of them otherwise."""
    first = buffer.element(line * size)
    last_byte = min((line + 1) * size, buffer.start + buffer.bytes) - buffer.element_bytes
    last = buffer.element(max(last_byte, line * size))
    before = "".join(f"{index}, " for index in first[:-1])
    if last[:-1] != first[:-1] or last == first:
        return f"{buffer.name}[{before}{first[-1]}]" + ("" if last == first else "...")
    return f"{buffer.name}[{before}{first[-1]}..{last[-1]}]"


# --- what is played -------------------------------------------------------------------------------


def total(rows: int, columns: int, *, read: int | None = None, times: int = 1) -> Schedule:
    """The sum of X (rows, columns), in a register; of its first ``read`` columns, ``times`` over.

    The loops of block S are t, i and j; those of length one are left out.
    """
    x = te.placeholder((rows, columns), "float32", "X")
    extents = {"t": times, "i": rows, "j": columns if read is None else read}
    loops = {name: te.reduce_axis((0, n), name) for name, n in extents.items()}
    used = [loop for name, loop in loops.items() if extents[name] > 1 or name == "i"]
    column = loops["j"] if loops["j"] in used else 0
    summed = te.compute((1,), lambda s: te.sum(x[loops["i"], column], axis=used), name="S")
    sch = Schedule(te.create_prim_func([x, summed]))
    sch.cache_write(lookup.block(sch, "S"), 0, "local")
    return sch


def transpose(rows: int, columns: int) -> Schedule:
    """Y[j, i] = X[i, j], row by row of X, with X (rows, columns)."""
    x = te.placeholder((rows, columns), "float32", "X")
    y = te.compute((columns, rows), lambda j, i: x[i, j], name="Y")
    sch = Schedule(te.create_prim_func([x, y]))
    steps.reorder(sch, "Y", "i", "j")
    return sch


def down_the_columns(columns: int) -> Schedule:
    """The sum of X (16, columns), one column after the other."""
    sch = total(ROWS, columns, read=ROWS)
    steps.reorder(sch, "S", "j", "i")
    return sch


def transpose_in_tiles() -> Schedule:
    """The transpose of 16 x 16, in tiles of 4 x 4."""
    sch = transpose(ROWS, ROWS)
    steps.tile(sch, "Y", i=4, j=4)
    return sch


PLAYS = {
    play.name: play
    for play in (
        Play(
            "rows", "Each line is fetched once, and all of it is used.", lambda: total(ROWS, ROWS)
        ),
        Play(
            "columns",
            "A row is a power of two long, so a column uses only a few sets.",
            lambda: down_the_columns(ROWS),
        ),
        Play(
            "columns, padded",
            "Four elements more in each row, never read: the same column reaches other sets.",
            lambda: down_the_columns(ROWS + 4),
        ),
        Play(
            "one column, four times",
            "Sixteen lines, four times over: do they stay?",
            lambda: total(ROWS, ROWS, read=1, times=4),
        ),
        Play(
            "transpose",
            "One of the two matrices is walked down its columns, whichever loop is inside.",
            lambda: transpose(ROWS, ROWS),
        ),
        Play(
            "transpose, tiled",
            "Four rows of X and four of Y at a time.",
            transpose_in_tiles,
        ),
    )
}

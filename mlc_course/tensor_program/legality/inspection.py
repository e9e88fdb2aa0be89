"""Inspection of one block of a small program: what each of its iterations reads and writes.

The program is executed on paper (``instances``); nothing here knows what a body computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.errors import AxisError, BlockError, UsageError, check_known
from mlc_course.tensor_program.legality.instances import OUTSIDE, Executed, executed
from mlc_course.tensor_program.legality.verdicts import place
from mlc_course.tensor_program.tir import TensorProgram

MOST = 2_000  # iterations of the block
ALL = "all"  # in place of a loop: every iteration

Element = tuple[str, tuple[int, ...]]  # a buffer, and the place in it


@dataclass(frozen=True)
class Axis:
    """An axis of a block: ``kind`` is "S" or "R", ``value`` what it is bound to, as text."""

    name: str
    kind: str
    extent: int
    value: str


@dataclass(frozen=True)
class Moment:
    """One iteration: the values of the loops and of the axes, and the elements that it touches.

    ``init`` tells whether the block's init runs first.
    """

    at: Mapping[str, int]
    axes: Mapping[str, int]
    reads: tuple[Element, ...]
    writes: Element
    init: bool

    @property
    def place(self) -> str:
        """The element that is written, as the program writes it: ``P[1, 2]``."""
        return place(*self.writes)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.at.items())


@dataclass(frozen=True)
class Access:
    """A block's access to a buffer, with its ``text`` in the program."""

    buffer: str
    shape: tuple[int, ...]
    text: str
    writes: bool


@dataclass(frozen=True)
class Inspection:
    """A block with all its iterations, in the order in which they run."""

    program: TensorProgram
    block: str
    loops: Mapping[str, int]
    axes: tuple[Axis, ...]
    accesses: tuple[Access, ...]
    moments: tuple[Moment, ...]

    @property
    def kinds(self) -> str:
        """The kinds of the axes as the letters of ``T.axis.remap``: ``SSR``."""
        return "".join(axis.kind for axis in self.axes)

    def moment(self, at: Mapping[str, int]) -> Moment:
        """The iteration at these values; raises ``AxisError`` when there is none."""
        self.check(at)
        for each in self.moments:
            if each.at == dict(at):
                return each
        raise AxisError(f"block {self.block}: this iteration is left out", got=dict(at))

    def along(self, loop: str, at: Mapping[str, int]) -> tuple[Moment, ...]:
        """The iterations along one loop, the others fixed as in ``at``; with ``ALL``, every one.

        Raises ``AxisError`` for a loop or a value that does not exist.
        """
        self.check(at)
        if loop == ALL:
            return self.moments
        check_known(f"block {self.block} has no loop", loop, (*self.loops, ALL), AxisError)
        fixed = {name: value for name, value in at.items() if name != loop}
        return tuple(m for m in self.moments if fixed.items() <= m.at.items())

    def check(self, at: Mapping[str, int]) -> None:
        """Raise ``AxisError`` unless ``at`` has a value for each loop, within its extent."""
        asked, known = set(at), set(self.loops)
        good = asked == known and all(
            type(at[name]) is int and 0 <= at[name] < extent for name, extent in self.loops.items()
        )
        if not good:
            ranges = ", ".join(f"{name} in 0..{n - 1}" for name, n in self.loops.items())
            raise AxisError(f"block {self.block}: no such iteration", expected=ranges, got=dict(at))

    def moving(self, loop: str) -> tuple[Axis, ...]:
        """The axes whose values change along a loop; with ``ALL``, along any."""
        start = self.moments[0].at
        found = self.along(loop, start)
        return tuple(a for a in self.axes if len({m.axes[a.name] for m in found}) > 1)

    @property
    def collision(self) -> tuple[Moment, Moment] | None:
        """The first two iterations that write one element, and not as terms of a sum.

        Their axes have the same values, or different values of an axis that is declared spatial.
        """
        first: dict[Element, Moment] = {}
        for moment in self.moments:
            other = first.setdefault(moment.writes, moment)
            if other is not moment and (
                other.axes == moment.axes or self._spatial(other) != self._spatial(moment)
            ):
                return other, moment
        return None

    @property
    def collisions(self) -> frozenset[Element]:
        """The elements that such iterations write (see ``collision``)."""
        seen: dict[Element, list[Moment]] = {}
        for moment in self.moments:
            seen.setdefault(moment.writes, []).append(moment)
        return frozenset(
            element
            for element, all_of_it in seen.items()
            if len({tuple(m.axes.values()) for m in all_of_it}) < len(all_of_it)
            or len({self._spatial(m) for m in all_of_it}) > 1
        )

    @property
    def missed(self) -> tuple[Element, ...]:
        """The elements of the written buffer that no iteration writes."""
        written = {moment.writes for moment in self.moments}
        name, shape = self.moments[0].writes[0], self.accesses[-1].shape
        every = ((name, tuple(map(int, index))) for index in np.ndindex(*shape))
        return tuple(element for element in every if element not in written)

    def _spatial(self, moment: Moment) -> tuple[int, ...]:
        return tuple(moment.axes[axis.name] for axis in self.axes if axis.kind == "S")


def touched(moments: Sequence[Moment]) -> tuple[Counter[Element], Counter[Element]]:
    """Counts of the reads and of the writes of each element, without inits."""
    reads = Counter(element for moment in moments for element in moment.reads)
    return reads, Counter(moment.writes for moment in moments)


def blocks(program: TensorProgram) -> tuple[str, ...]:
    """The names of the blocks, in program order."""
    names = dict.fromkeys(part.statement.block for part in executed(program))
    return tuple(name for name in names if name and not _is_init(name, names))


def inspected(program: TensorProgram, block: str | None = None) -> Inspection:
    """Inspect a block of a program, by default the first.

    Raises ``BlockError`` for a block that does not exist, and ``UsageError`` for one with several
    statements or more than ``MOST`` iterations, and for what ``executed`` refuses.
    """
    parts = executed(program)
    known = blocks(program)
    chosen = known[0] if block is None and known else block
    if chosen is None or chosen not in known:
        raise BlockError(
            f"no block {chosen!r}" if block else "a program without blocks",
            expected=f"one of {', '.join(known)}" if known else 'with T.sblock("..."): ...',
            got=chosen or "bare loops",
        )
    part = _only([part for part in parts if part.statement.block == chosen], chosen)
    inits = [each for each in parts if each.statement.block == f"{chosen}_init"]
    loops = {str(loop.var.name): loop.extent for loop in part.statement.loops}
    axes = tuple(
        Axis(str(a.var.name), "R" if a.reduces else "S", int(a.extent or 0), str(a.value))
        for a in part.statement.axes
    )
    began = {tuple(row) for each in inits for row in each.points.tolist()}
    moments = tuple(_moments(part, list(loops), axes, began))
    return Inspection(program, chosen, loops, axes, _accesses(part), moments)


def _only(parts: list[Executed], block: str) -> Executed:
    """The one statement of a block; raises ``UsageError`` for one that cannot be inspected."""
    if len(parts) != 1:
        raise UsageError(f"block {block}: not one statement", expected="one", got=len(parts))
    (part,) = parts
    if not 0 < len(part.times) <= MOST:
        raise UsageError(
            f"block {block}: not a number of iterations that can be looked at",
            expected=f"1 to {MOST:,}",
            got=f"{len(part.times):,}",
            hint="make the program smaller",
        )
    if (part.elements == OUTSIDE).any():
        raise UsageError(f"block {block}: an index leaves its buffer", expected="indices inside")
    names = [str(loop.var.name) for loop in part.statement.loops]
    if len({*names, ALL}) <= len(names) or any(loop.start for loop in part.statement.loops):
        raise UsageError(
            f"block {block}: loops that cannot be told apart",
            expected="names of their own, counting from 0",
            got=", ".join(names),
        )
    return part


def _is_init(name: str, names: Collection[str]) -> bool:
    return name.endswith("_init") and name.removesuffix("_init") in names


def _accesses(part: Executed) -> tuple[Access, ...]:
    """The buffers in the order in which the body reads them, then the one that it writes."""
    write, *reads = part.touches
    target = str(write.buffer.name)
    found: dict[str, Access] = {}
    for touch in (*reads, write):
        name = str(touch.buffer.name)
        if name != target or touch.writes:
            text = f"{name}[{', '.join(map(str, touch.indices))}]"
            shape = tuple(int(extent) for extent in touch.buffer.shape)
            found.setdefault(name, Access(name, shape, text, touch.writes))
    return tuple(found.values())


def _moments(
    part: Executed, loops: list[str], axes: tuple[Axis, ...], began: set[tuple[int, ...]]
) -> Iterator[Moment]:
    buffers = [(str(touch.buffer.name), touch.buffer.shape) for touch in part.touches]
    for row in np.argsort(part.times).tolist():
        point = tuple(part.points[row].tolist())
        values = part.axes[row].tolist()
        places = [
            (name, tuple(int(i) for i in np.unravel_index(flat, [int(n) for n in shape])))
            for (name, shape), flat in zip(buffers, part.elements[row].tolist(), strict=True)
            if flat >= 0
        ]
        yield Moment(
            at=dict(zip(loops, point, strict=True)),
            axes=dict(zip((axis.name for axis in axes), values, strict=True)),
            reads=tuple(places[1:]),
            writes=places[0],
            init=point in began,
        )

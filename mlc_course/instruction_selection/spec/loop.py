"""A specification: an inner loop in TensorIR, and the ranges that its inputs must be in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, evaluate, var
from mlc_course.instruction_selection.spec.cell import Cell, CellOperand
from mlc_course.instruction_selection.spec.line import Line
from mlc_course.instruction_selection.spec.reading import Memory, run
from mlc_course.instruction_selection.spec.tile import Place, Tile, TileBuffer
from mlc_course.tensor_program.tir import PrimFunc

Array: TypeAlias = "npt.NDArray[np.signedinteger | np.unsignedinteger]"


@dataclass(frozen=True, eq=False)
class Specification:
    """A loop to compute, over any number of outputs, and the formula of one output.

    ``cell`` is what a search looks for and a proof is of; ``tile`` says where its operands lie.
    ``line`` is the text that it was read from, if it was one. ``sentence`` is for a reader.
    """

    name: str
    cell: Cell
    tile: Tile
    sentence: str = ""
    line: str | None = None

    def prim_func(self, outputs: int, *, offset_factor: int = 0) -> PrimFunc:
        """Return the loop over so many outputs in TensorIR, with one block ``cell``.

        Buffers hold what these outputs read and write. With ``offset_factor=1`` it is the
        description of a tensor intrinsic: buffers may begin anywhere, and regions are listed in the
        order in which the body reads them.

        Raises:
            SizeError: no such number of outputs.
        """
        if outputs < 1:
            raise SizeError(f"{self.name}: outputs of a loop", expected="at least 1", got=outputs)
        return _prim_func(self, outputs, offset_factor)

    @property
    def places(self) -> Mapping[str, Place]:
        """Where the lanes of each operand of the cell lie."""
        return self.tile.places

    @property
    def result(self) -> Place:
        """Where the outputs lie."""
        return self.tile.result

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """The promised range of each buffer that has one narrower than its type."""
        promised = {
            self.places[each.name].buffer: each.range
            for each in self.cell.operands
            if each.range != (each.type.lo, each.type.hi)
        }
        return MappingProxyType(promised)

    @property
    def promise(self) -> str:
        """The promised ranges as text, such as ``A in 0..127``; empty without any."""
        return ", ".join(f"{name} in {lo}..{hi}" for name, (lo, hi) in self.ranges.items())

    @cached_property
    def text(self) -> str:
        """The specification as text that says all that matters: its line, or its TVMScript."""
        body = self.line or self.prim_func(1).script()
        return f"{body}\n# {self.promise}" if self.promise and not self.line else body

    def memory(self, outputs: int) -> Memory:
        """Return variables for the elements of the buffers that a tile reads."""
        return {name: dict(held) for name, held in _memory(self, outputs).items()}

    def lanes(self, outputs: int) -> dict[str, list[Formula]]:
        """Return the lanes of each operand in a tile: those of output 0 first, then of output 1.

        A shared operand has only the lanes that all outputs read.
        """
        memory = _memory(self, outputs)
        return {
            each.name: [
                memory[place.buffer][place.at(o, lane)]
                for o in range(1 if each.shared else outputs)
                for lane in range(each.lanes)
            ]
            for each in self.cell.operands
            for place in [self.places[each.name]]
        }

    def goals(self, outputs: int) -> list[Formula]:
        """Return the formulas of the outputs of a tile: its TensorIR, run on ``memory``."""
        after = run(self.prim_func(outputs), self.memory(outputs))
        return [after[self.result.buffer][self.result.at(o)] for o in range(outputs)]

    def inputs(self, outputs: int) -> Iterator[tuple[TileBuffer, tuple[int, ...]]]:
        """Yield the buffers that are read, with their shapes, in the order of the parameters."""
        for each in self.tile.buffers:
            if each.name in self.tile.reads:
                yield each, each.shape(outputs)

    def sample(self, outputs: int, seed: int = 0, *, extremes: float = 0.25) -> dict[str, Array]:
        """Return arrays of inputs within their promised ranges, the same ones for the same seed.

        That part of the elements is an end of its range or next to it, or -1, 0 or 1; others are
        spread evenly. Along the outputs, the first elements are the least ones and the last
        ones the greatest.
        """
        rng = np.random.default_rng(seed)
        found: dict[str, Array] = {}
        for buffer, shape in self.inputs(outputs):
            lo, hi = self.ranges.get(buffer.name, (buffer.type.lo, buffer.type.hi))
            of = buffer.type.numpy
            values = rng.integers(lo, hi, shape, dtype=of, endpoint=True)
            special = {x for x in (lo, lo + 1, hi - 1, hi, -1, 0, 1) if lo <= x <= hi}
            picked = rng.choice(np.array(sorted(special), dtype=of), shape)
            values = np.where(rng.random(shape) < extremes, picked, values)
            if outputs >= 4 and any(buffer.growth):
                along = next(d for d, growth in enumerate(buffer.growth) if growth)
                by_output = np.moveaxis(values, along, 0)
                by_output[0], by_output[-1] = lo, hi
            found[buffer.name] = np.ascontiguousarray(values)
        return found

    def evaluate(self, arrays: Mapping[str, npt.ArrayLike]) -> Array:
        """Return the outputs for arrays of inputs, computed on exact integers from the formula.

        Raises:
            SizeError: an array has another shape than any tile's.
            UsageError: an array has another type, or a value outside its promised range.
        """
        outputs = check_inputs(self, arrays)
        values: dict[Formula, Array] = {}
        for each in self.cell.operands:
            place = self.places[each.name]
            array = np.asarray(arrays[place.buffer])
            for lane, variable in enumerate(self.cell.inputs[each.name]):
                values[variable] = _column(array, place, lane, outputs)
        got = np.broadcast_to(evaluate(self.cell.goal, values), (outputs,))
        return got.astype(self.cell.result.numpy)

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def _column(array: Array, place: Place, lane: int, outputs: int) -> Array:
    """Return one lane of each output."""
    first = place.at(0, lane)
    o = np.arange(outputs)
    return array[tuple(f + o * step for f, step in zip(first, place.per_output, strict=True))]


def check_inputs(spec: Specification, arrays: Mapping[str, npt.ArrayLike]) -> int:
    """Check arrays that are given for the buffers a specification reads; return their outputs.

    Raises:
        SizeError: an array has another shape than any number of outputs reads.
        UsageError: an array is missing or of another type, or a value is outside its promised
            range; the first one is named.
    """
    wanted = [buffer for buffer, _ in spec.inputs(1)]
    if set(arrays) != {each.name for each in wanted}:
        raise UsageError(
            f"{spec.name}: arrays for its inputs",
            expected=", ".join(each.name for each in wanted),
            got=", ".join(arrays) or "none",
        )
    counts: dict[str, int] = {}
    for buffer in wanted:
        array = np.asarray(arrays[buffer.name])
        if array.dtype != buffer.type.numpy:
            raise UsageError(
                f"{spec.name}: the type of {buffer.name}",
                expected=buffer.type.dtype,
                got=array.dtype,
                hint="astype would change values that do not fit: look at them first",
            )
        outputs = _outputs(spec, buffer, array.shape)
        if outputs is not None:
            counts[buffer.name] = outputs
    if len(set(counts.values())) > 1:
        raise SizeError(
            f"{spec.name}: inputs are of different lengths",
            expected="the same number of outputs for all",
            got=", ".join(f"{name} is for {count}" for name, count in counts.items()),
        )
    check_ranges(spec, arrays)
    return next(iter(counts.values()), 1)


def check_ranges(spec: Specification, arrays: Mapping[str, npt.ArrayLike]) -> None:
    """Check the values of whole arrays of a program, of any shape, by the names of buffers.

    Raises:
        UsageError: a value is outside the range that is promised for its buffer; the first one is
            named.
    """
    for name, array in arrays.items():
        if name in spec.ranges:
            _check_range(spec, name, np.asarray(array))


def _outputs(spec: Specification, buffer: TileBuffer, shape: tuple[int, ...]) -> int | None:
    """Return how many outputs an array is for; ``None`` for an array that all outputs share."""
    found = None
    for d, growth in enumerate(buffer.growth):
        if growth and d < len(shape):
            found = max((shape[d] - buffer.base[d]) // growth + 1, 1)
    if shape != buffer.shape(found or 1):
        n = ["n" if b == 1 else f"n + {b - 1}" for b in buffer.base]
        want = [x if g else str(b) for x, g, b in zip(n, buffer.growth, buffer.base, strict=True)]
        raise SizeError(
            f"{spec.name}: the shape of {buffer.name}",
            expected=f"({', '.join(want)}) for n outputs",
            got=shape,
        )
    return found


def _check_range(spec: Specification, name: str, array: Array) -> None:
    lo, hi = spec.ranges[name]
    outside = np.argwhere((array < lo) | (array > hi))
    if len(outside):
        at = tuple(map(int, outside[0]))
        raise UsageError(
            f"{spec.name}: a value of {name} is outside the promised range",
            expected=f"{name} in {lo}..{hi}",
            got=f"{name}{list(at)} = {array[at]}, the first of {len(outside)}",
            hint="the result is proved for the promised range only: promise a wider one",
        )


@lru_cache(maxsize=1024)
def _prim_func(spec: Specification, outputs: int, offset_factor: int) -> PrimFunc:
    return spec.tile.prim_func(outputs, offset_factor=offset_factor)


@lru_cache(maxsize=256)
def _memory(spec: Specification, outputs: int) -> Memory:
    return variables(spec.cell.operands, spec.tile, outputs)


def variables(operands: tuple[CellOperand, ...], tile: Tile, outputs: int) -> Memory:
    """Return variables for all elements that the operands of a tile are.

    Those of the only operand of a buffer, and those of one output, are named by the operand: A[0],
    A[1], ... in the order of ``Specification.lanes``; others by their element.
    """
    readers: dict[str, int] = {}
    for each in operands:
        name = tile.places[each.name].buffer
        readers[name] = readers.get(name, 0) + 1
    memory: Memory = {}
    for each in operands:
        place = tile.places[each.name]
        held = memory.setdefault(place.buffer, {})
        by_operand = outputs == 1 or readers[place.buffer] == 1
        for o, lane in product(range(1 if each.shared else outputs), range(each.lanes)):
            at = place.at(o, lane)
            number: object = o * each.lanes + lane if by_operand else ", ".join(map(str, at))
            name = each.name if by_operand else place.buffer
            held.setdefault(at, var(f"{name}[{number}]", *each.range))
    return memory


def made(
    name: str,
    operands: tuple[CellOperand, ...],
    result: IntType,
    tile: Tile,
    *,
    sentence: str = "",
    line: str | None = None,
) -> Specification:
    """Return the specification of a tile, with the formula of its one output.

    Raises:
        UsageError: what running its TensorIR raises.
    """
    after = run(tile.prim_func(1), variables(operands, tile, 1))
    goal = after[tile.result.buffer][tile.result.at()]
    own = (x.name for x in operands if tile.places[x.name] == tile.result)
    cell = Cell(name, operands, result, goal, next(own, None))
    return Specification(name, cell, tile, sentence, line)


def from_line(line: Line, name: str, sentence: str = "") -> Specification:
    """Return the specification that a line makes: every operand is a parameter of its own.

    An operand of one lane is an array ``(n,)``, one of several ``(n, lanes)``, a shared one
    ``(lanes,)``.
    """
    places: dict[str, Place] = {}
    buffers: list[TileBuffer] = []
    for each in line.operands:
        dimensions = ([] if each.shared else [(1, 1, 0)]) + (
            [(each.lanes, 0, 1)] if each.lanes > 1 or each.shared else []
        )
        base, growth, lanes = zip(*dimensions, strict=True)
        places[each.name] = Place(each.name, (0,) * len(base), growth, lanes)
        buffers.append(TileBuffer(each.name, each.type, base, growth))
    result = Place(line.result, (0,), (1,), (0,))
    if not line.accumulates:
        buffers.append(TileBuffer(line.result, line.type, (1,), (1,)))
    tile = Tile(tuple(buffers), line.reads, places, result, line.lanes, line.value)
    return made(name, line.operands, line.type, tile, sentence=sentence, line=line.text)

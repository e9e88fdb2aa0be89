"""Where the lanes of a tile lie in memory, and the TensorIR loop over the tile.

A tile is some outputs that are neighbours in memory. Its buffers hold just what these outputs read
and write, so the same loop over another number of outputs has buffers of another size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.instruction_selection.integers import IntType
from mlc_course.tensor_program.tir import (
    Expr,
    IRBuilder,
    PrimFunc,
    Var,
    tir_builder,
    tirx,
)

# Returns what an output stores, from a function that gives the value of an operand by its name.
Value: TypeAlias = Callable[[Callable[[str], Expr]], Expr]


@dataclass(frozen=True)
class Place:
    """Where the lanes of one operand, or of the result, lie in a buffer of the tile.

    Lane l of output o is at ``indices + o * per_output + l * per_lane``, one number a dimension.
    """

    buffer: str
    indices: tuple[int, ...]
    per_output: tuple[int, ...]
    per_lane: tuple[int, ...]

    def at(self, output: int = 0, lane: int = 0) -> tuple[int, ...]:
        """Return the indices of one lane of one output."""
        steps = zip(self.indices, self.per_output, self.per_lane, strict=True)
        return tuple(first + output * o + lane * k for first, o, k in steps)


@dataclass(frozen=True)
class TileBuffer:
    """A buffer of a tile: ``base`` is its shape for one output, and each more adds ``growth``.

    The rows of a ``strided`` buffer are not neighbours in memory, as those of a part of an image.
    """

    name: str
    type: IntType
    base: tuple[int, ...]
    growth: tuple[int, ...]
    strided: bool = False

    def shape(self, outputs: int) -> tuple[int, ...]:
        """Return the shape of the buffer in a tile of so many outputs."""
        return tuple(b + g * (outputs - 1) for b, g in zip(self.base, self.growth, strict=True))

    def strides(self) -> tuple[str | int, ...] | None:
        """Return names for the strides of a strided buffer, as TVMScript writes them."""
        if not self.strided:
            return None
        return (*(f"{self.name}_s{i}" for i in range(len(self.base) - 1)), 1)

    def declaration(self, outputs: int, offset_factor: int = 1) -> str:
        """Return the parameter in TVMScript, such as ``A: T.Buffer((8,), "uint8", ...)``."""
        parts = [f"({', '.join(map(str, self.shape(outputs)))},)", f'"{self.type.dtype}"']
        if self.strided:
            parts.append(f"strides={self.strides()}")
        if offset_factor:
            parts.append(f"offset_factor={offset_factor}")
        return f"{self.name}: T.Buffer({', '.join(parts)})"

    def region(self, outputs: int) -> str:
        """Return the whole buffer as a region in TVMScript, such as ``A[0:8, 0:4]``."""
        return f"{self.name}[{', '.join(f'0:{extent}' for extent in self.shape(outputs))}]"


@dataclass(frozen=True)
class Tile:
    """A loop over any number of outputs, each of which adds over ``lanes`` lanes.

    ``buffers`` are in the order of the parameters, ``reads`` in the order in which the body reads
    them, which is how tensorize compares regions.
    """

    buffers: tuple[TileBuffer, ...]
    reads: tuple[str, ...]
    places: Mapping[str, Place]
    result: Place
    lanes: int
    value: Value

    def buffer(self, name: str) -> TileBuffer:
        return next(each for each in self.buffers if each.name == name)

    def prim_func(self, outputs: int, *, offset_factor: int = 0) -> PrimFunc:
        """Return the loop over so many outputs, with one block ``cell``.

        With an ``offset_factor`` the buffers may begin anywhere, and the root block names its
        regions: the form of a tensor intrinsic's description.
        """
        with IRBuilder() as builder, tir_builder.prim_func(s_tir=True):
            tir_builder.func_name("main")
            held = {x.name: _parameter(x, outputs, offset_factor) for x in self.buffers}
            if offset_factor:
                with tir_builder.sblock("root"):
                    tir_builder.reads(*(self._region(held, x, outputs) for x in self.reads))
                    tir_builder.writes(self._region(held, self.result.buffer, outputs))
                    self._loop(held, outputs)
            else:
                self._loop(held, outputs)
        made = builder.get()
        assert isinstance(made, PrimFunc)
        return made

    def _region(self, held: Mapping[str, Var], name: str, outputs: int) -> Expr:
        return held[name][tuple(slice(0, x) for x in self.buffer(name).shape(outputs))]

    def _loop(self, held: Mapping[str, Var], outputs: int) -> None:
        reduces = self.lanes > 1
        extents = (outputs, self.lanes) if reduces else (outputs,)
        with tir_builder.grid(*extents) as found:
            loops = tuple(found) if reduces else (found,)
            IRBuilder.name_many(["i", "k"][: len(extents)], loops)
            with tir_builder.sblock("cell"):
                i = tir_builder.axis.spatial(outputs, loops[0])
                IRBuilder.name("vi", i)
                k = tirx.const(0, "int32")
                if reduces:
                    k = tir_builder.axis.reduce(self.lanes, loops[-1])
                    IRBuilder.name("vk", k)

                def load(name: str) -> Expr:
                    place = self.places[name]
                    return held[place.buffer][tuple(_indices(place, i, k))]

                indices = _indices(self.result, i, k)
                tir_builder.buffer_store(held[self.result.buffer], self.value(load), indices)


def _parameter(buffer: TileBuffer, outputs: int, offset_factor: int) -> Var:
    strides = buffer.strides() if offset_factor else None
    more = {"offset_factor": offset_factor} | ({"strides": strides} if strides else {})
    of = tir_builder.Buffer(buffer.shape(outputs), buffer.type.dtype, **more)
    return tir_builder.arg(buffer.name, of)


def _indices(place: Place, i: Expr, k: Expr) -> list[Expr]:
    """Return the indices of lane k of output i, as short as a reader would write them."""
    return [
        _sum([_times(i, o), _times(k, lane)], first)
        for first, o, lane in zip(place.indices, place.per_output, place.per_lane, strict=True)
    ]


def _times(x: Expr, factor: int) -> Expr | None:
    if factor == 0 or (isinstance(x, tirx.IntImm) and int(x.value) == 0):
        return None
    return x if factor == 1 else x * factor


def _sum(terms: Sequence[Expr | None], first: int) -> Expr:
    found: Expr | None = None
    for each in terms:
        if each is not None:
            found = each if found is None else found + each
    if found is None:
        return tirx.const(first, "int32")
    return found + first if first else found

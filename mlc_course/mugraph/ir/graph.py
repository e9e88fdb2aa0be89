"""A kernel graph: a whole program, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir.arithmetic import Shape
from mlc_course.mugraph.ir.check import (
    Tiles,
    check_block,
    check_count,
    check_names,
    check_values,
    result_shape,
)
from mlc_course.mugraph.ir.nodes import BlockGraph, Equation, Input, value_names
from mlc_course.mugraph.ir.printer import graph_text


@dataclass(frozen=True)
class KernelGraph:
    """A program: its inputs, its equations, the numbers of the values that it returns.

    ``sizes`` holds the extent of every dimension of its inputs by name, in the order in which they
    name them. Raises ``GraphError`` or ``ShapeError`` when something does not fit. Two graphs are
    equal when they differ in names only.
    """

    name: str = field(compare=False)
    inputs: tuple[Input, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[int, ...]
    sizes: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        dims = list(dict.fromkeys(dim for each in self.inputs for dim in each.dims))
        given = [name for name, _ in self.sizes]
        if sorted(given) != sorted(dims):
            raise GraphError(
                f"{self.name}: sizes",
                expected=f"one for each dimension: {', '.join(dims)}",
                got=", ".join(given) or "none",
            )
        for name, size in self.sizes:
            if size < 1:
                raise GraphError(f"size {name}", expected="1 or more", got=size)
        object.__setattr__(self, "sizes", tuple((dim, self.size_of[dim]) for dim in dims))
        if not all((self.name, *(each.name for each in self.inputs))):
            raise GraphError("a graph, or one of its inputs, without a name", expected="a word")
        check_names((self.name,), f"{self.name}: its name")
        check_names(dims, f"{self.name}: dimensions")
        check_names(self.names, f"{self.name}: values")
        if not self.outputs:
            raise GraphError(f"{self.name}: returns nothing", expected="one value or more")
        _ = self._checked  # a graph that exists is a graph that fits

    @cached_property
    def size_of(self) -> dict[str, int]:
        return dict(self.sizes)

    @cached_property
    def _checked(self) -> tuple[tuple[Shape, ...], Mapping[int, Tiles]]:
        shapes = [tuple(self.size_of[dim] for dim in each.dims) for each in self.inputs]
        tiles: dict[int, Tiles] = {}
        for place, equation in enumerate(self.equations):
            try:
                check_values(equation.operands, len(shapes))
                operands = [shapes[number] for number in equation.operands]
                if isinstance(equation.op, BlockGraph):
                    tiles[place] = check_block(equation.op, operands, self.size_of)
                    results = tiles[place].results
                else:
                    results = (result_shape(equation, operands, self.size_of),)
                check_count(equation, len(results))
                shapes += results
            except CourseError as error:
                error.add_note(f"in {equation}")
                raise
        check_values(self.outputs, len(shapes))
        return tuple(shapes), tiles

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of every value: inputs, then results."""
        return self._checked[0]

    @property
    def input_shapes(self) -> dict[str, Shape]:
        """The shape of each input by its name."""
        return {each.name: shape for each, shape in zip(self.inputs, self.shapes, strict=False)}

    @property
    def output_shapes(self) -> tuple[Shape, ...]:
        return tuple(self.shapes[number] for number in self.outputs)

    def tiles(self, place: int) -> Tiles:
        """Shapes and stages of the values inside the block graph of equation ``place``."""
        return self._checked[1][place]

    def results(self, place: int) -> range:
        """Return the numbers of the values that equation ``place`` makes."""
        first = len(self.inputs) + sum(len(each.names) for each in self.equations[:place])
        return range(first, first + len(self.equations[place].names))

    @property
    def blocks(self) -> Iterator[tuple[int, BlockGraph]]:
        """Each graph-defined operator, with the place of its equation."""
        for place, equation in enumerate(self.equations):
            if isinstance(equation.op, BlockGraph):
                yield place, equation.op

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every value: inputs, then results."""
        return value_names((each.name for each in self.inputs), self.equations)

    def resized(self, sizes: Mapping[str, int]) -> KernelGraph:
        """Return the same program on other sizes; sizes that are not named stay."""
        return replace(self, sizes=tuple((name, sizes.get(name, n)) for name, n in self.sizes))

    def __str__(self) -> str:
        return graph_text(self.name, self.inputs, self.equations, self.outputs, self.size_of)

"""Programs as plain data, for superoptimizers of a page: lines, dimensions, and what a graph moves.

A dimension of a value has a name, such as ``b``, or is ``"1"`` where there is only one element
along it. So the names tell what a grid may cut and over what a line adds up.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.cost import total, traffic
from mlc_course.mugraph.ir import BlockGraph, Equation, KernelGraph, ThreadGraph, call, ops, parse
from mlc_course.mugraph.verify import Bounds, Field, compared, draw, family, formulas

MODULUS, REDRAWS = 31, 20
ITEMSIZE = 4  # bytes of an element: float32, as CPUs compute
Dims = tuple[str, ...]
SIZE = re.compile(r"(?<==1/)[A-Za-z]\w*")  # what a constant divides by


class Line(NamedTuple):
    """One operator of a program: ``total = sum(squares, axis=1)``.

    ``operands`` are names of values, ``rest`` is what follows them: ``axis=1``, or nothing.
    """

    name: str
    op: str
    operands: tuple[str, ...]
    rest: str = ""

    def __str__(self) -> str:
        inside = [*self.operands, self.rest] if self.rest else self.operands
        return f"{self.name} = {self.op}({', '.join(inside)})"


class Program(NamedTuple):
    """A program in predefined operators; ``dims`` has the dimensions of every value by its name.

    ``head`` is the first line of its text, ``sizes`` the extent of every dimension.
    """

    head: str
    lines: tuple[Line, ...]
    outputs: tuple[str, ...]
    dims: dict[str, Dims]
    sizes: dict[str, int]

    def with_lines(self, lines: Sequence[Line]) -> Program:
        """Return the program with other lines, whose dimensions are computed anew."""
        return read_program(self._text(lines))

    def part(self, lines: Sequence[Line]) -> Program:
        """Return some of the lines as a program of its own.

        It takes what they read from elsewhere, and returns what is needed elsewhere.
        """
        made = [line.name for line in lines]
        read = dict.fromkeys(name for line in lines for name in line.operands)
        rest = [line for line in self.lines if line.name not in made]
        needed = {name for line in rest for name in line.operands} | {*self.outputs}
        read_elsewhere = [name for name in read if name not in made]
        inputs = [self._input(name) for name in read_elsewhere]
        known = {dim for name in read_elsewhere for dim in self.dims[name]}
        for line in lines:
            for dim in SIZE.findall(line.rest):
                if dim in self.sizes and dim not in known:  # a size that only a constant names
                    inputs.append(f"size_{dim}[{dim}={self.sizes[dim]}]")
                    known.add(dim)
        outputs = [name for name in made if name in needed]
        body = [*map(str, lines), f"return {', '.join(outputs)}"]
        return read_program("\n  ".join([f"part({', '.join(inputs)}):", *body]))

    def _input(self, name: str) -> str:
        dims = (dim if dim == "1" else f"{dim}={self.sizes[dim]}" for dim in self.dims[name])
        return f"{name}[{', '.join(dims)}]"

    def summed(self, line: Line) -> str | None:
        """Return the dimension over which a line adds up or compares, or None."""
        if line.op == "matmul":
            return self.dims[line.operands[0]][-1]
        axis = dict(part.split("=") for part in line.rest.split(", ") if part).get("axis")
        return None if axis is None else self.dims[line.operands[0]][int(axis)]

    def __str__(self) -> str:
        return self._text(self.lines)

    def _text(self, lines: Sequence[Line]) -> str:
        body = [f"  {line}" for line in (*lines, f"return {', '.join(self.outputs)}")]
        return "\n".join([self.head, *body])


class Moved(NamedTuple):
    """Counts of a graph, elements being float32.

    ``bytes`` are loaded and stored by all blocks of all kernels; ``shared`` is what a block holds.
    """

    launches: int
    bytes: int
    shared: int


def read_program(text: str) -> Program:
    """Return a program as plain data.

    Raises ``GraphError`` for a text that is none, and ``UsageError`` for one with block graphs.
    """
    graph = parse(text)
    dims = dict(zip(graph.names, _dims(graph), strict=True))
    lines = []
    for each in graph.equations:
        if isinstance(each.op, BlockGraph | ThreadGraph):
            raise UsageError("a program with block graphs", expected="predefined operators alone")
        operands = tuple(graph.names[number] for number in each.operands)
        rest = call(each, []).removeprefix(f"{each.op.name}(").removesuffix(")")
        lines.append(Line(each.names[0], each.op.name, operands, rest))
    outputs = tuple(graph.names[number] for number in graph.outputs)
    return Program(str(graph).splitlines()[0], tuple(lines), outputs, dims, graph.size_of)


def _dims(graph: KernelGraph) -> list[Dims]:
    found = [tuple("1" if graph.size_of[d] == 1 else d for d in i.dims) for i in graph.inputs]
    for number, each in enumerate(graph.equations, start=len(found)):
        found.append(_of_result(each, [found[n] for n in each.operands], graph.shapes[number]))
    return found


def _of_result(equation: Equation, operands: Sequence[Dims], shape: Sequence[int]) -> Dims:
    if equation.op is ops.matmul:
        return (*operands[0][:-1], operands[1][-1])
    names = [max(places, key=lambda name: name != "1") for places in zip(*operands, strict=True)]
    return tuple("1" if size == 1 else name for name, size in zip(names, shape, strict=True))


def written(program: Program, kernels: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return a graph's text; a kernel is the first line of a block graph, and the lines in it.

    ``("block grid(x=8):", ["x = load(X, imap={x: 0})", ...])`` is one of them. A line alone, such
    as ``("y = exp(X)", [])``, is a kernel too. It returns what the program returns.
    """
    text = [program.head]
    for first, inside in kernels:
        text += [f"  {first}", *(f"    {line}" for line in inside)]
    return "\n".join([*text, f"  return {', '.join(program.outputs)}"])


def measured(text: str) -> Moved:
    """Return how often a graph launches a kernel, and how many bytes it moves and holds."""
    whole = traffic(parse(text), ITEMSIZE)
    together = total(whole)
    return Moved(len(whole), together.loaded + together.stored, together.shared)


def passes(program: str, graph: str, seed: int) -> bool:
    """Test once whether two texts compute the same: lesson 17's test, modulo 31.

    Sizes are small ones of the same structure. A test that divides by zero is drawn again. A wrong
    graph passes now and then. Raises ``GraphError`` for other inputs than those of the program.
    """
    left, right = parse(program), parse(graph)
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        return False
    small = family(left, right, 2).smallest()
    bounds, rng = Bounds(1), random.Random(seed)
    pairs = formulas(small.left, small.right, bounds)
    most = max(max(len(a.compared | b.compared), len(a.calls | b.calls)) for a, b in pairs)
    for _ in range(REDRAWS):
        field = Field([draw(MODULUS, bounds.height, rng)], rng, most)
        equal, known = compared(small.left, small.right, field)[0, 0]
        if known.all():
            return bool(equal[0])
    raise Undecided(f"something is divided by zero in every test modulo {MODULUS}")

"""The same kernel on fewer blocks and iterations, on which it can be run over residues.

Tiles keep their extents, and so do dimensions that are not cut: only the number of steps changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError
from mlc_course.mugraph.codegen import Cut, Tiling
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, Shape
from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Apply,
    Buffer,
    Compute,
    Constant,
    Copy,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Statement,
    Value,
    body_lines,
    rewritten,
    var,
    with_indices,
)

BLOCKS, ITERATIONS = 2, 3
MORE_PARTS = 3  # that an axis may need whose parts are cut once more
Tilings = Mapping[int, Tiling]


@dataclass(frozen=True)
class Smaller:
    """A graph on smaller sizes, and the tiling of the block graph at each place."""

    graph: KernelGraph
    tilings: Tilings


def smaller(graph: KernelGraph, tilings: Tilings, iterations: int = ITERATIONS) -> Smaller:
    """Return a graph that needs few steps with tiles of the extents of these tilings.

    Each axis of a grid has two steps, each loop ``iterations``, or as many as it had, if these are
    fewer, and a short last step if it had one. An axis keeps its steps where fewer do not fit.
    """
    search = _Search(graph, tilings, iterations)
    found = search.fitted(graph.size_of)
    assert found, "a graph fits its own sizes"
    for group in search.groups():
        tried = itertools.product(search.candidates(group), range(MORE_PARTS))
        fitted = (search.fitted({**found.graph.size_of, **sizes}, more) for sizes, more in tried)
        found = next((each for each in fitted if each), found)
    return found


class _Search:
    def __init__(self, graph: KernelGraph, tilings: Tilings, iterations: int) -> None:
        self.graph, self.tilings, self.iterations = graph, tilings, iterations
        self.blocks = dict(graph.blocks)

    # ---- which sizes there are to choose from

    def groups(self) -> list[frozenset[str]]:
        """Return sizes that are cut, those together that one axis cuts."""
        found: list[frozenset[str]] = []
        for _, _, names in self._cut_inputs():
            apart = [each for each in found if not each & names]
            found = [*apart, names.union(*(each for each in found if each & names))]
        return found

    def _cut_inputs(self) -> Iterator[tuple[int, str, frozenset[str]]]:
        """Yield each axis that cuts an input, with the sizes that it cuts."""
        for place, block in self.blocks.items():
            for axis in self._axes(place):
                names = {name for name, cuts, _ in self._dims(place) if axis in cuts and name}
                if names and block:
                    yield place, axis, frozenset(names)

    def _axes(self, place: int) -> list[str]:
        block = self.blocks[place]
        return [axis for axis, _ in (*block.grid, *block.loops)]

    def _dims(self, place: int) -> Iterator[tuple[str, list[str], list[int]]]:
        """Yield each loaded dimension: its name, the axes that cut it, extents before and after."""
        block, graph = self.blocks[place], self.graph
        operands = graph.equations[place].operands
        for number, load in zip(operands, block.loads, strict=True):
            dims = graph.inputs[number].dims if number < len(graph.inputs) else ()
            for dim, extent in enumerate(graph.shapes[number]):
                cuts = [axis for axis, cut in (*load.imap, *load.fmap) if cut == dim]
                yield dims[dim] if dims else "", cuts, self._extents(place, extent, cuts)

    def _extents(self, place: int, extent: int, cuts: Sequence[str]) -> list[int]:
        found = [extent]
        for axis in cuts:
            cut = self.tilings[place][axis]
            found.append(cut.tile or found[-1] // cut.steps)
        return found

    def candidates(self, group: frozenset[str]) -> Iterator[Mapping[str, int]]:
        """Yield sizes for the group, the smallest first, that differ by whole innermost tiles."""
        tiles = dict.fromkeys(group, 0)
        for place in self.blocks:
            for name, cuts, extents in self._dims(place):
                if cuts and name in tiles:
                    tiles[name] = math.gcd(tiles[name], extents[-1])
        full = self.graph.size_of
        steps = min((full[name] - 1) // tile for name, tile in tiles.items() if tile)
        for fewer in range(steps, 0, -1):
            yield {name: full[name] - fewer * tile for name, tile in tiles.items()}

    # ---- which tiling fits given sizes

    def fitted(self, sizes: Mapping[str, int], more: int = 0) -> Smaller | None:
        """Return the graph on these sizes, with tiles as they were; None where nothing fits.

        ``more`` is how many more parts than needed an axis has whose parts are cut once more.
        """
        graph = self.graph
        equations, tilings = list(graph.equations), dict[int, Tiling]()
        try:
            for place, block in self.blocks.items():
                before = replace(
                    graph,
                    sizes=tuple(sizes.items()),
                    equations=tuple(equations[:place]),
                    outputs=(0,),
                )
                tiling = self._tiling(place, before.shapes, more)
                if tiling is None:
                    return None
                tilings[place] = tiling
                equations[place] = replace(equations[place], op=_recut(block, tiling))
            made = replace(graph, sizes=tuple(sizes.items()), equations=tuple(equations))
        except CourseError:
            return None
        return Smaller(made, tilings)

    def _tiling(self, place: int, shapes: Sequence[Shape], more: int) -> Tiling | None:
        block, full = self.blocks[place], self.tilings[place]
        steps: dict[str, int] = {}
        for number, load in zip(self.graph.equations[place].operands, block.loads, strict=True):
            for dim, extent in enumerate(shapes[number]):
                cuts = [axis for axis, cut in (*load.imap, *load.fmap) if cut == dim]
                before = self._extents(place, self.graph.shapes[number][dim], cuts)
                for axis, had, tile in zip(cuts, before, before[1:], strict=False):
                    cut, inner = full[axis], axis == cuts[-1]
                    rest = cut.rest if cut.tile else tile
                    fixed = inner or bool(cut.tile)
                    count = self._wanted(place, cut) + more
                    if fixed:
                        count = (extent - rest) // tile + 1
                    if fixed and (count < 1 or (count - 1) * tile + rest != extent):
                        return None
                    if extent == had:  # nothing to change along this dimension
                        count = cut.steps
                    if extent % count and not cut.tile or steps.setdefault(axis, count) != count:
                        return None
                    extent = tile if fixed else extent // count
                if extent != before[-1]:
                    return None
        cuts_now = []
        for cut in full.cuts:
            count = steps.get(cut.axis, cut.steps)
            if count < self._wanted(place, cut):
                return None
            cuts_now.append(replace(cut, steps=count))
        return replace(full, cuts=tuple(cuts_now))

    def _wanted(self, place: int, cut: Cut) -> int:
        """Return how many steps an axis has to keep."""
        is_grid = cut.axis in dict(self.blocks[place].grid)
        return min(cut.steps, (BLOCKS if is_grid else self.iterations) + cut.short)


def _recut(block: BlockGraph, tiling: Tiling) -> BlockGraph:
    """Return a block graph with the steps of a tiling; one step for those of unequal parts."""
    grid, loops = (
        tuple((axis, 1 if tiling[axis].short else tiling[axis].steps) for axis, _ in axes)
        for axes in (block.grid, block.loops)
    )
    return replace(block, grid=grid, loops=loops)


# ---- is it the same kernel?


def differing_lines(full: Kernel, small: Kernel) -> list[str]:
    """Return the statements of the full kernel that the small one does not have in their place.

    Extents of the grid and of the loops over the graph's steps do not count, nor constants that
    follow the sizes, nor, in conditions and in indices of arguments, numbers that are added or
    compared: they say where the last step begins. Everything else has to be the same.
    """
    loops = {name for name, _ in (*full.grid, *small.grid)} | _step_loops(full, small)
    pairs = itertools.zip_longest(_pattern(full, loops), _pattern(small, loops), fillvalue="")
    return [a or f"only on small sizes: {b}" for a, b in pairs if a != b]


def _step_loops(full: Kernel, small: Kernel) -> set[str]:
    """Return the loops of the outermost level, which are those over the graph's steps."""
    found = set[str]()
    for kernel in (full, small):
        stack = list(kernel.body)
        while stack:
            match stack.pop():
                case Loop(name, _, body, "serial" | "unrolled"):
                    found.add(name)
                    stack += body
                case Guard(_, body, otherwise):
                    stack += (*body, *otherwise)
    return found


def _pattern(kernel: Kernel, loops: set[str]) -> list[str]:
    def changed(statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case Loop(name) if name in loops:
                return (replace(statement, extent=0),)
            case Guard(when):
                return (replace(statement, when=_numbers_left_out(when)),)
            case Compute(target, index, value):
                index, value = _index_pattern(target, index), _value_pattern(value)
                return (replace(statement, index=index, value=value),)
            case Fetch():
                return ()
            case Copy(source=source, source_index=index):
                return (replace(statement, source_index=_index_pattern(source, index)),)
        return (statement,)

    return list(body_lines(rewritten(kernel.body, changed)))


def _index_pattern(buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
    changed: tuple[Expr, ...] = index
    if buffer.scope == "global":
        changed = with_indices(index, _numbers_left_out)
    return changed


def _value_pattern(value: Value) -> Value:
    match value:
        case Constant(number) if abs(number.coefficient) not in (0, 1) or number.roots:
            return Apply("number", ())
        case Read(buffer, index):
            return Read(buffer, _index_pattern(buffer, index))
        case Apply(name, args):
            return Apply(name, tuple(map(_value_pattern, args)))
        case Select(when, then, otherwise):
            parts = (_value_pattern(each) for each in (then, otherwise))
            return Select(_numbers_left_out(when), *parts)
    return value


def _numbers_left_out(e: Expr) -> Expr:
    """Return an expression without the numbers that are added to others, or compared."""
    if e.op == CONST:
        return var("number")
    if e.op == VAR:
        return e
    if e.op in ("+", "<", "==", "&"):
        left, right = (_numbers_left_out(each) for each in e.args)
        if e.op == "+" and right == var("number"):
            return left
        return Expr(e.op, (left, right))
    left, right = e.args
    return Expr(e.op, (left if left.op == CONST else _numbers_left_out(left), right))

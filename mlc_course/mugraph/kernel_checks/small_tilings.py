"""The same kernel on fewer blocks and iterations, on which it can be run over residues.

Tiles keep their extents, and so do dimensions that are not cut: only the number of steps changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import eq
from typing import Any

from mlc_course.errors import CourseError
from mlc_course.mugraph.codegen import Cut, Tiling
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, Number, Shape
from mlc_course.mugraph.kernels import (
    CONST,
    Apply,
    Body,
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
    Remark,
    Select,
    Threads,
    bodies,
    body_lines,
    variables,
)

BLOCKS, ITERATIONS = 2, 3
MORE_PARTS = 3  # that an axis may need whose parts are cut once more
Tilings = Mapping[int, Tiling]
Sizes = Mapping[str, int]
SameNumbers = Callable[[int, int], bool]
Access = tuple[Buffer, tuple[Expr, ...]]


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


def differing_lines(
    full: Kernel, small: Kernel, steps: tuple[Tiling, Tiling], sizes: tuple[Sizes, Sizes]
) -> list[str]:
    """Return the statements of the full kernel that the small one does not have in their place.

    Each pair of ``steps`` and ``sizes`` is the full kernel's, then the small one's. Extents of the
    grid and of the loops over the graph's steps have to differ as their steps do. In conditions
    and in indices of arguments the last step of one may stand for that of the other, and a constant
    may follow a size, or its root. Everything else has to be the same, as far as a layout.
    """
    same = _Same({*full.inputs, *full.outputs}, *steps, *sizes)
    pairs = itertools.zip_longest(_lines(full), _lines(small), fillvalue=_Line("", ()))
    return [
        a.text or f"only on small sizes: {b.text}" for a, b in pairs if not same.are(a.says, b.says)
    ]


@dataclass(frozen=True)
class _Line:
    """A line of a kernel's text, and all that it says: its depth, and a statement."""

    text: str
    says: tuple[Any, ...]


def _lines(kernel: Kernel) -> Iterator[_Line]:
    """Yield what a kernel declares, and then its statements, of those that mean something."""
    declared = (*kernel.inputs, *kernel.outputs)
    shared = kernel.shared, kernel.offsets, kernel.shared_bytes
    yield _Line("arguments", declared)
    yield _Line("shared memory", shared)
    yield _Line("threads", (kernel.threads,))
    for name, extent in kernel.grid:
        yield _Line(f"blocks {name} < {extent}", (Loop(name, extent, ()),))
    yield from _statement_lines(kernel.body, 0)


def _statement_lines(body: Body, depth: int) -> Iterator[_Line]:
    for each in body:
        if isinstance(each, Fetch | Remark):
            continue
        text = next(body_lines((each,)))
        parts = bodies(each)
        match each:
            case Loop() | Threads():
                yield _Line(text, (depth, replace(each, body=())))
            case Guard():
                yield _Line(text, (depth, replace(each, body=(), otherwise=())))
            case _:
                yield _Line(text, (depth, each))
        for which, inside in enumerate(parts):
            if which:
                yield _Line("else:", (depth, "else"))
            yield from _statement_lines(inside, depth + 1)


class _Same:
    """Tells whether a part of the full kernel is as that of the small one."""

    def __init__(
        self,
        arguments: Collection[Buffer],
        full: Tiling,
        small: Tiling,
        sizes: Sizes,
        small_sizes: Sizes,
    ) -> None:
        self.arguments = arguments
        pairs = [(cut, small[cut.axis]) for cut in full.cuts]
        self.more = {cut.axis: cut.steps - less.steps for cut, less in pairs}
        self.ends = {
            cut.axis: [(cut.steps - n, less.steps - n) for n in (0, 1)] for cut, less in pairs
        }
        self.starts = {
            ((less.steps - 1) * cut.tile, self.more[cut.axis] * cut.tile) for cut, less in pairs
        }
        self.grown = {Fraction(sizes[name], small_sizes[name]) for name in sizes}

    def is_end(self, axes: Collection[str], number: int, other: int) -> bool:
        """Tell whether numbers are equal, or both are that of an axis' last step, or of all."""
        return number == other or any(
            (number, other) in self.ends[axis] for axis in axes if axis in self.ends
        )

    def is_start(self, number: int, other: int) -> bool:
        """Tell whether numbers are equal, or both are that of an element of the last step."""
        return number == other or any(
            other >= start and number - other == further for start, further in self.starts
        )

    def are(self, a: Any, b: Any, numbers: SameNumbers = eq) -> bool:
        """Tell whether two parts are the same, and which ``numbers`` count as equal."""
        if type(a) is not type(b):
            return False
        match a:
            case tuple():
                pairs = zip(a, b, strict=False)
                return len(a) == len(b) and all(self.are(x, y, numbers) for x, y in pairs)
            case Expr():
                return self._are_expressions(a, b, numbers)
            case Loop():
                extent = b.extent + self.more.get(a.name, 0)
                return bool(a == replace(b, extent=extent))
            case Buffer() if a.scope == "global":
                return a in self.arguments and a == replace(b, shape=a.shape)
            case Constant():
                return self._are_constants(a.number, b.number)
            case Read():
                return self._are_accesses((a.buffer, a.index), (b.buffer, b.index))
            case Compute():
                accesses = (a.target, a.index), (b.target, b.index)
                rest = (a.value, a.axes, a.combine), (b.value, b.axes, b.combine)
                alike = a.fragments == b.fragments and self._are_accesses(*accesses)
                return alike and self.are(*rest)
            case Copy():
                targets = (a.target, a.index), (b.target, b.index)
                sources = (a.source, a.source_index), (b.source, b.source_index)
                same = self._are_accesses(*targets) and self._are_accesses(*sources)
                return same and a.width == b.width
            case Apply() | Guard() | Select():
                return self.are(tuple(vars(a).values()), tuple(vars(b).values()))
        return bool(a == b)

    def _are_accesses(self, a: Access, b: Access) -> bool:
        numbers = self.is_start if a[0].scope == "global" else eq
        return self.are(a[0], b[0]) and self.are(a[1], b[1], numbers)

    def _are_expressions(self, a: Expr, b: Expr, numbers: SameNumbers) -> bool:
        if a.op == b.op == CONST:
            return numbers(a.args[0], b.args[0])
        if a.op in ("<", "=="):
            numbers = partial(self.is_end, variables(a))
        if a.op in ("+", "<", "==", "&"):
            return a.op == b.op and self.are(a.args, b.args, numbers)
        return a == b

    def _are_constants(self, a: Number, b: Number) -> bool:
        """Tell whether a constant is the other one, or follows a size or its root."""
        if a == b:
            return True
        squares = [each.coefficient**2 * math.prod(each.roots) for each in (a, b)]
        if not all(squares) or (a.coefficient > 0) != (b.coefficient > 0):
            return False
        powers = {grown**power for grown in self.grown for power in (-2, -1, 1, 2)}
        return squares[0] / squares[1] in powers

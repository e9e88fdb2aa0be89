"""Readable names of values: the program's where a value is one of its own, else the operator's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlc_course.mugraph.expressions import Poly
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, Op, ThreadGraph
from mlc_course.mugraph.search.dimensions import Dims
from mlc_course.mugraph.search.value_facts import Kept, Made

WORDS = {
    "matmul": "product",
    "sum": "sums",
    "max": "largest",
    "square": "squares",
    "mul": "times",
    "div": "ratio",
    "add": "plus",
    "sub": "less",
    "scale": "scaled",
    "sqrt": "root",
    "exp": "weight",
    "concat": "beside",
    "running_max": "so_far",
    "accumulate_max": "top",
}


class Names:
    """``known`` has the names of the program's values by expression and labels."""

    def __init__(self, known: Mapping[tuple[Poly, Dims], str], taken: Sequence[str]) -> None:
        self.known, self.outer = known, set(taken)
        self._partial: dict[int, str] = {}

    def tile(self, name: str, taken: set[str]) -> str:
        """Name a tile that is loaded."""
        lower = name.lower()
        known = lower != name and re.fullmatch(r"\w+", lower) is not None
        return fresh(lower if known else f"{name}_tile", taken)

    def value(self, value: Kept, way: Made, operands: Sequence[str], taken: set[str]) -> str:
        """Name the result of an operator."""
        assert isinstance(way.op, Op)
        facts = value.facts
        if way.op.name in ("accumulate", "accumulate_rescaled"):
            name = self.known.get((facts.poly, facts.dims), f"all_{operands[0]}")
        elif way.op.carried:
            name = WORDS[way.op.name]
        else:
            word = WORDS.get(way.op.name, way.op.name)
            name = self.known.get((facts.poly, facts.dims), word)
        return fresh(name[0].lower() + name[1:], taken)

    def partial(self, number: int, value: Kept, derivation: Mapping[int, Made]) -> str:
        """Name what one kernel leaves for the next, by what it added up."""
        if number not in self._partial:
            way = derivation[number]
            while getattr(way.op, "carried", "") == "accumulate":
                way = derivation[way.operands[0]]
            word = way.op if isinstance(way.op, str) else WORDS.get(way.op.name, way.op.name)
            word = self.known.get((value.facts.poly, value.facts.dims), word)
            self._partial[number] = fresh(f"{word[0].upper()}{word[1:]}_parts", self.outer)
        return self._partial[number]


def fresh(name: str, taken: set[str]) -> str:
    """Return the name, or the first of name2, name3, ... that is not taken, and take it."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}{number}"
    taken.add(found)
    return found


def once(graph: KernelGraph) -> KernelGraph:
    """Return the same graph in which no two values have one name."""
    taken = set(graph.names)
    equations = [
        replace(each, op=_block_once(each.op, taken)) if isinstance(each.op, BlockGraph) else each
        for each in graph.equations
    ]
    return replace(graph, equations=tuple(equations))


def _block_once(block: BlockGraph, taken: set[str]) -> BlockGraph:
    loads = tuple(replace(load, name=fresh(load.name, taken)) for load in block.loads)
    called = [load.name for load in loads]
    equations = []
    for each in block.equations:
        op, name = each.op, fresh(each.names[0], taken)
        if isinstance(op, ThreadGraph):
            *inner, last = op.equations
            inside = [replace(e, names=(fresh(e.names[0], taken),)) for e in inner]
            operands = tuple(called[n] for n in each.operands)
            op = replace(op, operands=operands, equations=(*inside, replace(last, names=(name,))))
        equations.append(replace(each, op=op, names=(name,)))
        called.append(name)
    return replace(block, loads=loads, equations=tuple(equations))

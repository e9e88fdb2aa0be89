"""A program's operators and what they read, without those that a kernel gets for nothing.

A reshape renames elements, so who reads it reads what was reshaped. A constant is written into each
kernel, unless it is returned, or a matrix product or a gather reads it. A matrix product is a call
of a library, and ``shape_of`` runs before all kernels. What no result depends on is left out.
"""

from __future__ import annotations

from collections import defaultdict

from mlc_course.dynamic_shape.ir import Equation, Function, memory_of

FREE = ("reshape", "source")
FILLS = ("constant", "iota")  # sources that a kernel can write


class Flow:
    """The operators that are computed by kernels or calls, by the number of their value.

    ``reads[v]`` has a pair for each operand of v that another operator computes: who, and the
    operand itself, which is a reshape of it or the same. ``readers`` is the other way round.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        first = len(function.inputs)
        live = _live(function)
        self.origin = memory_of(function)
        in_memory: list[int] = list(function.results)
        for equation in function.equations:
            if equation.op.kind == "product" or equation.op.name == "gather":
                in_memory += equation.operands
        stored = {self.origin[each] for each in in_memory}
        self.equations: dict[int, Equation] = {
            at: equation
            for at, equation in enumerate(function.equations, first)
            if at in live
            and (equation.op.kind not in FREE or (equation.op.name in FILLS and at in stored))
        }
        self.reads: dict[int, list[tuple[int, int]]] = {}
        self.readers: defaultdict[int, list[int]] = defaultdict(list)
        for value, equation in self.equations.items():
            pairs = [(self.origin[each], each) for each in equation.operands]
            self.reads[value] = [(who, each) for who, each in pairs if who in self.equations]
            for who in dict(self.reads[value]):
                self.readers[who].append(value)
        self.returned = {self.origin[each] for each in function.results}

    def is_call(self, value: int) -> bool:
        """Tell whether a library computes a value."""
        return self.equations[value].op.kind == "product"

    @property
    def kernels_op_by_op(self) -> int:
        """The number of kernels if each operator has its own."""
        return sum(not self.is_call(value) for value in self.equations)


def _live(function: Function) -> set[int]:
    """The values that results depend on."""
    first = len(function.inputs)
    waiting, found = list(function.results), set(function.results)
    while waiting:
        value = waiting.pop()
        for each in function.equations[value - first].operands if value >= first else ():
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found

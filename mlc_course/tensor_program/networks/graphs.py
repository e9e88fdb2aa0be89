"""Graphs of operators: a flat list of nodes in the order of execution, read from Relax.

``graph`` reads operators (``R.matmul``), calls of kernels (``R.call_tir``), and the inside of the
functions that ``FuseOps`` makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from mlc_course.errors import UsageError, check_known
from mlc_course.tensor_program.tir import (
    MAIN,
    Constant,
    IRModule,
    PrimFunc,
    buffer_bytes,
    memory_stages,
    own_buffers,
    relax,
    tirx,
)

# What TVM's AnnotateTIROpPattern finds out about a kernel, by the number that it writes down.
KINDS = {
    0: "elementwise",
    1: "broadcast",
    2: "injective",
    3: "reduction",
    4: "out-fusable",
    8: "opaque",
}

OPERATOR = "relax."  # what names of operators begin with, as against those of kernels


@dataclass(frozen=True)
class Value:
    """A tensor that an operator makes or reads."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.name}  {' x '.join(map(str, self.shape)) or 'a number'}"


@dataclass(frozen=True)
class Node:
    """One operator. ``kind`` is one of ``KINDS``, or empty before it is known.

    Nodes with the same ``kernel`` run as one kernel, the function ``function``. ``scratch`` is the
    bytes of the tensors inside the kernel's own program.
    """

    op: str
    operands: tuple[str, ...]
    result: Value
    kind: str = ""
    kernel: str = ""
    function: str = ""
    scratch: int = 0

    @property
    def name(self) -> str:
        return self.result.name


@dataclass(frozen=True)
class Graph:
    """Parameters, constants, operators in order, and the names of what is returned.

    Raises ``UsageError`` when an operator reads a tensor that is not made before it.
    """

    inputs: tuple[Value, ...]
    constants: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        made = {each.name for each in (*self.inputs, *self.constants)}
        for node in self.nodes:
            late = [name for name in node.operands if name not in made]
            if late:
                raise UsageError(f"{node.name} reads what is not made yet", got=", ".join(late))
            made.add(node.name)
        unknown = [name for name in self.outputs if name not in made]
        if unknown:
            raise UsageError("an output that no operator makes", got=", ".join(unknown))

    @property
    def values(self) -> dict[str, Value]:
        """Every tensor by its name."""
        results = (node.result for node in self.nodes)
        return {each.name: each for each in (*self.inputs, *self.constants, *results)}

    def node(self, name: str) -> Node:
        """The operator that makes this tensor; raises ``UsageError`` when there is none."""
        found = {node.name: node for node in self.nodes}
        check_known("no operator makes", name, found)
        return found[name]

    def readers(self, name: str) -> tuple[Node, ...]:
        """The operators that read a tensor."""
        return tuple(node for node in self.nodes if name in node.operands)

    @property
    def kernels(self) -> dict[str, tuple[Node, ...]]:
        """The operators of each kernel, in order."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.kernel, []).append(node)
        return {kernel: tuple(nodes) for kernel, nodes in found.items()}

    @property
    def between(self) -> tuple[Value, ...]:
        """The intermediate tensors that one kernel writes and another one reads."""
        crossing = (node for node in self.nodes if self._leaves(node))
        return tuple(node.result for node in crossing if node.name not in self.outputs)

    def _leaves(self, node: Node) -> bool:
        readers = self.readers(node.name)
        return not readers or any(each.kernel != node.kernel for each in readers)

    @property
    def bytes_between(self) -> int:
        """Bytes of intermediates written by one kernel for another."""
        return sum(value.bytes for value in self.between)

    @property
    def bytes_inside(self) -> int:
        """Bytes of intermediates that stay inside a kernel, if it keeps them as arrays."""
        kept = (n for n in self.nodes if n.name not in self.outputs and not self._leaves(n))
        return sum(n.result.bytes for n in kept) + sum(n.scratch for n in self.nodes)

    @property
    def bytes_constant(self) -> int:
        """Bytes of the constants that the program carries."""
        return sum(value.bytes for value in self.constants)

    def __str__(self) -> str:
        kernels = self.kernels
        lines = (
            f"{node.result} = {node.op}({', '.join(node.operands)})"
            + (f"  {node.kind}" if node.kind else "")
            + (f"  in {node.function}" if len(kernels[node.kernel]) > 1 else "")
            for node in self.nodes
        )
        return "\n".join(lines)


# --- from Relax -----------------------------------------------------------------------------------

Names = dict[Any, tuple[str, ...]]  # the tensors that a variable stands for
CALLS_A_KERNEL, CALLS_A_LIBRARY = "relax.call_tir", "relax.call_dps_packed"


def graph(module: IRModule, function: str = MAIN) -> Graph:
    """The graph of a module's function ``main``, or of another one.

    Raises ``UsageError`` for what is not straight-line code over tensors of known shape.
    """
    functions = {str(each.name_hint): made for each, made in module.functions.items()}
    if not isinstance(functions.get(function), relax.Function):
        raise UsageError(
            f"no graph {function!r}", expected="a Relax function", got=", ".join(functions)
        )
    return _Reader(functions).read(functions[function])


class _Reader:
    """Follows the bindings of a function; ``names`` has the tensors of each variable."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._constants: list[tuple[Any, Value]] = []
        self._taken: set[str] = set()

    def read(self, function: Any) -> Graph:
        inputs = tuple(_value(each.name, each.ty) for each in function.params)
        names: Names = {each: (str(each.name),) for each in function.params}
        self._taken.update(str(each.name) for each in function.params)
        nodes = tuple(self._nodes(function, names))
        outputs = self._names(function.body.body, names)
        constants = {value.name: value for _, value in self._constants}
        return Graph(inputs, tuple(constants.values()), nodes, outputs)

    def _nodes(self, function: Any, names: Names, last: Value | None = None) -> Iterator[Node]:
        """The operators of a function; ``last`` is its result as the caller names it."""
        for block in function.body.blocks:
            for binding in block.bindings:
                value = getattr(binding, "value", None)
                if isinstance(value, relax.Call):
                    if last and binding.var.same_as(function.body.body):
                        result = last
                    else:
                        result = _value(self._free(str(binding.var.name)), binding.var.ty)
                    yield from self._call(result, value, names)
                    names[binding.var] = (result.name,)
                else:
                    names[binding.var] = self._names(value, names)

    def _names(self, expr: Any, names: Names) -> tuple[str, ...]:
        """The tensors that an operand, or a tuple of them, stands for."""
        match expr:
            case relax.Var():
                return names[expr]
            case Constant():
                return (self._constant(expr).name,)
            case relax.Tuple():
                return tuple(name for each in expr.fields for name in self._names(each, names))
            case relax.TupleGetItem():
                return (self._names(expr.tuple_value, names)[expr.index],)
        raise UsageError(
            "a graph that is not straight-line code",
            expected="operators, calls of kernels, tuples",
            got=type(expr).__name__,
        )

    def _constant(self, expr: Any) -> Value:
        """The value of a constant, named by its number, or by its place if it is an array."""
        for known, value in self._constants:
            if expr.same_as(known):
                return value
        number = f"{float(expr.value.numpy()):g}" if not _shape(expr.ty) else ""
        value = _value(number or f"const{len(self._constants)}", expr.ty)
        self._constants.append((expr, value))
        return value

    def _call(self, result: Value, call: Any, names: Names) -> Iterator[Node]:
        if isinstance(call.op, relax.GlobalVar):
            called = self._functions[str(call.op.name_hint)]
            outer = tuple(name for each in call.args for name in self._names(each, names))
            yield from self._inside(str(call.op.name_hint), called, outer, result)
            return
        op = str(getattr(call.op, "name", call.op))
        tensors = [each for each in call.args if not isinstance(each, relax.ShapeExpr)]
        if op in (CALLS_A_KERNEL, CALLS_A_LIBRARY):
            called, tensors = call.args[0], [call.args[1]]
            op = str(getattr(called, "name_hint", None) or called.global_symbol)
        operands = tuple(name for each in tensors for name in self._names(each, names))
        kernel = self._functions.get(op)
        shown = op.removeprefix(OPERATOR).removeprefix("tir_")
        node = Node(shown, operands, result, kernel=result.name)
        kind = _kind(kernel) if isinstance(kernel, PrimFunc) else ""
        if isinstance(call.args[0], relax.ExternFunc):
            kind = KINDS[8]
        scratch = scratch_bytes(kernel) if isinstance(kernel, PrimFunc) else 0
        yield replace(node, function=op, kind=kind, scratch=scratch)

    def _inside(
        self, function: str, called: Any, outer: Sequence[str], result: Value
    ) -> Iterator[Node]:
        """The operators of a function that is one kernel; its last value has the call's name."""
        names: Names = {each: (name,) for each, name in zip(called.params, outer, strict=True)}
        for node in self._nodes(called, names, result):
            yield replace(node, kernel=result.name, function=function)

    def _free(self, name: str) -> str:
        """A name that is not taken yet, because two variables of Relax may have the same."""
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name


def _value(name: object, type_: Any) -> Value:
    shape = _shape(type_)
    if shape is None:
        raise UsageError(f"{name}: not one tensor of known shape", got=type_)
    return Value(str(name), shape, str(type_.dtype))


def _shape(type_: Any) -> tuple[int, ...] | None:
    sizes = getattr(getattr(type_, "shape", None), "values", None)
    if sizes is None or not all(isinstance(size, tirx.IntImm) for size in sizes):
        return None
    return tuple(int(size) for size in sizes)


def _kind(kernel: PrimFunc) -> str:
    number = (kernel.attrs or {}).get("op_pattern")
    return KINDS.get(int(number), KINDS[8]) if number is not None else ""


def scratch_bytes(kernel: PrimFunc) -> int:
    """Bytes of the buffers inside a kernel, each as large as what is in use of it at a time.

    TVM allocates fewer where one buffer takes over the memory of another.
    """
    return sum(map(buffer_bytes, own_buffers(memory_stages(kernel).compact)))

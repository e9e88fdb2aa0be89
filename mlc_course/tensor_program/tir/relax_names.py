"""TVM's names for graphs of operators (Relax), spelled once for the pinned version.

``tvm`` does the same for loops. What older tutorials call ``relax.TensorStructInfo`` is
``relax.TensorType`` today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from mlc_course.extras import brought_by

with brought_by():
    import tvm
    from tvm import relax
    from tvm.ir.expr import Constant
    from tvm.ir.transform import Sequential
    from tvm.relax import BlockBuilder, op, transform
    from tvm.relax.dpl import is_const, is_op, rewrite_call, wildcard

from mlc_course.errors import SizeError, UsageError, check_known
from mlc_course.tensor_program.tir.tvm import IRModule, cpu_target

__all__ = [
    "BlockBuilder",
    "Constant",
    "Sequential",
    "bind",
    "compile_graph",
    "constant",
    "dataflow",
    "is_const",
    "is_op",
    "library_call",
    "op",
    "relax",
    "rewrite_call",
    "transform",
    "wildcard",
]

MAIN = "main"


def dataflow(body: Callable[..., Any], /, **shapes: tuple[int, ...]) -> IRModule:
    """A graph with one function ``main``, its float32 parameters named with their shapes.

    ``body(bb, *parameters)`` emits operators, ``bb.emit(op.exp(x), "e")``, and returns the last
    one, or a tuple of values. Raises ``UsageError`` without parameters, ``SizeError`` for a size
    below one.
    """
    if not shapes:
        raise UsageError("dataflow: no parameters", expected="their shapes, such as x=(32, 64)")
    for name, shape in shapes.items():
        if type(shape) is not tuple or any(type(size) is not int or size < 1 for size in shape):
            raise SizeError(
                f"dataflow: parameter {name}", expected="a tuple of sizes >= 1", got=shape
            )
    bb = BlockBuilder()
    parameters = [relax.Var(name, tensor_type(shape)) for name, shape in shapes.items()]
    with bb.function(MAIN, parameters):
        with bb.dataflow():
            made = body(bb, *parameters)
            result = bb.emit_output(relax.Tuple(made) if isinstance(made, tuple) else made)
        bb.emit_func_output(result)
    return bb.get()


def tensor_type(shape: tuple[int, ...]) -> Any:
    """The type of a float32 tensor."""
    return relax.TensorType(shape, "float32")


def constant(value: float) -> Any:
    """A number as an operand."""
    return relax.const(value, "float32")


def library_call(name: str, *operands: Any, shape: tuple[int, ...]) -> Any:
    """A call of a function outside TVM, known only by its name and the shape of its result."""
    return op.call_dps_packed(name, operands, tensor_type(shape))


def bind(module: IRModule, weights: Mapping[str, NDArray[Any]]) -> IRModule:
    """Make parameters of a graph constants; raises ``UsageError`` for one that it does not have."""
    known = [str(each.name) for each in module[MAIN].params]
    for name in weights:
        check_known("no parameter", name, known)
    values = {name: tvm.runtime.tensor(array) for name, array in weights.items()}
    return transform.BindParams(MAIN, values)(module)


def compile_graph(module: IRModule, *, threads: int = 1) -> Callable[..., Any]:
    """Machine code for a graph, run by TVM's virtual machine: a function of its parameters."""
    executable = tvm.compile(module, target=cpu_target(threads))
    run: Callable[..., Any] = relax.VirtualMachine(executable, tvm.cpu())[MAIN]
    return run

"""The graphs of the lesson: one operator of each kind, four refusals, a chain, a graph to clean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.tensor_program.networks import graph, passes
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import (
    IRModule,
    Schedule,
    constant,
    dataflow,
    is_const,
    is_op,
    library_call,
    op,
    rewrite_call,
    transform,
    wildcard,
)

SIDE = 64
SQUARE, ROW = (SIDE, SIDE), (SIDE,)

# --- one operator of each kind --------------------------------------------------------------------

ONE_OF_EACH: tuple[tuple[Callable[..., Any], dict[str, tuple[int, ...]]], ...] = (
    (op.exp, {"x": SQUARE}),
    (op.add, {"x": SQUARE, "row": ROW}),
    (lambda row: op.broadcast_to(row, SQUARE), {"row": ROW}),
    (op.permute_dims, {"x": SQUARE}),
    (lambda x: op.sum(x, axis=[1]), {"x": SQUARE}),
    (op.matmul, {"x": SQUARE, "w": SQUARE}),
    (lambda x: library_call("sort", x, shape=SQUARE), {"x": SQUARE}),
)


def kinds() -> list[tuple[str, str, str]]:
    """The kind that TVM finds for each of these: ``("add", "x, row", "elementwise")``."""
    found = []
    for operator, shapes in ONE_OF_EACH:
        alone = dataflow(lambda bb, *operands, f=operator: f(*operands), **shapes)
        (node,) = graph(passes.run(alone, *passes.LOWERING)).nodes
        found.append((node.op, ", ".join(shapes), node.kind))
    return found


# --- the smallest graph for each refusal ----------------------------------------------------------


def read_twice(bb: Any, x: Any) -> Any:
    """Return two outputs, r = relu(exp(x)) and s = the row sums of exp(x)."""
    e = bb.emit(op.exp(x), "e")
    return bb.emit(op.nn.relu(e), "r"), bb.emit(op.sum(e, axis=[1]), "s")


def softmax(bb: Any, x: Any) -> Any:
    """Return exp(x) divided by its row sums."""
    e = bb.emit(op.exp(x), "e")
    s = bb.emit(op.sum(e, axis=[1], keepdims=True), "s")
    return op.divide(e, s)


def around_a_library(bb: Any, x: Any) -> Any:
    """Return exp(x) plus what a library makes of exp(x)."""
    e = bb.emit(op.exp(x), "e")
    o = bb.emit(library_call("sort", e, shape=SQUARE), "o")
    return op.add(e, o)


def two_products(bb: Any, x: Any) -> Any:
    """Return the sum of two matrix products."""
    p = bb.emit(op.matmul(x, x), "p")
    q = bb.emit(op.matmul(x, x), "q")
    return op.add(p, q)


REFUSED = {each.__name__: each for each in (read_twice, softmax, around_a_library, two_products)}


def lowered(build: Callable[..., Any]) -> IRModule:
    """One of these graphs over a square ``x``, as kernels whose kinds are known."""
    return passes.run(dataflow(build, x=SQUARE), *passes.LOWERING)


# --- where fusion pays most -----------------------------------------------------------------------


def chain(bb: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Return relu(x * scale + shift) - x, by four elementwise operators."""
    a = bb.emit(op.multiply(x, scale), "a")
    b = bb.emit(op.add(a, shift), "b")
    c = bb.emit(op.nn.relu(b), "c")
    return op.subtract(c, x)


def inline_all(sch: Schedule) -> None:
    """Compute every block but the last one where it is read."""
    for block in lookup.blocks(sch)[:-1]:
        steps.inline(sch, block)


def inlined(module: IRModule) -> IRModule:
    """The module with ``inline_all`` applied to each of its kernels."""
    return passes.with_schedules(module, dict.fromkeys(passes.kernels(module), inline_all))


# --- a network as somebody writes it --------------------------------------------------------------


def as_written(bb: Any, pixels: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """The digits network on counts from 0 to 16, with a line that nobody needs any more."""
    x = bb.emit(op.multiply(pixels, constant(1 / 16)), "x")
    a = bb.emit(op.matmul(x, w1), "a")
    b = bb.emit(op.add(a, b1), "b")
    bb.emit(op.max(b), "largest")
    h = bb.emit(op.nn.relu(b), "h")
    c = bb.emit(op.matmul(h, w2), "c")
    return op.add(c, b2)


def _scale_weights() -> Callable[[IRModule], IRModule]:
    x, s, w = wildcard(), is_const(), wildcard()
    scaled = is_op("relax.matmul")(is_op("relax.multiply")(x, s), w)

    def rewrite(call: Any, found: Any) -> Any:
        return op.matmul(found[x], op.multiply(found[w], found[s]))

    return lambda module: IRModule({"main": rewrite_call(scaled, rewrite, module["main"])})


SCALE_WEIGHTS = passes.Pass(
    "scale the weights",
    "(s x) W = x (s W): now the scaling reads constants only.",
    _scale_weights(),
)


# --- overruling FuseOps ---------------------------------------------------------------------------


def in_one_kernel(network: IRModule) -> IRModule:
    """The digits network in one kernel, whatever FuseOps would say, one image at a time."""

    def linear(x: Any) -> Any:
        return is_op("relax.add")(is_op("relax.matmul")(x, wildcard()), wildcard())

    whole = linear(is_op("relax.nn.relu")(linear(wildcard())))
    by_pattern = transform.FuseOpsByPattern([("network", whole)], bind_constants=False)
    fused = passes.run(by_pattern(network), passes.LEGALIZE, passes.FUSE_TIR)
    single = passes.DEAD_CODE.apply(fused)
    return passes.with_schedules(single, dict.fromkeys(passes.kernels(single), _per_image))


def _per_image(sch: Schedule) -> None:
    steps.inline(sch, "T_add")
    for matmul, last in (("matmul", "compute"), ("matmul1", "T_add1")):
        steps.reorder(sch, matmul, "i0", "k", "i1")
        steps.fuse_consumer(sch, last, into=matmul, at="i0")
    steps.merge(sch, "matmul", "matmul1", at="i0")
    for matmul in ("matmul", "matmul1"):
        steps.hoist_init(sch, matmul, "k")

"""The lines that the reader of lesson 13 writes, and how they are judged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Demand, holds, returns
from mlc_course.grading.process import called, given
from mlc_course.lessons.kit import Blank, asks
from mlc_course.tensor_program.networks import graph, passes, scratch_bytes
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    compile_graph,
    constant,
    dataflow,
    op,
    rewrite_call,
    shared_tensor,
)

meeting_point = Blank(
    asks(
        called,
        returns([["b", "h", "c"]], result="b", hint="on a single path, the first reader decides"),
        returns([["s", "d"], ["d"]], result="d", hint="s is on one of the two paths only"),
        returns([["r", "y"], ["s", "t", "y"]], result="y", hint="only y is on both paths"),
        returns(
            [["s", "m", "c"], ["r", "m", "c"]],
            result="m",
            hint="the paths are together again at m, before they reach c",
        ),
        returns([["r"], ["s"]], result=None, hint="these paths never meet"),
    ),
    (
        "Go along the first path, name by name. What must be true of the one you return?",
        "The name must be on every path: all(name in path for path in paths).",
        "next(..., None) takes the first name that a generator yields, and None if there is none: "
        "next((name for name in paths[0] if ...), None).",
    ),
    "return next((name for name in paths[0] if all(name in path for path in paths)), None)",
)


# --- one nest for the last layer ------------------------------------------------------------------

IMAGES, HIDDEN, CLASSES = 8, 20, 10
ROW_BYTES = 4 * CLASSES


@functools.cache
def _last_layer() -> PrimFunc:
    """A small copy of the lesson's second kernel: matmul, then add, in one function."""

    def layer(bb: Any, h: Any, w2: Any, b2: Any) -> Any:
        return op.add(bb.emit(op.matmul(h, w2), "c"), b2)

    shapes = {"h": (IMAGES, HIDDEN), "w2": (HIDDEN, CLASSES), "b2": (CLASSES,)}
    lowered = passes.run(dataflow(layer, **shapes), *passes.LOWERING, *passes.FUSION)
    (kernel,) = passes.kernels(lowered).values()
    return kernel


def _scheduled(finish: Callable[[Schedule], object]) -> dict[str, Any]:
    """What became of the small kernel: the bytes inside it, or why a step was refused."""
    sch = Schedule(_last_layer())
    try:
        steps.reorder(sch, "matmul", "i0", "k", "i1")
        finish(sch)
        steps.hoist_init(sch, "matmul", "k")
        return {"inside": scratch_bytes(sch.mod["main"])}
    except Exception as error:
        return {"refused": str(error).partition("\n")[0]}


def _keeps_one_row(found: Mapping[str, Any]) -> str:
    if "refused" in found:
        raise UnmetCheck(
            "the step was refused",
            expected="the addition runs in the loop over rows of the matmul",
            got=found["refused"],
        )
    if found["inside"] > ROW_BYTES:
        raise UnmetCheck(
            "the addition still has a nest of its own, so the whole product waits for it",
            expected=f"{ROW_BYTES} B inside the kernel, one row of {CLASSES} sums",
            got=f"{found['inside']} B inside, for {IMAGES} images",
        )
    return f"the kernel keeps one row of the product, {found['inside']} B, instead of all of it"


finish_rows = Blank(
    lambda mine: Demand(given(_scheduled(mine)), (holds(_keeps_one_row),)),
    (
        "Which block reads the product? It is the one that has to move.",
        "The block T_add moves into the nest of the block matmul, as compute did above.",
        'It runs once for each row, so at="i0": steps.fuse_consumer(sch, ..., into=..., at="i0").',
    ),
    'steps.fuse_consumer(sch, "T_add", into="matmul", at="i0")',
)


# --- a pattern's rewrite --------------------------------------------------------------------------


@functools.cache
def _scaled_product() -> IRModule:
    """(x / 16) w for 3 x 4 and 4 x 5 matrices."""

    def build(bb: Any, pixels: Any, w: Any) -> Any:
        scaled = bb.emit(op.multiply(pixels, constant(1 / 16)), "x")
        return op.matmul(scaled, w)

    return dataflow(build, pixels=(3, 4), w=(4, 5))


def _rewritten(pattern: Any, rewrite: Callable[..., Any]) -> dict[str, Any]:
    """What the reader's rewrite makes of a small product, and the operators that it has then."""
    start = _scaled_product()
    rng = np.random.default_rng(0)
    pixels, w = (aligned(rng.integers(1, 9, size=shape)) for shape in ((3, 4), (4, 5)))
    try:
        made = IRModule({"main": rewrite_call(pattern, rewrite, start["main"])})
        result = compile_graph(passes.run(made, *passes.LOWERING))(
            shared_tensor(pixels), shared_tensor(w)
        ).numpy()
        operators = [[node.op, *node.operands] for node in graph(made).nodes]
    except Exception as error:
        return {"refused": str(error).strip().splitlines()[-1]}
    return {
        "expected": (pixels / 16 @ w).tolist(),
        "got": result.tolist(),
        "operators": operators,
    }


def _moves_the_scaling(found: Mapping[str, Any]) -> str:
    if "refused" in found:
        raise UnmetCheck(
            "the function does not return a graph", expected="a new matmul", got=found["refused"]
        )
    expected, got = np.array(found["expected"]), np.array(found["got"])
    if expected.shape != got.shape:
        raise UnmetCheck("another shape", expected=expected.shape, got=got.shape)
    if not np.allclose(expected, got):
        at = tuple(map(int, np.argwhere(~np.isclose(expected, got))[0]))
        raise UnmetCheck(
            f"the product is wrong at {at}",
            expected=f"{expected[at]:g}",
            got=f"{got[at]:g}",
            hint="the scaling must be done once, and no operand may be lost",
        )
    scaled = [operands for name, *operands in found["operators"] if name == "multiply"]
    if any("w" not in operands for operands in scaled):
        raise UnmetCheck(
            "the scaling is still done for every image",
            expected="multiply(w, 0.0625), which reads weights only",
            got=f"multiply({', '.join(scaled[0])})",
        )
    return "the same product, and the scaling reads weights only"


scale_weights = Blank(
    lambda mine: Demand(given(_rewritten(*mine)), (holds(_moves_the_scaling),)),
    (
        "The new graph has the same two operators, a multiply and a matmul, in another place.",
        "found[x], found[s] and found[w] are what the pattern's holes were filled with. Scale w.",
        "op.multiply(found[w], found[s]) is the scaled matrix; x is unchanged: "
        "op.matmul(found[x], ...).",
    ),
    "return op.matmul(found[x], op.multiply(found[w], found[s]))",
)
